"""Sensitivity to the threshold B and to the exploration rule."""

from typing import TYPE_CHECKING

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Claim, below
from mogro.experiments.contenders import EPS, OPTIMIST, OWN, THOMPSON, Contender, Greedy
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import (
    BASELINES,
    KINDS,
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
from mogro.experiments.style import Look, legend, look, panels
from mogro.experiments.table import Table, distinct, select, table
from mogro.experiments.worlds import Fixed
from mogro.exploration import Uniform, WeakestDirection
from mogro.scalarization import RoundRobin
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_THRESHOLDS = (0.1, 0.3, 1.0, 3.0, 5.0)
_RULES = {"basis": None, "uniform": Uniform(), "weakest": WeakestDirection()}
_LOOKS = {
    "basis": Look("MOGRO-RW, basis round robin (paper)", "#0072B2", "-", "o"),
    "uniform": Look("MOGRO-RW, uniform arms", "#9970C4", "--", "P"),
    "weakest": Look("MOGRO-RW, weakest direction", "#2E0F5E", ":", "X"),
}
_SHOWN = (0.1, 1.0)


def _label(rule: str, threshold: float, kind: str = "RW") -> str:
    return f"MOGRO-{kind} {rule} B={threshold:g}"


_SWEPT = tuple(
    Greedy(_label(rule, b), threshold=b, exploration=exploration)
    for rule, exploration in _RULES.items()
    for b in _THRESHOLDS
)
_ROUND_ROBIN = tuple(
    Greedy(_label("basis", b, "RR"), scalarization=RoundRobin(), threshold=b) for b in _SHOWN
)
_CONTENDERS: tuple[Contender, ...] = (*_SWEPT, *_ROUND_ROBIN, *OWN, EPS, OPTIMIST, THOMPSON)
_SETTINGS = {
    **{
        f"paper's exploration, B = {b:g}": [_label("basis", b, k) for k in ("RW", "RR")]
        for b in _SHOWN
    },
    "mogro's default": [own.label for own in OWN],
}


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(world, contender, scale, rounds=ROUNDS, probe=explored)
        for world in (Fixed(*size) for size in MAIN_SIZES)
        for contender in _CONTENDERS
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    data = finals(_runs(scale), results)
    return {"instances": data, "sidebyside": _side_by_side(data)}


def _side_by_side(data: Table) -> Table:
    """Return the final regrets of all policies: MOGRO at B = 0.1, B = 1 and by default."""
    shown = [label for labels in _SETTINGS.values() for label in labels] + list(BASELINES)
    rows = []
    for size in distinct(data, *SIZE):
        here = select(data, **dict(zip(SIZE, size, strict=True)))
        for label in shown:
            one = select(here, policy=label)
            bands = [x for kind in KINDS for x in statistics.mean(one[kind])]
            rows.append((*size, label, float(np.mean(one["exploration"])), *bands))
    columns = [f"{kind}{part}" for kind in KINDS for part in ("", "_low", "_high")]
    return table((*SIZE, "policy", "exploration", *columns), rows)


def _draw(tables: Tables) -> "Drawing":
    data = tables["instances"]
    drawing, axes = panels(1, len(MAIN_SIZES), width=4.6, height=3.4)
    for panel, (name, rows) in zip(axes[0], cells(data), strict=True):
        for rule, how in _LOOKS.items():
            numbers = [statistics.mean(rows[_label(rule, b)]["effective"]) for b in _THRESHOLDS]
            middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
            panel.errorbar(
                _THRESHOLDS,
                middle,
                yerr=(middle - low, high - middle),
                color=how.colour,
                linestyle=how.line,
                marker=how.marker,
                capsize=2,
                label=how.name,
            )
        flat = {OWN[0].label: Look("MOGRO-RW, mogro's default", "#8B5A2B", "-.")}
        flat |= {policy: look(policy) for policy in BASELINES}
        for policy, how in flat.items():
            level, *ends = (float(x) for x in statistics.band(rows[policy]["effective"]))
            panel.axhline(level, color=how.colour, linestyle=how.line, label=how.name)
            panel.axhspan(*ends, color=how.colour, alpha=0.08, linewidth=0)
        panel.set_xscale("log")
        panel.set_xticks(_THRESHOLDS, [f"{b:g}" for b in _THRESHOLDS])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("threshold B")
        panel.set_ylabel("effective Pareto regret")
        panel.set_title(name)
    for panel, size in zip(axes[0], distinct(data, *SIZE), strict=True):
        panel.set_title(title(size))
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    claims = []
    for setting, labels in _SETTINGS.items():
        for kind, name in KINDS.items():
            ratios = []
            for size, rows in cells(tables["instances"]):
                best = min(BASELINES, key=lambda p: float(rows[p][kind].mean()))
                for label in labels:
                    number = statistics.ratio(rows[label][kind], rows[best][kind])
                    ratios.append((f"{label} at {size} against {best}", number))
            claims.append(
                Claim(
                    f"MOGRO lowest {name}: {setting}",
                    f"Both MOGRO policies have the lowest {name} with {setting} (fixed arms).",
                    "final regret / that of the best baseline, below 1",
                    below(1.0, ratios),
                    varies="the policy and the size",
                )
            )
    return claims


FIGURE = Figure(
    name="threshold",
    title="Threshold and exploration",
    about=(
        "Beyond the paper: final effective Pareto regret of MOGRO-RW against the threshold B for "
        "three exploration rules, with the baselines and mogro's default (weakest direction, B a "
        "tenth of the largest squared norm) as levels. Bars and bands are 95 % intervals over "
        "instances. The table has the final regrets of all "
        "policies side by side."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    shown=("sidebyside",),
    beyond=True,
)
