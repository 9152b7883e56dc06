from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

import mogro
from mogro.live.choosing import choose
from mogro.policies import LinearPolicy

Floats = NDArray[np.float64]
Make = Callable[[int, int], LinearPolicy]


def decided(
    policy: Make, *, objectives: int, arms: int = 25, dim: int = 4, seed: int = 0, rounds: int = 60
) -> mogro.Decision:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((arms, dim))
    theta = rng.standard_normal((objectives, dim))
    names = [f"o{m}" for m in range(objectives)]
    agent = mogro.Agent([mogro.Objective(n) for n in names], dim=dim, seed=seed, policy=policy)
    ids = [str(k) for k in range(arms)]
    for _ in range(rounds):
        decision = agent.decide(ids, features)
        means = features[int(decision.arm)] @ theta.T + 0.1 * rng.standard_normal(objectives)
        agent.reward(decision.id, dict(zip(names, means.tolist(), strict=True)))
    return agent.decide(ids, features)


def frequencies(decision: mogro.Decision, draws: int) -> Floats:
    """Count wins over many draws of the weights, by one big product."""
    plan = decision.plan
    rng = np.random.default_rng(1)
    values = plan.driver.values(plan.offer, plan.beliefs, rng)
    weights = plan.selection.weights(  # type: ignore[union-attr]
        values.shape[1], step=plan.step, batch=(draws,), rng=rng
    )
    wins = np.zeros(len(values))
    for some in np.array_split(weights, max(1, draws // 10_000)):
        if hasattr(plan.selection, "score"):
            scores = plan.selection.score(np.broadcast_to(values, (len(some), *values.shape)), some)
        else:
            scores = some @ values.T
        wins += np.bincount(scores.argmax(axis=1), minlength=len(values))
    return wins / draws


TWO: dict[str, Make] = {
    "random weights": mogro.MOGRO,
    "skewed": partial(mogro.MOGRO, scalarization=mogro.RandomWeights([0.3, 2.5])),
    "hypervolume": partial(mogro.MOGRO, scalarization=mogro.RandomHypervolume()),
    "Chebyshev": partial(
        mogro.MOGRO, scalarization=mogro.RandomChebyshev(concentration=[2.0, 0.7])
    ),
}


@pytest.mark.parametrize("name", TWO)
def test_two_objectives_are_exact(name: str) -> None:
    several = 0
    for seed in range(3):
        decision = decided(TWO[name], objectives=2, seed=seed)
        found = decision.propensities
        assert (found.errors == 0).all()
        assert found.values.sum() == pytest.approx(1, abs=1e-12)
        draws = 1_000_000 if name in ("random weights", "skewed") else 100_000
        seen = frequencies(decision, draws)
        spread = np.sqrt(np.maximum(found.values * (1 - found.values), 1 / draws) / draws)
        assert (np.abs(seen - found.values) <= 5 * spread).all()
        several += (found.values > 0.01).sum() > 1
        assert decision.propensity > 0
        assert decision.propensity_error == 0
    assert several  # not all of them a foregone conclusion


def test_one_objective_is_certain() -> None:
    decision = decided(mogro.MOGRO, objectives=1)
    assert decision.propensity == 1
    assert decision.propensities.values.sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_five_objectives_are_within_four_standard_errors(seed: int) -> None:
    decision = decided(mogro.MOGRO, objectives=5, dim=6, seed=seed)
    found = decision.propensities
    seen = frequencies(decision, 1_000_000)
    assert (found.errors[found.values > 0] > 0).all()  # others are beaten throughout
    assert (found.errors < 0.02).all()
    spread = np.hypot(found.errors, np.sqrt(seen * (1 - seen) / 1_000_000))
    assert (np.abs(found.values - seen) <= 4 * spread).all()
    assert found.values.sum() == pytest.approx(1, abs=1e-9)  # each ray is shared out whole
    again = decided(mogro.MOGRO, objectives=5, dim=6, seed=seed).propensities
    assert (again.values == found.values).all()  # a fixed number of draws, from seed and id


OTHERS: dict[str, Make] = {
    "epsilon greedy": partial(mogro.EpsilonGreedy, epsilon=0.3),
    "UCB": partial(mogro.UCB, noise=0.1, delta=0.1),
    "Thompson": partial(mogro.ThompsonSampling, noise=0.3, delta=0.1),
    "random": mogro.RandomArm,
    "hypervolume": partial(mogro.MOGRO, scalarization=mogro.RandomHypervolume()),
    "round robin": partial(mogro.MOGRO, scalarization=mogro.RoundRobin()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_policies_choose_as_often_as_they_say(name: str) -> None:
    decision = decided(OTHERS[name], objectives=3)
    found = decision.propensities
    rng = np.random.default_rng(5)
    draws = 3000
    wins = np.bincount([choose(decision.plan, rng=rng)[0] for _ in range(draws)], minlength=25)
    spread = np.hypot(found.errors, np.sqrt(np.maximum(found.values, 1 / draws) / draws))
    assert (np.abs(wins / draws - found.values) <= 5 * spread).all()


def test_exploring_decisions() -> None:
    for exploration, value in ((mogro.WeakestDirection(), 1.0), (mogro.Uniform(), 0.25)):
        agent = mogro.Agent(
            [mogro.Objective("a"), mogro.Objective("b")],
            dim=4,
            seed=0,
            policy=partial(mogro.MOGRO, exploration=exploration),
        )
        decision = agent.decide(list("wxyz"), np.eye(4))
        assert decision.exploring
        assert (decision.propensity, decision.propensity_error) == (value, 0.0)
        assert decision.weights is None


def test_equal_arms_are_won_by_the_first() -> None:
    agent = mogro.Agent([mogro.Objective("a"), mogro.Objective("b")], dim=2, seed=0)
    arms = {"x": [1.0, 0.0], "y": [0.0, 1.0], "same": [1.0, 0.0], "middle": [0.5, 0.5]}
    for _ in range(2):
        decision = agent.decide(arms)
        agent.reward(
            decision.id, {"a": float(decision.arm == "x"), "b": float(decision.arm == "y")}
        )
    found = agent.decide(arms).propensities
    assert dict(zip(found.arms, found.values.tolist(), strict=True)) == pytest.approx(
        {"x": 0.5, "y": 0.5, "same": 0.0, "middle": 0.0}
    )
