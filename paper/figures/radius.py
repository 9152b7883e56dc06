"""Sensitivity of the baselines to their radius, whose constants the paper does not state."""

from paper.lab import regrets
from paper.lab.contenders import RW, RW_AT_1, Contender, optimist, thompson
from paper.lab.parallel import Results
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation
from paper.lab.scale import Scale
from paper.lab.worlds import Fixed
from paper.report import statistics
from paper.report.claims import Claim, lower
from paper.report.comparisons import BY_SETTING
from paper.report.figure import Figure
from paper.report.panels import draw_sweeps
from paper.report.style import Drawing, line_style

_SAMPLE = (50, 1)
_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0)
_BASES = ("MOLB-UCB", "MOL-TS")


def _label(base: str, factor: float) -> str:
    return f"{base} x{factor:g}"


_CONTENDERS: tuple[Contender, ...] = (
    RW,
    RW_AT_1,
    *(optimist(_label(_BASES[0], f), f) for f in _FACTORS),
    *(thompson(_label(_BASES[1], f), f) for f in _FACTORS),
)


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Fixed(*size) for size in regrets.MAIN_SIZES)
    return regrets.plan_runs(worlds, _CONTENDERS, scale, sample=_SAMPLE)


def _tables(scale: Scale, results: Results) -> Tables:
    return {"instances": regrets.finals(_tasks(scale), results)}


def _draw(tables: Tables) -> Drawing:
    drawing = draw_sweeps(
        tables["instances"],
        _FACTORS,
        [(line_style(base), [_label(base, f) for f in _FACTORS]) for base in _BASES],
        [(line_style(ours.label), ours.label) for ours in (RW, RW_AT_1)],
        along="radius, as a multiple of the formula",
    )
    for panel in drawing.axes:
        panel.axvline(1.0, color="#999999", linewidth=0.8)
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
                            rows[mogro]["effective"], rows[_label(base, f)]["effective"]
                        ),
                    )
                    for f in _FACTORS
                    for size, rows in regrets.by_size(tables["instances"])
                ]
            ),
            setting=setting,
        )
        for setting, (mogro, _) in BY_SETTING.items()
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
