"""The theorems and lemmas beside simulated runs on problems that meet their assumptions."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.oracles.conditions import uniform_ball_goodness
from tests.theory.worlds import circle, circle_contexts

import mogro
from mogro import pareto
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import FixedArms, VaryingContexts
from mogro.theory import (
    diagnose,
    diversity_left,
    eigenvalue_increment,
    fairness_bound,
    objective_diversity,
    radius_cap,
    regret_bound_random_weights,
    regularity,
    threshold_random_weights,
)
from paper.lab.appendix import DrawnArms
from paper.lab.lemmas import eigenvalue_bound, estimate_bound

KINDS = [mogro.RandomWeights(), mogro.RoundRobin()]


def errors(theta: FloatArray, policy: Any) -> FloatArray:
    """Probe: the largest error of an estimate, (I, R)."""
    return np.asarray(np.linalg.norm(policy.theta - theta, axis=-1).max(axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norms", [(1.0, 1.0), (2.0, 1.0), (0.5, 3.0)])
def test_estimates_and_eigenvalues_keep_to_their_bounds(
    kind: mogro.RandomWeights | mogro.RoundRobin, norms: tuple[float, float]
) -> None:
    rounds, repeats, noise = 3000, 20, 0.01 * norms[0] * norms[1]
    features, theta = norms[0] * circle(300), norms[1] * np.eye(2)
    found = diagnose(features, theta, noise=noise, rounds=rounds, scalarization=kind)
    assert found.holds
    start, B = found.guarantees.initial_rounds, found.guarantees.threshold
    assert start is not None
    assert B is not None
    checkpoints = [n for n in (100, 300, 1000, 3000) if n >= 2 * start + 4]
    trace = mogro.simulate(
        partial(
            mogro.MOGRO,
            threshold=B,
            scalarization=kind,
            exploration=mogro.BasisRoundRobin(features),
        ),
        FixedArms(features, theta, noise=noise),
        rounds=rounds,
        repeats=repeats,
        checkpoints=checkpoints,
        probe=partial(errors, theta),
    )
    for position, t in enumerate(checkpoints):
        bound = estimate_bound(found, t)
        outside = (trace.probed[position, 0] > bound.value).mean()
        assert outside <= bound.failure
        pulled = features[trace.arms[:t, 0]]  # (t, R, d)
        grams = np.einsum("tri,trj->rij", pulled, pulled)
        line = eigenvalue_bound(found, t)
        below = (np.linalg.eigvalsh(grams)[:, 0] < line.value * (1 - 1e-9)).mean()
        assert below <= line.failure
    assert estimate_bound(found, rounds).failure < 0.2
    assert found.guarantees.regret is not None
    assert trace.effective_regret[-1].mean() <= found.guarantees.regret


@pytest.mark.slow
def test_the_fairness_theorem_beside_runs() -> None:
    """A horizon and a noise for which the theorem says something."""
    rounds, noise, epsilon = 10_000, 0.005, 1.0
    features, theta = circle(400), np.eye(2)
    found = diagnose(features, theta, noise=noise, rounds=rounds, epsilon=epsilon)
    assert found.guarantees.fairness is not None
    assert found.guarantees.fairness > 0.1
    assert found.guarantees.epsilon == epsilon
    world = FixedArms(features, theta, noise=noise)
    make = partial(mogro.MOGRO, threshold=found.guarantees.threshold)
    trace = mogro.simulate(make, world, rounds=rounds, repeats=5)
    index = pareto.fairness_index(world.means, trace.pulls()[-1, 0].sum(axis=0), epsilon=epsilon)
    assert index >= found.guarantees.fairness


@pytest.mark.slow
def test_the_stochastic_corollary_beside_runs() -> None:
    """Contexts for which the bound says something: every direction is covered, nearly always."""
    rounds, noise = 5000, 0.001
    world = circle_contexts(60, noise=noise)
    found = diagnose(world.contexts, np.eye(2), noise=noise, rounds=rounds)
    assert found.holds
    assert found.sampled_rounds is not None
    assert found.goodness.probability is not None
    # The share of the circle within arccos gamma of a direction is covered by an arm.
    gamma = found.goodness.gamma
    assert gamma is not None
    exact = 1 - (1 - np.arccos(gamma) / np.pi) ** 60
    assert found.goodness.probability.low <= exact <= found.goodness.probability.high
    assert found.guarantees.regret is not None
    assert not found.guarantees.vacuous
    make = partial(mogro.MOGRO, threshold=found.guarantees.threshold, exploration=mogro.Uniform())
    trace = mogro.simulate(make, world, rounds=rounds, repeats=3)
    assert trace.effective_regret[-1].mean() <= found.guarantees.regret


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 3.0])
def test_the_stochastic_corollary_with_a_known_probability(size: float) -> None:
    """Uniform arms in a ball of any radius: q_gamma is known, so the bound is a bound."""
    rounds, noise, arms = 2000, 0.001, 200
    lam, gamma = objective_diversity(np.eye(2)), 0.995 * size
    norms: dict[str, Any] = {} if size == 1 else {"feature_norm": size}
    alpha = radius_cap(lam, gamma, **norms)
    increment = eigenvalue_increment(
        diversity_left(lam, alpha, gamma, **norms),
        phi=regularity(np.eye(2), 1.0, epsilon=alpha / 2).phi.low,
        goodness_probability=uniform_ball_goodness(gamma / size, dim=2, arms=arms),
        objectives=2,
    )
    given: dict[str, Any] = {
        "increment": increment,
        "noise": noise,
        "dim": 2,
        "objectives": 2,
        "rounds": rounds,
        "initial_rounds": 100,
        **norms,
    }
    threshold = threshold_random_weights(alpha, noise=noise, dim=2, rounds=rounds, **norms)

    ball = VaryingContexts(np.eye(2), arms=arms, noise=noise)

    def draw(rng: Rng, batch: tuple[int, ...]) -> FloatArray:
        return np.asarray(size * ball.contexts(rng=rng, batch=batch))

    world = DrawnArms(np.eye(2), draw, arms=arms, noise=noise)
    make = partial(mogro.MOGRO, threshold=threshold, exploration=mogro.Uniform())
    trace = mogro.simulate(make, world, rounds=rounds, repeats=3)
    assert trace.effective_regret[-1].mean() <= regret_bound_random_weights(**given)
    fair = fairness_bound(0.5, psi=0.1, **given)
    assert 0 <= fair <= 0.1


def test_predictions_need_a_theorem() -> None:
    found = diagnose([[1.0, 0.0], [0.6, 0.6]], np.eye(2), noise=0.1, rounds=1000)
    for bound in (eigenvalue_bound, estimate_bound):
        with pytest.raises(ValueError, match="diagnosis: expected one of a problem to which"):
            bound(found, 500)
    holds = diagnose(circle(100), np.eye(2), noise=0.01, rounds=1000)
    with pytest.raises(ValueError, match="rounds: expected at least 80"):
        estimate_bound(holds, 50, initial_rounds=40)
    with pytest.raises(ValueError, match="rounds: expected at least 40"):
        eigenvalue_bound(holds, 30, initial_rounds=40)
