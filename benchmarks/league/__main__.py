"""``python -m benchmarks.league``: every policy in every world."""

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks.league.page import conclude, write_page
from benchmarks.league.players import import_player
from benchmarks.league.season import MEASURES, Season
from benchmarks.league.worlds import choose_worlds
from paper.lab.reproduce import read_tables
from paper.lab.scale import Scale
from paper.lab.tables import Table
from paper.workers import add_options, make_folder, one_line_errors, work


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.league",
        description="Run every policy in every world of the league, and write OUT/league.html. "
        "Finished matches are kept in OUT/tasks: the same command goes on where it stopped, and a "
        "policy of your own is all that is played anew.",
    )
    parser.add_argument(
        "--policy",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="a policy of your own to play along, maybe with a label and settings, "
        "LABEL=MODULE:CLASS?epsilon=0.2&ridge=2; may be given several times",
    )
    parser.add_argument(
        "--world",
        metavar="NAME",
        action="append",
        default=[],
        help="play in this world only; may be given several times",
    )
    parser.add_argument(
        "--measure", choices=tuple(MEASURES), default="effective", help="what ranks are made of"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    sys.path.insert(0, os.getcwd())  # where modules of one's own are; workers get it, too
    try:
        guests, worlds = tuple(map(import_player, options.policy)), choose_worlds(options.world)
        season = Season(guests, worlds, options.measure)
    except ValueError as error:
        parser.error(f"--{error}")
    make_folder(options.out)
    scale = Scale(seed=options.seed, quick=options.quick)
    work([season], scale, options.workers, options.cluster, options.out)
    with one_line_errors(options.out):
        page = write_page(options.out)
        tables = read_tables("league", options.out)
    print(_standing(tables["standing"]))
    print(f"{conclude(tables)}\nThe page: {page}")


def _standing(standing: Table) -> str:
    rows = zip(*(column.tolist() for column in standing.values()), strict=True)
    lines = [f"{'policy':32}{'mean rank':>10}{'worlds':>8}{'maybe first in':>16}{'unfair':>8}"]
    lines += [
        f"{name:32}{rank:10.1f}{worlds:8}{first:16}{unfair:8.2f}"
        for name, worlds, rank, first, unfair, _ in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
