"""The walks of ARCHITECTURE.md: every file of mogro in which a function of it runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import mogro

ROOT = str(Path(mogro.__file__).parent) + "/"
DECISION, REWARD, WITH_JOURNAL, ROUND = 14, 7, 20, 15


def passed(work: Callable[[], object]) -> set[str]:
    """Return the files of mogro in which a function is called."""
    files = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            files.add(frame.f_code.co_filename.removeprefix(ROOT))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return files


def lived(agent: mogro.Agent) -> dict[str, np.ndarray]:
    """Let an agent decide and learn, and return its arms."""
    rng = np.random.default_rng(0)
    arms = {f"arm {k}": rng.standard_normal(5) for k in range(20)}
    for _ in range(40):
        agent.reward(agent.decide(arms).id, dict.fromkeys("abc", rng.random()))
    return arms


OBJECTIVES = [mogro.Objective(name) for name in "abc"]


def test_a_live_decision() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=5, seed=0)
    arms = lived(agent)
    files = passed(lambda: agent.decide(arms, id="visit"))
    assert {"agent/agent.py", "agent/decision.py", "agent/request.py", "choice.py"} <= files
    assert len(files) <= DECISION, sorted(files)
    reward = passed(lambda: agent.reward("visit", dict.fromkeys("abc", 1.0)))
    assert {"agent/state/state.py", "agent/state/learner.py", "posterior.py"} <= reward
    assert len(reward) <= REWARD, sorted(reward)


def test_a_live_decision_with_a_journal(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", OBJECTIVES, arms=5, seed=0) as agent:
        arms = lived(agent)
        files = passed(lambda: agent.decide(arms))
    assert {"agent/decision.py", "agent/decision_records.py", "agent/journal/sqlite.py"} <= files
    assert len(files) <= WITH_JOURNAL, sorted(files)


def test_a_round_of_a_policy() -> None:
    rng = np.random.default_rng(0)
    arms, policy = rng.standard_normal((20, 5)), mogro.MOGRO(5, 3)

    def round() -> None:  # noqa: A001
        policy.update(arms[policy.select(arms, rng=rng)], np.ones(3))

    for _ in range(40):
        round()
    files = passed(round)
    assert {"policies/base.py", "policies/mogro.py", "choice.py", "posterior.py"} <= files
    assert len(files) <= ROUND, sorted(files)
