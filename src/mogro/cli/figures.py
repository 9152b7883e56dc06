"""``mogro list``, ``reproduce`` and ``report``: the figures of the paper."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing import util
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mogro.cli.working import FOLDER, in_one_line, make_folder, spread, work
from mogro.experiments.figures import FIGURES
from mogro.experiments.lab.reproduce import DamagedError, is_made
from mogro.experiments.lab.scale import Scale
from mogro.experiments.report.claims import Claim, Outcome, Verdict, conclude
from mogro.experiments.report.drawings import draw
from mogro.experiments.report.figure import Figure
from mogro.experiments.report.page import collect_claims, write_report

_NAMES = {figure.name: figure for figure in FIGURES}
_NUMBER = (
    "The number is that of the case that decides; the report says what it measures, and shows all "
    "other cases."
)
_COLOURS = {
    Verdict.REPRODUCED: "green",
    Verdict.NOT_REPRODUCED: "red",
    Verdict.UNDECIDED: "yellow",
}


@click.command("list")
def list_figures() -> None:
    """List the figures and what they show."""
    console = Console()
    shown = Table(box=None, padding=(0, 2, 1, 0))
    shown.add_column("figure", style="bold cyan", no_wrap=True)
    shown.add_column("what it shows")
    for figure in FIGURES:
        shown.add_row(figure.name, f"[bold]{figure.title}.[/] {figure.about}")
    console.print(shown)


@click.command("reproduce")
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
@spread
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
    scale = Scale(instances=instances, repeats=repeats, seed=seed, rounds=rounds, quick=quick)
    console = Console()
    make_folder(out)
    asked = [_NAMES[name] for name in dict.fromkeys(names)] or list(FIGURES)
    start = time.perf_counter()
    try:
        figures = _possible(asked, console)
        work(figures, scale, workers, cluster, out)
        _draw(figures, out)
        _finish(asked, out, console)
    except KeyboardInterrupt:
        console.print("[yellow]Stopped.[/] What is finished is kept: run the same command again.")
        sys.stdout.flush()
        # As any exit does, remove semaphores; unlike it, wait for nobody.
        util._run_finalizers(0)  # type: ignore[attr-defined]
        os._exit(130)  # at once: a pool whose workers were killed may never end by itself
    console.print(f"[dim]{time.perf_counter() - start:.0f} s in all[/]")


@click.command("report")
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="Where files are.")
def report(out: Path) -> None:
    """Draw the figures and write the report again, from the CSV files in OUT."""
    made = [figure for figure in FIGURES if is_made(figure.name, out)]
    if not made:
        raise click.ClickException(f"no figures in {out}: run `mogro reproduce --out {out}` first")
    make_folder(out)
    _draw(made, out)
    _finish(made, out, Console())


def _possible(figures: list[Figure], console: Console) -> list[Figure]:
    """Return the figures that can be made here, and say why the others cannot."""
    for figure in figures:
        if missing := figure.missing():
            console.print(f"[yellow]{figure.name} is left out:[/] {missing}")
    return [figure for figure in figures if not figure.missing()]


def _draw(figures: Sequence[Figure], out: Path) -> None:
    for figure in figures:
        with in_one_line(out), _of_this_version(figure, out):
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
    with in_one_line(out):
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
