"""Panels that several figures have: regrets over time, running times, sweeps."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mogro.simulation import ConfidenceInterval
from paper.lab.arrays import FloatArray
from paper.lab.regrets import BAND, KINDS, SIZE, by_size, select_size, size_name
from paper.lab.tables import Table, distinct, select
from paper.report.statistics import mean
from paper.report.style import Axes, Drawing, LineStyle, curve, legend, line_style, panels


def draw_curves(data: Table, *, columns: int) -> Drawing:
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
        rows = select(here, policy=policy)
        curve(panel, line_style(policy), rows["round"], *(rows[f"{kind}_{part}"] for part in BAND))
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)


def time_panel(panel: Any, data: Table) -> None:
    """Draw bars of the mean time of every policy, with a dot for each instance."""
    for n, (policy,) in enumerate(distinct(data, "policy")):
        seconds = select(data, policy=policy)["seconds"]
        style = line_style(policy)
        panel.bar(n, seconds.mean(), color=style.colour, label=style.name, width=0.75)
        panel.plot(np.full(len(seconds), n), seconds, ".", color="black", markersize=3)
    names = [line_style(policy).name for (policy,) in distinct(data, "policy")]
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=7)
    panel.grid(axis="x", visible=False)


def draw_sweeps(
    data: Table,
    places: Sequence[float],
    swept: Iterable[tuple[LineStyle, Sequence[str]]],
    levels: Iterable[tuple[LineStyle, str]],
    *,
    along: str,
    columns: int | None = None,
) -> Drawing:
    """Draw final effective regrets at every size: of policies along what is swept, and of others.

    ``swept`` has a policy for each of the places.
    """
    sizes, lines, others = distinct(data, *SIZE), list(swept), list(levels)
    drawing, axes = panels(1, len(sizes), width=4.4, height=3.3)
    for panel, size, (_, rows) in zip(axes[0], sizes, by_size(data), strict=True):
        for style, policies in lines:
            sweep(panel, style, places, [mean(rows[policy]["effective"]) for policy in policies])
        for style, policy in others:
            level(panel, style, mean(rows[policy]["effective"]))
        panel.set_xscale("log")
        panel.set_xticks(places, [f"{place:g}" for place in places])
        panel.set_ylim(bottom=0)
        panel.set_xlabel(along)
        panel.set_ylabel("effective Pareto regret")
        panel.set_title(size_name(size))
    legend(drawing, axes[0, 0], columns=columns)
    return drawing


def draw_bound(
    panel: Axes,
    horizons: Sequence[int],
    runs: Iterable[FloatArray],
    bound: FloatArray,
    style: LineStyle,
) -> None:
    """Draw what runs had at each horizon, and the bound of a theorem on it."""
    numbers = [mean(values) for values in runs]
    middle, low, high = (np.maximum(part, 1e-4) for part in zip(*numbers, strict=True))
    panel.plot(
        horizons, middle, color=style.colour, marker=style.marker, label=f"{style.name}, runs"
    )
    panel.fill_between(horizons, low, high, color=style.colour, alpha=0.16, linewidth=0)
    panel.plot(horizons, bound, color=style.colour, linestyle=":", label=f"{style.name}, theory")
    panel.set_xscale("log")
    panel.set_xticks(horizons, [f"{t}" for t in horizons])
    panel.minorticks_off()
    panel.set_xlabel("rounds T")


def sweep(
    panel: Any, style: LineStyle, places: Sequence[float], numbers: Iterable[ConfidenceInterval]
) -> None:
    """Draw numbers along what is swept, with bars for their intervals."""
    middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
    panel.errorbar(
        places,
        middle,
        yerr=(middle - low, high - middle),
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        marker=style.marker,
        capsize=2,
        label=style.name,
    )


def sweep_with_band(
    panel: Any,
    style: LineStyle,
    places: Sequence[float],
    numbers: Iterable[tuple[float, float, float]],
) -> None:
    """Draw numbers along what is swept, with a band for their intervals."""
    middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
    curve(panel, style, np.asarray(places), middle, low, high, marked=True, every=1)


def level(panel: Any, style: LineStyle, number: ConfidenceInterval) -> None:
    """Draw a number that does not depend on what is swept."""
    panel.axhline(
        number.value,
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        label=style.name,
    )
    panel.axhspan(number.low, number.high, color=style.colour, alpha=0.1, linewidth=0)
