"""An agent in a file is the agent in memory, and goes on where it was."""

import copy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.agent.journal.worlds import ARMS, OBJECTIVES, in_memory, live, opened, saved

import mogro
from mogro.agent.errors import ClosedAgent, DifferentConfig, JournalError, JournalUnavailable


@pytest.mark.parametrize("half_life", [None, mogro.HalfLife(updates=20.0)])
def test_the_same_results_as_in_memory(
    tmp_path: Path, shop: str, half_life: mogro.HalfLife | None
) -> None:
    plain = in_memory(half_life=half_life, epsilon=0.1)
    durable = opened(shop, half_life=half_life, epsilon=0.1)
    for agent in (plain, durable):
        live(agent, 0, 60)
    with durable:
        expected = saved(plain, tmp_path / "one")
        assert saved(durable, tmp_path / "two") == expected
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == expected
        live(again, 60, 20)
        live(plain, 60, 20)
        assert saved(again, tmp_path / "four") == saved(plain, tmp_path / "five")


NONE = mogro.Retention(decisions=0)


def test_two_agents_on_one_file_know_the_same(tmp_path: Path, shop: str) -> None:
    with opened(shop) as one, opened(shop) as two:
        plain = in_memory()
        for n in range(0, 60, 10):
            live((one, two)[n // 10 % 2], n, 10)
            live(plain, n, 10)
        assert one.counters == two.counters == plain.counters
        assert (one.theta == two.theta).all()
        contents = {saved(agent, tmp_path / "saved") for agent in (one, two, plain)}
        assert len(contents) == 1


def test_decide_top_is_one_commit(shop: str) -> None:
    with opened(shop) as one, opened(shop) as two:
        decisions = one.decide_top(ARMS, top=3, id="page", now=0.0)
        assert two.decide_top(ARMS, top=3, id="page", now=9.0) == decisions
        assert two.counters["decisions"] == 3


def test_several_agents_in_one_file(shop: str) -> None:
    path = shop
    with opened(path, name="home") as home, opened(path, name="search", seed=1) as search:
        live(home, 0, 10)
        live(search, 0, 5)
        assert home.counters["decisions"] == 10
    with mogro.Agent.open(path, name="search") as again:
        assert again.counters["decisions"] == 5
    with pytest.raises(JournalError, match=r": no agent 'agent' in it, only \['home', 'se"):
        mogro.Agent.open(path)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"shop.db: no such file"):
        mogro.Agent.open(tmp_path / "shop.db")
    assert list(tmp_path.iterdir()) == []


def test_settings_have_to_be_the_same(shop: str) -> None:
    opened(shop).close()
    with pytest.raises(DifferentConfig, match=r": .* has seed 7, not 8; epsilon 0.0, not"):
        opened(shop, seed=8, epsilon=0.5)
    with pytest.raises(DifferentConfig, match="objectives"):
        mogro.Agent.open(shop, OBJECTIVES[:2], arms=3, seed=7)
    with pytest.raises(ValueError, match="objectives: expected some beside"):
        mogro.Agent.open(shop, seed=7)
    ignored: tuple[dict[str, Any], ...] = (
        {"epsilon": 0.5},
        {"context": 2},
        {"half_life": mogro.HalfLife(updates=9.0)},
    )
    for given in ignored:
        with pytest.raises(ValueError, match="objectives: expected some beside"):
            mogro.Agent.open(shop, **given)
    with pytest.raises(ValueError, match="arms: expected it beside objectives"):
        mogro.Agent.open(shop, OBJECTIVES, seed=7)


def test_a_policy_of_ones_own(shop: str) -> None:
    opened(shop, policy=mogro.EpsilonGreedy).close()
    with pytest.raises(DifferentConfig, match="prior Fixed"):
        opened(shop)
    with mogro.Agent.open(shop) as agent:
        live(agent, 0, 10)


def test_a_closed_agent_says_so(shop: str) -> None:
    agent = opened(shop)
    agent.close()
    agent.close()
    for call in (lambda: agent.decide(ARMS, now=0.0), lambda: agent.theta):
        with pytest.raises(ClosedAgent, match=r": the agent was closed"):
            call()
    in_memory().close()


def test_a_copy_is_an_agent_of_its_own(shop: str) -> None:
    with opened(shop) as agent:
        live(agent, 0, 10)
        other = copy.deepcopy(agent)
        live(other, 10, 10)
        assert agent.counters["decisions"] == 10
        assert other.counters["decisions"] == 20


def test_what_is_refused_leaves_no_trace(tmp_path: Path, shop: str) -> None:
    with opened(shop) as agent:
        live(agent, 0, 20)
        before = saved(agent, tmp_path / "saved")
        with pytest.raises(mogro.errors.UnknownDecision):
            agent.reward("nobody", {"click": 1.0}, now=5000.0)
        with pytest.raises(mogro.errors.InfeasibleConstraints):
            agent.decide(ARMS, at_least={"watch": 1e9}, now=20.0)
        with pytest.raises(mogro.errors.ConflictingReward):
            agent.reward(agent.decide(ARMS, id="7-4", now=20.0).id, {"click": 77.0}, now=20.0)
        assert saved(agent, tmp_path / "saved") == before


def test_ids_that_are_made_up_are_never_used_again(shop: str) -> None:
    made = []
    for _ in range(3):
        with (
            opened(shop, retention=NONE) as one,
            opened(shop, retention=NONE) as two,
        ):
            for agent in (one, two, one):
                made.append(agent.decide(ARMS, now=0.0).id)
                values = {"click": 1.0, "watch": 1.0, "cost": 1.0}
                agent.reward(made[-1], values, now=0.0)
            one.expire(1000.0)
    assert len(set(made)) == len(made) == 9


def test_ids_that_were_dropped_are_new_decisions_everywhere(shop: str) -> None:
    last = mogro.Retention(decisions=1)
    with opened(shop, retention=last) as one, opened(shop, retention=last) as two:
        for name in ("a", "b"):
            one.decide(ARMS, id=name, now=0.0)
            one.reward(name, {"click": 1.0, "watch": 1.0, "cost": 1.0}, now=0.0)
        two.expire(100.0)  # both are completed, and one too many
        with pytest.raises(mogro.errors.UnknownDecision):
            one.reward("a", {"click": 1.0}, now=100.0)
        assert one.reward("b", {"click": 1.0}, now=100.0).repeated == 1
        assert two.decide(ARMS, id="a", now=101.0) == one.decide(ARMS, id="a", now=102.0)
        assert two.counters["decisions"] == 3


def test_clocks_that_differ(tmp_path: Path, shop: str) -> None:
    """Time is the latest seen, by any clock; a window counts from its decision's own time."""
    with opened(shop) as ahead, opened(shop) as behind:
        ahead.decide(ARMS, id="early", now=1000.0)
        behind.decide(ARMS, id="late", now=940.0)  # its clock is a minute behind
        assert behind.decision("late").decision.time == 940.0
        assert behind.decision("late").status["watch"] == "pending"  # 940 + 50 is over by then
        assert ahead.reward("late", {"watch": 60.0}, now=1000.0).learned == 1  # late, and learned
        assert ahead.counters["corrected"] == 1
        assert behind.reward("early", {"watch": 60.0}, now=945.0).learned == 1
        ahead.expire(1019.0)
        assert behind.decision("late").status["cost"] == "pending"  # until 940 + 80
        assert behind.expire(1020.0) == 1
        assert behind.decision("early").status["cost"] == "pending"
        assert saved(ahead, tmp_path / "one") == saved(behind, tmp_path / "two")


def test_objectives_and_features_are_those_of_now_in_every_process(shop: str) -> None:
    with opened(shop) as agent, mogro.Agent.open(shop) as other:
        agent.reconfigure(objectives=[*agent.objectives, mogro.Objective("stars")])
        assert other.objectives == agent.objectives
        agent.reconfigure(context=1)
        assert other.feature_names == agent.feature_names


def test_a_file_that_not_even_readers_may_look_into_is_unavailable(tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    opened(shop).close()
    with closing(sqlite3.connect(shop, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(JournalUnavailable, match="locked for"):
            opened(shop, timeout=0.3)
