"""Sensitivity of the baselines to their radius, whose constants the paper does not state."""

from typing import TYPE_CHECKING

from mogro._plots import legend, look, panels
from mogro.experiments.lab import regrets
from mogro.experiments.lab.contenders import RW, RW_AT_1, Contender, Optimist, Thompson
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import distinct
from mogro.experiments.lab.worlds import Fixed
from mogro.experiments.report import statistics
from mogro.experiments.report.claims import Claim, lower
from mogro.experiments.report.comparisons import BY_SETTING
from mogro.experiments.report.figure import Figure
from mogro.experiments.report.panels import level, sweep
from mogro.simulation.parallel import Results, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_SAMPLE = (50, 1)
_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0)
_BASES = ("MOLB-UCB", "MOL-TS")


def _label(base: str, factor: float) -> str:
    return f"{base} x{factor:g}"


_CONTENDERS: tuple[Contender, ...] = (
    RW,
    RW_AT_1,
    *(Optimist(_label(_BASES[0], f), factor=f) for f in _FACTORS),
    *(Thompson(_label(_BASES[1], f), factor=f) for f in _FACTORS),
)


def _runs(scale: Scale) -> regrets.Runs:
    return regrets.plan_runs(
        (Fixed(*size) for size in regrets.MAIN_SIZES), _CONTENDERS, scale, sample=_SAMPLE
    )


def _tasks(scale: Scale) -> list[Task]:
    return regrets.list_tasks(_runs(scale))


def _tables(scale: Scale, results: Results) -> Tables:
    return {"instances": regrets.finals(_runs(scale), results)}


def _draw(tables: Tables) -> "Drawing":
    data = tables["instances"]
    drawing, axes = panels(1, len(regrets.MAIN_SIZES), width=4.2, height=3.2)
    for panel, size, (_, rows) in zip(
        axes[0], distinct(data, *regrets.SIZE), regrets.by_size(data), strict=True
    ):
        for base in _BASES:
            numbers = [statistics.mean(rows[_label(base, f)]["effective"]) for f in _FACTORS]
            sweep(panel, look(base), _FACTORS, numbers)
        for ours in (RW.label, RW_AT_1.label):
            level(panel, look(ours), statistics.mean(rows[ours]["effective"]))
        panel.axvline(1.0, color="#999999", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xticks(_FACTORS, [f"{f:g}" for f in _FACTORS])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("radius, as a multiple of the formula")
        panel.set_ylabel("effective Pareto regret")
        panel.set_title(regrets.size_name(size))
    legend(drawing, axes[0, 0])
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            f"MOGRO-RW below {base} for every radius",
            f"MOGRO-RW has lower effective Pareto regret than {base}, whatever the constants of "
            "its radius.",
            "ratio of final effective regrets, below 1",
            lower(
                [
                    (
                        f"radius x{f:g} at {size}",
                        statistics.ratio(
                            rows[ours]["effective"], rows[_label(base, f)]["effective"]
                        ),
                    )
                    for f in _FACTORS
                    for size, rows in regrets.by_size(tables["instances"])
                ]
            ),
            setting=setting,
        )
        for setting, (ours, _) in BY_SETTING.items()
        for base in _BASES
    ]


FIGURE = Figure(
    name="radius",
    title="The radius of the baselines",
    about=(
        "Beyond the paper: final effective Pareto regret of MOLB-UCB and MOL-TS when their radius "
        "is a multiple of the formula (sigma and S scaled together), fixed arms. The thick "
        "line is MOGRO-RW at mogro's default, the thin one with B = 1 and the paper's exploration."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
    beyond=True,
)
