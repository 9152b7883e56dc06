"""Evidence that theory and code meet: runs beside the bounds and lemmas that are about them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mogro import theory
from mogro.simulation import ConfidenceInterval
from paper.lab import lemmas
from paper.lab.arrays import IntArray
from paper.lab.contenders import RR, RW
from paper.lab.parallel import Arrays, Results, Task
from paper.lab.probes import eigenvalue_and_error
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation, gather
from paper.lab.scale import Scale
from paper.lab.tables import Table, distinct, select, table
from paper.lab.theorems import Setup, horizons
from paper.lab.worlds import Circle
from paper.report import statistics
from paper.report.claims import Case, Claim, above, against_bounds, below, certain, rarely
from paper.report.figure import Figure
from paper.report.panels import draw_bound
from paper.report.style import Axes, Drawing, legend, line_style, panels

_ROUNDS = 2500
_REPEATS = 60
_WORLDS = (Circle(2, 0.01), Circle(2, 0.1), Circle(2, 1.0), Circle(3, 0.1))
_FEW = "so few runs can refute a small probability, but hardly confirm it"
_CELL = ("objectives", "noise", "rounds", "policy")


class _Run(NamedTuple):
    """MOGRO with the threshold of its theorem, and what the theory says about it."""

    cell: tuple[int, float, int, str]
    said: theory.Diagnosis
    task: Simulation


def _runs(scale: Scale) -> list[_Run]:
    return [
        _run(Setup(world, rounds, label), scale)
        for world in _WORLDS
        for rounds in horizons(scale, _ROUNDS)
        for label in (RW.label, RR.label)
    ]


def _run(setup: Setup, scale: Scale) -> _Run:
    said = setup.said
    task = setup.simulation(scale, repeats=_REPEATS, probe=eigenvalue_and_error)
    return _Run((said.objectives, said.noise, said.rounds, setup.label), said, task)


def _tasks(scale: Scale) -> list[Task]:
    return [run.task for run in _runs(scale)]


def _tables(scale: Scale, results: Results) -> Tables:
    pairs = [(run, gather(results, [run.task])) for run in _runs(scale)]
    return {
        "bounds": table((*_CELL, *_SAID), [(*run.cell, *_said(run.said)) for run, _ in pairs]),
        "runs": table((*_CELL, *_ENDED), [row for pair in pairs for row in _ended(*pair)]),
        "growth": table((*_CELL, *_GROWN), [row for pair in pairs for row in _grown(*pair)]),
        "estimates": table(
            (*_CELL, *_ESTIMATED), [row for pair in pairs for row in _estimated(*pair)]
        ),
    }


_SAID = (
    *("assumptions", "gamma", "alpha", "threshold", "exploration", "initial_rounds"),
    *("increment", "bound", "largest_possible", "bound_says"),
)


def _said(said: theory.Diagnosis) -> tuple[Any, ...]:
    guaranteed = said.guarantees
    return (
        "hold" if said.holds else "fail",
        said.goodness.gamma,
        said.goodness.alpha,
        guaranteed.threshold,
        "never ends" if guaranteed.unreachable else "ends",
        guaranteed.initial_rounds,
        guaranteed.increment,
        guaranteed.regret,
        2 * said.rounds,
        "nothing" if guaranteed.vacuous else "something",
    )


_ENDED = ("repeat", "effective", "eigenvalue", "error")


def _ended(run: _Run, arrays: Arrays) -> Iterator[tuple[Any, ...]]:
    """Give for each repeat its regret, eigenvalue, and largest error in the greedy rounds."""
    eigenvalues, errors = np.moveaxis(arrays["probed"][:, 0], -1, 0)
    greedy = arrays["rounds"] > run.said.guarantees.initial_rounds
    worst = errors[greedy].max(axis=0, initial=0.0)
    columns = (arrays["effective"][-1, 0], eigenvalues[-1], worst)
    for repeat, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        yield (*run.cell, repeat, *values)


_GROWN = ("round", "lowest", "median", "line", "below", "allowed")


def _grown(run: _Run, arrays: Arrays) -> Iterator[tuple[Any, ...]]:
    """Give for each checkpoint in the greedy rounds the eigenvalues, and the lemma's line."""
    for t, values in zip(arrays["rounds"].tolist(), arrays["probed"][:, 0, :, 0], strict=True):
        if (start := run.said.guarantees.initial_rounds) is not None and t > start:
            line = lemmas.eigenvalue_bound(run.said, t)
            lowest, median = float(values.min()), float(np.median(values))
            below = int((values < line.value).sum())
            yield (*run.cell, t, lowest, median, line.value, below, line.failure)


_ESTIMATED = ("round", "median", "largest", "bound", "outside", "allowed")


