"""The fairness theorem and the corollary for fresh arms, beside runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from paper.lab.arrays import FloatArray
from paper.lab.contenders import RW
from paper.lab.fairness import FinalFairness
from paper.lab.parallel import Arrays, Results, Task
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation
from paper.lab.scale import Scale
from paper.lab.tables import select, table
from paper.lab.theorems import Setup, horizons
from paper.lab.worlds import Circle, FreshCircle
from paper.report import statistics
from paper.report.claims import Claim, above, against_bounds, below
from paper.report.figure import Figure
from paper.report.panels import draw_bound
from paper.report.style import WEIGHTING_COLOURS, Axes, Drawing, LineStyle, line_style, panels

_REPEATS = 20
_SLACKS = (1.0, 0.5)
# Noise and rounds for which the bounds say something.
_FAIR, _FAIR_ROUNDS = Circle(2, 0.005, arms=400), 10_000
_FRESH, _FRESH_ROUNDS = FreshCircle(0.001), 5000


_FAIRNESS = tuple(f"fairness, slack {slack:g}" for slack in _SLACKS)
_REGRET = "regret, fresh arms"


class _Run(NamedTuple):
    """MOGRO-RW with the threshold of a theorem; the slack of fairness, None if it is regret."""

    theorem: str
    setup: Setup
    task: Task


def _runs(scale: Scale) -> list[_Run]:
    fair = [
        (name, Setup(_FAIR, t, epsilon=slack))
        for name, slack in zip(_FAIRNESS, _SLACKS, strict=True)
        for t in horizons(scale, _FAIR_ROUNDS)
    ]
    setups = [Setup(_FRESH, t) for t in horizons(scale, _FRESH_ROUNDS)]
    return [
        # One task for all slacks: the threshold does not depend on them.
        *(_Run(name, s, FinalFairness(_simulation(s, scale), _SLACKS)) for name, s in fair),
        *(_Run(_REGRET, s, _simulation(s, scale)) for s in setups),
    ]


def _simulation(setup: Setup, scale: Scale) -> Simulation:
    return setup.simulation(scale, repeats=_REPEATS)


def _tasks(scale: Scale) -> list[Task]:
    return [run.task for run in _runs(scale)]


def _tables(scale: Scale, results: Results) -> Tables:
    pairs = [(run, _outcome(run, results[run.task])) for run in _runs(scale)]
    return {
        "bounds": table(_SAID, [_said(run, outcome.together) for run, outcome in pairs]),
        "runs": table(
            ("theorem", "rounds", "repeat", "value"),
            [
                (run.theorem, run.setup.rounds, repeat, value)
                for run, outcome in pairs
                for repeat, value in enumerate(outcome.single)
            ],
        ),
    }


class _Outcome(NamedTuple):
    """The index or the regret at the end: of each repeat, and of pooled pulls or on average."""

    single: list[float]
    together: float


def _outcome(run: _Run, arrays: Arrays) -> _Outcome:
    if run.theorem in _FAIRNESS:
        which = _FAIRNESS.index(run.theorem)
        return _Outcome(arrays["single"][which].tolist(), float(arrays["pooled"][which]))
    regrets = arrays["effective"][-1, 0]
    return _Outcome(regrets.tolist(), float(regrets.mean()))


_SAID = (
    *("theorem", "arms", "noise", "rounds", "assumptions", "threshold", "initial_rounds"),
    *("increment", "bound", "bound_says", "all_runs"),
)


def _said(run: _Run, together: float) -> tuple[Any, ...]:
    said = run.setup.said
    guaranteed = said.guarantees
    fair = run.theorem in _FAIRNESS
    bound = guaranteed.fairness if fair else guaranteed.regret
    vacuous = not bound if fair else guaranteed.vacuous
    return (
        *(run.theorem, said.arms, said.noise, said.rounds),
        "hold" if said.holds else "fail",
        *(guaranteed.threshold, guaranteed.initial_rounds, guaranteed.increment, bound),
        "nothing" if vacuous else "something",
        together,
    )


def _draw(tables: Tables) -> Drawing:
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    fairness_axes, regret_axes = axes[0]
    for name, colour, marker in zip(
        _FAIRNESS, (WEIGHTING_COLOURS[2], WEIGHTING_COLOURS[4]), "sD", strict=True
    ):
        _draw_theorem(fairness_axes, tables, name, LineStyle(name, colour, marker=marker))
    fairness_axes.set_title("fixed arms")
    fairness_axes.set_ylabel("effective Pareto fairness index")
    fairness_axes.set_ylim(0, 1.05)
    fairness_axes.legend(loc="center left", bbox_to_anchor=(0, 0.4), fontsize=8)
    _draw_theorem(regret_axes, tables, _REGRET, line_style(RW.label)._replace(name=_REGRET))
    rounds = select(tables["bounds"], theorem=_REGRET)["rounds"]
    regret_axes.plot(
        rounds, 2 * rounds, color="#7F7F7F", linewidth=1, label="largest possible regret"
    )
    regret_axes.set_title("fresh arms in each round")
    regret_axes.set_ylabel("effective Pareto regret")
    regret_axes.set_yscale("log")
    regret_axes.legend(loc="center left", fontsize=8)
    return drawing


def _draw_theorem(panel: Axes, tables: Tables, theorem: str, style: LineStyle) -> None:
    """Draw the runs and the bound against the horizon."""
    bounds, runs = (select(tables[name], theorem=theorem) for name in ("bounds", "runs"))
    horizons = bounds["rounds"].tolist()
    values = [select(runs, rounds=t)["value"] for t in horizons]
    draw_bound(panel, horizons, values, bounds["bound"], style)


class _Cell(NamedTuple):
    """One horizon: the bound for it, and the runs."""

    where: str
    bound: float
    vacuous: bool
    runs: FloatArray


def _cells(tables: Tables, theorem: str) -> list[_Cell]:
    bounds = select(tables["bounds"], theorem=theorem)
    columns = (bounds[name].tolist() for name in ("rounds", "bound", "bound_says"))
    return [
        _Cell(
            f"{theorem}, T = {t}",
            bound,
            says == "nothing",
            select(tables["runs"], theorem=theorem, rounds=t)["value"],
        )
        for t, bound, says in zip(*columns, strict=True)
    ]


def _claims(tables: Tables) -> list[Claim]:
    fair = [cell for theorem in _FAIRNESS for cell in _cells(tables, theorem)]
    regret_cells = _cells(tables, _REGRET)
    margins = [(cell.where, statistics.mean(cell.runs - cell.bound)) for cell in fair]
    ratios = [(cell.where, statistics.mean(cell.runs / cell.bound)) for cell in regret_cells]
    return [
        Claim(
            "fairness above the theorem's bound",
            "With the threshold of its theorem, MOGRO-RW has an effective Pareto fairness index "
            "above the bound of the fairness theorem.",
            "index of a run - bound, above 0 (on average that of one run is no larger than that of "
            f"expected pulls, which the theorem is about); {_vacuous(fair)}: no index is below 0",
            against_bounds(above(0.0, margins), vacuous=[cell.vacuous for cell in fair]),
        ),
        Claim(
            "regret below the bound for fresh arms",
            "With the threshold of its theorem, MOGRO-RW has an effective Pareto regret below the "
            "bound of the corollary for stochastic contexts.",
            "effective regret / bound, below 1; the bound rests on an estimate of how often arms "
            f"are good; {_vacuous(regret_cells)}: no policy can exceed them",
            against_bounds(below(1.0, ratios), vacuous=[cell.vacuous for cell in regret_cells]),
        ),
    ]


def _vacuous(cells: Sequence[_Cell]) -> str:
    return f"{sum(cell.vacuous for cell in cells)} of {len(cells)} bounds are vacuous"


FIGURE = Figure(
    name="guarantees",
    title="Fairness and fresh arms beside theory",
    about=(
        "Beyond the paper's experiments: MOGRO-RW with the threshold B of its theorems, where "
        "assumptions hold and noise is so small that the bounds say something. Left: the fairness "
        "index for 400 arms around the unit circle and noise 0.005, and the bound of the fairness "
        "theorem (dotted), 0 where it is vacuous. A slack of 1 is large: nearly every arm of the "
        "front is within 1 of all others. With 0.5 the index asks for more, and the bound needs "
        "more rounds. Right: effective Pareto regret for 60 arms anywhere on the circle, anew in "
        "each round, noise 0.001, and the bound of the corollary for stochastic contexts (dotted); "
        "above the grey line it is vacuous. Bands are 95 % intervals over runs."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=(1, _REPEATS),
    shown=("bounds",),
    rounds=_FAIR_ROUNDS,
    beyond=True,
)
