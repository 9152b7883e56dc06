"""``mogro league``: every policy in every world."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mogro.cli.working import in_one_line, make_folder, spread, work
from mogro.experiments.lab.reproduce import read_tables
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import Table as Columns
from mogro.experiments.league import Season, own_player
from mogro.experiments.league.page import conclude, write_page


@click.command("league")
@click.option(
    "--policy",
    "own",
    metavar="MODULE:CLASS",
    multiple=True,
    help="A policy of your own to play along; may be given several times.",
)
@click.option("--quick", is_flag=True, help="Fewer instances, repeats and rounds: a look.")
@spread
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
    sys.path.insert(0, os.getcwd())  # where modules of one's own are; workers get it, too
    try:
        season = Season(tuple(map(own_player, own)))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    scale, console = Scale(seed=seed, quick=quick), Console()
    make_folder(out)
    work([season], scale, workers, cluster, out)
    with in_one_line(out):
        page = write_page(out)
        tables = read_tables("league", out)
    console.print(_standing(tables["standing"]))
    console.print(conclude(tables), style="bold", highlight=False)
    console.print(f"The page: [bold]{page}[/]")


def _standing(standing: Columns) -> Table:
    shown = Table(title="Standing", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("policy", "mean rank", "worlds", "maybe first in"):
        shown.add_column(heading)
    for policy, worlds, rank, first in zip(*(c.tolist() for c in standing.values()), strict=True):
        shown.add_row(policy, f"{rank:.1f}", str(worlds), str(first))
    return shown
