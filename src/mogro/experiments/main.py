"""The main figure: both regrets and the running time at two sizes, fixed arms."""

from typing import TYPE_CHECKING

from mogro.experiments import statistics
from mogro.experiments.claims import Claim, below
from mogro.experiments.contenders import PAPER
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import (
    KINDS,
    MAIN_SIZES,
    ROUNDS,
    SIZE,
    Runs,
    cells,
    curves,
    explored,
    finals,
    lowest,
    regret_panel,
    title,
)
from mogro.experiments.running_time import PAPER as AS_BUILT
from mogro.experiments.running_time import faster, stopwatches, time_panel, times
from mogro.experiments.runs import parts
from mogro.experiments.scale import Scale
from mogro.experiments.style import legend, panels
from mogro.experiments.table import select
from mogro.experiments.worlds import Fixed
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(world, contender, scale, rounds=ROUNDS, probe=explored)
        for world in (Fixed(*size) for size in MAIN_SIZES)
        for contender in PAPER
    }


def _pieces(scale: Scale) -> list[Piece]:
    simulated: list[Piece] = [piece for pieces in _runs(scale).values() for piece in pieces]
    return simulated + list(stopwatches(MAIN_SIZES, scale, builds=[AS_BUILT]).values())


def _tables(scale: Scale, results: Results) -> Tables:
    runs = _runs(scale)
    return {
        "curves": curves(runs, results),
        "instances": finals(runs, results),
        "seconds": times(stopwatches(MAIN_SIZES, scale, builds=[AS_BUILT]), results),
    }


def _draw(tables: Tables) -> "Drawing":
    drawing, axes = panels(len(MAIN_SIZES), 3, width=3.3, height=2.6)
    for row, size in enumerate(MAIN_SIZES):
        for n, (kind, name) in enumerate(KINDS.items()):
            regret_panel(axes[row, n], tables["curves"], size, kind)
            axes[row, n].set_title(title(size))
            axes[row, n].set_ylabel(name)
            axes[row, n].set_xlabel("round")
        here = select(tables["seconds"], **dict(zip(SIZE, size, strict=True)))
        time_panel(axes[row, 2], here)
        axes[row, 2].set_title(title(size))
        axes[row, 2].set_ylabel("processor seconds")
    legend(drawing, axes[0, 0])
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    finals = tables["instances"]
    second_half = [
        (
            name,
            statistics.ratio(
                rows["MOGRO-RW"]["effective"] - rows["MOGRO-RW"]["effective_half"],
                rows["MOLB-eps-greedy"]["effective"] - rows["MOLB-eps-greedy"]["effective_half"],
            ),
        )
        for name, rows in cells(finals)
    ]
    return [
        *lowest(finals, setting="fixed arms (main sizes)"),
        Claim(
            "MOGRO-RW adds nothing in the second half",
            "In the second half of the rounds MOGRO-RW adds less than 1 % of the effective Pareto "
            "regret that epsilon-greedy adds.",
            "regret added / that of epsilon-greedy, below 0.01",
            below(0.01, second_half),
            beyond=True,
        ),
        faster(tables["seconds"]),
    ]


FIGURE = Figure(
    name="main",
    title="Main figure: fixed arms",
    about=(
        "Cumulative Pareto regret, effective Pareto regret and running time of the five policies "
        "of the paper at its two main sizes. MOGRO explores by round robin over a pivoted-QR basis "
        "until the smallest eigenvalue of V reaches B = 1. Its two policies explore alike and pay "
        "next to nothing afterwards, so their lines nearly coincide. Bands are 95 % intervals over "
        "instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
)
