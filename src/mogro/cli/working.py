"""What is computed by workers: its options, its progress, and its faults in one line."""

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from pathlib import Path

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from mogro.experiments.lab.reproduce import DamagedError, Experiment, all_tasks, reproduce
from mogro.experiments.lab.scale import Scale
from mogro.simulation.parallel import Task, local_pool

FOLDER = click.Path(file_okay=False, path_type=Path)
_SPREAD = (
    click.option(
        "--seed", type=click.IntRange(0), default=0, help="Where all randomness comes from."
    ),
    click.option(
        "--workers", type=click.IntRange(1), help="Processes of this machine [all cores]."
    ),
    click.option(
        "--cluster", metavar="ADDRESS", help="A Dask scheduler, such as tcp://10.0.0.1:8786."
    ),
    click.option(
        "--out", type=FOLDER, default=Path("out"), show_default=True, help="Where files go."
    ),
)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of what is computed by workers: a seed, who they are, where files go."""

    @functools.wraps(command)
    def checked(workers: int | None, cluster: str | None, **options: object) -> None:
        if workers is not None and cluster is not None:
            raise click.UsageError("--workers is for this machine, --cluster for another: give one")
        command(workers=workers, cluster=cluster, **options)

    for option in reversed(_SPREAD):
        option(checked)
    return checked


def work(
    experiments: Sequence[Experiment],
    scale: Scale,
    workers: int | None,
    cluster: str | None,
    out: Path,
) -> None:
    """Compute experiments, with a bar that grows; what is finished is kept in ``out``."""
    with (
        in_one_line(out),
        _executor(workers, cluster) as executor,
        _progress(experiments, scale) as done,
    ):
        reproduce(experiments, scale, executor=executor, out=out, done=done)


def make_folder(out: Path) -> None:
    """Refuse a folder that nothing can be written to before anything is computed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise click.ClickException(f"--out: cannot write to {out}: {error.strerror}") from error


@contextlib.contextmanager
def in_one_line(out: Path) -> Iterator[None]:
    """Say in one line what may happen to anybody's files and workers."""
    try:
        yield
    except DamagedError as error:
        raise click.ClickException(str(error)) from error
    except BrokenExecutor as error:
        raise click.ClickException(
            f"a worker was lost ({error}); what is finished is kept: run the same command again"
        ) from error
    except OSError as error:
        raise click.ClickException(
            f"--out: cannot write to {out}: {error.strerror or error}; what is finished is kept: "
            "run the same command again"
        ) from error


@contextlib.contextmanager
def _executor(workers: int | None, cluster: str | None) -> Iterator[Executor]:
    if cluster is None:
        with local_pool(workers or os.cpu_count() or 1) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise click.ClickException("a cluster needs Dask: pip install 'mogro[cluster]'") from error
    try:
        client = Client(cluster, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise click.ClickException(f"no Dask scheduler at {cluster}: {error}") from error
    with client, client.get_executor(pure=False) as executor:  # type: ignore[no-untyped-call]
        yield executor


class _Bar:
    """Progress, weighted by how long tasks take."""

    def __init__(self, bar: Progress, tasks: Sequence[Task]) -> None:
        self._bar = bar
        self._done = 0
        self._total = len(tasks)
        self._line = bar.add_task(self._label(), total=sum(task.cost for task in tasks))

    def __call__(self, task: Task, kept: bool) -> None:
        self._done += 1
        self._bar.update(self._line, advance=task.cost, description=self._label())

    def _label(self) -> str:
        return f"{self._done} of {self._total} tasks"


@contextlib.contextmanager
def _progress(experiments: Sequence[Experiment], scale: Scale) -> Iterator[_Bar]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns) as bar:
        yield _Bar(bar, all_tasks(experiments, scale))
