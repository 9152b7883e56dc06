"""Rewards that come after their window correct what was learned, as if they had come in time."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.stories import add
from tests.properties import examples

import mogro
from mogro.agent import Outcome
from mogro.agent.report import HeldDecisions
from mogro.priors import Prior

Revise = Literal["last", "max"] | None
ARMS = {"x": [1.0, 0.3], "y": [0.2, 1.0], "z": [-1.0, 0.7]}
HALF_LIVES = [None, mogro.HalfLife(time=20.0), mogro.HalfLife(updates=9.0)]


def make(objectives: list[mogro.Objective], **options: Any) -> mogro.Agent:
    return mogro.Agent(objectives, arms=2, seed=0, **({"prior": mogro.priors.Flat()} | options))


def assert_equal(late: mogro.Agent, prompt: mogro.Agent) -> None:
    """Expect that both know the same of everything, but for how often something was corrected."""
    known, wanted = (agent._state.learner for agent in (late, prompt))
    assert known.observed.y2.ravel() == pytest.approx(wanted.observed.y2.ravel(), rel=1e-9)
    for sums in ("n", "V", "b"):
        got, expected = (getattr(each.observed, sums) for each in (known, wanted))
        got, expected = np.broadcast_arrays(got, expected)
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9), sums
    flying, expected = (each.pending.counts.tolist() for each in (known, wanted))
    assert flying == expected
    V, expected = (each.pending.V for each in (known, wanted))
    assert pytest.approx(expected, rel=1e-9, abs=1e-9) == V
    columns = [n for n in late.log().column_names if n.startswith(("reward_", "status_"))]
    assert late.log().select(columns).to_pylist() == prompt.log().select(columns).to_pylist()
    counted = [
        {n: agent.counters[n] for n in ("learned", "defaulted", "missing", "unmet", "pending")}
        for agent in (late, prompt)
    ]
    assert counted[0] == counted[1]


# The transition table: what stood there, what comes late, and what it makes of it. `dwell` is given
# `click`, whose window is 10; its own is 5 or 60. Learned early: (time, value), late: the same.
CLICK = {"window": 10.0, "default": 0.0}
CELLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, float], dict[str, float]]] = {
    "a default that was true stays": (CLICK, {"window": 5.0}, {}, {"click": 0.0}),
    "a default becomes a value": (CLICK, {"window": 5.0}, {}, {"click": -1.0}),
    "a default, and its condition is met": (CLICK, {"window": 5.0}, {"dwell": 3.0}, {"click": 1.0}),
    "met, but no value": (CLICK, {"window": 5.0}, {}, {"click": 1.0}),
    "met, by a default": (CLICK, {"window": 5.0, "default": 2.0}, {}, {"click": 1.0}),
    "met, and waited for again": (CLICK, {"window": 60.0}, {}, {"click": 1.0}),
    "met, and at its close": (CLICK, {"window": 60.0, "default": 2.0}, {}, {"click": 1.0}),
    "missing becomes a value": ({"window": 10.0}, {"window": 5.0}, {}, {"click": 0.0}),
    "missing, and its condition is met": (
        {"window": 10.0},
        {"window": 5.0},
        {"dwell": 3.0},
        {"click": 1.0},
    ),
    "both come late": (CLICK, {"window": 5.0}, {}, {"click": 1.0, "dwell": 4.0}),
    "revised, the last": (
        CLICK | {"revise": "last"},
        {"window": 5.0},
        {"click": 1.0, "dwell": 2.0},
        {"click": 3.0},
    ),
    "revised, and no longer met": (
        CLICK | {"revise": "last"},
        {"window": 5.0},
        {"click": 1.0, "dwell": 2.0},
        {"click": 0.0},
    ),
    "no longer met while waited for": (
        CLICK | {"revise": "last"},
        {"window": 60.0},
        {"click": 1.0},
        {"click": 0.0},
    ),
    "revised, a larger one": (
        CLICK | {"revise": "max"},
        {"window": 5.0},
        {"click": 1.0},
        {"click": 2.0},
    ),
    "revised, a smaller one counts not": (
        CLICK | {"revise": "max"},
        {"window": 5.0},
        {"click": 2.0},
        {"click": 1.0},
    ),
    "a condition that is not met all the same": (
        CLICK,
        {"window": 5.0},
        {"click": 0.0},
        {"dwell": 4.0},
    ),
}


@pytest.mark.parametrize("prior", [mogro.priors.Flat(), mogro.priors.Fixed(0.1)], ids=["", "fixed"])
@pytest.mark.parametrize("half_life", HALF_LIVES, ids=["", "time", "updates"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_late_value_does_what_one_in_time_would_have_done(
    cell: str, half_life: mogro.HalfLife | None, prior: Prior
) -> None:
    first, second, early, late = CELLS[cell]
    objectives = [
        mogro.Objective("dwell", given="click", unit=2.0, offset=1.0, **second),
        mogro.Objective("click", **first),
        mogro.Objective("price", direction="min", window=7.0, default=5.0),
    ]
    agents = [make(objectives, half_life=half_life, prior=prior) for _ in range(2)]
    for agent, delay in zip(agents, (20.0, 2.0), strict=True):
        for n in range(19):
            agent.observe(ARMS, arm="xyz"[n % 3], id=str(n), now=float(n % 2))
        for n in (n for n in range(19) if n != 10):
            values = {"click": float(n // 3 % 2), "dwell": n % 5 + 1.0, "price": 2.0 * n}
            agent.reward(str(n), values, now=2.0)
        if early:
            agent.reward("10", early, now=2.5)
        if delay < 10:
            agent.reward("10", late, now=1.0 + delay)
        agent.expire(16.0)
        agent.observe(ARMS, arm="z", id="19", now=17.0)
        agent.reward("19", {"click": 1.0, "dwell": 3.0, "price": 1.0}, now=18.0)
        if delay > 10:
            agent.reward("10", late, now=1.0 + delay)
    for time in (21.0, 100.0):
        for agent in agents:
            agent.expire(time)
        assert_equal(*agents)
        estimated, expected = (agent.estimate(ARMS) for agent in agents)
        assert estimated.values == pytest.approx(expected.values, rel=1e-9)
        # A flat prior is a billionth of what was seen when it was last made anew.
        close = 3e-9 if isinstance(prior, mogro.priors.Flat) else 1e-9
        seen = expected.errors < 1e6
        assert estimated.errors[seen] == pytest.approx(expected.errors[seen], rel=close)
        for agent in agents:
            agent._state.learner.observed.renew()
        assert agents[0].theta == pytest.approx(agents[1].theta, rel=1e-9, abs=1e-9)
    assert (agents[0].counters["corrected"] == 0) == ("not" in cell or "stays" in cell)


@examples(60)
@given(st.data())
def test_in_any_world(data: st.DataObject) -> None:
    windows = st.sampled_from([3.0, 10.0, 25.0, 60.0])
    revise: st.SearchStrategy[Revise] = st.sampled_from([None, "last", "max"])
    defaults = st.sampled_from([None, 0.0, 1.0])
    names = ["a", "b", "c"]
    objectives = [
        mogro.Objective(
            name,
            window=data.draw(windows),
            default=data.draw(defaults),
            revise=data.draw(revise),
            given=data.draw(st.sampled_from([None, *names[:n]])),
        )
        for n, name in enumerate(names)
    ]
    half_life = data.draw(st.sampled_from(HALF_LIVES))
    late, prompt = (make(objectives, half_life=half_life) for _ in range(2))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    for agent in (late, prompt):
        for n in range(9):
            agent.observe(ARMS, arm="xyz"[n % 3], id=str(n), now=0.0)
    mail = []
    for n in range(9):
        for objective in objectives:
            for k in range(int(rng.integers(0, 3)) if objective.revise else 1):
                if rng.random() < 0.7:
                    value, delayed = float(rng.integers(0, 3)), rng.random() < 0.5
                    mail.append((1.0 + 0.5 * k + delayed * 29.0, str(n), objective.name, value))
    for time, id, name, value in sorted(mail):
        late.reward(id, {name: value}, now=time)
        prompt.reward(id, {name: value}, now=1.0 + time % 1.0 + (time > 20) * 0.7)
    for time in (32.0, 100.0):
        for agent in (late, prompt):
            agent.expire(time)
        assert_equal(late, prompt)


def test_a_value_revised_before_its_condition_is_met_counts() -> None:
    objectives = [
        mogro.Objective("click", window=3.0),
        mogro.Objective("dwell", window=60.0, revise="last", given="click"),
    ]
    agent = make(objectives)
    agent.observe(ARMS, arm="x", id="a", now=0.0)
    for time, values in ((1.0, {"dwell": 5.0}), (30.0, {"dwell": 8.0}), (31.0, {"click": 1.0})):
        agent.reward("a", values, now=time)
    agent.expire(100.0)
    assert agent.decision("a").rewards == {"click": 1.0, "dwell": 8.0}
    assert agent.observations == {"click": 1.0, "dwell": 1.0}


def test_one_message_has_values_in_time_and_late_ones() -> None:
    agent = make([mogro.Objective("click"), mogro.Objective("stars", window=5.0)])
    agent.decide(ARMS, id="a", now=0.0)
    assert agent.reward("a", {"click": 1.0, "stars": 4.0}, now=9.0) == Outcome(learned=2)
    assert agent.observations == {"click": 1.0, "stars": 1.0}
    assert np.isfinite(agent.estimate(ARMS).values).all()


def test_only_within() -> None:
    sale = mogro.Objective("sale", window=10.0, default=0.0)
    agent = make([sale], correct_within=5.0)
    for n in range(3):
        agent.decide(ARMS, id=str(n), now=0.0)
    assert agent.reward("0", {"sale": 1.0}, now=14.9) == Outcome(revised=1)
    assert agent.reward("1", {"sale": 1.0}, now=15.0) == Outcome(late=1)
    assert agent.reward("1", {"sale": 1.0}, now=16.0) == Outcome(repeated=1)
    counted = agent.counters
    assert (counted["learned"], counted["defaulted"]) == (1, 2)
    assert (counted["late"], counted["corrected"]) == (1, 1)
    log = agent.log()
    assert log["reward_sale"].to_pylist() == [1.0, 0.0, 0.0]
    assert log["time_sale"].to_pylist() == [14.9, 15.0, None]
    assert agent.log(rewards="received")["reward_sale"].to_pylist() == [1.0, 1.0, 0.0]


def test_counters_log_and_report_agree() -> None:
    objectives = [
        mogro.Objective("click", window=10.0, default=0.0),
        mogro.Objective("dwell", given="click", window=20.0),
        mogro.Objective("stars", window=15.0),
    ]
    agent = make(objectives, correct_within=30.0)
    rng, mail = np.random.default_rng(4), []
    for n in range(200):
        agent.decide(ARMS, id=str(n), now=float(n))
        for objective in objectives:
            if rng.random() < 0.6:
                arrival = n + rng.exponential(20.0) * (objective.given is None)
                mail.append((arrival, str(n), {objective.name: float(rng.integers(0, 2))}))
        for arrival, id, values in sorted(mail, key=lambda each: each[0]):
            if arrival <= n:
                agent.reward(id, values, now=arrival)
        mail = [each for each in mail if each[0] > n]
    for arrival, id, values in sorted(mail, key=lambda each: each[0]):
        agent.reward(id, values, now=arrival)
    counted, held = agent.counters, HeldDecisions(agent.freeze())
    shown = sum((Counter(held.status_counts(m)) for m in range(3)), Counter[str]())
    assert min(counted["late"], counted["corrected"], counted["unmet"], counted["missing"]) > 5
    for name in ("learned", "defaulted", "missing", "unmet", "withdrawn", "late"):
        assert counted[name] == shown[name], name
    assert counted["pending"] == sum(record.pending for record in agent.decisions())
    for m, name in enumerate(("click", "dwell", "stars")):
        learned = held.status_counts(m)["learned"] + held.status_counts(m)["defaulted"]
        assert agent.observations[name] == pytest.approx(learned)
        assert len(agent.log()[f"reward_{name}"].drop_null()) == learned


@pytest.mark.parametrize("prior", [mogro.priors.Flat(), mogro.priors.Learned()])
@pytest.mark.parametrize("together", [True, False])
def test_a_condition_that_comes_with_what_it_allows(prior: Prior, together: bool) -> None:
    objectives = [
        mogro.Objective("click", window=10.0),
        mogro.Objective("dwell", window=3.0, given="click", revise="max"),
    ]
    agent = mogro.Agent(objectives, arms=1, seed=0, prior=prior)
    agent.decide({"x": [1.0]}, id="visit", now=0.0)
    agent.reward("visit", {"dwell": 2.0}, now=1.0)
    calls = [{"click": 1.0, "dwell": 3.0}] if together else [{"click": 1.0}, {"dwell": 3.0}]
    for values in calls:
        agent.reward("visit", values, now=5.0)  # after the window of dwell, before that of click
    posterior = agent._state.learner.observed
    assert agent.observations == {"click": 1.0, "dwell": 1.0}
    assert posterior.b[:, 0] == pytest.approx([1.0, 3.0])
    assert posterior.y2.ravel() == pytest.approx([1.0, 9.0])
    assert np.isfinite(agent.theta).all()


def test_a_late_reward_for_an_objective_that_was_added(tmp_path: Path) -> None:
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0)
    agent.decide({"x": [1.0]}, id="visit", now=0.0)
    add(agent, mogro.Objective("sale", window=3.0))
    agent.expire(5.0)
    agent.reward("visit", {"sale": 1.0}, now=5.0)
    assert agent.observations["sale"] == 1
    assert agent.counters["missing"] == 0
    agent.save(tmp_path / "agent")
    assert mogro.Agent.load(tmp_path / "agent").counters == agent.counters


def test_a_learned_prior_learns_from_late_rewards_as_well() -> None:
    agents = [mogro.Agent([mogro.Objective("a", window=10.0)], arms=3, seed=1) for _ in range(2)]
    rng = np.random.default_rng(0)
    for n in range(40):
        arms, value = {"x": rng.standard_normal(3)}, 5 + rng.standard_normal()
        for agent, delay in zip(agents, (0.0, 15.0), strict=True):
            agent.observe(arms, arm="x", id=str(n), now=20.0 * n)
            agent.expire(20.0 * n + delay)
            agent.reward(str(n), {"a": value}, now=20.0 * n + delay)
    in_time, late = agents
    assert late.counters["corrected"] == 40
    assert late.theta == pytest.approx(in_time.theta, abs=1e-6)
    assert late.intercept == pytest.approx(in_time.intercept, abs=1e-6)
    assert late.intercept == pytest.approx(5.0, abs=0.5)
