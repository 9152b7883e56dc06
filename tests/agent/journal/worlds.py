"""Agents in files, and processes that use them, for the tests."""

import multiprocessing
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

import mogro

OBJECTIVES = [
    mogro.Objective("click"),
    mogro.Objective("watch", unit=60.0, window=50.0),
    mogro.Objective("cost", direction="min", window=80.0, default=0.25),
]
ARMS = {
    "news": [1.0, 0.0, 0.2], "film": [0.0, 1.0, 0.1], "game": [0.5, 0.5, 1.0],
    "quiz": [0.9, 0.3, -0.4],
}  # fmt: skip

# Children of a server that has imported everything: quick, and they inherit no open file.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["benchmarks.crash", "pytest", "tests.agent.journal.worlds"])


def opened(path: Path | str, **changed: Any) -> mogro.Agent:
    return mogro.Agent.open(path, OBJECTIVES, **({"arms": 3, "seed": 7} | changed))


def in_memory(**changed: Any) -> mogro.Agent:
    return mogro.Agent(OBJECTIVES, **({"arms": 3, "seed": 7} | changed))


def live(agent: mogro.Agent, start: int, rounds: int) -> None:
    """Let an agent decide and learn in a way that depends on the rounds alone."""
    for n in range(start, start + rounds):
        now = float(n)
        decision = agent.decide(ARMS, now=now)
        if n % 3:
            agent.reward(decision.id, {"click": float(n % 2)}, now=now)
        if n % 4 == 0:
            agent.reward(decision.id, {"watch": 10.0 * (n % 7), "cost": 0.5}, now=now)
        if n % 16 == 15:
            agent.expire(now)


def query(shop: str, statement: str) -> list[tuple[Any, ...]]:
    """Return what a statement gives, behind the agent's back."""
    if shop.startswith("postgresql:"):
        with psycopg.connect(shop) as database:
            cursor = database.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
    file = sqlite3.connect(shop)
    with file:
        rows = file.execute(statement).fetchall()
    file.close()
    return rows


def saved(agent: mogro.Agent, path: Path) -> bytes:
    """Return all that an agent knows."""
    agent.save(path)
    return path.read_bytes()


def in_processes(work: Callable[..., None], *arguments: tuple[Any, ...]) -> None:
    """Run a function in processes at once, with the arguments of each; all have to succeed."""
    workers = [SERVER.Process(target=work, args=args) for args in arguments]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
