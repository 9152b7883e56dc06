"""Sensitivity of the baselines to their radius, whose constants the paper does not state."""

from typing import TYPE_CHECKING

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Claim, below
from mogro.experiments.contenders import RW, Contender, Optimist, Thompson
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import (
    MAIN_SIZES,
    ROUNDS,
    SIZE,
    Runs,
    cells,
    explored,
    finals,
    title,
)
from mogro.experiments.runs import parts
from mogro.experiments.scale import Scale
from mogro.experiments.style import legend, look, panels
from mogro.experiments.table import distinct
from mogro.experiments.worlds import Fixed
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0)
_BASES = ("MOLB-UCB", "MOL-TS")


def _label(base: str, factor: float) -> str:
    return f"{base} x{factor:g}"


_CONTENDERS: tuple[Contender, ...] = (
    RW,
    *(Optimist(_label(_BASES[0], f), factor=f) for f in _FACTORS),
    *(Thompson(_label(_BASES[1], f), factor=f) for f in _FACTORS),
)


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(
            world,
            contender,
            scale,
            rounds=ROUNDS,
            repeats=max(1, scale.repeats // 4),
            probe=explored,
        )
        for world in (Fixed(*size) for size in MAIN_SIZES)
        for contender in _CONTENDERS
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    return {"instances": finals(_runs(scale), results)}


def _draw(tables: Tables) -> "Drawing":
    data = tables["instances"]
    drawing, axes = panels(1, len(MAIN_SIZES), width=4.2, height=3.2)
    sizes = distinct(data, *SIZE)
    for panel, size, (_, rows) in zip(axes[0], sizes, cells(data), strict=True):
        for base in _BASES:
            how = look(base)
            numbers = [statistics.mean(rows[_label(base, f)]["effective"]) for f in _FACTORS]
            middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
            panel.errorbar(
                _FACTORS,
                middle,
                yerr=(middle - low, high - middle),
                color=how.colour,
                linestyle=how.line,
                marker=how.marker,
                capsize=2,
                label=how.name,
            )
        how = look(RW.label)
        own = statistics.mean(rows[RW.label]["effective"])
        panel.axhline(own.value, color=how.colour, label=how.name)
        panel.axhspan(own.low, own.high, color=how.colour, alpha=0.15, linewidth=0)
        panel.axvline(1.0, color="#999999", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xticks(_FACTORS, [f"{f:g}" for f in _FACTORS])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("radius, as a multiple of the formula")
        panel.set_ylabel("effective Pareto regret")
        panel.set_title(title(size))
    legend(drawing, axes[0, 0])
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            f"MOGRO-RW below {base} for every radius",
            f"MOGRO-RW has lower effective Pareto regret than {base}, whatever the constants of "
            "its radius.",
            "ratio of final effective regrets, below 1",
            below(
                1.0,
                [
                    (
                        f"radius x{f:g} at {size}",
                        statistics.ratio(
                            rows[RW.label]["effective"], rows[_label(base, f)]["effective"]
                        ),
                    )
                    for f in _FACTORS
                    for size, rows in cells(tables["instances"])
                ],
            ),
            varies="the radius",
        )
        for base in _BASES
    ]


FIGURE = Figure(
    name="radius",
    title="The radius of the baselines",
    about=(
        "Beyond the paper: final effective Pareto regret of MOLB-UCB and MOL-TS when their radius "
        "is a multiple of the formula (sigma and S scaled together), fixed arms. The line is "
        "MOGRO-RW with B = 1."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    beyond=True,
)
