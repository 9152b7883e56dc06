"""``decide`` and ``reward`` of an agent in memory, here and in another checkout, by turns.

    python -m benchmarks.agent_speed PATH    # of the other checkout
    MOGRO_PRIOR=flat python -m benchmarks.agent_speed PATH    # least squares, as at 31d0e28

Both run at once, each in a process of its own, and take turns of a few milliseconds. A shared
machine only ever adds time, so of many turns a low quantile counts.
"""

import inspect
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ARMS = (10, 100, 1000)
DIM, OBJECTIVES = 20, 3
WARM_UP, ROUNDS, TURNS = 500, 8, 600
HERE = Path(__file__).resolve().parent.parent


def make_round(arms: int) -> Callable[[], None]:
    """Return a decision with its reward, after exploration is over."""
    import mogro

    rng = np.random.default_rng(0)
    features = rng.standard_normal((arms, DIM))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rewards = features @ rng.standard_normal((DIM, OBJECTIVES))
    ids = [f"arm {k}" for k in range(arms)]
    names = [f"objective {m}" for m in range(OBJECTIVES)]
    noise = 0.1 * rng.standard_normal((1000, OBJECTIVES))
    index = {name: k for k, name in enumerate(ids)}
    parameter = "arms" if "arms" in inspect.signature(mogro.Agent).parameters else "dim"
    objectives = [mogro.Objective(name) for name in names]
    options: dict[str, Any] = {parameter: DIM}
    if os.environ.get("MOGRO_PRIOR") == "flat" and hasattr(mogro, "priors"):
        options["prior"] = mogro.priors.Flat()
    agent = mogro.Agent(objectives, seed=0, **options)
    table = [
        [dict(zip(names, row, strict=True)) for row in (means + noise[:20]).tolist()]
        for means in rewards
    ]
    count = 0

    def play() -> None:
        nonlocal count
        decision = agent.decide(ids, features)
        agent.reward(decision.id, table[index[decision.arm]][count % 20])
        count += 1

    for _ in range(WARM_UP):
        play()
    return play


def serve() -> None:
    """Play a number of rounds whenever a line with the number of arms comes; say how long."""
    plays: dict[int, Callable[[], None]] = {}
    for line in sys.stdin:
        arms = int(line)
        if arms not in plays:
            plays[arms] = make_round(arms)
        play = plays[arms]
        start = time.perf_counter()
        for _ in range(ROUNDS):
            play()
        print(time.perf_counter() - start, flush=True)


def start(checkout: Path) -> "subprocess.Popen[str]":
    """Start a process that plays with the mogro of a checkout."""
    paths = os.pathsep.join([str(checkout / "src"), str(HERE)])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.agent_speed"],
        cwd=HERE,
        env=os.environ | threads | {"PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def turn(player: "subprocess.Popen[str]", arms: int) -> float:
    """Let a process play some rounds, and return the microseconds that one took."""
    assert player.stdin is not None
    assert player.stdout is not None
    player.stdin.write(f"{arms}\n")
    player.stdin.flush()
    return 1e6 * float(player.stdout.readline()) / ROUNDS


def main(other: Path) -> None:
    """Print a line for each number of arms."""
    players = [start(HERE), start(other)]
    for arms in ARMS:
        times = np.array([[turn(player, arms) for player in players] for _ in range(TURNS)])
        now, before = np.quantile(times[5:], 0.05, axis=0)
        print(f"K = {arms:>5,}: {now:6.1f} us, {before:6.1f} us there, ratio {now / before:.2f}")
    for player in players:
        player.communicate()


if __name__ == "__main__":
    main(Path(sys.argv[1])) if sys.argv[1:] else serve()
