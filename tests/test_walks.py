"""The walks of ARCHITECTURE.md: how many files are on the stack at once, from a call to its end."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import mogro
from mogro.experiments.figures import main
from mogro.experiments.lab.reproduce import reproduce
from mogro.experiments.lab.scale import Scale
from mogro.experiments.report.drawings import draw
from mogro.experiments.report.page import write_report

ROOT = str(Path(mogro.__file__).parent)
MOST = 8


def passed(work: Callable[[], object]) -> list[str]:
    """Return the files of mogro on the stack, in the moment when there are most of them."""
    deepest: list[str] = []

    def look(frame: FrameType | None, event: str, _: Any) -> None:
        nonlocal deepest
        if event == "call" and frame is not None and frame.f_code.co_filename.startswith(ROOT):
            files: dict[str, None] = {}
            while frame is not None:
                name = frame.f_code.co_filename
                if name.startswith(ROOT):
                    files[name.removeprefix(ROOT + "/")] = None
                frame = frame.f_back
            if len(files) > len(deepest):
                deepest = list(files)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return deepest


def test_a_live_decision() -> None:
    rng = np.random.default_rng(0)
    arms = {f"arm {k}": rng.standard_normal(5) for k in range(20)}
    agent = mogro.Agent([mogro.Objective(name) for name in "abc"], dim=5, seed=0)

    def live() -> None:
        for _ in range(40):
            decision = agent.decide(arms)
            agent.reward(decision.id, dict.fromkeys("abc", rng.random()))

    files = passed(live)
    assert {"live/agent.py", "live/deciding/proposals.py", "choice/choosing.py"} <= set(files)
    assert len(files) <= MOST
    decision = agent.decide(arms)
    reward = passed(lambda: agent.reward(decision.id, dict.fromkeys("abc", 1.0)))
    assert {"live/memory/state.py", "live/memory/learner.py", "linear.py"} <= set(reward)
    assert len(reward) <= MOST


def test_a_round_of_a_batch() -> None:
    rng = np.random.default_rng(0)
    sample = mogro.environments.FixedArms.sample
    worlds = [sample(5, 20, 3, noise=0.1, rng=rng) for _ in range(3)]
    files = passed(lambda: mogro.simulate(mogro.MOGRO, worlds, rounds=40, repeats=2))
    assert {"simulation/run.py", "policies/base.py", "choice/choosing.py"} <= set(files)
    assert len(files) <= MOST


@pytest.mark.slow
def test_a_figure(tmp_path: Path) -> None:
    figure, scale = main.FIGURE, Scale(instances=1, repeats=1, rounds=10)

    def make() -> None:
        with ThreadPoolExecutor(1) as worker:  # whose stack is its own
            reproduce([figure], scale, executor=worker, out=tmp_path)
        draw(figure, tmp_path)
        write_report([figure], tmp_path)

    files = passed(make)
    assert "experiments/figures/main.py" in files
    assert len(files) <= MOST - 2  # the command line is before them
    simulation, *_, stopwatch = figure.tasks(scale)
    for task in (simulation, stopwatch):
        assert len(passed(task.run)) <= MOST
