"""One implementation of every policy: an Agent whose rewards come at once is that policy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from tests.properties import mostly_slow

import mogro
from mogro._validation import FloatArray
from mogro.beliefs import Beliefs
from mogro.policies import LinearPolicy
from mogro.priors import Prior

Make = Callable[[int, int], LinearPolicy]

NAMES = ("a", "b", "c")
FEATURES = np.random.default_rng(8).standard_normal((20, 4))
TRUTH = np.random.default_rng(2).standard_normal((3, 5))


def seen(features: FloatArray) -> FloatArray:
    """What the learner sees of arms: a constant, and their features."""
    return np.column_stack([np.ones(len(features)), features])


@dataclass(frozen=True, eq=False, repr=False)
class Cautious(LinearPolicy):
    """A policy of one's own: estimates less a multiple of their spread."""

    dim: int
    objectives: int
    caution: float = 0.1
    batch: tuple[int, ...] = ()

    @property
    def prior(self) -> Prior:
        return mogro.priors.Fixed(0.5)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: mogro.Rng) -> FloatArray:
        return beliefs.estimates(arms) - self.caution * np.sqrt(beliefs.variances(arms))


POLICIES: dict[str, Make] = {
    "MOGRO": mogro.MOGRO,
    "threshold": partial(mogro.MOGRO, threshold=2.0),
    "half-life": partial(mogro.MOGRO, half_life=7.0),
    "round robin": partial(mogro.MOGRO, scalarization=mogro.RoundRobin()),
    "hypervolume": partial(mogro.MOGRO, scalarization=mogro.RandomHypervolume()),
    "Chebyshev": partial(mogro.MOGRO, scalarization=mogro.RandomChebyshev()),
    "fixed": partial(mogro.MOGRO, scalarization=mogro.FixedWeights([0.2, 0.3, 0.5])),
    "uniform exploration": partial(mogro.MOGRO, exploration=mogro.Uniform()),
    "basis": partial(mogro.MOGRO, exploration=mogro.BasisRoundRobin(seen(FEATURES))),
    "epsilon greedy": partial(mogro.EpsilonGreedy, epsilon=0.3),
    "UCB": partial(mogro.UCB, noise=0.3, delta=0.01),
    "Thompson": partial(mogro.ThompsonSampling, noise=0.3, delta=0.01),
    "Thompson front": partial(
        mogro.ThompsonSampling, noise=0.3, delta=0.01, selection=mogro.EffectiveFront()
    ),
    "hypervolume UCB": partial(
        mogro.UCB, noise=0.3, delta=0.01, selection=mogro.RandomHypervolume()
    ),
    "random": mogro.RandomArm,
    "own": Cautious,
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("varying", mostly_slow([True, False]))
def test_an_agent_chooses_and_learns_as_its_policy_does(name: str, varying: bool) -> None:
    rng = np.random.default_rng(3)
    agent = mogro.Agent(
        [mogro.Objective(one) for one in NAMES], arms=4, seed=5, policy=POLICIES[name]
    )
    policy = POLICIES[name](5, 3)
    ids = [str(k) for k in range(20)]
    chosen = []
    for n in range(60):
        features = rng.standard_normal((20, 4)) if varying else FEATURES
        arm = policy.select(seen(features), rng=mogro.agent.decision_generator(5, f"visit {n}"))
        decision = agent.decide(ids, features, id=f"visit {n}")
        assert decision.arm == str(arm)
        reward = TRUTH @ seen(features)[arm] + 0.3 * rng.standard_normal(3)
        policy.update(seen(features)[arm], reward)
        agent.reward(decision.id, dict(zip(NAMES, reward.tolist(), strict=True)))
        assert agent.theta == pytest.approx(policy.theta[:, 1:], abs=1e-9)
        assert agent.intercept == pytest.approx(policy.theta[:, 0], abs=1e-9)
        chosen.append(arm)
    assert len(set(chosen)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_propensities_are_the_probabilities_of_the_policy(name: str) -> None:
    rng = np.random.default_rng(3)
    agent = mogro.Agent(
        [mogro.Objective(one) for one in NAMES], arms=4, seed=5, policy=POLICIES[name]
    )
    policy = POLICIES[name](5, 3)
    ids = [str(k) for k in range(20)]
    for n in range(25):
        decision = agent.decide(ids, FEATURES)
        if n in (0, 24):
            source = np.random.default_rng(0)
            expected = policy.probabilities(seen(FEATURES), rng=source)
            found = decision.propensities
            assert found.arms == tuple(ids)
            slack = 5 * np.hypot(found.errors, expected.errors) + 1e-9
            assert (np.abs(found.values - expected.values) <= slack).all()
            assert found.values.sum() == pytest.approx(1)
            assert decision.propensity > 0
        arm = policy.select(seen(FEATURES), rng=mogro.agent.decision_generator(5, decision.id))
        assert decision.arm == str(arm)
        reward = TRUTH @ seen(FEATURES)[arm] + 0.3 * rng.standard_normal(3)
        policy.update(seen(FEATURES)[arm], reward)
        agent.reward(decision.id, dict(zip(NAMES, reward.tolist(), strict=True)))
