"""What is observed plus what is in flight: one invariant, whatever happens in between."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import mogro
from mogro.live.memory.learner import Learner

Floats = NDArray[np.float64]

POOL = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 2], [1, -1, 1], [0, 0, 0]], float)
HALF_LIVES = [None, mogro.HalfLife(updates=3.0), mogro.HalfLife(time=20.0)]


@dataclass
class Flying:
    """A decision, and for which objectives it is observed, lost or in flight."""

    x: Floats
    time: float
    state: list[str]


class Slow:
    """The sums of outer products, added up anew whenever they are asked for."""

    def __init__(self, objectives: int, half_life: mogro.HalfLife | None) -> None:
        self.half_life = half_life
        self.made: list[Flying] = []
        self.arrived: list[list[tuple[Flying, float]]] = [[] for _ in range(objectives)]
        self.now = 0.0

    def weight(self, time: float) -> float:
        if self.half_life is None or self.half_life.time is None:
            return 1.0
        return float(0.5 ** ((self.now - time) / self.half_life.time))

    def arrive(self, one: Flying, m: int) -> None:
        one.state[m] = "observed"
        if self.half_life is not None and self.half_life.updates is not None:
            keep = 0.5 ** (1 / self.half_life.updates)
            self.arrived[m] = [(other, weight * keep) for other, weight in self.arrived[m]]
        self.arrived[m].append((one, 1.0))

    def gram(self, m: int) -> Floats:
        total = np.zeros((3, 3))
        for one, weight in self.arrived[m]:
            total += weight * self.weight(one.time) * np.outer(one.x, one.x)
        for one in self.made:
            if one.state[m] == "flying":
                total += self.weight(one.time) * np.outer(one.x, one.x)
        return total


def check(learner: Learner, slow: Slow, objectives: int) -> None:
    inverse, unseen = learner.coverage()
    assert inverse is not None
    inverse = np.broadcast_to(inverse, (objectives, 3, 3))  # one for all of them, or one each
    unseen = None if unseen is None else np.broadcast_to(unseen, (objectives, 3, 3))
    for m in range(objectives):
        gram = slow.gram(m)
        assert inverse[m] == pytest.approx(np.linalg.pinv(gram, rcond=1e-9), rel=1e-6, abs=1e-9)
        rank = np.linalg.matrix_rank(gram, tol=1e-9)
        assert (0.0 if unseen is None else np.trace(unseen[m])) == pytest.approx(3 - rank)


def recount(learner: Learner, slow: Slow) -> None:
    """Add up anew what is in flight, as the state does where rounding has gathered."""
    flying = [one for one in slow.made if "flying" in one.state]
    which = np.array([[state == "flying" for state in one.state] for one in flying], bool)
    features = np.array([one.x for one in flying]).reshape(-1, 3)
    times = np.array([one.time for one in flying])
    learner.count_in_flight(features, which.reshape(-1, 2), times)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(HALF_LIVES), st.booleans())
def test_coverage_is_what_was_observed_and_what_is_in_flight(
    data: st.DataObject, half_life: mogro.HalfLife | None, asked: bool
) -> None:
    learner = Learner(3, (0, 1), ridge=0.0, half_life=half_life, explores=True)
    slow = Slow(2, half_life)
    for _ in range(data.draw(st.integers(1, 40))):
        what = data.draw(st.sampled_from(["depart", "depart", "arrive", "lose", "wait", "copy"]))
        flying = [one for one in slow.made if "flying" in one.state]
        if what == "depart":
            x = POOL[data.draw(st.integers(0, 5))]
            slow.made.append(Flying(x, slow.now, ["flying", "flying"]))
            learner.advance(slow.now)
            learner.depart(x, slow.now)
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
                learner.learn(one.x, np.ones(2), which, one.time)
            else:
                learner.lose(one.x[None], which[None], np.array([one.time]))
        if learner.worn:
            recount(learner, slow)
        if asked:
            check(learner, slow, 2)
    check(learner, slow, 2)


@pytest.mark.slow
def test_what_is_taken_out_leaves_no_direction_behind() -> None:
    """The only decision along an axis comes and goes a thousand times, beside large ones."""
    learner = Learner(2, (0,), ridge=0.0, half_life=None, explores=True)
    learner.depart(np.array([1e3, 0.0]), 0.0)  # stays in flight
    for n in range(1000):
        x = np.array([np.sin(n), 1.0 + np.cos(n)])
        learner.depart(x, 0.0)
        learner.lose(x[None], np.ones((1, 1), bool), np.zeros(1))
        if learner.worn:
            learner.count_in_flight(np.array([[1e3, 0.0]]), np.ones((1, 1), bool), np.zeros(1))
    inverse, unseen = learner.coverage()
    assert inverse is not None
    assert unseen is not None
    assert unseen[0] == pytest.approx(np.diag([0.0, 1.0]))
    assert inverse[0] == pytest.approx(np.diag([1e-6, 0.0]))


def test_an_objective_with_a_condition_is_covered_as_its_condition_is() -> None:
    learner = Learner(2, (1, 1), ridge=0.0, half_life=None, explores=True)
    x = np.array([1.0, 2.0])
    learner.depart(x, 0.0)
    learner.lose(x[None], np.array([[True, False]]), np.zeros(1))
    inverse, _ = learner.coverage()
    assert inverse is not None
    assert inverse[0] == pytest.approx(np.linalg.pinv(np.outer(x, x)))
    assert inverse[1] == pytest.approx(inverse[0])


def test_decisions_that_count_for_nothing_any_more_are_in_flight_until_they_land() -> None:
    """After two thousand half-lives the weight of a decision is zero, to the last bit."""
    learner = Learner(2, (0,), ridge=0.0, half_life=mogro.HalfLife(time=1.0), explores=True)
    old, new = np.array([[1.0, 0.0]]), np.array([0.0, 1.0])
    learner.depart(old[0], 0.0)
    learner.advance(2000.0)
    learner.count_in_flight(old, np.ones((1, 1), bool), np.zeros(1))
    learner.learn(old[0], np.ones(1), None, 0.0)
    learner.depart(new, 2000.0)
    learner.advance(2001.0)
    assert learner.coverage().inverse[0] == pytest.approx(np.diag([0.0, 2.0]))
