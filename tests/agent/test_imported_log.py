"""The past of another agent, again and again as it goes on, with other encoders and objectives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.test_reconfigure import FIRST, OBJECTIVES, USERS, WIDER, live, make, stories

import mogro

WIDE = mogro.Encoder(price=mogro.Number(3.0, 0.5), topic=WIDER, size=mogro.Number())
OTHER: dict[str, dict[str, Any]] = {
    "the same": {},
    "encoders": {"arms": WIDE, "context": mogro.Encoder(country=mogro.Category("XX", "DE"))},
    "interactions": {"interactions": [("price", "country")]},
    "no context": {"context": None},
    "the default prior": {"prior": None},
    "a half-life": {"half_life": mogro.HalfLife(time=30.0)},
    "a half-life in updates": {"half_life": mogro.HalfLife(updates=12.0)},
}


def assert_known(agent: mogro.Agent, other: mogro.Agent) -> None:
    """Expect the same sums, in flight too, and the same outcomes."""
    mine, theirs = (each._state.learner for each in (agent, other))
    for name in ("n", "V", "b", "y2"):
        one, two = (getattr(each.observed, name).squeeze() for each in (mine, theirs))
        one, two = np.broadcast_arrays(one, two)
        assert one == pytest.approx(two, rel=1e-9, abs=1e-9), name
    for name in agent._state.objective_set.names:
        for column in (f"reward_{name}", f"status_{name}"):
            assert agent.log()[column].to_pylist() == other.log()[column].to_pylist()
    assert agent.counters["pending"] == other.counters["pending"]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        # Every one of both in the fast tests, every pair in all.
        pytest.param(name, way, marks=() if (place + turn) % 3 == 0 else pytest.mark.slow)
        for place, name in enumerate(OTHER)
        for turn, way in enumerate(("agent", "path", "log"))
    ],
)
def test_again_and_again_as_the_old_one_goes_on(name: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with mogro.Agent.open(path, OBJECTIVES, **FIRST) as old:
        new, expected = make(**OTHER[name]), make(**OTHER[name])
        for start, rounds, brought in ((0, 30, 30), (30, 0, 0), (30, 20, None), (50, 30, None)):
            live(old, start, rounds)
            past: Any = {"agent": old, "path": path, "log": None}[way]
            taken = new.learn(old.log() if past is None else past)
            assert brought is None or taken == brought
            assert new.learn(old) == 0
            live(expected, start, rounds)
            assert_known(new, expected)
        old.expire(100.0)
        new.learn(old)
        expected.expire(100.0)
        assert_known(new, expected)


@pytest.mark.parametrize("half_life", [None, mogro.HalfLife(updates=4.0)])
def test_what_comes_late_there_corrects_here_too(half_life: mogro.HalfLife | None) -> None:
    old, new = make(half_life=half_life), make(half_life=half_life)
    live(old, 0, 10)
    old.expire(60.0)
    new.learn(old)
    assert new.decision("8").status["click"] == "defaulted"
    old.reward("8", {"click": 1.0, "read": 30.0}, now=61.0)
    old.reward("4", {"click": 1.0}, now=62.0)
    assert new.learn(old) == 2
    assert_known(new, old)
    assert new.learn(old) == 0


def test_rewards_that_came_here_stay_and_conflicts_are_refused() -> None:
    old, new = make(), make()
    live(old, 0, 10)
    new.learn(old)
    new.reward("8", {"click": 1.0, "read": 90.0}, now=10.0)
    assert new.learn(old) == 0
    old.reward("8", {"click": 0.0}, now=11.0)
    old.expire(60.0)
    before = new.counters
    live(old, 70, 3)
    with pytest.raises(ValueError, match=r"decision '8': its reward_click is 1.0 here"):
        new.learn(old)
    assert new.counters == before


def test_withdrawn_and_activated_later() -> None:
    old, new = make(), make()
    for id in ("shown", "unseen", "waiting"):
        old.decide(stories(0), context={}, id=id, activate=False, now=0.0)
    old.activate("shown", now=15.0)
    new.learn(old)
    old.withdraw("unseen")
    for agent in (old, new):
        agent.expire(30.0)
    assert new.decision("shown").status == old.decision("shown").status
    new.learn(old)
    for agent in (old, new):
        agent.expire(35.0)
    for id in ("shown", "unseen", "waiting"):
        assert new.decision(id).status == old.decision(id).status, id


def test_features_that_nothing_tells() -> None:
    old = mogro.Agent(OBJECTIVES, arms=2, context=1, seed=0)
    old.observe({"a": [1.0, 2.0]}, arm="a", context=[1.0], id="1", now=0.0)
    old.observe({"a": [1.0, 2.0]}, arm="a", context=[3.0], id="2", now=0.0)
    narrow = mogro.Agent(OBJECTIVES, arms=1, seed=0)
    assert narrow.learn(old) == 2
    wide = mogro.Agent(OBJECTIVES, arms=3, context=1, seed=0)
    with pytest.raises(ValueError, match=r"2 decisions have none, and nothing says what \['arm 2'"):
        wide.learn(old)
    assert wide.counters["decisions"] == 0
    records = make()
    live(records, 0, 5)
    wrong = make(arms=mogro.Encoder(topic=mogro.Number()))
    with pytest.raises(ValueError, match="log: expected columns that read all records so far"):
        wrong.learn(records)
    with pytest.raises(ValueError, match="expected a table that agent"):
        wrong.learn(3)
    with pytest.raises(mogro.errors.JournalError):
        wrong.learn("nowhere.db")


def test_objectives_of_other_units_and_names() -> None:
    old = make()
    live(old, 0, 40)
    old.expire(100.0)
    likes = mogro.Objective("likes")
    click = replace(OBJECTIVES[0], unit=0.5, default=None)
    new = mogro.Agent([likes, click], arms=WIDE, context=USERS, seed=1)
    assert new.learn(old) == 40
    assert new.observations == {"likes": 0.0, "click": old.observations["click"]}


def test_an_export_is_learned_by_its_folder_or_its_file(tmp_path: Path) -> None:
    old = mogro.Agent([mogro.Objective("click")], arms=1, seed=0)
    for n in range(5):
        old.reward(old.decide({"a": [1.0]}, id=f"v{n}").id, {"click": float(n % 2)})
    file = old.export(tmp_path / "log")
    for path in (file, str(file.parent)):
        new = mogro.Agent([mogro.Objective("click")], arms=1, seed=1)
        assert new.learn(path) == 5
        assert_known(new, old)
    with pytest.raises(ValueError, match="expected a file, got a folder"):
        new.learn(tmp_path)
