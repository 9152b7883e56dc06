"""How long it takes to open an agent with a long past.

Run ``python -m benchmarks.restart``. A journal of a million events, half of them decisions and the
rest their rewards, is written by the fold itself, with snapshots as an agent would take them. The
bar: it opens in at most 3 s, in a new process, with the usual number of events after the snapshot.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path

import numpy as np

import mogro
from mogro.agent.events import Decided, Event, Rewarded
from mogro.agent.journal import open_journal
from mogro.agent.journal.snapshots import Snapshots
from mogro.agent.journal.tables import written
from mogro.agent.state.state import State

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["mogro"])
OBJECTIVES = [mogro.Objective("click"), mogro.Objective("watch"), mogro.Objective("stars")]
DIM, LATE, EVERY, BAR = 20, 1000, 5000, 3.0


def events(decisions: int) -> Iterator[Event]:
    """Yield decisions, and the reward of each a thousand decisions later."""
    arms = np.random.default_rng(0).standard_normal((100, DIM))
    seen = np.column_stack([np.ones(100), arms])  # by the learner
    made: list[Event] = []
    mogro.Agent(OBJECTIVES, arms=DIM, seed=0, on_event=made.append).decide({"any": arms[0]})
    assert isinstance(made[0], Decided)
    first = made[0]._replace(number=None)
    for n in range(decisions + LATE):
        if n < decisions:
            yield first._replace(id=f"visit {n:09}", arm=f"arm {n % 100}", features=seen[n % 100])
        if n >= LATE:
            values = {objective.name: n / 7 for objective in OBJECTIVES}
            yield Rewarded(f"visit {n - LATE:09}", values, None)


def write(path: Path, decisions: int) -> None:
    """Write the journal, with the last snapshot as far back as it ever is."""
    mogro.Agent.open(path, OBJECTIVES, arms=DIM, seed=0).close()
    journal, config = open_journal(path, "agent", None, types=(), timeout=60.0)
    state = State(config)
    last = 2 * decisions - EVERY + 1
    fresh: list[Event] = []
    for position, event in enumerate(events(decisions), 1):
        state.apply(event)
        fresh.append(event)
        if len(fresh) == 10_000 or position in (last, 2 * decisions):
            journal.begin()
            journal.append(written(position - len(fresh) + 1, fresh))
            journal.commit()
            fresh = []
        if position == last:
            snapshots = Snapshots(journal, EVERY)
            snapshots.begin(state)
            journal.begin()
            snapshots.step(sys.maxsize)
            journal.commit()
    journal.close()


def opening(path: Path, decisions: int, told: "Queue[tuple[float, float]]") -> None:
    """Open it, and say how long that took."""
    start, used = time.perf_counter(), time.process_time()
    with mogro.Agent.open(path) as agent:
        told.put((time.perf_counter() - start, time.process_time() - used))
        assert agent.counters["learned"] == 3 * decisions
        assert agent.decision("visit 000000007").decision.arm == "arm 7"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to keep the journal")
    options = parser.parse_args()
    decisions = options.events // 2
    with tempfile.TemporaryDirectory() as folder:
        path = (options.folder or Path(folder)) / f"{decisions}.db"
        if not path.exists():
            write(path, decisions)
        took = []
        for _ in range(3):
            told = SERVER.Queue()
            process = SERVER.Process(target=opening, args=(path, decisions, told))
            process.start()
            took.append(told.get())
            process.join()
        seconds, processor = sorted(took)[1]
        print(
            f"{options.events} events, {path.stat().st_size / 1e6:.0f} MB, median of {len(took)}:"
        )
        print(f"opened in {seconds:.2f} s ({processor:.2f} s of the processor); bar {BAR} s")
    raise SystemExit(seconds > BAR)


if __name__ == "__main__":
    main()
