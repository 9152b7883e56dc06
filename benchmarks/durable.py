"""Durable decisions and rewards beside bare inserts of the same bytes with the same durability.

Run ``python -m benchmarks.durable``, and again with ``--postgres``. Each setting (threads in one
process, or processes) runs three ways in turn, several times over: an agent in a file or database;
bare inserts of rows with the bytes of its events, as durable, threads sharing a commit in the same
way; the agent in memory. The bar: the agent with a journal takes at most twice the time of bare
inserts plus the time in memory. With ``--processes 8 --rounds 1000`` only that setting runs: no
call may fail because of a lock.
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
from contextlib import ExitStack
from itertools import count
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

import mogro
from benchmarks.postgres import server
from mogro.agent.events import Decided, Rewarded
from mogro.agent.journal import open_journal
from mogro.agent.journal.tables import event_bytes

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro", "sqlite3", "benchmarks.postgres"])
OBJECTIVES = [mogro.Objective(name) for name in ("click", "watch", "stars")]
DIM, ARMS = 20, 100
WAYS = ("journal", "bare", "memory")
Bytes = tuple[tuple[bytes, ...], tuple[bytes, ...]]  # of decided and of rewarded events


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

    def __init__(self, path: str) -> None:
        self.connection: Any
        if path.startswith("postgresql:"):
            self.connection = psycopg.connect(path, autocommit=True)
            self.begin, self.sign, kind = "BEGIN", "%s", "BIGINT GENERATED ALWAYS AS IDENTITY"
            self.connection.execute("SELECT pg_advisory_lock(1)")
        else:
            self.connection = sqlite3.connect(
                path, timeout=60, isolation_level=None, check_same_thread=False
            )
            self.begin, self.sign, kind = "BEGIN IMMEDIATE", "?", "INTEGER"
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
        blob = "BYTEA" if self.sign == "%s" else "BLOB"
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS bare (n {kind} PRIMARY KEY, b {blob})")
        if self.sign == "%s":
            self.connection.execute("SELECT pg_advisory_unlock(1)")
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
            cursor = self.connection.cursor()
            cursor.execute(self.begin)
            cursor.executemany(f"INSERT INTO bare (b) VALUES ({self.sign})", calls)
            cursor.execute("COMMIT")
            for call in calls:
                call.clear()


def bare_traffic(table: BareInserts, contents: Bytes, rounds: int, latencies: list[float]) -> None:
    """Insert the bytes of decisions and rewards."""
    for n in range(rounds):
        for kind in contents:
            start = time.perf_counter()
            table.insert(kind[n % len(kind)])
            latencies.append(time.perf_counter() - start)


def event_contents(path: str) -> Bytes:
    """Return the bytes of some decisions and rewards in a journal."""
    journal, _ = open_journal(path, "agent", None, types=(), timeout=60.0)
    events = [event for _, event in journal.read(0)]
    journal.close()
    decided, rewarded = (
        tuple(event_bytes(event) for event in events if isinstance(event, kind))[:400]
        for kind in (Decided, Rewarded)
    )
    return decided, rewarded


def traffic(
    way: str, path: str, contents: Bytes, threads: int, rounds: int, ready: Callable[[], object]
) -> list[float]:
    """Run one process's threads one way, from when all are ready; return the latencies."""
    latencies: list[float] = []
    agent_traffic(mogro.Agent(OBJECTIVES, arms=DIM, seed=0), 50, [])  # imports, caches
    if way == "bare":
        table = BareInserts(path)
        run = lambda: bare_traffic(table, contents, rounds, latencies)  # noqa: E731
    else:
        make = mogro.Agent if way == "memory" else lambda *a, **k: mogro.Agent.open(path, *a, **k)
        agent = make(OBJECTIVES, arms=DIM, seed=0)
        run = lambda: agent_traffic(agent, rounds, latencies)  # noqa: E731
    workers = [threading.Thread(target=run) for _ in range(threads)]
    ready()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return latencies


def in_process(
    way: str,
    path: str,
    contents: Bytes,
    threads: int,
    rounds: int,
    barrier: "Barrier",
    told: "Queue[list[float]]",
) -> None:
    """Run one process of several."""
    latencies = traffic(way, path, contents, threads, rounds, barrier.wait)
    barrier.wait()
    told.put(latencies)


def timed(
    way: str, path: str, contents: Bytes, *, processes: int, threads: int, rounds: int
) -> tuple[float, list[float]]:
    """Return the seconds that all took, and the latencies of the calls."""
    barrier, told = SERVER.Barrier(processes + 1), SERVER.Queue()
    workers = [
        SERVER.Process(
            target=in_process, args=(way, path, contents, threads, rounds, barrier, told)
        )
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
    calls = 2 * processes * threads * rounds
    if len(latencies) != calls:  # a thread that fails takes the rest of its calls with it
        raise SystemExit(f"{calls - len(latencies)} calls of {calls} failed")
    return seconds, latencies


def measure(
    new_path: Callable[[], str], *, processes: int, threads: int, rounds: int, turns: int
) -> None:
    """Measure one setting, and print it."""
    print(f"{processes} processes x {threads} threads, medians of {turns} turns")
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    latencies: dict[str, list[float]] = {way: [] for way in WAYS}
    contents: Bytes = ((), ())
    for _ in range(turns):
        path = new_path()
        for way in WAYS:
            took, each = timed(
                way, path, contents, processes=processes, threads=threads, rounds=rounds
            )
            seconds[way].append(took)
            latencies[way] += each
            if way == "journal":
                contents = event_contents(path)
    median = {way: statistics.median(all_) for way, all_ in seconds.items()}
    for way, took in median.items():
        p50, p99 = np.quantile(latencies[way], [0.5, 0.99]) * 1000
        print(
            f"  {way:7} {processes * threads * rounds / took:8.0f} decisions with rewards a second;"
            f" a call p50 {p50:.2f} ms, p99 {p99:.2f} ms"
        )
    bar = 2 * median["bare"] + median["memory"]
    print(f"  time with a journal: {median['journal'] / bar:.2f} of 2 x bare + memory")
    sizes = [round(statistics.mean(map(len, kind))) for kind in contents]
    print(f"  bytes of a decision and a reward: {sizes}; no call failed", flush=True)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="of each thread or process")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--processes", type=int, help="only so many, with one thread each")
    parser.add_argument("--postgres", action="store_true", help="a database instead of a file")
    options = parser.parse_args()
    settings = [(options.processes, 1)] if options.processes else [(1, 1), (1, 8), (4, 1)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        numbers = count()
        new_path = lambda: str(folder / f"{next(numbers)}.db")  # noqa: E731
        if options.postgres:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            new_path = stack.enter_context(server(place)).new_address
        for processes, threads in settings:
            measure(
                new_path,
                processes=processes,
                threads=threads,
                rounds=options.rounds,
                turns=options.turns,
            )


if __name__ == "__main__":
    main()
