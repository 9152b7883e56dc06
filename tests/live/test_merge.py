from functools import partial

import numpy as np
import pytest
from tests.live.stories import ARMS, OBJECTIVES, go_on, lived

import mogro
from mogro.live import CannotMerge


def pairs(half_life: mogro.HalfLife | None) -> tuple[mogro.Agent, mogro.Agent]:
    return lived(seed=1, half_life=half_life), lived(seed=2, half_life=half_life, rounds=90)


@pytest.mark.parametrize(
    "half_life", [None, mogro.HalfLife(updates=30.0), mogro.HalfLife(time=40.0)]
)
def test_the_merged_agent_knows_what_both_know(half_life: mogro.HalfLife | None) -> None:
    one, two = pairs(half_life)
    reverse_one, reverse_two = pairs(half_life)
    counted = {name: one.counters[name] + two.counters[name] for name in one.counters}
    before, shown = two.theta, repr(two)
    one.merge(two)
    reverse_two.merge(reverse_one)
    assert one.theta == pytest.approx(reverse_two.theta, rel=1e-9)
    assert one.observations == pytest.approx(reverse_two.observations)
    assert (two.theta == before).all()  # the other stays as it is
    assert repr(two) == shown
    after = one.counters
    for name in ("decisions", "explored", "learned", "late", "withdrawn", "defaulted", "pending"):
        assert after[name] == counted[name]
    assert after["completed"] == 40  # the capacity holds
    go_on(one, start=120, rounds=50)


def test_the_sums_of_both_make_the_estimates() -> None:
    rng = np.random.default_rng(0)
    whole, one, two = (mogro.Agent(OBJECTIVES[:1], dim=3, seed=s) for s in range(3))
    for n in range(60):
        x, y = rng.standard_normal(3), rng.standard_normal()
        for agent in (whole, (one, two)[n % 2]):
            agent.decide({"x": x}, id=str(n))
            agent.reward(str(n), {"click": y})
    one.merge(two)
    assert one.theta == pytest.approx(whole.theta, abs=1e-10)
    assert one._desk.books.learner.noise == pytest.approx(whole._desk.books.learner.noise)


def test_pending_decisions_move_over() -> None:
    one, two = (mogro.Agent(OBJECTIVES, dim=3, seed=s) for s in (1, 2))
    mine = one.decide(ARMS, now=0.0)
    theirs = two.decide(ARMS, now=1.0)
    one.merge(two)
    assert one.decide(ARMS, id=theirs.id, now=9.0) == theirs
    assert one.reward(theirs.id, {"click": 1.0}, now=9.0).learned == 1
    assert one.reward(mine.id, {"click": 1.0}, now=9.0).learned == 1
    assert one.expire(now=1000.0) == 4


def test_decisions_in_flight_on_either_side_count_for_exploration() -> None:
    objectives = [mogro.Objective("click")]
    one, two = (mogro.Agent(objectives, dim=2, seed=s) for s in (1, 2))
    one.decide({"a": [1.0, 0.0]})
    two.decide({"b": [0.0, 1.0]})
    for _ in range(3):  # the second is over with exploring, and keeps no sums any more
        two.decide({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    one.merge(two)
    assert not one.decide({"a": [1.0, 0.0], "b": [0.0, 1.0]}).exploring
    assert one.decide({"a": [9.0, 0.0], "b": [0.0, 9.0]}).arm in "ab"


def test_refusals_leave_both_as_they_are() -> None:
    one, two = pairs(None)
    twin = mogro.Agent(OBJECTIVES[:1], dim=2, seed=5)
    clash = mogro.Agent(OBJECTIVES[:1], dim=2, seed=5)
    twin.decide({"a": [1.0, 2.0]})
    clash.decide({"a": [1.0, 2.0]})
    shown = repr(one), repr(twin)
    for mine, theirs, reason in (
        (one, one, "past"),
        (one, twin, "differs in"),
        (one, lived(seed=3, half_life=mogro.HalfLife(updates=9.0)), "half_life"),
        (twin, clash, "different seeds"),
        (twin, mogro.Agent(OBJECTIVES[:1], dim=2, seed=1, policy=mogro.EpsilonGreedy), "policy"),
    ):
        with pytest.raises(CannotMerge, match=reason):
            mine.merge(theirs)
    assert (repr(one), repr(twin)) == shown
    one.merge(two)
    with pytest.raises(CannotMerge, match="past"):
        one.merge(two)
    third = lived(seed=9, rounds=10)
    third.merge(one)
    with pytest.raises(CannotMerge, match="past"):
        third.merge(two)  # it came with the first


def test_a_copy_is_refused(tmp_path: object) -> None:
    from pathlib import Path

    agent = lived(rounds=20)
    path = Path(str(tmp_path)) / "agent"
    agent.save(path)
    agent.forget(before=100.0)
    with pytest.raises(CannotMerge, match="past"):
        agent.merge(mogro.Agent.load(path))


def test_policies_with_widths_merge_too() -> None:
    make = partial(mogro.UCB, noise=0.1, delta=0.1, ridge=0.5)
    rng = np.random.default_rng(0)
    whole, one, two = (mogro.Agent(OBJECTIVES[:1], dim=3, seed=s, policy=make) for s in range(3))
    for n in range(30):
        x = rng.standard_normal(3)
        for agent in (whole, (one, two)[n % 2]):
            agent.decide({"x": x}, id=str(n))
            agent.reward(str(n), {"click": float(n)})
    one.merge(two)
    assert one.theta == pytest.approx(whole.theta, abs=1e-9)
