"""Rewards that come late, in parts, revised, or under a condition."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.agent.stories import worth
from tests.properties import examples

import mogro
from mogro.agent import ConflictingReward, Outcome

ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0]}


def test_an_objective_with_a_default_is_learned_when_its_window_closes() -> None:
    agent = mogro.Agent(
        [mogro.Objective("sale", window=5.0, default=0.0)],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    for n in range(4):
        agent.decide({"x": [1.0]}, id=str(n), now=float(n))
    assert agent.reward("0", {"sale": 1.0}, now=3.0) == Outcome(pending=1)
    assert agent.observations == {"sale": 0.0}  # the others may still sell
    agent.decide({"x": [1.0]}, id="later", now=5.0)  # closes the first window
    assert agent.observations == {"sale": 1.0}
    assert worth(agent, 1.0) == pytest.approx(1.0)
    assert agent.reward("3", {"sale": 1.0}, now=7.0) == Outcome(pending=1)  # closes two more
    assert agent.observations == {"sale": 3.0}
    assert worth(agent, 1.0) == pytest.approx(1 / 3)
    assert agent.expire(8.0) == 1
    assert worth(agent, 1.0) == pytest.approx(1 / 2)
    counted = agent.counters
    assert (counted["learned"], counted["defaulted"]) == (2, 2)


def test_the_choice_knows_what_its_own_time_closes() -> None:
    """A decision after a long silence is made on all windows that have closed by then."""
    agent = mogro.Agent(
        [mogro.Objective("sale", window=5.0, default=0.0)],
        arms=2,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    for n, arm in enumerate("xyxy"):
        mask = [arm == one for one in ARMS]
        decision = agent.decide(ARMS, eligible=mask, id=str(n), now=float(n))
        agent.reward(decision.id, {"sale": float(arm == "y")}, now=float(n))
    decision = agent.decide(ARMS, now=100.0)
    assert decision.arm == "y"
    assert decision.estimates == {"sale": pytest.approx(1.0)}


@examples(30)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 3.0, 9.9]))
def test_estimates_are_those_of_the_decisions_that_have_closed(seed: int, longest: float) -> None:
    """Delays of any distribution within the window; arms drawn whatever the rewards."""
    rng = np.random.default_rng(seed)
    agent = mogro.Agent(
        [mogro.Objective("sale", window=10.0, default=0.0)],
        arms=2,
        seed=seed,
        policy=mogro.RandomArm,
    )
    made: list[tuple[float, NDArray[np.float64], float]] = []
    mail: list[tuple[float, str, float]] = []
    for n in range(60):
        now = float(n)
        for arrival, id, value in sorted(one for one in mail if one[0] <= now):
            agent.reward(id, {"sale": value}, now=arrival)
        mail = [one for one in mail if one[0] > now]
        decision = agent.decide(ARMS, now=now)
        x = np.array(ARMS[decision.arm])
        sold = float(rng.random() < x @ [0.2, 0.6])
        made.append((now, x, sold))
        if sold:
            mail.append((now + longest * rng.random() ** 2, decision.id, sold))
        closed = [one for one in made if one[0] + 10.0 <= now]
        if closed:
            features = np.array([x for _, x, _ in closed])
            values = np.array([value for *_, value in closed])
            expected = np.linalg.lstsq(features, values, rcond=None)[0]
            assert features @ agent.theta[0] + agent.intercept == pytest.approx(
                features @ expected,
                abs=1e-5,  # the constant beside a one-hot costs digits
            )


def test_estimates_are_unbiased_while_rewards_are_on_their_way() -> None:
    """Sales of 1 % after one to four days, a window of five: on day 8 the mean estimate is 1 %.

    Forty objectives sell independently of each other; each is a repetition.
    """
    rng = np.random.default_rng(0)
    shops = [f"sale {k}" for k in range(40)]
    objectives = [mogro.Objective(shop, window=5.0, default=0.0) for shop in shops]
    agent = mogro.Agent(objectives, arms=1, seed=0, prior=mogro.priors.Flat())
    mail: list[tuple[float, str, str]] = []
    for n in range(800):
        now = n / 100
        decision = agent.decide({"x": [1.0]}, now=now)
        sold = np.flatnonzero(rng.random(len(shops)) < 0.01)
        mail += [(now + rng.uniform(1, 4), decision.id, shops[k]) for k in sold]
        for arrival, id, shop in sorted(one for one in mail if one[0] <= now):
            agent.reward(id, {shop: 1.0}, now=arrival)
        mail = [one for one in mail if one[0] > now]
    found = worth(agent, 1.0)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.01) < 4 * error < 0.01


def test_dwell_given_a_click_is_learned_from_clicks_only() -> None:
    objectives = [
        mogro.Objective("dwell", given="click", window=60.0, revise="last"),
        mogro.Objective("click", window=10.0, default=0.0),
    ]
    agent = mogro.Agent(objectives, arms=1, seed=0, prior=mogro.priors.Flat())
    for n in range(3):
        agent.decide({"x": [1.0]}, id=str(n), now=0.0)
    assert agent.reward("0", {"click": 1, "dwell": 5.0}, now=1.0) == Outcome(pending=2)
    assert agent.reward("1", {"dwell": 99.0}, now=1.0) == Outcome(pending=1)  # it never clicked
    assert agent.reward("0", {"dwell": 30.0}, now=20.0) == Outcome(revised=1)
    assert agent.observations == {"dwell": 0.0, "click": 3.0}
    assert agent.reward("0", {"dwell": 20.0}, now=15.0) == Outcome(repeated=1)  # an older one
    assert agent.reward("0", {"dwell": 30.0}, now=21.0) == Outcome(repeated=1)
    assert agent.reward("2", {"dwell": 7.0}, now=21.0) == Outcome(late=1)
    agent.expire(60.0)
    assert agent.observations == {"dwell": 1.0, "click": 3.0}
    assert worth(agent, 1.0) == pytest.approx([30.0, 1 / 3])
    assert agent.counters["unmet"] == 2
    assert agent.counters["pending"] == 0


def test_a_condition_may_come_after_the_window_has_closed() -> None:
    objectives = [
        mogro.Objective("sale"),
        mogro.Objective("returned", given="sale", window=9.0, default=0.0),
        mogro.Objective("stars", given="sale", window=9.0),
    ]
    agent = mogro.Agent(objectives, arms=1, seed=0, prior=mogro.priors.Flat(), correct_within=0.0)
    for n in range(2):
        agent.decide({"x": [1.0]}, id=str(n), now=0.0)
    assert agent.reward("0", {"stars": 5.0}, now=1.0) == Outcome(pending=1)
    late = {"returned": 1.0, "stars": 3.0}
    assert agent.reward("1", late, now=9.1) == Outcome(late=2)
    for n in range(2):
        assert agent.reward(str(n), {"sale": 1.0}, now=20.0) == Outcome(learned=1)
    assert agent.observations == {"sale": 2.0, "returned": 2.0, "stars": 1.0}
    assert worth(agent, 1.0) == pytest.approx([1.0, 0.0, 5.0])
    assert agent.counters["pending"] == 0


def test_a_condition_never_calls_for_exploration_by_itself() -> None:
    objectives = [
        mogro.Objective("click"),
        mogro.Objective("dwell", given="click"),
        mogro.Objective("sale", given="dwell"),
    ]
    agent = mogro.Agent(objectives, arms=2, seed=0, prior=mogro.priors.Flat())
    for _ in range(4):
        decision = agent.decide(ARMS)
        agent.reward(decision.id, {"click": 0.0})  # so that nothing is learned about the others
    assert agent.observations == {"click": 4.0, "dwell": 0.0, "sale": 0.0}
    assert agent.counters["explored"] == 2
    assert agent.counters["pending"] == 0


def test_values_that_grow() -> None:
    dwell = mogro.Objective("dwell", window=60.0, default=0.0, revise="max")
    agent = mogro.Agent([dwell], arms=1, seed=0, prior=mogro.priors.Flat(), correct_within=0.0)
    agent.decide({"x": [1.0]}, id="a", now=0.0)
    seen = [agent.reward("a", {"dwell": value}, now=1.0) for value in (10.0, 30.0, 20.0, 30.0)]
    assert seen == [
        Outcome(pending=1),
        Outcome(revised=1),
        Outcome(repeated=1),
        Outcome(repeated=1),
    ]
    assert agent.reward("a", {"dwell": 40.0}, now=60.1) == Outcome(late=1)
    assert worth(agent, 1.0) == pytest.approx(30.0)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_the_last_value_counts_however_it_travels(order: tuple[int, ...]) -> None:
    reports = [(10.0, 5.0), (20.0, 15.0), (20.0, 9.0)]  # (now, value): two at one time
    agent = mogro.Agent(
        [mogro.Objective("dwell", window=60.0, revise="last")],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    agent.decide({"x": [1.0]}, id="a", now=0.0)
    for one in order:
        now, value = reports[one]
        agent.reward("a", {"dwell": value}, now=now)
    agent.expire(60.0)
    assert worth(agent, 1.0) == pytest.approx(15.0)


def test_without_revision_a_second_value_is_refused_before_its_window_closes() -> None:
    agent = mogro.Agent(
        [mogro.Objective("sale", window=9.0, default=0.0)],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    agent.decide({"x": [1.0]}, id="a", now=0.0)
    agent.reward("a", {"sale": 1.0}, now=1.0)
    with pytest.raises(ConflictingReward):
        agent.reward("a", {"sale": 2.0}, now=800.0)
    assert agent.observations == {"sale": 0.0}  # not even the time has passed
    agent.expire(9.0)
    assert worth(agent, 1.0) == pytest.approx(1.0)


def test_conditions_that_make_no_sense() -> None:
    make = mogro.Objective
    circle = [make("a", given="b"), make("b", given="c"), make("c", given="a")]
    for objectives in ([make("a", given="b")], circle):
        with pytest.raises(ValueError, match="given"):
            mogro.Agent(objectives, arms=1, seed=0, prior=mogro.priors.Flat())
    with pytest.raises(ValueError, match="given"):
        make("a", given="a")
    with pytest.raises(ValueError, match="revise"):
        make("a", revise="max")
    with pytest.raises(ValueError, match="revise"):
        make("a", window=1.0, revise="first")  # type: ignore[arg-type]


def test_a_clock_that_lags_behind() -> None:
    """Time is the largest seen; windows count from their decision's own time."""
    sale = mogro.Objective("sale", window=5.0, default=0.0)
    agent = mogro.Agent([sale], arms=1, seed=0, prior=mogro.priors.Flat(), correct_within=0.0)
    agent.decide({"x": [1.0]}, id="a", now=100.0)
    agent.decide({"x": [1.0]}, id="b", now=97.0)  # another machine
    assert agent.reward("b", {"sale": 1.0}, now=98.0) == Outcome(pending=1)
    assert agent.expire(102.0) == 1
    assert worth(agent, 1.0) == pytest.approx(1.0)
    agent.decide({"x": [1.0]}, id="c", now=90.0)  # its window has been over for long
    assert agent.reward("c", {"sale": 1.0}, now=91.0) == Outcome(late=1)


