"""Where the time comes from, and which times are believed."""

import copy
from itertools import count
from pathlib import Path

import pytest
from tests.agent.replaying import replayed

import mogro
from mogro.agent import ImplausibleTime
from mogro.agent.events import Event

SALE = mogro.Objective("sale", window=10.0, default=0.0)
ARMS = {"x": [1.0]}


def test_without_now_the_clock_tells_the_time(tmp_path: Path) -> None:
    events: list[Event] = []
    ticks = count(1_000.0, 4.0)
    agent = mogro.Agent([SALE], arms=1, seed=0, clock=lambda: next(ticks), on_event=events.append)
    first = agent.decide(ARMS)
    assert first.time == 1_000.0
    assert agent.reward(first.id, {"sale": 1.0}).pending == 1  # 1004
    agent.decide(ARMS)  # 1008
    assert agent.expire() == 1  # 1012
    agent.save(tmp_path / "saved")
    replayed(agent, events, tmp_path / "replayed")  # which asks no clock
    assert (tmp_path / "saved").read_bytes() == (tmp_path / "replayed").read_bytes()


def test_an_agent_without_windows_asks_no_clock() -> None:
    def broken() -> float:
        raise AssertionError

    agent = mogro.Agent([mogro.Objective("sale")], arms=1, seed=0, clock=broken)
    decision = agent.decide(ARMS)
    agent.reward(decision.id, {"sale": 1.0})
    assert decision.time == 0.0
    assert agent.observations == {"sale": 1.0}


def test_the_clock_of_the_machine_is_the_default(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", [SALE], arms=1, seed=0) as agent:
        first = agent.decide(ARMS)
        assert agent.reward(first.id, {"sale": 1.0}).pending == 1
        assert 1.7e9 < first.time < 1e11
        assert copy.copy(agent).decide(ARMS).time >= first.time
        with pytest.raises(ImplausibleTime, match="now: expected at most 1000"):
            agent.decide(ARMS, now=3.0)  # seconds since the start of something


def test_one_wrong_clock_closes_no_window() -> None:
    agent = mogro.Agent([SALE], arms=1, seed=0)
    for n in range(300):
        t = float(n)
        decision = agent.decide(ARMS, now=t)
        if n % 7 == 5:
            for call in (
                lambda t=t, made=decision.id: agent.reward(made, {"sale": 1.0}, now=(t + 3) * 1000),
                lambda t=t: agent.decide(ARMS, now=(t + 3) * 1000),
                lambda t=t: agent.decide_top(ARMS, top=1, now=(t + 3) * 1000),
                lambda t=t: agent.probabilities(ARMS, now=(t + 3) * 1000),
                lambda t=t: agent.observe(ARMS, arm="x", now=(t + 3) * 1000),
                lambda t=t, made=decision.id: agent.withdraw(made, now=(t + 3) * 1000),
                lambda t=t: agent.expire((t + 3) * 1000),
            ):
                before = agent.counters
                with pytest.raises(ImplausibleTime, match="now: expected at most 1000"):
                    call()
                assert agent.counters == before
        agent.reward(decision.id, {"sale": 1.0}, now=t + 3)
    agent.expire(400.0)
    assert agent.counters["defaulted"] == agent.counters["late"] == 0
    assert agent.estimate(ARMS).values[0, 0] == pytest.approx(1.0)


def test_a_pause_is_confirmed() -> None:
    agent = mogro.Agent([SALE], arms=1, seed=0, max_step=50.0)
    agent.decide(ARMS, now=0.0)
    with pytest.raises(ImplausibleTime, match=r"agent.expire\(51.0, confirm=True\)"):
        agent.decide(ARMS, now=51.0)
    assert agent.expire(51.0, confirm=True) == 1
    assert agent.decide(ARMS, now=52.0).time == 52.0
    with pytest.raises(ImplausibleTime, match=r"before 52.0, the latest time so far, got 1.0"):
        agent.decide(ARMS, now=1.0)


def test_the_agents_own_clock_is_believed_after_a_pause_of_up_to_a_year() -> None:
    day = 86400.0
    times = iter([0.0, 300 * day, 1000 * day])
    agent = mogro.Agent([SALE], arms=1, seed=0, clock=lambda: next(times))
    agent.decide(ARMS)
    assert agent.decide(ARMS).time == 300 * day
    with pytest.raises(ImplausibleTime):
        agent.decide(ARMS)


def test_what_a_step_is_measured_by() -> None:
    def step(*objectives: mogro.Objective, **options: object) -> float:
        agent = mogro.Agent(objectives, arms=1, seed=0, **options)  # type: ignore[arg-type]
        return agent.config.max_time_step

    hour = mogro.Objective("a", window=3600.0)
    assert step(hour, SALE, half_life=mogro.HalfLife(time=1e9)) == 100 * 3600.0
    assert step(mogro.Objective("a"), half_life=mogro.HalfLife(time=20.0)) == 2000.0
    assert step(mogro.Objective("a")) == float("inf")
    assert step(hour, max_step=7) == 7.0
    for bad in (0, -1.0, float("nan"), "long"):
        with pytest.raises(ValueError, match="max_step: expected a finite number"):
            step(hour, max_step=bad)
    with pytest.raises(ValueError, match=r"clock: expected a function like time.time"):
        step(hour, clock=3.0)
    with pytest.raises(ValueError, match="clock: expected a finite number, got 'noon'"):
        mogro.Agent([SALE], arms=1, seed=0, clock=lambda: "noon").decide(ARMS)  # type: ignore[arg-type, return-value]


def test_a_first_time_in_another_unit_than_the_clock() -> None:
    sale = mogro.Objective("sale", window=9.0)
    for unit in (1e3, 1e6, 1e9):
        agent = mogro.Agent([sale], arms=1, seed=0, clock=lambda: 1.7e9)
        with pytest.raises(ImplausibleTime, match="expected the unit of the clock"):
            agent.decide({"a": [1.0]}, now=1.7e9 * unit)
        assert agent.counters["decisions"] == 0
        agent.decide({"a": [1.0]}, now=1.7e9 + 3.0)
    for clock in (None, lambda: 1.7e12):
        agent = mogro.Agent([sale], arms=1, seed=0, clock=clock)
        agent.decide({"a": [1.0]}, now=1.7e12)
    mogro.Agent([sale], arms=1, seed=0).decide({"a": [1.0]}, now=3.0)


def test_to_look_at_windows_that_close_changes_no_block() -> None:
    """A snapshot writes blocks that events have changed, and these only."""
    agent = mogro.Agent([mogro.Objective("sale", window=9.0, default=0.0)], arms=1, seed=0)
    agent.decide({"a": [1.0]}, now=0.0)
    agent.expire(1.0)
    ledger = agent.freeze().ledger
    agent.probabilities({"a": [1.0]}, now=20.0)
    assert agent.freeze().ledger.versions == ledger.versions == [1]
    assert agent.freeze().ledger.blocks[0] is ledger.blocks[0]
