"""What agents with a journal promise: restart, size, and calls that wait for no housekeeping.

Run ``python -m benchmarks.durability``, and again with ``--postgres``; ``--only restart size`` runs
some parts. Each bar is printed beside what was measured. Journals are filled with copies of real
decisions under other ids, each with a reward; half of the rewards come a thousand decisions later.
Waiting is measured beside bare commits, one after each call, on the same disk and in the same
process: "beyond" is the difference of quantiles. Seconds of the processor tell what a busy machine
hides.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import gc
import itertools
import multiprocessing
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import mogro
from benchmarks.postgres import server
from mogro.agent.events import Decided, Event, Offered, Rewarded
from mogro.agent.journal import CommitQueue, open_journal
from mogro.agent.journal.tables import event_rows

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro", "pyarrow.parquet", "sqlite3", "benchmarks.postgres"])
OBJECTIVES = [mogro.Objective(name) for name in ("click", "watch", "stars")]
VALUES = {"click": 1.0, "watch": 0.3, "stars": 4.0}
DIM, ARMS, LATE = 20, 100, 1000

NewPath = Callable[[], str]


def opened(path: str, **options: Any) -> mogro.Agent:
    """Open the agent of this benchmark."""
    return mogro.Agent.open(path, OBJECTIVES, arms=DIM, seed=0, epsilon=0.1, **options)


def offered(arms: int = ARMS) -> tuple[list[str], Any]:
    """Return the arms on offer."""
    return [f"arm {k}" for k in range(arms)], np.random.default_rng(0).standard_normal((arms, DIM))


def say(what: str, bar: str, figures: str) -> None:
    """Print a row of the table."""
    print(f"| {what} | {bar} | {figures} |", flush=True)


def real_events(arms: int) -> tuple[Event, list[Decided]]:
    """Return the arms on offer and some decisions among them, as a journal has them."""
    names, features = offered(arms)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder, opened(f"{folder}/some.db") as agent:
        for _ in range(300):
            for decision in agent.decide_top(names, features, top=10):
                agent.reward(decision.id, dict(zip(VALUES, rng.random(3).tolist(), strict=True)))
        events = [event for _, event in agent.events()]
    first = next(event for event in events if isinstance(event, Offered))
    return first, [event for event in events if isinstance(event, Decided)][-1000:]


def copies(decisions: int, *, arms: int = ARMS, **changes: Any) -> Iterator[Event]:
    """Yield copies of real decisions, and their rewards; each decision has ``changes``."""
    first, real = real_events(arms)
    yield first
    rewards: dict[int, list[Event]] = {}
    for n in range(decisions):
        like = real[n % len(real)]
        evidence = like.evidence and like.evidence._replace(**changes)
        visit = f"visit {n:09}"
        yield like._replace(id=visit, id_number=None, evidence=evidence, offer_position=1)
        rewards.setdefault(n + LATE * (n % 2), []).append(Rewarded(visit, VALUES, None))
        yield from rewards.pop(n, ())
    for late in rewards.values():
        yield from late


def fill(
    path: str,
    decisions: int,
    arms: int = ARMS,
    changes: dict[str, Any] | None = None,
    **options: Any,
) -> int:
    """Write so many decisions into a journal, and a snapshot of them; return how many events."""
    opened(path, **options).close()
    journal, _ = open_journal(path, "agent", None, types=(), timeout=60.0)
    events, last = copies(decisions, arms=arms, **(changes or {})), 0
    while some := list(itertools.islice(events, 2000)):
        journal.begin()
        journal.append(event_rows(last + 1, some))
        journal.commit()
        last += len(some)
    journal.close()
    opened(path, **options).close()
    return last


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a process of its own."""
    here, there = SERVER.Pipe()
    process = SERVER.Process(target=_tell, args=(there, work, arguments))
    process.start()
    told = here.recv()
    process.join()
    return told


