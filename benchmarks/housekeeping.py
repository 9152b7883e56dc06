"""How long decisions take while another process, or a thread, makes logs, snapshots, and erases.

Run ``python -m benchmarks.housekeeping --decisions 100000``, and again with ``--postgres``. A
worker decides and rewards on a journal that holds so many decisions. Beside it, in a process of its
own, an agent makes a log, exports it, erases a decision, opens and closes; then the worker itself
writes snapshots and lets events go out. The bar: the worker's slowest call takes 50 ms more than
its slowest call with nothing beside it.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

import mogro
from benchmarks.postgres import server

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro", "pyarrow.parquet", "sqlite3", "benchmarks.postgres"])
OBJECTIVES = [mogro.Objective(name) for name in ("click", "watch", "stars", "cost")]
DIM, ARMS, TOP, BAR = 10, 60, 50, 0.05


def opened(path: str, **options: Any) -> mogro.Agent:
    """Open the agent of this benchmark."""
    return mogro.Agent.open(path, OBJECTIVES, arms=DIM, seed=0, epsilon=0.1, **options)


def offered() -> tuple[list[str], Any]:
    """Return the arms on offer."""
    return [f"arm {k}" for k in range(ARMS)], np.random.default_rng(0).standard_normal((ARMS, DIM))


def fill(path: str, decisions: int, **options: Any) -> None:
    """Let an agent make so many decisions, half of them with rewards."""
    names, features = offered()
    values = {objective.name: 1.0 for objective in OBJECTIVES}
    with opened(path, **options) as agent:
        while agent.counters["decisions"] < decisions:
            made = agent.decide_top(names, features, top=TOP)
            agent.reward(made[0].id, values)


def work(path: str, options: dict[str, Any], done: Event, told: Connection) -> None:
    """Decide and reward until it is done; then tell when calls began, and how long they took."""
    names, features = offered()
    values = {objective.name: 1.0 for objective in OBJECTIVES}
    calls: list[tuple[float, float]] = []
    with opened(path, **options) as agent:
        told.send("ready")
        while not done.is_set():
            start = time.monotonic()
            made = agent.decide(names, features).id
            between = time.monotonic()
            agent.reward(made, values)
            calls += [(start, between - start), (between, time.monotonic() - between)]
    told.send(calls)


def slowest(calls: list[tuple[float, float]], start: float, stop: float) -> float:
    """Return how long the slowest call took that was under way between two times."""
    return max((took for begun, took in calls if begun < stop and begun + took > start), default=0)


def measure(
    path: str, decisions: int, folder: Path, **options: Any
) -> dict[str, tuple[float, float]]:
    """Return for each piece of work how long it took, and the slowest call beside it."""
    fill(path, decisions, **options)
    spans: dict[str, tuple[float, float]] = {}
    done = SERVER.Event()
    here, there = SERVER.Pipe()
    worker = SERVER.Process(target=work, args=(path, options, done, there))
    worker.start()
    here.recv()

    def span(name: str, job: Callable[[], object]) -> None:
        start = time.monotonic()
        job()
        spans[name] = start, time.monotonic()
        time.sleep(0.5)

    span("nothing", lambda: time.sleep(10))
    agent = opened(path, **options)
    span("log", agent.log)
    span("export", lambda: agent.export(folder))
    span("erase", lambda: agent.erase(agent.decisions(pending=True)[0].decision.id))
    span("close", agent.close)
    span("snapshots", lambda: time.sleep(10))
    done.set()
    calls = here.recv()
    worker.join()
    return {
        name: (stop - start, slowest(calls, start, stop)) for name, (start, stop) in spans.items()
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--postgres", action="store_true", help="a database instead of a file")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = str(folder / "shop.db")
        if options.postgres:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            path = stack.enter_context(server(place)).address
        retention = mogro.Retention(decisions=options.decisions // 200)
        took = measure(path, options.decisions, folder, retention=retention, snapshot_every=500)
    usual = took["nothing"][1]
    for name, (seconds, worst) in took.items():
        print(f"{name:10} took {seconds:6.1f} s; slowest call beside it {1000 * worst:6.0f} ms")
    raise SystemExit(max(worst for _, worst in took.values()) > usual + BAR)


if __name__ == "__main__":
    main()