def _estimated(run: _Run, arrays: Arrays) -> Iterator[tuple[Any, ...]]:
    """Give for each checkpoint that the lemma speaks of the errors of estimates, and its bound."""
    said, start = run.said, run.said.guarantees.initial_rounds
    cycle = said.objectives if run.cell[-1] == RR.label else 0
    for t, errors in zip(arrays["rounds"].tolist(), arrays["probed"][:, 0, :, 1], strict=True):
        if start is not None and t > start and t >= 2 * (start + cycle):
            bound = lemmas.estimate_bound(said, t)
            median, largest = float(np.median(errors)), float(errors.max())
            outside = int((errors > bound.value).sum())
            yield (*run.cell, t, median, largest, bound.value, outside, bound.failure)


def _draw(tables: Tables) -> Drawing:
    worlds = distinct(tables["bounds"], "objectives", "noise")
    drawing, axes = panels(3, len(worlds), width=3.1, height=2.8)
    for column, (objectives, noise) in enumerate(worlds):
        bounds, runs, growth, estimates = (
            select(tables[name], objectives=objectives, noise=noise)
            for name in ("bounds", "runs", "growth", "estimates")
        )
        _draw_regret(axes[0, column], bounds, runs)
        _draw_lemma(axes[1, column], growth, "lowest", "line")
        axes[1, column].set_ylim(bottom=0)
        _draw_lemma(axes[2, column], estimates, "largest", "bound")
        axes[2, column].set_yscale("log")
        for panel in axes[:, column]:
            panel.set_title(f"M = {objectives}, noise {noise:g}")
        axes[0, column].set_ylabel("effective Pareto regret")
        axes[1, column].set_ylabel("smallest eigenvalue of V")
        axes[2, column].set_ylabel("largest error of an estimate")
    legend(drawing, axes[0, 0])
    return drawing


def _draw_regret(panel: Axes, bounds: Table, runs: Table) -> None:
    """Draw regrets and bounds against the horizon, and the line above which bounds are vacuous."""
    horizons = [t for (t,) in distinct(bounds, "rounds")]
    for (policy,) in distinct(bounds, "policy"):
        values = [select(runs, policy=policy, rounds=t)["effective"] for t in horizons]
        said = select(bounds, policy=policy)["bound"]
        draw_bound(panel, horizons, values, said, line_style(policy))
    largest = select(bounds, policy=policy)["largest_possible"]
    panel.plot(horizons, largest, color="#7F7F7F", linewidth=1, label="largest possible regret")
    panel.set_yscale("log")
    panel.minorticks_off()


def _draw_lemma(panel: Axes, data: Table, worst: str, line: str) -> None:
    """Draw the longest runs from the worst to the median, and the lemma's line."""
    longest = select(data, rounds=int(data["rounds"].max(initial=0)))
    for (policy,) in distinct(longest, "policy"):
        style, rows = line_style(policy), select(longest, policy=policy)
        t = rows["round"]
        panel.plot(t, rows["median"], color=style.colour)
        panel.fill_between(t, rows[worst], rows["median"], color=style.colour, alpha=0.3)
        panel.plot(t, rows[line], color=style.colour, linestyle=":")
    if not len(longest["round"]):
        panel.text(0.5, 0.5, "exploration takes too long", ha="center", transform=panel.transAxes)
    panel.set_xlabel("round")
    panel.set_xlim(left=0)


class _Cell(NamedTuple):
    """One case: what was said of it, its runs, and V and the estimates in greedy rounds."""

    said: dict[str, Any]
    runs: Table
    growth: Table
    estimates: Table

    @property
    def where(self) -> str:
        said = self.said
        names = "{policy}, M = {objectives}, noise {noise:g}, T = {rounds}".format(**said)
        endless = ", B > T / d: exploration never ends" * (said["exploration"] == "never ends")
        return f"{names}{endless}"

    @property
    def vacuous(self) -> bool:
        """Whether the bound on regret says nothing."""
        return bool(self.said["bound_says"] == "nothing")


def _cells(tables: Tables) -> Iterator[_Cell]:
    bounds = tables["bounds"]
    for values in zip(*(column.tolist() for column in bounds.values()), strict=True):
        said = dict(zip(bounds, values, strict=True))
        cell = {name: said[name] for name in _CELL}
        parts = (select(tables[name], **cell) for name in ("runs", "growth", "estimates"))
        yield _Cell(said, *parts)


