"""An agent that contracts with the context equals one that is fed with the products."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mogro
from mogro._validation import FloatArray
from mogro.live import events
from mogro.policies import LinearPolicy
from tests.live.test_agreement import POLICIES, Make

A, C, K = 3, 2, 6
NAMES = ("a", "b", "c")
OBJECTIVES = [
    mogro.Objective("a"),
    mogro.Objective("b", unit=2.0, offset=1.0),
    mogro.Objective("c", direction="min"),
]
ARMS = np.random.default_rng(8).standard_normal((K, A))
IDS = [f"arm {k}" for k in range(K)]
LEFT_OUT = [
    {},
    {"constant": False},
    {"arm_alone": False},
    {"context_alone": False},
    {"arm_alone": False, "context_alone": False, "constant": False},
]


def products(features: mogro.Bilinear, arms: FloatArray, context: FloatArray) -> FloatArray:
    """All products, written out: the slow way."""
    rows = []
    for x in arms:
        row = [1.0] * features.constant + list(x) * features.arm_alone
        for c in context:
            row += [c] * features.context_alone + [c * value for value in x]
        rows.append(row)
    return np.array(rows)


def truth(size: int) -> FloatArray:
    return np.random.default_rng(1).standard_normal((3, size))


def make(name: str, size: int) -> Make:
    if name == "oracle":
        return lambda dim, objectives: mogro.Oracle(truth(size))
    if name == "basis":
        return partial(mogro.MOGRO, exploration=mogro.BasisRoundRobin(ARMS))
    return POLICIES[name]


class Pair:
    """An agent with contexts, and one that is given the products."""

    def __init__(self, features: mogro.Bilinear, policy: Make = mogro.MOGRO) -> None:
        self.features = features
        self.agent = mogro.Agent(OBJECTIVES, features=features, seed=5, policy=policy)
        self.explicit = mogro.Agent(OBJECTIVES, dim=features.size, seed=5, policy=policy)
        self.rng = np.random.default_rng(3)

    def decide(
        self, context: FloatArray, arms: FloatArray = ARMS, **asked: object
    ) -> tuple[mogro.Decision, mogro.Decision]:
        given = products(self.features, arms, context)
        ids = IDS[: len(arms)]
        one = self.agent.decide(ids, arms, context=context, **asked)  # type: ignore[arg-type]
        other = self.explicit.decide(ids, given, **asked)  # type: ignore[arg-type]
        return one, other

    def reward(self, arm: str, id: str, context: FloatArray) -> None:
        x = products(self.features, ARMS, context)[IDS.index(arm)]
        values = truth(self.features.size) @ x + 0.3 * self.rng.standard_normal(3)
        for agent in (self.agent, self.explicit):
            agent.reward(id, dict(zip(NAMES, values.tolist(), strict=True)))


def contexts(kind: str) -> FloatArray:
    """Contexts of all kinds: any, a few that come again, some that are zero or collinear."""
    rng = np.random.default_rng(11)
    if kind == "any":
        return rng.standard_normal((80, C))
    if kind == "few":
        return rng.standard_normal((3, C))[rng.integers(3, size=80)]
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[rng.integers(3, size=80)]


@pytest.mark.parametrize("kind", ["any", "few", "plain"])
@pytest.mark.parametrize("name", [name for name in POLICIES if "Thompson" not in name])
def test_choices_and_estimates_are_those_of_the_products(name: str, kind: str) -> None:
    features = mogro.Bilinear(arm=A, context=C)
    pair = Pair(features, make(name, features.size))
    for context in contexts(kind):
        one, other = pair.decide(context)
        assert (one.arm, one.exploring, one.weights) == (other.arm, other.exploring, other.weights)
        assert one.estimates == pytest.approx(other.estimates, abs=1e-8)
        pair.reward(one.arm, one.id, context)
    assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)
    assert pair.agent.intercept == pytest.approx(pair.explicit.intercept)
    assert pair.agent.counters == pair.explicit.counters


@pytest.mark.parametrize("left_out", LEFT_OUT, ids=str)
@pytest.mark.parametrize("kind", ["any", "plain"])
def test_whatever_is_left_out(left_out: dict[str, bool], kind: str) -> None:
    features = mogro.Bilinear(arm=A, context=C, **left_out)
    assert features.size == products(features, ARMS, np.ones(C)).shape[1] == len(features.names)
    pair = Pair(features)
    for n, context in enumerate(contexts(kind)):
        # Fewer arms than features, too, and arms that depend on each other.
        arms = ARMS if n % 3 else ARMS[[0, 1, 0]] if n % 2 else ARMS[:2]
        one, other = pair.decide(context, arms)
        assert (one.arm, one.exploring) == (other.arm, other.exploring)
        pair.reward(one.arm, one.id, context)
    assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)


@pytest.mark.parametrize("name", ["Thompson", "Thompson front"])
def test_thompson_sampling_has_the_same_law(name: str) -> None:
    """It draws parameters of the arms in the context, which are fewer than those of products."""
    pair = Pair(mogro.Bilinear(arm=A, context=C), POLICIES[name])
    for n, context in enumerate(contexts("any")[:30]):
        one, other = pair.decide(context, id=f"asked {n}")
        if n % 10 == 9:
            mine, theirs = one.propensities, other.propensities
            slack = 5 * np.hypot(mine.errors, theirs.errors)
            assert (np.abs(mine.values - theirs.values) <= slack).all()
            assert mine.values.max() < 1
        only = [arm == one.arm for arm in IDS]  # the same past for both
        pair.decide(context, id=f"learned {n}", eligible=only)
        pair.reward(one.arm, f"learned {n}", context)
        assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in POLICIES if "Thompson" not in name])
def test_views_are_those_of_the_products(name: str) -> None:
    features = mogro.Bilinear(arm=A, context=C)
    pair = Pair(features, make(name, features.size))
    for n, context in enumerate(contexts("any")[:40]):
        one, other = pair.decide(context)
        if n in (0, 5, 39):
            assert one.propensities.arms == other.propensities.arms
            slack = 5 * np.hypot(one.propensities.errors, other.propensities.errors) + 1e-7
            apart = np.abs(one.propensities.values - other.propensities.values)
            assert (apart <= slack).all()
            mine, theirs = pair.agent.explain(one), pair.explicit.explain(other)
            assert mine.reason == theirs.reason
            for rival, twin in zip(mine.rivals, theirs.rivals, strict=True):
                assert rival.leads == pytest.approx(twin.leads, abs=1e-8)
        pair.reward(one.arm, one.id, context)
    given = products(features, ARMS, context)
    mine, theirs = pair.agent.front(IDS, ARMS, context=context), pair.explicit.front(IDS, given)
    assert mine.arms == theirs.arms
    assert mine.values == pytest.approx(theirs.values, abs=1e-8)
    assert mine.shares == pytest.approx(theirs.shares, abs=1e-6)
