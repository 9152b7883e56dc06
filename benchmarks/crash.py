"""Kill processes that share an agent, again and again: is anything acknowledged lost?

Run ``python -m benchmarks.crash --cycles 1000 --processes 4``, and again with ``--postgres``. In
every cycle some processes decide and reward on one file or database, each writing a line to a file
of its own after every call that returned. They are killed (SIGKILL) at a random moment. Then the
journal is compared with the lines: every acknowledged event is in it, once; of each process at most
the one call that was under way is there beside them; an agent that opens it has the state of these
events applied one after the other, to the bit. Then every decision of the cycle, acknowledged or
cut off, is asked for again by its id, as a client would: the same comes back, and nothing happens.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg

import mogro
from benchmarks.postgres import server
from mogro.agent.errors import JournalUnavailable
from mogro.agent.events import Decided, Event, Rewarded
from mogro.agent.journal import open_journal
from mogro.agent.state.snapshot import read_snapshot, write_snapshot
from mogro.agent.state.state import State

T = TypeVar("T")

OBJECTIVES = [mogro.Objective("click"), mogro.Objective("sale", window=50.0, default=0.0)]
ARMS = {"a": [1.0, 0.0, 0.3], "b": [0.2, 1.0, 0.0], "c": [0.5, 0.5, 1.0], "d": [0.0, 0.3, 0.9]}

# Children of a server that has imported everything: they start quickly and inherit no open file.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro", "sqlite3", "benchmarks.postgres"])


@dataclass
class Report:
    """What was found in all cycles."""

    cycles: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0  # events of calls that were cut off after their commit
    lost: int = 0
    repeated: int = 0  # events learned or decided twice
    surplus: int = 0  # events nobody asked for
    unequal: int = 0  # cycles in which the state was not that of the events
    errors: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether every promise held."""
        return not (self.lost or self.repeated or self.surplus or self.unequal or self.errors)


def opened(path: str) -> mogro.Agent:
    """Open the agent of this test; snapshots are frequent, so that kills meet them."""
    return mogro.Agent.open(path, OBJECTIVES, arms=3, seed=7, snapshot_every=50)


