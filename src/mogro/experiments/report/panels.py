"""Panels that several figures have: regrets over time, running times, sweeps."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mogro._intervals import ConfidenceInterval
from mogro._plots import Look, curve, legend, look, panels
from mogro.experiments.lab.regrets import BAND, KINDS, SIZE, select_size, size_name
from mogro.experiments.lab.tables import Table, distinct, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def draw_curves(data: Table, *, columns: int) -> "Drawing":
    """Draw both regrets for every size: rows of the one, then rows of the other."""
    sizes = distinct(data, *SIZE)
    rows = -(-len(sizes) // columns)
    drawing, axes = panels(2 * rows, columns, width=3.1, height=2.3)
    for k, (kind, name) in enumerate(KINDS.items()):
        for n, size in enumerate(sizes):
            panel = axes[k * rows + n // columns, n % columns]
            regret_panel(panel, data, size, kind)
            panel.set_title(size_name(size))
            panel.set_ylabel(name)
            panel.set_xlabel("round")
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def regret_panel(panel: Any, data: Table, size: tuple[int, int, int], kind: str) -> None:
    """Draw one regret of all policies at one size."""
    here = select_size(data, size)
    for (policy,) in distinct(here, "policy"):
        one = select(here, policy=policy)
        curve(panel, look(policy), one["round"], *(one[f"{kind}_{part}"] for part in BAND))
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)


def time_panel(panel: Any, data: Table) -> None:
    """Draw bars of the mean time of every policy, with a dot for each instance."""
    for n, (policy,) in enumerate(distinct(data, "policy")):
        seconds = select(data, policy=policy)["seconds"]
        how = look(policy)
        panel.bar(n, seconds.mean(), color=how.colour, label=how.name, width=0.75)
        panel.plot(np.full(len(seconds), n), seconds, ".", color="black", markersize=3)
    names = [look(policy).name for (policy,) in distinct(data, "policy")]
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=7)
    panel.grid(axis="x", visible=False)


def sweep(
    panel: Any, how: Look, places: Sequence[float], numbers: Iterable[ConfidenceInterval]
) -> None:
    """Draw numbers along what is swept, with bars for their intervals."""
    middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
    panel.errorbar(
        places,
        middle,
        yerr=(middle - low, high - middle),
        color=how.colour,
        linestyle=how.line,
        linewidth=how.width,
        marker=how.marker,
        capsize=2,
        label=how.name,
    )


def sweep_with_band(
    panel: Any,
    how: Look,
    places: Sequence[float],
    numbers: Iterable[tuple[float, float, float]],
) -> None:
    """Draw numbers along what is swept, with a band for their intervals."""
    middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
    curve(panel, how, np.asarray(places), middle, low, high, marked=True, every=1)


def level(panel: Any, how: Look, number: ConfidenceInterval) -> None:
    """Draw a number that does not depend on what is swept."""
    panel.axhline(
        number.value, color=how.colour, linestyle=how.line, linewidth=how.width, label=how.name
    )
    panel.axhspan(number.low, number.high, color=how.colour, alpha=0.1, linewidth=0)
