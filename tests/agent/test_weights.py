"""The trade-off that is set while an agent is running."""

from pathlib import Path

import numpy as np
import pytest
from tests.agent.replaying import replayed
from tests.agent.stories import add, retire

import mogro
from mogro.agent.events import Event, Reconfigured

OBJECTIVES = [mogro.Objective("click"), mogro.Objective("read", unit=60.0)]
ARMS = {"short": [1.0, 0.0], "long": [0.0, 1.0]}


def taught(agent: mogro.Agent) -> mogro.Agent:
    for n in range(20):
        arm = "short" if n % 2 else "long"
        values = {"click": 1.0, "read": 10.0} if n % 2 else {"click": 0.2, "read": 600.0}
        agent.observe(ARMS, arm=arm, rewards=values)
    return agent


def test_decisions_without_weights_go_by_those_that_were_set(tmp_path: Path) -> None:
    events: list[Event] = []
    agent = taught(mogro.Agent(OBJECTIVES, arms=2, seed=0, on_event=events.append))
    for weights, arm in (({"click": 1}, "short"), ([0, 2.0], "long"), ({"click": 9.0}, "short")):
        agent.set_weights(weights)
        assert {agent.decide(ARMS).arm for _ in range(5)} == {arm}
        assert agent.probabilities(ARMS).values.max() == 1.0
        given = agent.decide(ARMS, weights=[1, 0] if arm == "long" else [0, 1])
        assert given.arm != arm
    assert agent.weights == {"click": 9.0, "read": 0.0}
    agent.save(tmp_path / "saved")
    assert mogro.Agent.load(tmp_path / "saved").weights == agent.weights
    replayed(mogro.Agent(OBJECTIVES, arms=2, seed=0), events, tmp_path / "replayed")
    assert (tmp_path / "saved").read_bytes() == (tmp_path / "replayed").read_bytes()
    agent.set_weights(None)
    assert agent.weights is None
    assert (
        len({tuple((agent.decide(ARMS).weights or {}).values()) for _ in range(9)}) > 3
    )  # drawn again


def test_a_journal_has_their_history_and_others_follow(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    keep = mogro.Retention(decisions=3)
    options = {"arms": 2, "seed": 0, "retention": keep, "snapshot_every": 10}
    with (
        mogro.Agent.open(path, OBJECTIVES, **options) as agent,  # type: ignore[arg-type]
        mogro.Agent.open(path) as other,
    ):
        agent.set_weights({"click": 1})
        taught(agent)
        assert {other.decide(ARMS).arm for _ in range(5)} == {"short"}
        other.set_weights({"read": 1})
        made = agent.decide(ARMS, id="last")
        assert made.arm == "long"
        assert agent.decision("last").decision.propensity == made.propensity == 1.0
        assert agent.log()["propensity"].to_pylist()[-1] == 1.0
    with mogro.Agent.open(path, OBJECTIVES, **options) as agent:  # type: ignore[arg-type]
        assert agent.weights == {"click": 0.0, "read": 1.0}
        history = [
            event.changes["weights"]
            for _, event in agent.events()
            if isinstance(event, Reconfigured)
        ]
        assert history == [{"click": 1.0, "read": 0.0}, {"click": 0.0, "read": 1.0}]
        add(agent, mogro.Objective("share"))
        assert agent.weights == {"click": 0.0, "read": 1.0, "share": 0.0}
        retire(agent, "read")
        assert agent.weights is None


def test_refusals() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0)
    for bad in ({"likes": 1}, {"click": -1}, [0, 0], [1, 2, 3], {"click": np.nan}, {}):
        with pytest.raises(ValueError, match="weights: expected"):
            agent.set_weights(bad)
        with pytest.raises(ValueError, match="weights: expected"):
            agent.reconfigure(weights=bad)  # type: ignore[arg-type]
    assert agent.weights is None
    agent.reconfigure(weights={"read": 2})
    assert agent.weights == {"click": 0.0, "read": 2.0}
    assert not agent.reconfigure(weights={"read": 2.0}).changes