def work(path: str, worker: int, cycle: int, lines: Path) -> None:
    """Decide and reward until killed; or until the parent was."""
    handle = os.open(lines, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(*line: str) -> None:
        os.write(handle, json.dumps(line).encode() + b"\n")

    try:
        agent = surely(lambda: opened(path))
        n, parent = 0, os.getppid()
        while os.getppid() == parent:
            visit, now = f"{cycle}.{worker}.{n}", cycle + n / 1000
            made = surely(partial(agent.decide, ARMS, id=visit, now=now))
            say("decided", visit, made.arm)
            surely(partial(agent.reward, visit, {"click": float(n % 2)}, now=now))
            say("rewarded", visit)
            if n % 5 == 0:
                made = surely(partial(agent.decide, ARMS, now=now))
                say("decided", made.id, made.arm)
            n += 1
    except Exception as error:
        say("error", repr(error))
        raise


def surely(call: Callable[[], T]) -> T:
    """Call until it is answered: on a busy machine whoever holds the lock may stand still."""
    while True:
        with suppress(JournalUnavailable):
            return call()


class Checker:
    """Follows the journal by itself, one cycle after the other."""

    def __init__(self, path: str, folder: Path) -> None:
        self.path = path
        self.folder = folder
        with opened(path) as agent:
            agent.save(folder / "state")
        self.state = State(read_snapshot(folder / "state", ()).config)
        self.position = 0
        self.decided: Counter[str] = Counter()
        self.rewarded: Counter[str] = Counter()

    def new_events(self) -> list[Event]:
        """Return what has come since the last time."""
        journal, _ = open_journal(self.path, "agent", None, types=(), timeout=60.0)
        events = [event for _, event in journal.read(self.position)]
        journal.close()
        self.position += len(events)
        return events

    def check(self, lines: list[list[Any]], files: list[Path], report: Report) -> None:
        """Compare acknowledged calls with the journal; there is a file for every process."""
        events = self.new_events()
        for event in events:
            assert not isinstance(self.state.apply(event), Exception)
        made = {event.id: event.arm for event in events if isinstance(event, Decided)}
        given = {event.id for event in events if isinstance(event, Rewarded)}
        acknowledged = [line for line in lines if line[0] != "error"]
        report.errors += [line[1] for line in lines if line[0] == "error"]
        for line in acknowledged:
            kept = made.get(line[1]) == line[2] if line[0] == "decided" else line[1] in given
            report.lost += not kept
        beside = sum(isinstance(event, Decided | Rewarded) for event in events) - len(acknowledged)
        report.acknowledged += len(acknowledged)
        report.unacknowledged += beside
        report.surplus += max(0, beside - len(files))  # one call of each process
        self.decided.update(event.id for event in events if isinstance(event, Decided))
        self.rewarded.update(event.id for event in events if isinstance(event, Rewarded))
        report.repeated += sum(self.decided[visit] > 1 for visit in made)
        report.repeated += sum(self.rewarded[visit] > 1 for visit in given)
        write_snapshot(self.folder / "fold", self.state)
        with opened(self.path) as agent:
            agent.save(self.folder / "state")
        report.unequal += not _same(self.folder / "fold", self.folder / "state")
        self.ask_again(made, self.state.time, report)

    def ask_again(self, made: dict[str, str], now: float, report: Report) -> None:
        """Ask for decisions by their ids: the same come back, and nothing happens."""
        with opened(self.path) as agent:
            for visit, arm in made.items():
                report.repeated += agent.decide(ARMS, id=visit, now=now).arm != arm
            agent.save(self.folder / "again")
        report.repeated += not _same(self.folder / "again", self.folder / "state")


def _same(one: Path, two: Path) -> bool:
    return one.read_bytes() == two.read_bytes()


def run(
    path: str,
    folder: Path,
    *,
    cycles: int,
    processes: int,
    seed: int,
    longest: float = 0.3,
    batch: int = 1,
    tell: Callable[[Report], object] = lambda _: None,
) -> Report:
    """Kill processes in so many cycles, each after at most ``longest`` seconds of traffic.

    Of every ``batch`` cycles all but the last kill one process while the others go on, and start
    another in its place; the last kills all, everything is checked, and ``tell`` is told.
    """
    rng, report = random.Random(seed), Report()
    checker = Checker(path, folder)
    for first in range(0, cycles, batch):
        kills = min(batch, cycles - first)
        files: list[Path] = []

        def started(worker: int, cycle: int, files: list[Path] = files) -> Any:
            files.append(folder / f"lines {worker} {cycle}")
            process = SERVER.Process(target=work, args=(path, worker, cycle, files[-1]))
            process.start()
            return process

        workers = [started(worker, first) for worker in range(processes)]
        for cycle in range(first + 1, first + kills):
            _wait_for_traffic(files[-1:])
            time.sleep(rng.uniform(0, longest))
            worker = rng.randrange(processes)
            _kill(workers[worker])
            workers[worker] = started(worker, cycle)
        _wait_for_traffic(files)
        time.sleep(rng.uniform(0, longest))
        _kill(*workers)
        wait_for_server(path)
        checker.check([json.loads(line) for file in files for line in _lines(file)], files, report)
        for file in files:
            file.unlink(missing_ok=True)
        report.cycles += kills
        tell(report)
    return report


def _kill(*processes: Any) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    for process in processes:
        process.join()


def _wait_for_traffic(files: list[Path]) -> None:
    """Wait until some process has been acknowledged something; others may be opening yet."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(_lines(file) for file in files):
        time.sleep(0.005)


def wait_for_server(path: str) -> None:
    """Wait until a server has noticed: what the killed had sent may be committed until then."""
    if path.startswith("postgresql:"):
        with psycopg.connect(path, autocommit=True) as connection:
            others = (
                "SELECT 1 FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            while connection.execute(others).fetchall():
                time.sleep(0.002)


def _lines(file: Path) -> list[bytes]:
    """Return whole lines only: a process may have been killed while it wrote one."""
    content = file.read_bytes() if file.exists() else b""
    return content.split(b"\n")[:-1]


def main() -> None:
    """Run it, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=0.3, help="seconds of traffic in a cycle")
    parser.add_argument("--batch", type=int, default=1, help="cycles between two checks")
    parser.add_argument("--postgres", action="store_true", help="a database instead of a file")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = str(folder / "shop.db")
        if options.postgres:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            path = stack.enter_context(server(place)).address
        started = time.monotonic()
        report = run(
            path,
            folder,
            cycles=options.cycles,
            processes=options.processes,
            seed=options.seed,
            longest=options.longest,
            batch=options.batch,
            tell=lambda report: print(report, f"{time.monotonic() - started:.0f} s", flush=True),
        )
    raise SystemExit(not report.clean)


if __name__ == "__main__":
    main()
