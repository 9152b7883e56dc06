"""The command line: ``mogro reproduce``, ``league``, ``report``, ``diagnose`` and others."""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from multiprocessing import util
from pathlib import Path

try:
    import click
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table
except ModuleNotFoundError:
    sys.exit("mogro: the command line needs click and rich: pip install 'mogro[lab]'")

from mogro._matrices import read_matrix
from mogro._page import document
from mogro.evaluation import make_page, what_if
from mogro.experiments.figures import FIGURES
from mogro.experiments.lab.reproduce import (
    DamagedError,
    Experiment,
    all_tasks,
    is_made,
    read_tables,
    reproduce,
)
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import Table as Columns
from mogro.experiments.league import Season, own_player
from mogro.experiments.league.page import conclude as conclude_league
from mogro.experiments.league.page import write_page
from mogro.experiments.report.claims import Claim, Outcome, Verdict
from mogro.experiments.report.conclusion import conclude
from mogro.experiments.report.drawings import draw
from mogro.experiments.report.figure import Figure
from mogro.experiments.report.page import collect_claims, write_report
from mogro.live import Agent, JournalError
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.simulation.parallel import Task, local_pool
from mogro.theory import diagnose as run_diagnosis

_NAMES = {figure.name: figure for figure in FIGURES}
_OUT = click.Path(file_okay=False, path_type=Path)
_MATRIX = click.Path(exists=True, dir_okay=False, path_type=Path)
_NUMBER = (
    "The number is that of the case that decides; the report says what it measures, and shows all "
    "other cases."
)
_COLOURS = {
    Verdict.REPRODUCED: "green",
    Verdict.NOT_REPRODUCED: "red",
    Verdict.UNDECIDED: "yellow",
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mogro")
def main() -> None:
    """Multi-objective linear bandits: the paper's experiments on your machine.

    \b
    mogro list                    what there is
    mogro reproduce main          the main figure
    mogro reproduce --quick       everything, small: a look in two minutes
    mogro reproduce               everything
    mogro league                  every policy in every world: who wins where
    mogro report                  the page again, from the files that are there
    mogro diagnose X.csv T.csv    what the theory says about a problem of your own
    mogro evaluate LOG            what other trade-offs would have been worth, by an agent's log
    """  # noqa: D301 (click wants the character)


@main.command("list")
def list_figures() -> None:
    """List the figures and what they show."""
    console = Console()
    shown = Table(box=None, padding=(0, 2, 1, 0))
    shown.add_column("figure", style="bold cyan", no_wrap=True)
    shown.add_column("what it shows")
    for figure in FIGURES:
        shown.add_row(figure.name, f"[bold]{figure.title}.[/] {figure.about}")
    console.print(shown)


@main.command("reproduce")
@click.argument("names", metavar="[FIGURE ...]", nargs=-1, type=click.Choice(list(_NAMES)))
@click.option("--quick", is_flag=True, help="Fewer instances, repeats and rounds: a look.")
@click.option("--rounds", type=click.IntRange(10), help="Rounds, in place of every figure's own.")
@click.option(
    "--instances", type=click.IntRange(1), help="Problem instances, in place of every figure's own."
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    help="Runs in each instance, in place of every figure's own.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Where all randomness comes from.")
@click.option("--workers", type=click.IntRange(1), help="Processes of this machine [all cores].")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, such as tcp://10.0.0.1:8786.")
@click.option("--out", type=_OUT, default=Path("out"), show_default=True, help="Where files go.")
def run(
    names: Sequence[str],
    quick: bool,
    rounds: int | None,
    instances: int | None,
    repeats: int | None,
    seed: int,
    workers: int | None,
    cluster: str | None,
    out: Path,
) -> None:
    """Run FIGUREs (all without a name), draw them, and write the report.

    Results are the same, to the byte, for any number of workers and on a cluster; only running
    times differ. Finished tasks are kept in OUT/tasks: after Ctrl-C or a crash the same command
    goes on where it stopped.

    \b
    mogro reproduce main
    mogro reproduce fairness wine --instances 4 --repeats 5
    mogro reproduce --cluster tcp://10.0.0.1:8786
    """  # noqa: D301
    if workers is not None and cluster is not None:
        raise click.UsageError("--workers is for this machine, --cluster for another: give one")
    scale = Scale(instances=instances, repeats=repeats, seed=seed, rounds=rounds, quick=quick)
    console = Console()
    _make_folder(out)
    asked = [_NAMES[name] for name in dict.fromkeys(names)] or list(FIGURES)
    start = time.perf_counter()
    try:
        figures = _possible(asked, console)
        with (
            _one_line(out),
            _executor(workers, cluster) as executor,
            _progress(figures, scale, console) as done,
        ):
            reproduce(figures, scale, executor=executor, out=out, done=done)
        _draw(figures, out)
        _finish(asked, out, console)
    except KeyboardInterrupt:
        console.print("[yellow]Stopped.[/] What is finished is kept: run the same command again.")
        sys.stdout.flush()
        # As any exit does, remove semaphores; unlike it, wait for nobody.
        util._run_finalizers(0)  # type: ignore[attr-defined]
        os._exit(130)  # at once: a pool whose workers were killed may never end by itself
    console.print(f"[dim]{time.perf_counter() - start:.0f} s in all[/]")


@main.command("league")
@click.option(
    "--policy",
    "own",
    metavar="MODULE:CLASS",
    multiple=True,
    help="A policy of your own to play along; may be given several times.",
)
@click.option("--quick", is_flag=True, help="Fewer instances, repeats and rounds: a look.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Where all randomness comes from.")
@click.option("--workers", type=click.IntRange(1), help="Processes of this machine [all cores].")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, such as tcp://10.0.0.1:8786.")
@click.option("--out", type=_OUT, default=Path("out"), show_default=True, help="Where files go.")
def league(
    own: Sequence[str],
    quick: bool,
    seed: int,
    workers: int | None,
    cluster: str | None,
    out: Path,
) -> None:
    """Run every policy in every world of the league, and write OUT/league.html.

    Finished matches are kept in OUT/tasks, as by `mogro reproduce`: the same command goes on where
    it stopped, and a policy of your own is all that is played anew.

    \b
    mogro league
    mogro league --policy my_module:MyPolicy
    """  # noqa: D301
    if workers is not None and cluster is not None:
        raise click.UsageError("--workers is for this machine, --cluster for another: give one")
    sys.path.insert(0, os.getcwd())  # where modules of one's own are; workers get it, too
    try:
        season = Season(tuple(map(own_player, own)))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    scale, console = Scale(seed=seed, quick=quick), Console()
    _make_folder(out)
    with (
        _one_line(out),
        _executor(workers, cluster) as executor,
        _progress([season], scale, console) as done,
    ):
        reproduce([season], scale, executor=executor, out=out, done=done)
    with _one_line(out):
        page = write_page(out)
        tables = read_tables("league", out)
    console.print(_standing(tables["standing"]))
    console.print(conclude_league(tables), style="bold", highlight=False)
    console.print(f"The page: [bold]{page}[/]")


def _standing(standing: Columns) -> Table:
    shown = Table(title="Standing", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("policy", "mean rank", "worlds", "maybe first in"):
        shown.add_column(heading)
    for policy, worlds, rank, first in zip(*(c.tolist() for c in standing.values()), strict=True):
        shown.add_row(policy, f"{rank:.1f}", str(worlds), str(first))
    return shown


@main.command("report")
@click.option("--out", type=_OUT, default=Path("out"), show_default=True, help="Where files are.")
def report(out: Path) -> None:
    """Draw the figures and write the report again, from the CSV files in OUT."""
    made = [figure for figure in FIGURES if is_made(figure.name, out)]
    if not made:
        raise click.ClickException(f"no figures in {out}: run `mogro reproduce --out {out}` first")
    _make_folder(out)
    _draw(made, out)
    _finish(made, out, Console())


@main.command("diagnose")
@click.argument("features", type=_MATRIX)
@click.argument("theta", type=_MATRIX)
@click.option("--noise", type=float, required=True, help="Standard deviation of a reward.")
@click.option("--rounds", type=click.IntRange(1), required=True, help="Rounds to be played.")
@click.option(
    "--weights",
    metavar="A[,A...]",
    help="Random weights are Dirichlet with this parameter, or one for each objective [1].",
)
@click.option("--round-robin", is_flag=True, help="One objective after the other, not weights.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page.")
def diagnose(
    features: Path,
    theta: Path,
    noise: float,
    rounds: int,
    weights: str | None,
    round_robin: bool,
    as_json: bool,
    html: Path | None,
) -> None:
    """Say whether greedy suffices for a problem, what the theory promises, and what to run.

    FEATURES has a row for each arm, THETA a row for each objective, true or estimated, with as many
    columns; both are .npy or .csv files. For arms that change, FEATURES is a .npy file with the
    arms of at least 100 rounds, (rounds, arms, features).

    \b
    mogro diagnose arms.csv objectives.csv --noise 0.1 --rounds 10000
    mogro diagnose arms.npy theta.npy --noise 1 --rounds 5000 --round-robin --json
    """  # noqa: D301
    if round_robin and weights is not None:
        raise click.UsageError("--weights are for random weights, not for --round-robin: give one")
    try:
        found = run_diagnosis(
            read_matrix(features, "features", stack=True),
            read_matrix(theta, "theta"),
            noise=noise,
            rounds=rounds,
            scalarization=RoundRobin() if round_robin else RandomWeights(_concentration(weights)),
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(found.to_json() if as_json else str(found))
    if html is not None:
        _write_page(document("mogro: diagnosis", found._repr_html_()), html)


@main.command("evaluate")
@click.argument("log")
@click.option(
    "--weights",
    multiple=True,
    metavar="NAME=WEIGHT,...",
    help="A trade-off, per unit of each objective; may be given again. Without it, a grid.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page.")
def evaluate(log: str, weights: Sequence[str], html: Path | None) -> None:
    """Say what other trade-offs would have been worth, from the log of an agent.

    LOG is a folder with the Parquet files of `agent.export`, one such file, or where an agent is
    kept that was opened with `Agent.open`: a file, or the address of a database. A trade-off takes
    the arm that is best for its weights by the beliefs held at each decision. What is wrong with an
    estimate is said first.

    \b
    mogro evaluate log/ --weights click=1,subscribe=4
    mogro evaluate agent.db --html what-if.html
    """  # noqa: D301
    trade_offs = [_named_weights(each) for each in weights]
    try:
        with _rows_of(log) as rows:
            click.echo(str(what_if(rows, trade_offs or None)))
            page = None if html is None else make_page(rows, trade_offs)
    except (ValueError, JournalError, ImportError) as error:
        raise click.ClickException(str(error)) from error
    if page is not None and html is not None:
        _write_page(page, html)


@contextlib.contextmanager
def _rows_of(log: str) -> Iterator[object]:
    """Return what holds the rows: Parquet files, or the table of an agent."""
    if Path(log).is_dir() or log.endswith(".parquet"):
        yield log
        return
    with Agent.open(log) as agent:
        yield agent.log()


def _named_weights(text: str) -> dict[str, float]:
    """Return ``click=1,subscribe=4`` as weights by name."""
    try:
        pairs = (part.rsplit("=", 1) for part in text.split(","))
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise click.UsageError(
            f"--weights: expected names and numbers such as click=1,subscribe=4, got {text}"
        ) from error


def _concentration(text: str | None) -> float | tuple[float, ...]:
    try:
        values = [float(part) for part in (text or "1").split(",")]
    except ValueError as error:
        raise click.UsageError(f"--weights: expected numbers and commas, got {text}") from error
    return values[0] if len(values) == 1 else tuple(values)


def _write_page(page: str, path: Path) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--html: {error}") from error


def _make_folder(out: Path) -> None:
    """Refuse a folder that nothing can be written to before anything is computed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise click.ClickException(f"--out: cannot write to {out}: {error.strerror}") from error


@contextlib.contextmanager
def _one_line(out: Path) -> Iterator[None]:
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


def _possible(figures: list[Figure], console: Console) -> list[Figure]:
    """Return the figures that can be made here, and say why the others cannot."""
    for figure in figures:
        if missing := figure.missing():
            console.print(f"[yellow]{figure.name} is left out:[/] {missing}")
    return [figure for figure in figures if not figure.missing()]


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
def _progress(figures: Sequence[Experiment], scale: Scale, console: Console) -> Iterator[_Bar]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(bar, all_tasks(figures, scale))


def _draw(figures: Sequence[Figure], out: Path) -> None:
    for figure in figures:
        with _one_line(out), _of_this_version(figure, out):
            draw(figure, out)


@contextlib.contextmanager
def _of_this_version(figure: Figure, out: Path) -> Iterator[None]:
    """Say which figure has whole tables that are not what this version makes."""
    try:
        yield
    except DamagedError:
        raise
    except (ValueError, KeyError, IndexError) as error:
        raise click.ClickException(
            f"{out / figure.name}: expected the tables that `mogro reproduce {figure.name}` of "
            f"this version writes; run it again ({error!r})"
        ) from error


def _finish(asked: Sequence[Figure], out: Path, console: Console) -> None:
    made = [figure for figure in asked if is_made(figure.name, out)]
    with _one_line(out):
        page = write_report(FIGURES, out, absent=[figure for figure in asked if figure not in made])
        claims = [claim for _, claim in collect_claims(made, out)]
    if made:
        console.print(_table(claims))
        console.print(_NUMBER, style="dim")
        console.print(conclude(claims), style="bold", highlight=False)
        drawn = ", ".join(str(out / figure.name / f"{figure.name}.png") for figure in made)
        console.print(f"The figures, each beside its SVG and CSV files: [bold]{drawn}[/]")
    console.print(f"The report: [bold]{page}[/]")


def _table(claims: Sequence[Claim]) -> Table:
    shown = Table(title="Claims", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("claim", "MOGRO", "number [95 % interval]", "verdict"):
        shown.add_column(heading)
    for claim in claims:
        number = str(claim.closest.number).replace("[", "\\[")
        same = " (no difference)" if claim.closest.outcome is Outcome.SAME else ""
        verdict = f"[{_COLOURS[claim.verdict]}]{claim.verdict}{same}[/]"
        shown.add_row(claim.name, claim.setting, number, verdict)
    return shown