def _claims(tables: Tables) -> list[Claim]:
    cells = list(_cells(tables))
    greedy = [cell for cell in cells if len(cell.growth["round"])]
    rising = [cell for cell in greedy if cell.growth["line"][-1] > cell.said["threshold"]]
    vacuous = [cell.vacuous for cell in cells]
    ratios = [(c.where, statistics.mean(c.runs["effective"] / c.said["bound"])) for c in cells]
    claims = [
        Claim(
            "assumptions met on a dense circle",
            "Arms all around the circle meet all assumptions for evenly spread objectives.",
            "certified radius alpha of goodness, where all assumptions hold",
            [_assumed(cell) for cell in cells],
            check=True,
        ),
        Claim(
            "regret below the theorems' bounds",
            "With the threshold of its theorem, MOGRO has an effective Pareto regret below the "
            "bound of the theorem.",
            f"effective regret / bound, below 1; {sum(vacuous)} of {len(cells)} bounds are "
            "vacuous: no policy can exceed them",
            against_bounds(below(1.0, ratios), vacuous=vacuous),
        ),
        Claim(
            "the eigenvalue grows at the lemmas' rate",
            "In greedy rounds the smallest eigenvalue of V grows at least as fast as in the lemma.",
            "growth from T_0 to T / that of the lemma, above 1",
            above(1.0, [(c.where, _relative_growth(c)) for c in rising]),
        ),
        Claim(
            "the eigenvalue stays above the lemmas' line",
            "In no round are more runs below the lemma's line than its probability of failure.",
            "share of runs below at the worst checkpoint that the lemma speaks of, at most that "
            f"probability at all of them ({_FEW})",
            [case for c in greedy for case in _exceptions(c, c.growth["below"], c.growth)],
        ),
        Claim(
            "estimates within the lemmas' bound",
            "In no round are more runs outside the lemma's bound on the errors of all estimates "
            "than its probability of failure.",
            "share of runs outside at the worst checkpoint that the lemma speaks of, at most that "
            f"probability at all of them ({_FEW}); {_silent(cells)}",
            [case for c in cells for case in _exceptions(c, c.estimates["outside"], c.estimates)],
        ),
        Claim(
            "the threshold keeps estimates within their radius",
            "In greedy rounds all estimates are within the radius that B is made for, except with "
            "probability 2 M / T.",
            f"share of runs with one outside at a checkpoint, at most 2 M / T ({_FEW})",
            [_outside(cell) for cell in greedy],
        ),
    ]
    return [claim for claim in claims if claim.cases]


def _assumed(cell: _Cell) -> Case:
    alpha = statistics.exactly(cell.said["alpha"])
    return certain(cell.where, alpha, cell.said["assumptions"] == "hold", alpha.value)


def _relative_growth(cell: _Cell) -> ConfidenceInterval:
    threshold, line = cell.said["threshold"], cell.growth["line"][-1]
    return statistics.mean((cell.runs["eigenvalue"] - threshold) / (line - threshold))


def _exceptions(cell: _Cell, hits: IntArray, lemma: Table) -> Iterator[Case]:
    """Compare numbers of runs, one for each checkpoint, with the lemma's probability of failure."""
    spoken = lemma["allowed"] < 1
    if spoken.any():
        size, counts = len(cell.runs["repeat"]), hits[spoken].tolist()
        shares = {n: statistics.share(n, size) for n in set(counts)}
        allowed_shares = lemma["allowed"][spoken].tolist()
        yield rarely(
            cell.where, [(shares[n], a) for n, a in zip(counts, allowed_shares, strict=True)]
        )


def _silent(cells: Sequence[_Cell]) -> str:
    """Say how often the bound on estimates is vacuous, or larger than what is estimated."""
    bounds, allowed_shares = (
        np.concatenate([cell.estimates[name] for cell in cells]) for name in ("bound", "allowed")
    )
    vacuous, loose = (allowed_shares >= 1).sum(), ((allowed_shares < 1) & (bounds >= 1)).sum()
    return (
        f"of {len(bounds)} bounds {vacuous} are vacuous, with a probability of 1, and {loose} more "
        "are above 1, the length of the parameters"
    )


def _outside(cell: _Cell) -> Case:
    radius = cell.said["alpha"] / (2 if cell.said["policy"] == RW.label else 1)
    outside = int((cell.runs["error"] > radius).sum())
    share = statistics.share(outside, len(cell.runs["repeat"]))
    allowed_share = 2 * cell.said["objectives"] / cell.said["rounds"]
    return rarely(cell.where, [(share, allowed_share)])


FIGURE = Figure(
    name="evidence",
    title="Theory beside runs",
    about=(
        "Beyond the paper's experiments: MOGRO with the threshold B of its theorems where all "
        "assumptions hold, 100 arms around the unit circle and M evenly spread objectives. "
        "Above: effective Pareto regret, and its bound (dotted); a bound above the grey line is "
        "vacuous, for no policy can do worse. With noise 1, B may exceed T / d: then exploration "
        "never ends, and the policy is absent below. Middle: the smallest eigenvalue of V in the "
        "greedy rounds of the longest runs, from the lowest run to the median, and the line of the "
        "lemma (dotted). Below: the largest error of an estimate in these runs, from the median to "
        "the worst run, and the lemma's bound (dotted), from twice the rounds of exploration on. "
        "Lower bound, fairness and fresh arms have figures of their own."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=(1, _REPEATS),
    shown=("bounds",),
    rounds=_ROUNDS,
    beyond=True,
)
