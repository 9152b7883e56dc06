"""Decisions whose arm is shown later, or not at all."""

from pathlib import Path

import numpy as np
import pytest

import mogro
from mogro.agent import UnknownDecision

ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0]}
OBJECTIVES = [
    mogro.Objective("click"),
    mogro.Objective("watch", window=10.0, default=0.0),
]


def make(**options: float | None) -> mogro.Agent:
    return mogro.Agent(OBJECTIVES, arms=2, seed=3, prior=mogro.priors.Flat(), **options)  # type: ignore[arg-type]


def test_windows_begin_when_the_arm_is_shown() -> None:
    agent = make()
    decision = agent.decide(ARMS, activate=False, now=0.0)
    assert agent.expire(now=50.0) == 0
    assert agent.activate(decision.id, now=55.0)
    assert not agent.activate(decision.id, now=56.0)
    assert agent.expire(now=64.9) == 0
    assert agent.reward(decision.id, {"watch": 3.0}, now=64.9).pending == 1
    assert agent.expire(now=65.0) == 1
    assert agent.decision(decision.id).status == {"click": "pending", "watch": "learned"}
    assert agent.decision(decision.id).decision.time == 0.0


def test_rewards_that_come_before_wait() -> None:
    agent = mogro.Agent([mogro.Objective("click")], arms=2, seed=3)
    decision = agent.decide(ARMS, activate=False)
    assert agent.reward(decision.id, {"click": 1.0}).pending == 1
    assert agent.observations == {"click": 0.0}
    assert agent.activate(decision.id)
    assert agent.observations == {"click": 1.0}
    assert agent.reward(decision.id, {"click": 1.0}).repeated == 1


@pytest.mark.parametrize("how", ["activation_timeout", "withdraw"])
def test_what_was_never_shown_teaches_nothing_and_explores_nothing(how: str) -> None:
    """An agent to which it happened goes on like one to which it did not."""
    agent, twin = make(activation_timeout=5.0), make()
    first = agent.decide(ARMS, id="0", activate=False, now=0.0)
    agent.reward(first.id, {"click": 9.0}, now=1.0)
    other = agent.decide(ARMS, id="1", activate=False, now=1.0)
    assert other.arm != first.arm  # which is in flight
    if how == "withdraw":
        assert agent.withdraw(first.id) == agent.withdraw(other.id) == 2
        assert agent.withdraw(first.id) == 0
        agent.expire(now=6.0)
    else:
        assert agent.expire(now=4.9) == 0
        assert agent.expire(now=6.0) == 4
    assert set(agent.decision(first.id).status.values()) == {"withdrawn"}
    assert agent.counters["withdrawn"] == 4
    assert agent.counters["pending"] == 0
    assert not agent.activate(first.id, now=6.0)
    assert agent.reward(first.id, {"watch": 1.0}, now=6.0).late == 1
    for n in range(20):
        made, same = (one.decide(ARMS, id=f"v{n}", now=7.0 + n) for one in (agent, twin))
        assert (made.arm, made.exploring) == (same.arm, same.exploring)
        for one in (agent, twin):
            one.reward(made.id, {"click": float(n % 3), "watch": 1.0}, now=7.0 + n)
    assert agent.theta == pytest.approx(twin.theta, abs=1e-12)
    assert agent.observations == twin.observations


def test_what_was_learned_before_stays() -> None:
    agent = make()
    decision = agent.decide(ARMS, now=0.0)
    agent.reward(decision.id, {"click": 2.0}, now=1.0)
    assert agent.withdraw(decision.id, now=2.0) == 1
    assert agent.decision(decision.id).status == {"click": "learned", "watch": "withdrawn"}
    assert agent.observations == {"click": 1.0, "watch": 0.0}


def test_several_at_once_and_a_snapshot(tmp_path: Path) -> None:
    agent = make(activation_timeout=5.0)
    shown, hidden = agent.decide_top(ARMS, top=2, activate=False, now=0.0)
    agent.activate(shown.id, now=3.0)
    agent.save(tmp_path / "agent")
    again = mogro.Agent.load(tmp_path / "agent")
    for one in (agent, again):
        assert one.expire(now=5.0) == 2
        assert set(one.decision(hidden.id).status.values()) == {"withdrawn"}
        assert one.expire(now=12.9) == 0
        assert one.expire(now=13.0) == 1
    for one, name in ((agent, "one"), (again, "two")):
        one.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_refusals(tmp_path: Path) -> None:
    agent = make(activation_timeout=5.0)
    for call in (agent.activate, agent.withdraw):
        with pytest.raises(UnknownDecision, match="'nobody'"):
            call("nobody", now=1.0)
        with pytest.raises(ValueError, match="id: expected"):
            call(3, now=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="now: expected the time"):
        make(clock=None).activate("nobody")
    with pytest.raises(ValueError, match="activate: expected True or False"):
        agent.decide(ARMS, activate=1, now=0.0)  # type: ignore[arg-type]
    for bad in (0.0, -1.0, np.nan, "long"):
        with pytest.raises(ValueError, match="activation_timeout"):
            make(activation_timeout=bad)  # type: ignore[arg-type]
    plain = mogro.Agent(
        [mogro.Objective("click")], arms=2, seed=3, activation_timeout=5.0, clock=None
    )
    with pytest.raises(ValueError, match="now: expected the time"):
        plain.decide(ARMS, activate=False)


def test_a_journal_keeps_it(tmp_path: Path) -> None:
    with mogro.Agent.open(
        tmp_path / "a.db", OBJECTIVES, arms=2, seed=1, activation_timeout=5.0
    ) as agent:
        ids = [agent.decide(ARMS, activate=False, now=0.0).id for _ in range(3)]
        agent.activate(ids[0], now=1.0)
        agent.withdraw(ids[1], now=1.0)
        agent.observe(ARMS, arm="y", rewards={"click": 1.0}, id="theirs", now=6.0)
        agent.save(tmp_path / "one")
        log = agent.log().to_pylist()
    with mogro.Agent.open(tmp_path / "a.db") as agent:
        agent.save(tmp_path / "two")
        assert agent.log().to_pylist() == log
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    status = [row["status_click"] for row in log]
    assert status == ["pending", "withdrawn", "withdrawn", "learned"]
