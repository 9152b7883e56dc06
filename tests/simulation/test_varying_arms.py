"""Worlds that offer another number of arms each round: policies see no others."""

from typing import Any

import numpy as np
import pytest

import mogro
from mogro.pareto import effective_gaps, gaps
from mogro.testing import check_environment

THETA = np.array([[1.0, 0.0], [0.4, 0.8]])


class Shop:
    """Two to six arms a round; linear."""

    dim, arms, fewest_arms, objectives = 2, 6, 2, 2

    def __init__(self, rng: Any = None) -> None:
        self.theta = THETA.copy()
        self.theta.setflags(write=False)

    def contexts(self, *, rng: Any) -> np.ndarray:
        return np.asarray(rng.normal(size=(rng.integers(2, 7), 2)))

    def observe(self, x: Any, *, rng: Any) -> np.ndarray:
        return np.asarray(self.theta @ x + 0.1 * rng.normal(size=2))


class ByRound(Shop):
    """The truth is a method, of the round, too, and by place."""

    def means(self, features: Any, *, step: int) -> np.ndarray:
        assert np.isfinite(features).all()
        return np.asarray(features @ THETA.T * (1 + step % 2))

    def observe(self, x: Any, *, rng: Any, step: int) -> np.ndarray:  # type: ignore[override]
        return np.asarray(THETA @ x * (1 + step % 2))


class Spy:
    """Remembers what it was shown, and pulls the last arm."""

    seen: list[np.ndarray]

    def __init__(self, dim: int, objectives: int) -> None:
        Spy.seen = []

    def select(self, features: np.ndarray, *, rng: Any) -> int:
        Spy.seen.append(features.copy())
        return len(features) - 1

    def update(self, features: Any, reward: Any) -> None: ...


@pytest.mark.parametrize("kind", [Shop, ByRound])
def test_regret_is_that_of_the_arms_on_offer(kind: Any) -> None:
    check_environment(kind)
    trace = mogro.simulate(Spy, kind(), rounds=60, seed=3)
    assert {len(arms) for arms in Spy.seen} == {2, 3, 4, 5, 6}
    assert all(np.isfinite(arms).all() for arms in Spy.seen)
    worth = [1 + step % 2 if kind is ByRound else 1 for step in range(60)]
    means = [arms @ THETA.T * size for arms, size in zip(Spy.seen, worth, strict=True)]
    for found, judge in ((trace.pareto_regret, gaps), (trace.effective_regret, effective_gaps)):
        regret = sum(judge(each, arms=len(each) - 1) for each in means)
        assert found[-1, 0, 0] == pytest.approx(regret)


@pytest.mark.parametrize(
    "make", [mogro.MOGRO, mogro.EpsilonGreedy, mogro.RandomArm], ids=lambda make: make.__name__
)
def test_policies_of_the_house_play_there(make: Any) -> None:
    worlds = [Shop(), Shop()]
    trace = mogro.simulate(make, worlds, rounds=150, repeats=2, seed=0)
    part = mogro.simulate(make, worlds[1], rounds=150, seed=0, start=(1, 1))
    np.testing.assert_array_equal(part.arms[:, 0, 0], trace.arms[:, 1, 1])
    if make is mogro.MOGRO:
        assert trace.effective_regret[-1].mean() < 3


def test_what_a_varying_world_needs() -> None:
    class Many(Shop):
        def contexts(self, *, rng: Any) -> np.ndarray:
            return np.zeros((7, 2))

    class Batched(Shop):
        def contexts(self, *, rng: Any, batch: Any = ()) -> np.ndarray:
            return np.zeros((3, 2))

    with pytest.raises(ValueError, match="expected contexts of 2 to 6 arms with 2 features, got"):
        mogro.simulate(Spy, Many(), rounds=3)
    with pytest.raises(ValueError, match="with fewest_arms to have contexts without batch"):
        mogro.simulate(Spy, Batched(), rounds=3)
    with pytest.raises(AssertionError, match="contexts: expected 2 to 6 arms, got 7"):
        check_environment(Many)
