"""Sensitivity to the threshold B and to the exploration rule."""

import numpy as np

from mogro.exploration import Uniform, WeakestDirection
from mogro.scalarization import RoundRobin
from paper.lab import regrets
from paper.lab.contenders import BASELINES, BY_SETTING, RR, RW, Contender, Greedy
from paper.lab.parallel import Results
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation
from paper.lab.scale import Scale
from paper.lab.tables import Table, distinct, select, table
from paper.lab.worlds import Fixed
from paper.report import statistics
from paper.report.claims import Claim, lower
from paper.report.comparisons import against_best
from paper.report.figure import Figure
from paper.report.panels import draw_sweeps
from paper.report.style import Drawing, LineStyle, line_style

_THRESHOLDS = (0.1, 0.3, 1.0, 3.0, 5.0)
_EXPLORATIONS = {"basis": None, "uniform": Uniform(), "weakest": WeakestDirection()}
_STYLES = {
    "basis": LineStyle("MOGRO-RW, basis round robin (paper)", "#0072B2", "-", "o"),
    "uniform": LineStyle("MOGRO-RW, uniform arms", "#9970C4", "--", "P"),
    "weakest": LineStyle("MOGRO-RW, weakest direction", "#2E0F5E", ":", "X"),
}
_LEVELS = {
    RW.label: LineStyle("MOGRO-RW, mogro's default", "#8B5A2B", "-."),
    **{policy.label: line_style(policy.label) for policy in BASELINES},
}
_SHOWN = (0.1, 1.0)


def _label(exploration: str, threshold: float, kind: str = "RW") -> str:
    return f"MOGRO-{kind} {exploration} B={threshold:g}"


_SWEPT = tuple(
    Greedy(_label(name, b), threshold=b, exploration=exploration)
    for name, exploration in _EXPLORATIONS.items()
    for b in _THRESHOLDS
)
_ROUND_ROBIN = tuple(
    Greedy(_label("basis", b, "RR"), RoundRobin(), threshold=b, exploration=None) for b in _SHOWN
)
_CONTENDERS: tuple[Contender, ...] = (*_SWEPT, *_ROUND_ROBIN, RW, RR, *BASELINES)
_SETTINGS = {
    **{
        f"at B = {b:g} with the paper's exploration": [_label("basis", b, k) for k in ("RW", "RR")]
        for b in _SHOWN
    },
    "at mogro's default": [RW.label, RR.label],
}


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Fixed(*size) for size in regrets.MAIN_SIZES)
    return regrets.plan_runs(worlds, _CONTENDERS, scale, sample=regrets.SAMPLE)


def _tables(scale: Scale, results: Results) -> Tables:
    data = regrets.finals(_tasks(scale), results)
    return {"instances": data, "sidebyside": _side_by_side(data)}


def _side_by_side(data: Table) -> Table:
    """Return the final regrets of all policies: MOGRO at B = 0.1, B = 1 and by default."""
    labels = [label for setting_labels in _SETTINGS.values() for label in setting_labels]
    labels += [policy.label for policy in BASELINES]
    rows = []
    for size in distinct(data, *regrets.SIZE):
        for label in labels:
            runs = select(regrets.select_size(data, size), policy=label)
            bands = [x for kind in regrets.KINDS for x in statistics.mean(runs[kind])]
            rows.append((*size, label, float(np.mean(runs["exploration"])), *bands))
    columns = [f"{kind}{part}" for kind in regrets.KINDS for part in ("", "_low", "_high")]
    return table((*regrets.SIZE, "policy", "exploration", *columns), rows)


def _draw(tables: Tables) -> Drawing:
    return draw_sweeps(
        tables["instances"],
        _THRESHOLDS,
        [
            (style, [_label(exploration, b) for b in _THRESHOLDS])
            for exploration, style in _STYLES.items()
        ],
        [(style, policy) for policy, style in _LEVELS.items()],
        along="threshold B",
        columns=4,
    )


def _claims(tables: Tables) -> list[Claim]:
    """Return the claims of settings that the main figure, at the same sizes, does not have."""
    return [
        Claim(
            f"MOGRO lowest {name}, by threshold",
            f"Both MOGRO policies have the lowest {name} {setting} (fixed arms).",
            "final regret / that of the best baseline, below 1",
            lower(
                case for label in labels for case in against_best(tables["instances"], label, kind)
            ),
            setting=setting,
        )
        for setting, labels in _SETTINGS.items()
        if setting not in BY_SETTING
        for kind, name in regrets.KINDS.items()
    ]


FIGURE = Figure(
    name="threshold",
    title="Threshold and exploration",
    about=(
        "Beyond the paper: final effective Pareto regret of MOGRO-RW against the threshold B for "
        "three exploration rules, with the baselines and mogro's default (weakest direction) as "
        "levels. Bars and bands are 95 % intervals over "
        "instances. The table has the final regrets of all policies side by side."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=regrets.SAMPLE,
    shown=("sidebyside",),
    beyond=True,
)
