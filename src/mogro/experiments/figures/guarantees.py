"""The fairness theorem and the corollary for fresh arms, beside runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mogro._plots import legend, look, panels
from mogro._validation import FloatArray
from mogro.experiments.lab.contenders import RW
from mogro.experiments.lab.fairness import FinalFairness
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import select, table
from mogro.experiments.lab.theorems import Setup, horizons
from mogro.experiments.lab.worlds import Circle, FreshCircle
from mogro.experiments.report import statistics
from mogro.experiments.report.claims import Case, Claim, above, below, certain
from mogro.experiments.report.figure import Figure
from mogro.simulation.parallel import Arrays, Results, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_REPEATS = 20
_EPSILON = 1.0
# Noise and rounds for which the bounds say something.
_FAIR, _FAIR_ROUNDS = Circle(2, 0.005, arms=400), 10_000
_FRESH, _FRESH_ROUNDS = FreshCircle(0.001), 5000


class _Run(NamedTuple):
    """MOGRO-RW with the threshold of a theorem."""

    theorem: str
    setup: Setup
    task: Task


def _runs(scale: Scale) -> list[_Run]:
    fair = [Setup(_FAIR, t, epsilon=_EPSILON) for t in horizons(scale, _FAIR_ROUNDS)]
    fresh = [Setup(_FRESH, t) for t in horizons(scale, _FRESH_ROUNDS)]
    played = {setup: setup.simulation(scale, repeats=_REPEATS) for setup in (*fair, *fresh)}
    return [
        *(_Run("fairness", setup, FinalFairness(played[setup], _EPSILON)) for setup in fair),
        *(_Run("regret", setup, played[setup]) for setup in fresh),
    ]


def _tasks(scale: Scale) -> list[Task]:
    return [run.task for run in _runs(scale)]


def _tables(scale: Scale, results: Results) -> Tables:
    pairs = [(run, _outcome(results[run.task])) for run in _runs(scale)]
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


def _outcome(arrays: Arrays) -> _Outcome:
    if "index" in arrays:
        return _Outcome(arrays["index"].tolist(), float(arrays["pooled"]))
    regrets = arrays["effective"][-1, 0]
    return _Outcome(regrets.tolist(), float(regrets.mean()))


_SAID = (
    *("theorem", "arms", "noise", "rounds", "assumptions", "threshold", "initial_rounds"),
    *("increment", "bound", "bound_says", "all_runs"),
)


def _said(run: _Run, together: float) -> tuple[Any, ...]:
    said = run.setup.said
    promised = said.promises
    fair = run.theorem == "fairness"
    bound = promised.fairness if fair else promised.regret
    vacuous = not bound if fair else promised.vacuous
    return (
        *(run.theorem, said.arms, said.noise, said.rounds),
        "hold" if said.holds else "fail",
        *(promised.threshold, promised.initial_rounds, promised.increment, bound),
        "nothing" if vacuous else "something",
        together,
    )


def _draw(tables: Tables) -> "Drawing":
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    _draw_theorem(axes[0, 0], tables, "fairness")
    axes[0, 0].set_title("fixed arms")
    axes[0, 0].set_ylabel(f"fairness index, epsilon = {_EPSILON:g}")
    axes[0, 0].set_ylim(0, 1)
    _draw_theorem(axes[0, 1], tables, "regret")
    bounds = select(tables["bounds"], theorem="regret")
    most = 2 * bounds["rounds"]
    axes[0, 1].plot(bounds["rounds"], most, color="#7F7F7F", linewidth=1, label="largest possible")
    axes[0, 1].set_title("fresh arms in each round")
    axes[0, 1].set_ylabel("effective Pareto regret")
    axes[0, 1].set_yscale("log")
    legend(drawing, axes[0, 1])
    return drawing


def _draw_theorem(panel: "Axes", tables: Tables, theorem: str) -> None:
    """Draw the runs and the bound against the horizon."""
    bounds, runs = (select(tables[name], theorem=theorem) for name in ("bounds", "runs"))
    horizon, how = bounds["rounds"], look(RW.label)
    numbers = [statistics.mean(select(runs, rounds=t)["value"]) for t in horizon.tolist()]
    middle, low, high = (np.maximum(part, 1e-4) for part in zip(*numbers, strict=True))
    panel.plot(horizon, middle, color=how.colour, marker=how.marker, label=f"{how.name}, runs")
    panel.fill_between(horizon, low, high, color=how.colour, alpha=0.16, linewidth=0)
    panel.plot(horizon, bounds["bound"], color=how.colour, linestyle=":", label="theory")
    panel.set_xscale("log")
    panel.set_xticks(horizon, [f"{t}" for t in horizon])
    panel.minorticks_off()
    panel.set_xlabel("rounds T")


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
            f"T = {t}" + ", bound vacuous" * (says == "nothing"),
            bound,
            says == "nothing",
            select(tables["runs"], theorem=theorem, rounds=t)["value"],
        )
        for t, bound, says in zip(*columns, strict=True)
    ]


def _claims(tables: Tables) -> list[Claim]:
    fair, fresh = (_cells(tables, theorem) for theorem in ("fairness", "regret"))
    return [
        Claim(
            "fairness above the theorem's bound",
            "With the threshold of its theorem, MOGRO-RW has an effective Pareto fairness index "
            "above the bound of the fairness theorem.",
            "index of a run - bound, above 0 (on average, that of one run is no larger than "
            f"that of the theorem, which is about expected pulls); {_vacuous(fair)}: no index is below 0",
            [_fair(cell) for cell in fair],
        ),
        Claim(
            "regret below the bound for fresh arms",
            "With the threshold of its theorem, MOGRO-RW has an effective Pareto regret below the "
            "bound of the corollary for stochastic contexts.",
            "effective regret / bound, below 1; the bound rests on an estimate of how often arms "
            f"are good; {_vacuous(fresh)}: no policy can exceed them",
            [_bounded(cell) for cell in fresh],
        ),
    ]


def _vacuous(cells: Sequence[_Cell]) -> str:
    return f"{sum(cell.vacuous for cell in cells)} of {len(cells)} bounds are vacuous"


# A bound that says nothing holds whatever the runs do, and is not worth quoting.
def _fair(cell: _Cell) -> Case:
    number = statistics.mean(cell.runs - cell.bound)
    if cell.vacuous:
        return certain(cell.where, number, True, np.inf)
    (case,) = above(0.0, [(cell.where, number)])
    return case


def _bounded(cell: _Cell) -> Case:
    (case,) = below(1.0, [(cell.where, statistics.mean(cell.runs / cell.bound))])
    return replace(case, margin=np.inf) if cell.vacuous else case


FIGURE = Figure(
    name="guarantees",
    title="Fairness and fresh arms beside theory",
    about=(
        "Beyond the paper's experiments: MOGRO-RW with the threshold B of its theorems, where "
        "assumptions hold and noise is so small that the bounds say something. Left: the fairness "
        "index for 400 arms around the unit circle, noise 0.005 and a slack of 1, and the bound of "
        "the fairness theorem (dotted), 0 where it is vacuous. Right: effective Pareto regret for "
        "60 arms anywhere on the circle, anew in each round, noise 0.001, and the bound of the "
        "corollary for stochastic contexts (dotted); above the grey line it is vacuous."
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
