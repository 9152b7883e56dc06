"""Logs of agents that live, not of tables that were made up."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.agent.stories import add
from tests.commands import run

import mogro
from mogro import Agent, Objective
from mogro.cli import main

STORIES = {"news": [1.0, 0.0], "essay": [0.0, 1.0], "film": [0.5, 0.5]}
RATES = {"news": [0.6, 0.1], "essay": [0.2, 0.5], "film": [0.4, 0.3]}
OBJECTIVES = [Objective("click"), Objective("subscribe", window=20.0, default=0.0)]


def visit(agent: Agent, number: int, rng: np.random.Generator) -> None:
    now = float(number)
    decision = agent.decide(STORIES, id=f"visit {number}", now=now)
    click, subscribe = rng.random(2) < RATES[decision.arm]
    values = {"click": float(click)} | ({"subscribe": 1.0} if subscribe else {})
    agent.reward(decision.id, values, now=now)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    path = tmp_path_factory.mktemp("agent") / "agent.db"
    rng = np.random.default_rng(0)
    with Agent.open(path, OBJECTIVES, arms=2, seed=1, epsilon=0.3) as agent:
        for number in range(320):
            visit(agent, number, rng)
        yield agent


@pytest.fixture(scope="module")
def log(agent: Agent) -> pa.Table:
    return agent.log()


@pytest.mark.slow
def test_an_agent_its_log_and_its_files_say_the_same(
    agent: Agent, log: pa.Table, tmp_path: Path
) -> None:
    weights = {"click": 1, "subscribe": 9}
    result = mogro.evaluate(agent, weights)
    assert result.rows == 300  # windows of the last twenty are open
    low, high = result.interval(0.9999).T
    assert ((low < RATES["essay"]) & (RATES["essay"] < high)).all()
    agent.export(tmp_path)
    for other in (log, tmp_path):
        np.testing.assert_array_equal(mogro.evaluate(other, weights).value, result.value)


@pytest.mark.slow
def test_an_agent_is_judged_in_sample_by_its_own_log(agent: Agent, log: pa.Table) -> None:
    result = mogro.evaluate(log, agent)
    assert str(result).splitlines()[0].startswith("JUDGED IN-SAMPLE")
    assert result.rows == 300


@pytest.mark.slow
def test_another_agent_is_not(log: pa.Table) -> None:
    other = Agent(OBJECTIVES, arms=2, seed=5)
    rng = np.random.default_rng(1)
    for number in range(1000, 1060):
        visit(other, number, rng)
    result = mogro.evaluate(log, other)
    assert "IN-SAMPLE" not in str(result)
    low, high = result.interval(0.9999).T
    told = other.probabilities(STORIES, now=2000.0)
    truth = told.values @ np.array([RATES[arm] for arm in told.arms])
    assert ((low < truth) & (truth < high)).all()


def test_the_command_reads_the_file_of_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    rng = np.random.default_rng(0)
    with Agent.open(path, [Objective("click")], arms=2, seed=1, epsilon=0.5) as agent:
        for number in range(30):
            decision = agent.decide(STORIES, id=f"visit {number}")
            agent.reward(decision.id, {"click": rng.random()})
    done = run(main, "evaluate", path, "--weights", "click=1")
    assert done.exit_code == 0, done.output
    assert "30 rows" in done.output
    assert "NOT TO BE TRUSTED" in done.output.splitlines()[0]


def test_contexts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "agent.db"
    objective = [Objective("click")]
    with Agent.open(path, objective, arms=2, context=1, seed=1, epsilon=0.5) as agent:
        for number in range(60):
            decision = agent.decide(STORIES, id=f"visit {number}", context=[rng.random()])
            agent.reward(decision.id, {"click": rng.random()})
        assert mogro.evaluate(agent, {"click": 1}).rows == 60
        assert mogro.evaluate(agent, agent).rows == 60


def test_agents_in_memory_keep_too_little() -> None:
    agent = Agent([Objective("click")], arms=2, seed=1)
    agent.reward(agent.decide(STORIES).id, {"click": 1.0})
    with pytest.raises(ValueError, match="log: expected rows with propensities"):
        mogro.evaluate(agent, {"click": 1})


def test_rows_from_before_an_objective_was_added_are_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with Agent.open(tmp_path / "a.db", [Objective("click")], arms=2, seed=1, epsilon=0.5) as agent:
        for number in range(60):
            if number == 20:
                add(agent, Objective("subscribe"))
            decision = agent.decide(STORIES)
            named = dict(zip(("click", "subscribe"), RATES[decision.arm], strict=True))
            noisy = {name: rate + 0.1 * rng.standard_normal() for name, rate in named.items()}
            agent.reward(
                decision.id,
                {objective.name: noisy[objective.name] for objective in agent.objectives},
            )
        log = agent.log()
    for policy in ({"click": 1}, {"subscribe": 1}, np.full((60, 3), 1 / 3)):
        given = policy[20:] if isinstance(policy, np.ndarray) else policy
        result, later = mogro.evaluate(log, policy), mogro.evaluate(log.slice(20), given)
        np.testing.assert_array_equal(result.value, later.value)
        assert "20 rows are left out, from before an objective was added" in result.notes
    assert mogro.what_if(log, 2).evaluations[0].rows == 40