def test_a_decision_that_is_dropped_by_the_reward_that_completes_it() -> None:
    agent = mogro.Agent(
        [mogro.Objective("sale", window=5.0, default=0.0)],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
        retention=mogro.Retention(decisions=0),
    )
    agent.decide({"x": [1.0]}, id="a", now=0.0)
    assert agent.reward("a", {"sale": 1.0}, now=5.0) == Outcome(late=1)
    assert agent.counters["forgotten"] == 1
    assert worth(agent, 1.0) == 0.0


def test_a_decision_that_was_complete_before_its_last_window_is_completed_once(
    tmp_path: Path,
) -> None:
    agent = mogro.Agent(
        [
            mogro.Objective("click", window=1.0, default=0.0),
            mogro.Objective("score", window=10.0),
        ],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    agent.decide({"a": [1.0]}, id="one", now=0.0)
    agent.reward("one", {"score": 3.0}, now=0.5)
    agent.decide({"a": [1.0]}, id="two", now=2.0)  # closes the first window: all is learned
    agent.decide({"a": [1.0]}, id="three", now=11.0)  # past the second window of the first
    assert agent.counters["completed"] == 1
    agent.save(tmp_path / "agent")
    assert mogro.Agent.load(tmp_path / "agent").counters == agent.counters


@pytest.mark.parametrize("asked", [False, True])
def test_what_was_looked_at_ahead_is_not_learned_once_erased(asked: bool) -> None:
    agent = mogro.Agent(
        [mogro.Objective("sale", window=5.0, default=7.0)],
        arms=1,
        seed=0,
        prior=mogro.priors.Flat(),
    )
    for id in ("gone", "stays"):
        agent.decide({"a": [1.0]}, id=id, now=0.0)
    agent.reward("gone", {"sale": 100.0}, now=1.0)
    if asked:
        agent.probabilities({"a": [1.0]}, now=10.0)
    agent.erase("gone")
    assert agent.expire(10.0) == 1
    assert worth(agent, 1.0) == pytest.approx(7.0)
    assert agent.observations == {"sale": 1.0}


@pytest.mark.parametrize("default", [None, 0.0])
@pytest.mark.parametrize("correct_within", [None, 0.0])
def test_all_who_speak_of_late_rewards_say_the_same(
    tmp_path: Path, default: float | None, correct_within: float | None
) -> None:
    sale = mogro.Objective("sale", window=10.0, default=default)
    agent = mogro.Agent(
        [sale], arms=1, seed=0, correct_within=correct_within, max_step=1e9, clock=None
    )
    for n in range(100):
        agent.decide({"x": [1.0]}, id=str(n), now=float(n))
    for n in range(30):
        agent.reward(str(n), {"sale": 1.0}, now=105.0)  # windows closed from 10 to 39
    agent.expire(200.0)
    late = sum(agent.reward(str(n), {"sale": 1.0}, now=200.0).late for n in range(30, 60))
    counted, log = agent.counters, agent.log()
    status = Counter(log["status_sale"].to_pylist())
    received = agent.log(rewards="received")["reward_sale"].to_pylist().count(1.0)
    learned = log["reward_sale"].to_pylist().count(1.0)
    agent.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert received == 60
    assert counted["late"] == received - learned == (60 if correct_within == 0.0 else 0)
    assert late == counted["late"] // 2
    assert counted["learned"] == status["learned"] == learned
    assert counted["defaulted"] == status["defaulted"]
    assert counted["missing"] == status["missing"] + status["late"]
    assert [each.number for each in agent.alarms() if each.name == "late"] == [1.0]
    assert "100% of the last 60 rewards came after their window" in page
    shown = re.findall(r'<th scope="col">late</th></tr>.*?>60</td></tr>', page, re.DOTALL)
    assert len(shown) == (counted["late"] > 0)  # the last column of the objectives' table
