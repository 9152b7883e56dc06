"""Durable decisions and rewards beside bare inserts of the same bytes with the same durability.

Run ``python -m benchmarks.durable``. Each setting (threads in one process, or processes) runs three
ways in turn, several times over: an agent in a file; bare inserts of rows with the same bytes, with
WAL and synchronous FULL, threads sharing a commit in the same way; the agent in memory. The bar:
the agent in a file takes at most twice the time of bare inserts plus the time in memory.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import mogro

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro"])
OBJECTIVES = [mogro.Objective(name) for name in ("click", "watch", "stars")]
DIM, ARMS = 20, 100
BYTES = 720, 150  # of a decided and of a rewarded event, about


def arms() -> tuple[list[str], NDArray[np.float64]]:
    """Return the arms on offer."""
    features = np.random.default_rng(0).standard_normal((ARMS, DIM))
    return [f"arm {k}" for k in range(ARMS)], features


def agent_traffic(agent: mogro.Agent, rounds: int, latencies: list[float]) -> None:
    """Decide and reward."""
    names, features = arms()
    for n in range(rounds):
        start = time.perf_counter()
        made = agent.decide(names, features).id
        between = time.perf_counter()
        agent.reward(made, {"click": float(n % 2), "watch": n / 7, "stars": 3.0})
        latencies += [between - start, time.perf_counter() - between]


class BareInserts:
    """A table of bytes; threads that wait share a commit, as in the agent."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(
            path, timeout=60, isolation_level=None, check_same_thread=False
        )
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, b BLOB)")
        self.lock = threading.Lock()
        self.waiting: deque[list[bytes]] = deque()

    def insert(self, content: bytes) -> None:
        """Return when the bytes are on the disk."""
        mine = [content]
        self.waiting.append(mine)
        with self.lock:
            if not mine:
                return
            calls = [self.waiting.popleft() for _ in range(len(self.waiting))]
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany("INSERT INTO rows (b) VALUES (?)", calls)
            self.connection.execute("COMMIT")
            for call in calls:
                call.clear()


def bare_traffic(table: BareInserts, rounds: int, latencies: list[float]) -> None:
    """Insert as many bytes as decisions and rewards take."""
    for _ in range(rounds):
        for size in BYTES:
            start = time.perf_counter()
            table.insert(bytes(size))
            latencies.append(time.perf_counter() - start)


def traffic(
    way: str, path: Path, threads: int, rounds: int, ready: Callable[[], object]
) -> list[float]:
    """Run one process's threads one way, from when all are ready; return the latencies."""
    latencies: list[float] = []
    if way == "bare":
        table = BareInserts(path)
        run = lambda: bare_traffic(table, rounds, latencies)  # noqa: E731
    else:
        make = mogro.Agent if way == "memory" else lambda *a, **k: mogro.Agent.open(path, *a, **k)
        agent = make(OBJECTIVES, dim=DIM, seed=0)
        run = lambda: agent_traffic(agent, rounds, latencies)  # noqa: E731
    workers = [threading.Thread(target=run) for _ in range(threads)]
    ready()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return latencies


def in_process(
    way: str, path: Path, threads: int, rounds: int, barrier: "Barrier", told: "Queue[list[float]]"
) -> None:
    """Run one process of several."""
    latencies = traffic(way, path, threads, rounds, barrier.wait)
    barrier.wait()
    told.put(latencies)


def timed(
    way: str, path: Path, *, processes: int, threads: int, rounds: int
) -> tuple[float, list[float]]:
    """Return the seconds that all took, and the latencies of the calls."""
    barrier, told = SERVER.Barrier(processes + 1), SERVER.Queue()
    workers = [
        SERVER.Process(target=in_process, args=(way, path, threads, rounds, barrier, told))
        for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - start
    latencies = [one for _ in workers for one in told.get()]
    for worker in workers:
        worker.join()
    return seconds, latencies


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="of each thread or process")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    for processes, threads in ((1, 1), (1, 8), (4, 1)):
        print(f"{processes} processes x {threads} threads, medians of {options.turns} turns")
        seconds: dict[str, list[float]] = {"file": [], "bare": [], "memory": []}
        latencies: dict[str, list[float]] = {"file": [], "bare": [], "memory": []}
        for _ in range(options.turns):
            for way in seconds:
                with tempfile.TemporaryDirectory() as folder:
                    took, each = timed(
                        way,
                        Path(folder) / "shop.db",
                        processes=processes,
                        threads=threads,
                        rounds=options.rounds,
                    )
                seconds[way].append(took)
                latencies[way] += each
        pairs = processes * threads * options.rounds
        median = {way: statistics.median(all_) for way, all_ in seconds.items()}
        for way, took in median.items():
            p50, p99 = np.quantile(latencies[way], [0.5, 0.99]) * 1000
            print(
                f"  {way:7} {pairs / took:8.0f} decisions with rewards a second;"
                f" a call p50 {p50:.2f} ms, p99 {p99:.2f} ms"
            )
        bar = 2 * median["bare"] + median["memory"]
        print(f"  time of file: {median['file'] / bar:.2f} of 2 x bare + memory")


if __name__ == "__main__":
    main()
