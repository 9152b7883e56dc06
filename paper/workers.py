"""Work that is spread over workers: its options, its progress, and its errors in one line."""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from pathlib import Path

from paper.lab.parallel import Task, local_pool
from paper.lab.reproduce import DamagedError, Experiment, all_tasks, reproduce
from paper.lab.scale import Scale


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number of an option."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a number from {least} on, got {text}")
        return int(text)

    return read


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all that is spread over workers."""
    parser.add_argument("--quick", action="store_true", help="fewer instances, repeats and rounds")
    parser.add_argument(
        "--seed", type=at_least(0), default=0, help="where all randomness comes from [0]"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=at_least(1), help="processes of this machine [all cores]")
    where.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, tcp://10.0.0.1:8786")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where files go [out]")


def work(
    experiments: Sequence[Experiment],
    scale: Scale,
    workers: int | None,
    cluster: str | None,
    out: Path,
) -> None:
    """Compute experiments, and show how far they are; what is finished is kept in ``out``."""
    with one_line_errors(out), _executor(workers, cluster) as executor:
        progress = _Progress(all_tasks(experiments, scale))
        reproduce(experiments, scale, executor=executor, out=out, done=progress)


def make_folder(out: Path) -> None:
    """Refuse a folder that nothing can be written to before anything is computed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        sys.exit(f"Error: --out: cannot write to {out}: {error.strerror}")


@contextlib.contextmanager
def one_line_errors(out: Path) -> Iterator[None]:
    """Say in one line what may happen to anybody's files and workers."""
    try:
        yield
    except DamagedError as error:
        sys.exit(f"Error: {error}")
    except BrokenExecutor as error:
        sys.exit(
            f"Error: a worker was lost ({error}); what is finished is kept: run the same command "
            "again"
        )
    except OSError as error:
        sys.exit(
            f"Error: --out: cannot write to {out}: {error.strerror or error}; what is finished is "
            "kept: run the same command again"
        )


@contextlib.contextmanager
def _executor(workers: int | None, cluster: str | None) -> Iterator[Executor]:
    if cluster is None:
        with local_pool(workers or os.cpu_count() or 1) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError:
        sys.exit("Error: a cluster needs Dask: pip install distributed")
    try:
        client = Client(cluster, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        sys.exit(f"Error: no Dask scheduler at {cluster}: {error}")
    with client, client.get_executor(pure=False) as executor:  # type: ignore[no-untyped-call]
        yield executor


class _Progress:
    """One line that tells what share is done, weighted by how long tasks take."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks, self._cost = len(tasks), sum(task.cost for task in tasks)
        self._done, self._spent, self._cached = 0, 0.0, 0.0
        self._began = time.monotonic()

    def __call__(self, task: Task, cached: bool) -> None:
        self._done += 1
        self._spent += task.cost
        self._cached += task.cost * cached
        if sys.stderr.isatty():
            end = "\n" if self._done == self._tasks else ""
            print(f"\r\033[K{self._line()}", end=end, file=sys.stderr, flush=True)

    def _line(self) -> str:
        computed = self._spent - self._cached
        pace = (time.monotonic() - self._began) / computed if computed else 0.0
        seconds_left = pace * (self._cost - self._spent)
        share = self._spent / self._cost if self._cost else 1.0
        return f"{self._done} of {self._tasks} tasks, {share:.0%}, about {seconds_left:.0f} s left"