def _tell(there: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    there.send(work(*arguments))


# Restart


def opening(path: str) -> tuple[float, float]:
    """Open an agent; return the seconds, and those of the processor."""
    start, used = time.perf_counter(), time.process_time()
    agent = opened(path)
    took = time.perf_counter() - start, time.process_time() - used
    agent._store._closed = True  # type: ignore[union-attr]  # leave no snapshot
    return took


def decide_until_killed(path: str, events: int) -> None:
    """Append so many events, and die."""
    names, features = offered()
    agent = opened(path)
    for _ in range(events // 40):
        for decision in agent.decide_top(names, features, top=20):
            agent.reward(decision.id, VALUES)
    os.kill(os.getpid(), signal.SIGKILL)


def restart(new_path: NewPath, events: int) -> None:
    """Open journals again: after kill -9, after close, with all events to replay, with many."""
    path = new_path()
    process = SERVER.Process(target=decide_until_killed, args=(path, 4960))
    process.start()
    process.join()
    seconds, used = min(apart(opening, path) for _ in range(3))
    say(
        "open again after kill -9, 4,960 events after the snapshot",
        "2 s",
        f"{seconds:.2f} s, processor {used:.2f} s",
    )
    opened(path).close()
    seconds, used = min(apart(opening, path) for _ in range(3))
    say("the same after close", "a snapshot", f"{seconds:.2f} s, processor {used:.2f} s")
    rate = apart(replaying, path)
    say("replay", "20,000 events/s", f"{rate:,.0f} events/s of processor")
    path = new_path()
    total = fill(path, events // 2)
    seconds, used = min(apart(opening, path) for _ in range(3))
    say(f"open again with {total:,} events", "3 s", f"{seconds:.2f} s, processor {used:.2f} s")


def replaying(path: str) -> float:
    """Return how many events a second are read and applied."""
    from mogro.agent.state.state import State

    journal, config = open_journal(path, "agent", None, types=(), timeout=60.0)
    rates = []
    for _ in range(3):
        state, start = State(config), time.process_time()
        for _, event in journal.read(0, evidence=False):
            state.apply(event)
        rates.append(state.position / (time.process_time() - start))
    return max(rates)


# Size


def resident() -> int:
    """Return the bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(path: str, fewer: str) -> int:
    """Return the bytes that an agent takes beyond one with a shorter past, opened first."""
    small = opened(fewer)
    before = resident()
    large = opened(path)
    taken = resident() - before
    for agent in (small, large):
        agent._store._closed = True  # type: ignore[union-attr]
    return taken


def growth(decisions: int, window: float | None) -> int:
    """Return the bytes that an agent in memory takes for so many decisions, rewards included."""
    objectives = [mogro.Objective(name, window=window) for name in VALUES]
    agent = mogro.Agent(objectives, arms=DIM, seed=0, epsilon=0.1)
    names, features = offered()

    def more(count: int) -> None:
        for n in range(count // 20):
            for decision in agent.decide_top(names, features, top=20, now=float(n)):
                agent.reward(decision.id, VALUES, now=float(n))

    more(1000)
    before = resident()
    more(decisions)
    return resident() - before


def log_rate(path: str) -> tuple[float, float]:
    """Return how many rows of a log are made a second, and a second of the processor."""
    agent = opened(path)
    agent.log()  # imports, caches
    start, used = time.perf_counter(), time.process_time()
    rows = agent.log().num_rows
    took = rows / (time.perf_counter() - start), rows / (time.process_time() - used)
    agent._store._closed = True  # type: ignore[union-attr]
    return took


def size(new_path: NewPath, decisions: int) -> None:
    """Measure what grows with the past: memory, file, log."""
    path, fewer = new_path(), new_path()
    events = fill(path, decisions)
    fill(fewer, 1000)
    features = 8 * (DIM + 1)
    taken = apart(memory, path, fewer) / (decisions - 1000) - features
    say(
        "memory of a completed decision besides its features, opened",
        "300 bytes",
        f"{taken:.0f} bytes",
    )
    for window in (None, 10.0):
        taken = apart(growth, decisions, window) / decisions - features
        say(f"the same, as it decides, window {window}", "300 bytes", f"{taken:.0f} bytes")
    if not path.startswith("postgresql:"):
        bytes_ = os.path.getsize(path) / decisions
        with sqlite3.connect(path) as connection:
            ((kept, of),) = connection.execute(
                "SELECT sum(length(event)), count(*) FROM mogro_events"
            )
            ((held,),) = connection.execute("SELECT sum(length(content)) FROM mogro_snapshots")
        assert of == events
        say(
            "file of a decision with its reward",
            "(1.3 kB)",
            f"{bytes_:.0f} bytes: events {kept / decisions:.0f}, snapshot {held / decisions:.0f}",
        )
    for arms, most in ((10, 20_000), (ARMS, 20_000)):
        path = new_path()
        fill(path, most, arms, {"propensity": (0.5, 0.0)})
        wall, used = apart(log_rate, path)
        say(
            f"log(), propensities known, {arms} arms",
            "20,000 rows/s",
            f"{wall:,.0f} rows/s, {used:,.0f} of processor",
        )
    path = new_path()
    fill(path, 2000, 10)
    wall, used = apart(log_rate, path)
    say("log(), propensities computed then, 10 arms", "", f"{wall:,.0f} rows/s")


# Waiting


class BareCommits:
    """A table of bytes in a database of its own."""

    def __init__(self, path: str) -> None:
        self.connection: Any
        if path.startswith("postgresql:"):
            self.connection, kind, sign = psycopg.connect(path, autocommit=True), "BYTEA", "%s"
        else:
            self.connection, kind, sign = sqlite3.connect(path, isolation_level=None), "BLOB", "?"
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS bare (b {kind})")
        self.insert = f"INSERT INTO bare VALUES ({sign})"

    def commit(self) -> None:
        """Return when bytes are on the disk."""
        self.connection.execute(self.insert, (bytes(1500),))


def work(path: str, bare: str, options: dict[str, Any], done: Flag, told: Connection) -> None:
    """Decide, reward and commit until it is done; tell when calls began and what they took."""
    names, features = offered()
    agent, commits = opened(path, **options), BareCommits(bare)
    calls: list[tuple[float, float, float, float]] = []
    told.send("ready")
    visit = ""
    while not done.is_set():
        for call in (0, 1):
            start, used = time.monotonic(), time.thread_time()
            if call:
                agent.reward(visit, VALUES)
            else:
                visit = agent.decide(names, features).id
            between, spent = time.monotonic(), time.thread_time() - used
            commits.commit()
            calls.append((start, between - start, time.monotonic() - between, spent))
        time.sleep(0.002)
    told.send(calls)
    agent.close()


def beside(
    path: str, bare: str, options: dict[str, Any], jobs: dict[str, Callable[[], object]]
) -> None:
    """Print for each job how long calls and bare commits took beside it."""
    done = SERVER.Event()
    here, there = SERVER.Pipe()
    worker = SERVER.Process(target=work, args=(path, bare, options, done, there))
    worker.start()
    here.recv()
    spans = {}
    for name, job in jobs.items():
        start = time.monotonic()
        job()
        spans[name] = start, time.monotonic()
        time.sleep(0.5)
    done.set()
    calls = np.array(here.recv())
    worker.join()
    for name, (start, stop) in spans.items():
        some = calls[(calls[:, 0] < stop) & (calls[:, 0] + calls[:, 1] > start)]
        call, commit, spent = 1000 * some[:, 1:].T
        beyond = [np.quantile(call, q) - np.quantile(commit, q) for q in (0.5, 0.99, 1)]
        words = ", ".join(f"{each:.1f}" for each in beyond)
        say(
            f"{name} ({stop - start:.1f} s, {len(some)} calls)",
            "50 ms",
            f"beyond a commit by p50, p99, slowest: {words} ms; slowest {call.max():.0f}, bare"
            f" {commit.max():.0f} ms; processor at most {spent.max():.1f} ms",
        )


def waiting(new_path: NewPath, decisions: int) -> None:
    """Measure how long calls wait beside housekeeping, and for snapshots."""
    for retention in (None, mogro.Retention(decisions=decisions // 2)):
        path = new_path()
        fill(path, decisions, 10, {"propensity": (0.5, 0.0)}, retention=retention)
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {decisions:,} decisions, {retention} | | |")
            beside(
                path,
                new_path(),
                {"retention": retention, "snapshot_every": 200},
                housekeeping(path, Path(folder), f"visit {decisions - 9:09}", retention),
            )


def housekeeping(
    path: str, folder: Path, visit: str, retention: mogro.Retention | None
) -> dict[str, Callable[[], object]]:
    """Return what another process does, by name."""
    agents: list[mogro.Agent] = []

    def void() -> None:  # the reward of a decision: all events are applied again
        *_, (position, _) = agents[0].events(visit)
        agents[0].void(position)

    voids = {"void": void} if retention is None else {}  # else events are gone that it takes
    return {
        "snapshots of its own": lambda: time.sleep(8),
        "open": lambda: agents.append(opened(path, retention=retention)),
        "log": lambda: agents[0].log(),
        "export": lambda: agents[0].export(folder),
        "report": lambda: agents[0].report(folder / "report.html"),
        **voids,
        "erase": lambda: agents[0].erase(visit),
        "close": lambda: agents[0].close(),
    }


# A worker that stands still


def hold(path: str, told: Connection) -> None:
    """Hold the lock of a journal, and say so; whoever asked stops this process."""
    agent = opened(path)
    assert isinstance(agent._store, CommitQueue)
    with agent._store.transaction():
        told.send(os.getpid())
        time.sleep(60)


def stopped(new_path: NewPath) -> None:
    """Measure how long a call waits for a worker that was stopped while it held the lock."""
    path = new_path()
    names, features = offered()
    with opened(path) as agent:
        here, there = SERVER.Pipe()
        process = SERVER.Process(target=hold, args=(path, there))
        process.start()
        number = here.recv()
        os.kill(number, signal.SIGSTOP)
        start, words = time.perf_counter(), "it was made"
        try:
            agent.decide(names, features)
        except mogro.errors.JournalError as error:
            words = str(error)
        took = time.perf_counter() - start
        os.kill(number, signal.SIGKILL)
        process.join()
        start = time.perf_counter()
        agent.decide(names, features)
        after = time.perf_counter() - start
    named = str(number) in words
    say(
        "a worker is stopped with the lock held",
        "2 s, who",
        f"{took:.1f} s, {named}: {words}; once it is gone {1000 * after:.0f} ms",
    )


def main() -> None:
    """Measure, and print a table."""
    parts: dict[str, Callable[[NewPath, Any], object]] = {
        "stopped": lambda new_path, _: stopped(new_path),
        "restart": lambda new_path, options: restart(new_path, options.events),
        "size": lambda new_path, options: size(new_path, options.decisions),
        "waiting": lambda new_path, options: waiting(new_path, options.decisions),
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--postgres", action="store_true", help="a database instead of a file")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        new_path = lambda: tempfile.mktemp(".db", dir=folder)  # noqa: E731
        if options.postgres:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            new_path = stack.enter_context(server(place)).new_address
        for name in options.only:
            parts[name](new_path, options)


if __name__ == "__main__":
    main()
