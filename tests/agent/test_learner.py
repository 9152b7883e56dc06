"""What is observed plus what is in flight: one invariant, whatever happens in between."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.properties import examples

import mogro
from mogro.agent.state.learner import Learner
from mogro.beliefs import covariance

Floats = NDArray[np.float64]

POOL = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 2], [1, -1, 1], [0, 0, 0]], float)
HALF_LIVES = [None, mogro.HalfLife(updates=3.0), mogro.HalfLife(time=20.0)]


@dataclass
class Flying:
    """A decision, and for which objectives it is observed, lost or in flight."""

    number: int
    x: Floats
    time: float
    state: list[str]


class Slow:
    """The sums of outer products, added up anew whenever they are asked for."""

    def __init__(self, objectives: int, half_life: mogro.HalfLife | None) -> None:
        self.half_life = half_life
        self.made: list[Flying] = []
        self.arrived: list[list[Flying]] = [[] for _ in range(objectives)]
        self.last = -1  # decision of which something has arrived
        self.now = 0.0

    def weight(self, time: float) -> float:
        if self.half_life is None or self.half_life.time is None:
            return 1.0
        return float(0.5 ** ((self.now - time) / self.half_life.time))

    def arrive(self, one: Flying, m: int) -> None:
        one.state[m] = "observed"
        self.last = max(self.last, one.number)
        self.arrived[m].append(one)

    def gram(self, m: int) -> Floats:
        total = np.zeros((3, 3))
        for one in self.arrived[m]:
            weight = self.weight(one.time)
            if self.half_life is not None and self.half_life.updates is not None:
                weight = 0.5 ** ((self.last - one.number) / self.half_life.updates)
            total += weight * np.outer(one.x, one.x)
        for one in self.made:
            if one.state[m] == "flying":
                total += self.weight(one.time) * np.outer(one.x, one.x)
        return total


def check(learner: Learner, slow: Slow, objectives: int) -> None:
    """Variances are those of the sums; of what they have nothing of, far larger."""
    expected = np.broadcast_to(covariance(learner.beliefs().expected.W), (objectives, 3, 3))
    for m in range(objectives):
        values, vectors = np.linalg.eigh(slow.gram(m))
        variances = np.vecdot(vectors.T, vectors.T @ expected[m])
        known, unknown = values > 1e-3, values < 1e-12
        assert variances[known] == pytest.approx(1 / values[known], rel=1e-4)
        if known.any():
            assert (variances[unknown] > 1e4 / values[known].max()).all()


def make(first_conditions: tuple[int, ...] = (0, 1), size: int = 3, **options: Any) -> Learner:
    usual: dict[str, Any] = {"prior": mogro.priors.Flat(), "half_life": None, "explores": True}
    return Learner(size, first_conditions, **(usual | options))


@pytest.mark.slow
@examples(150)
@given(st.data(), st.sampled_from(HALF_LIVES), st.booleans(), st.sampled_from([1, 4, 256]))
def test_exploration_goes_by_what_was_observed_and_what_is_in_flight(
    data: st.DataObject, half_life: mogro.HalfLife | None, asked: bool, recent: int
) -> None:
    """However many of the decisions in flight are kept one by one, and not as a sum."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mogro.agent.state.learner._MAX_LISTED_PENDING", recent)
        _compare_with_sums(data, half_life, asked)


def _compare_with_sums(data: st.DataObject, half_life: mogro.HalfLife | None, asked: bool) -> None:
    learner = make(half_life=half_life)
    slow = Slow(2, half_life)
    for _ in range(data.draw(st.integers(1, 40))):
        what = data.draw(st.sampled_from(["depart", "depart", "arrive", "lose", "wait", "copy"]))
        flying = [one for one in slow.made if "flying" in one.state]
        if what == "depart":
            x = POOL[data.draw(st.integers(0, 5))]
            slow.made.append(Flying(len(slow.made), x, slow.now, ["flying", "flying"]))
            learner.advance(slow.now)
            learner.add_pending(len(slow.made) - 1, x, slow.now)
        elif what == "wait":
            slow.now += data.draw(st.sampled_from([1.0, 10.0]))
            learner.advance(slow.now)
        elif what == "copy":
            learner = learner.copy()
        elif flying:
            one = data.draw(st.sampled_from(flying))
            which = np.array([state == "flying" for state in one.state])
            if which.all():
                which &= np.array(data.draw(st.sampled_from([(1, 1), (1, 0), (0, 1)])), bool)
            for m in np.flatnonzero(which).tolist():
                if what == "arrive":
                    slow.arrive(one, m)
                else:
                    one.state[m] = "lost"
            if what == "arrive":
                learner.learn(one.number, one.x, np.ones(2), which, one.time)
            else:
                learner.remove_pending(one.x[None], which[None], np.array([one.time]))
        if asked and data.draw(st.booleans()):
            check(learner, slow, 2)
    check(learner, slow, 2)


