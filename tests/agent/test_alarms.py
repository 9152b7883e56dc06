"""What an agent says should be looked at."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import alarms
from benchmarks.alarms import WORLDS
from tests.properties import mostly_slow

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_world_that_changes() -> None:
    agent = make()
    live(agent, 0, 900, rate=0.9)
    assert names(agent) == []
    live(agent, 900, 1015, rate=0.3)
    (alarm,) = agent.alarms()
    assert alarm.name == "drift"
    assert alarm.number < -0.3
    assert "less than expected" in alarm.words


@pytest.mark.parametrize("window", mostly_slow([5.0, None]))
def test_rewards_that_stop_where_nothing_stands_for_them(window: float | None) -> None:
    agent = mogro.Agent([mogro.Objective("sale", window=window)], arms=2, seed=0)
    for n in range(900):
        decision = agent.decide(ARMS, now=float(n))
        if n < 400:
            agent.reward(decision.id, {"sale": float(n % 3 == 0)}, now=float(n))
        if n < 450:
            assert names(agent) == [] or n > 405
    assert names(agent) == ["silence"]


def test_rewards_that_never_came() -> None:
    agent = mogro.Agent([mogro.Objective("sale", window=5.0)], arms=2, seed=0)
    for n in range(40):
        agent.decide(ARMS, now=float(n))
    assert names(agent) == ["silence"]
    assert "any of 35 decisions" in agent.alarms()[0].words


def test_one_arm_for_all() -> None:
    agent = mogro.Agent([mogro.Objective("sale")], arms=2, seed=0)
    for n in range(300):
        decision = agent.decide(ARMS, eligible=[True, n < 150])
        agent.reward(decision.id, {"sale": float(decision.arm == "y")})
    (alarm,) = (alarm for alarm in agent.alarms() if alarm.name == "one arm")
    assert alarm.number > 0.99
    assert "on offer" in alarm.words


@pytest.mark.parametrize("context", [None, 2])
def test_one_arm_that_is_best(context: int | None) -> None:
    agent = mogro.Agent([mogro.Objective("sale")], arms=2, context=context, seed=0)
    rng, chosen, collapsed = np.random.default_rng(0), [], False
    for n in range(600):
        here = None if context is None else rng.random(2)
        decision = agent.decide(ARMS, context=here)
        sale = 0.8 if decision.arm == "y" else 0.2
        agent.reward(decision.id, {"sale": float(rng.random() < sale)})
        chosen.append(decision.arm)
        if n >= 200 and set(chosen[-100:]) == {"y"} and not n % 10:
            collapsed = True
            assert "one arm" not in names(agent)
    assert collapsed


@pytest.mark.slow
def test_uniform_draws_off_their_share() -> None:
    twin, agent = (
        mogro.Agent([mogro.Objective("sale")], arms=2, seed=0, epsilon=0.2) for _ in "12"
    )
    drawn = {n for n in range(500) if twin.decide(ARMS, id=str(n)).uniform}
    for n in range(500):
        if n not in drawn:  # whoever makes the ids leaves some out
            agent.decide(ARMS, id=str(n))
    assert "uniform" in names(agent)
    assert "uniform" not in names(twin)
    other = mogro.Agent([mogro.Objective("sale")], arms=2, seed=0)
    other.learn(twin.log())
    assert "uniform" not in names(other)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clicks 1 %, default", "two objectives"])
def test_false_alarms_are_few(name: str) -> None:
    """50 looks at an agent that is well; benchmarks/alarms.py has more of them."""
    assert not alarms.live(WORLDS[name], seed=0)


@pytest.mark.parametrize(("bound", "raised"), [(2.0, []), (0.5, ["budget"])])
def test_a_budget_out_of_reach(bound: float, raised: list[str]) -> None:
    objectives = [mogro.Objective("sale"), mogro.Objective("cost", direction="min")]
    budgets = [mogro.Budget("cost", at_most=bound)]
    agent = mogro.Agent(objectives, arms=2, seed=0, budgets=budgets)
    rng = np.random.default_rng(0)
    for _ in range(250):
        decision = agent.decide(ARMS)
        cost = (1.0 if decision.arm == "x" else 3.0) + 0.3 * rng.standard_normal()
        agent.reward(decision.id, {"sale": rng.random(), "cost": cost})
    assert [name for name in names(agent) if name == "budget"] == raised
    if raised:
        assert agent.alarms()[0].number == pytest.approx(1.0, abs=0.2)


def test_a_clock_that_is_wrong() -> None:
    agent = make()
    agent.decide(ARMS, now=3.0)
    with pytest.raises(ImplausibleTime):
        agent.decide(ARMS, now=3e9)
    assert [(alarm.name, alarm.number) for alarm in agent.alarms()] == [("clock", 1)]


@pytest.mark.parametrize(("every", "raised"), [(0, 0), (40, 0), (3, 30)])
def test_values_that_an_encoder_does_not_know(tmp_path: Path, every: int, raised: int) -> None:
    stories = mogro.Encoder(topic=mogro.Category("news", "sport"))
    agent = mogro.Agent([mogro.Objective("click")], arms=stories, seed=0)
    for n in range(90):
        topic = "war" if every and not n % every else "news"
        agent.decide({"a": {"topic": topic}})
    assert [(alarm.name, alarm.number) for alarm in agent.alarms()] == [("unknown", raised)][
        :raised
    ]
    agent.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert ("topic: values that the encoder does not know, 30 in the last 90" in page) == (
        raised > 0
    )
    agent.reconfigure(arms=mogro.Encoder(topic=mogro.Category("news", "sport", "war")))
    assert agent.alarms() == ()
