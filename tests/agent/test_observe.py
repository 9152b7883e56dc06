"""Decisions that somebody else has made."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.stories import retire

import mogro

FEATURES = np.random.default_rng(2).standard_normal((6, 3))
ARMS = dict(zip("abcdef", FEATURES, strict=True))
OBJECTIVES = [mogro.Objective("x"), mogro.Objective("y", direction="min", unit=2.0)]


def make(**options: float) -> mogro.Agent:
    return mogro.Agent(OBJECTIVES, arms=3, seed=1, **options)  # type: ignore[arg-type]


def test_an_apprentice_knows_what_its_master_knows() -> None:
    master, apprentice = make(), make()
    rng = np.random.default_rng(0)
    for n in range(60):
        decision = master.decide(ARMS, id=str(n))
        rewards = {"x": rng.random(), "y": rng.random()}
        master.reward(decision.id, rewards)
        if n % 2:
            apprentice.observe(ARMS, arm=decision.arm, rewards=rewards, id=str(n))
        else:
            apprentice.observe(ARMS, arm=decision.arm, id=str(n))
            apprentice.reward(str(n), rewards)
    assert apprentice.theta == pytest.approx(master.theta, abs=1e-12)
    assert apprentice.counters["observed"] == apprentice.counters["decisions"] == 60
    assert apprentice.decide(ARMS, id="60").arm == master.decide(ARMS, id="60").arm


def test_the_log_says_who_decided(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", OBJECTIVES, arms=3, seed=1) as agent:
        agent.decide(ARMS, id="mine")
        agent.observe(ARMS, arm="b", propensity=0.25, id="told", rewards={"x": 1.0})
        agent.observe(ARMS, arm="c", id="unknown", eligible=[False, *[True] * 5])
        agent.save(tmp_path / "one")
    with mogro.Agent.open(tmp_path / "a.db") as agent:
        mine, told, unknown = agent.log().to_pylist()
        assert [row["observed"] for row in (mine, told, unknown)] == [False, True, True]
        assert (told["propensity"], told["propensity_error"]) == (0.25, 0.0)
        assert unknown["propensity"] is None
        assert unknown["offered"] == list("bcdef")
        assert mine["propensity"] > 0
        assert agent.decision("told").decision.propensity == 0.25
        assert np.isnan(agent.decision("unknown").decision.propensity)
        agent.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_refusals() -> None:
    agent = make()
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm, got 'z'"):
        agent.observe(ARMS, arm="z")
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm"):
        agent.observe(ARMS, arm="a", eligible=[False, *[True] * 5])
    with pytest.raises(ValueError, match="propensity"):
        agent.observe(ARMS, arm="a", propensity=1.5)
    with pytest.raises(ValueError, match="propensity: expected a number above 0"):
        agent.observe(ARMS, arm="a", propensity=0.0)
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm"):
        agent.observe(ARMS, arm=np.array(["a", "b"]))  # type: ignore[arg-type]
    with pytest.raises(mogro.agent.BadReward, match="rewards: expected a finite number"):
        agent.observe(ARMS, arm="a", rewards={"x": np.nan})
    with pytest.raises(mogro.agent.UnknownObjective, match="rewards: expected objectives"):
        agent.observe(ARMS, arm="a", rewards={"z": 1.0})
    with pytest.raises(ValueError, match="rewards: expected a mapping"):
        agent.observe(ARMS, arm="a", rewards=0)  # type: ignore[arg-type]
    assert agent.counters["decisions"] == 0
    agent.observe(ARMS, arm="a", rewards={"x": 1.0}, id="one")
    agent.observe(ARMS, arm="a", rewards={"x": 1.0}, id="one")
    with pytest.raises(mogro.agent.ConflictingReward):
        agent.observe(ARMS, arm="a", rewards={"x": 2.0}, id="one")
    assert agent.counters["decisions"] == 1
    assert agent.observations == {"x": 1.0, "y": 0.0}


def test_rewards_are_read_by_the_objectives_of_the_moment(monkeypatch: Any) -> None:
    objectives = [mogro.Objective("a"), mogro.Objective("b")]
    agent = mogro.Agent(objectives, arms=1, seed=0)
    read = agent._read

    def retiring(*args: Any, **kwargs: Any) -> Any:
        asked = read(*args, **kwargs)
        monkeypatch.setattr(agent, "_read", read)
        retire(agent, "b")
        return asked

    monkeypatch.setattr(agent, "_read", retiring)
    with pytest.raises(ValueError, match="'b'"):
        agent.observe({"x": [1.0]}, arm="x", rewards={"b": 1.0}, id="o")
    with pytest.raises(mogro.errors.UnknownDecision):
        agent.decision("o")