def test_what_is_taken_out_leaves_no_direction_behind() -> None:
    """The only decision along an axis comes and goes a thousand times, beside large ones."""
    learner = make((0,), 2)
    learner.add_pending(-1, np.array([1e3, 0.0]), 0.0)  # stays in flight
    for n in range(1000):
        x = np.array([np.sin(n), 1.0 + np.cos(n)])
        learner.add_pending(n, x, 0.0)
        learner.remove_pending(x[None], np.ones((1, 1), bool), np.zeros(1))
    expected = covariance(learner.beliefs().expected.W)[0]
    assert expected[0, 0] == pytest.approx(1e-6, rel=1e-6)
    assert expected[1, 1] > 1e3


@pytest.mark.parametrize("seed", range(10))
def test_corrections_teach_other_objectives_nothing(seed: int) -> None:
    learner = Learner(3, [0, 1], prior=mogro.priors.Flat(), half_life=None, explores=True)
    learner.learn(0, np.array([1.0, 0.0, 0.0]), np.ones(2), None, 0.0)
    x = np.append(0.0, np.random.default_rng(seed).standard_normal(2))
    learner.learn(1, x, np.array([0.3, 0.0]), np.array([True, False]), 1.0)
    learner.correct(1, x, [(0, 0.3)], [(0, 0.7)], 1.0)
    np.testing.assert_array_equal(learner.observed.V[1], np.diag([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(learner.theta @ x, [0.7, 0.0], rtol=1e-6)


def test_a_feature_beyond_all_others_leaves_no_harm() -> None:
    learner = make((0,), 2)
    ordinary, huge = np.array([1.0, 2.0]), np.array([1e12, 1e12])
    learner.add_pending(0, ordinary, 0.0)
    learner.add_pending(1, huge, 0.0)
    learner.remove_pending(huge[None], np.ones((1, 1), bool), np.zeros(1))
    assert (np.linalg.eigvalsh(covariance(learner.beliefs().expected.W)[0]) > 0).all()
    learner.learn(0, ordinary, np.ones(1), None, 0.0)
    assert learner.theta @ ordinary == pytest.approx(1.0)


def test_an_objective_with_a_condition_is_explored_as_its_condition_is() -> None:
    learner = make((1, 1), 2)
    x = np.array([1.0, 2.0])
    learner.add_pending(0, x, 0.0)
    learner.remove_pending(x[None], np.array([[True, False]]), np.zeros(1))
    expected = covariance(learner.beliefs().expected.W)
    assert x @ expected[0] @ x == pytest.approx(1.0)
    assert (expected[1] == expected[0]).all()


def test_decisions_that_count_for_nothing_any_more_are_in_flight_until_they_land() -> None:
    """After two thousand half-lives the weight of a decision is zero, to the last bit."""
    learner = make((0,), 2, half_life=mogro.HalfLife(time=1.0))
    old, new = np.array([[1.0, 0.0]]), np.array([0.0, 1.0])
    learner.add_pending(0, old[0], 0.0)
    learner.advance(2000.0)
    learner.learn(0, old[0], np.ones(1), None, 0.0)
    learner.add_pending(1, new, 2000.0)
    learner.advance(2001.0)
    expected = covariance(learner.beliefs().expected.W)[0]
    assert expected[1, 1] == pytest.approx(2.0)
    assert expected[0, 0] > 1e6
