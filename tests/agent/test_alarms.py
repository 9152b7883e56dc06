"""What an agent says should be looked at."""

import numpy as np
import pytest

import mogro
from mogro.agent import ImplausibleTime

SALE = mogro.Objective("sale", window=10.0, default=0.0)
ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0]}


def live(
    agent: mogro.Agent, start: int, stop: int, *, rate: float = 0.5, delay: float = 1.0
) -> None:
    rng = np.random.default_rng(start)
    mail = []
    for n in range(start, stop):
        decision = agent.decide(ARMS, now=float(n))
        if rng.random() < rate:
            mail.append((n + delay, decision.id))
        for arrival, id in [each for each in mail if each[0] <= n]:
            agent.reward(id, {"sale": 1.0}, now=arrival)
        mail = [each for each in mail if each[0] > n]


def names(agent: mogro.Agent) -> list[str]:
    return [alarm.name for alarm in agent.alarms()]


def make(**options: float) -> mogro.Agent:
    return mogro.Agent([SALE], arms=2, seed=0, epsilon=0.2, **options)  # type: ignore[arg-type]


def test_a_healthy_agent_raises_no_alarm() -> None:
    agent = make()
    assert agent.alarms() == ()
    for start in range(0, 600, 60):
        live(agent, start, start + 60)
        assert agent.alarms() == ()


def test_rewards_that_stop() -> None:
    agent = make()
    live(agent, 0, 400)
    live(agent, 400, 520, rate=0.0)
    assert names(agent)[0] == "silence"
    assert agent.alarms()[0].number > 90
    assert "sale: no reward for the last" in agent.alarms()[0].words


def test_rewards_that_come_late() -> None:
    agent = make()
    live(agent, 0, 100)
    live(agent, 100, 200, delay=30.0)
    assert "late" in names(agent)


def test_a_world_that_changes() -> None:
    agent = make()
    live(agent, 0, 900, rate=0.9)
    assert names(agent) == []
    live(agent, 900, 1015, rate=0.3)
    (alarm,) = agent.alarms()
    assert alarm.name == "drift"
    assert alarm.number < -0.3
    assert "less than expected" in alarm.words


def test_one_arm_for_all() -> None:
    agent = mogro.Agent([mogro.Objective("sale")], arms=2, seed=0)
    for n in range(300):
        decision = agent.decide(ARMS, eligible=[True, n < 150])
        agent.reward(decision.id, {"sale": float(decision.arm == "y")})
    assert "one arm" in names(agent)


def test_a_clock_that_is_wrong() -> None:
    agent = make()
    agent.decide(ARMS, now=3.0)
    with pytest.raises(ImplausibleTime):
        agent.decide(ARMS, now=3e9)
    assert [(alarm.name, alarm.number) for alarm in agent.alarms()] == [("clock", 1)]
