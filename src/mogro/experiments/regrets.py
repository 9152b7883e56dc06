"""Regret of the paper's policies over a list of sizes: tables, panels and the usual comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.experiments import statistics
from mogro.experiments.claims import Claim, above, below
from mogro.experiments.contenders import Contender, Counted
from mogro.experiments.runs import Part, gather
from mogro.experiments.statistics import Interval
from mogro.experiments.style import curve, legend, look, panels
from mogro.experiments.table import Table, distinct, select, table
from mogro.experiments.worlds import World
from mogro.policies import MOGRO
from mogro.simulation.parallel import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ROUNDS = 1000
MAIN_SIZES = ((5, 50, 5), (10, 200, 10))
GRID = tuple((d, K, d) for d in (5, 10) for K in (50, 100, 200))
SIZE = ("dim", "arms", "objectives")
KINDS = {"pareto": "Pareto regret", "effective": "effective Pareto regret"}
OURS = ("MOGRO-RW", "MOGRO-RR")
BASELINES = ("MOLB-eps-greedy", "MOLB-UCB", "MOL-TS")

Runs = Mapping[tuple[World, Contender], list[Part]]


def explored(policy: Any, worlds: Sequence[Environment]) -> FloatArray:
    """Probe: rounds that each learner has explored; policies without a first phase never do."""
    if isinstance(policy, MOGRO) and isinstance(policy.exploration, Counted):
        return policy.exploration.explored.astype(np.float64)
    return np.zeros(policy.batch)


def curves(runs: Runs, results: Results) -> Table:
    """Return both regrets over time, with bands over instances."""
    names = (*SIZE, "policy", "round", *(f"{k}_{part}" for k in KINDS for part in _BAND))
    rows = []
    for (world, contender), pieces in runs.items():
        found = gather(results, pieces)
        bands = [x for k in KINDS for x in statistics.band(found[k].mean(axis=-1))]
        for t, *values in zip(found["rounds"].tolist(), *(b.tolist() for b in bands), strict=True):
            rows.append((*world.sizes, contender.label, t, *values))
    return table(names, rows)


_BAND = ("mean", "low", "high")


def finals(runs: Runs, results: Results) -> Table:
    """Return what the claims need: for every instance the regrets, averaged over its repeats.

    The regret at the end of exploration is NaN if that was not before the last checkpoint.
    """
    names = (
        *SIZE,
        "policy",
        "instance",
        *(f"{k}{when}" for when in ("", "_half", "_explored") for k in KINDS),
        "exploration",
    )
    rows = []
    for (world, contender), pieces in runs.items():
        found = gather(results, pieces)
        half = int(np.searchsorted(found["rounds"], found["rounds"][-1] / 2))
        moments = [at_exploration_end(found[k], found["probed"]) for k in KINDS]
        values = [found[k][-1] for k in KINDS] + [found[k][half] for k in KINDS] + moments
        values.append(found["probed"][-1])
        means = np.stack(values).mean(axis=-1)
        rows += [
            (*world.sizes, contender.label, i, *column.tolist()) for i, column in enumerate(means.T)
        ]
    return table(names, rows)


def at_exploration_end(values: FloatArray, explored: FloatArray) -> FloatArray:
    """Return values (I, R) at the first checkpoint after exploration.

    Both come as (C, I, R), ``explored`` being rounds explored so far. Where exploration did not end
    before the last checkpoint, nothing came after it, and the answer is NaN.
    """
    end = (explored == explored[-1]).argmax(axis=0)
    found = np.take_along_axis(values, end[None], axis=0)[0]
    return np.where(end < len(explored) - 1, found, np.nan)


def title(size: tuple[int, int, int]) -> str:
    """Return how a size is written over a panel."""
    return "d = {}, K = {}, M = {}".format(*size)


def draw_curves(data: Table, *, columns: int) -> "Drawing":
    """Draw both regrets for every size: rows of the one, then rows of the other."""
    sizes = distinct(data, *SIZE)
    rows = -(-len(sizes) // columns)
    drawing, axes = panels(2 * rows, columns, width=3.1, height=2.3)
    for k, (kind, name) in enumerate(KINDS.items()):
        for n, size in enumerate(sizes):
            panel = axes[k * rows + n // columns, n % columns]
            regret_panel(panel, data, size, kind)
            panel.set_title(title(size))
            if n % columns == 0:
                panel.set_ylabel(name)
            if n // columns == rows - 1 and k == 1:
                panel.set_xlabel("round")
    legend(drawing, axes[0, 0])
    return drawing


def regret_panel(panel: Any, data: Table, size: tuple[int, int, int], kind: str) -> None:
    """Draw one regret of all policies at one size."""
    here = select(data, **dict(zip(SIZE, size, strict=True)))
    for (policy,) in distinct(here, "policy"):
        one = select(here, policy=policy)
        parts = [one[f"{kind}_{part}"] for part in _BAND]
        curve(panel, look(policy), one["round"], *parts)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)


def cells(data: Table) -> Iterator[tuple[str, dict[str, Table]]]:
    """Go through the sizes of a table of finals: their names, and the rows of every policy."""
    for size in distinct(data, *SIZE):
        here = select(data, **dict(zip(SIZE, size, strict=True)))
        name = "({}, {}, {})".format(*size)
        yield name, {p: select(here, policy=p) for (p,) in distinct(here, "policy")}


def against_best(data: Table, ours: str, kind: str) -> Iterator[tuple[str, Interval]]:
    """Give, for every size, a policy's final regret as a ratio to that of the best baseline."""
    for name, rows in cells(data):
        best = min(BASELINES, key=lambda p: float(rows[p][kind].mean()))
        yield f"{name} against {best}", statistics.ratio(rows[ours][kind], rows[best][kind])


def lowest(data: Table, *, setting: str) -> list[Claim]:
    """Return the claims that MOGRO has the lowest regrets."""
    return [
        Claim(
            f"{ours} lowest {KINDS[kind]}, {setting}",
            f"{ours} has the lowest cumulative {KINDS[kind]} with {setting}.",
            "final regret / that of the best baseline, below 1",
            below(1.0, against_best(data, ours, kind)),
        )
        for ours in OURS
        for kind in KINDS
    ]


def compared(
    data: Table, one: str, other: str, *, kind: str = "effective"
) -> Iterator[tuple[str, Interval]]:
    """Give, for every size, the ratio of two policies' final regrets."""
    for name, rows in cells(data):
        yield name, statistics.ratio(rows[one][kind], rows[other][kind])


def worst(data: Table, *, setting: str) -> Claim:
    """Return the claim that epsilon-greedy is worst."""

    def against_next() -> Iterator[tuple[str, Interval]]:
        for name, rows in cells(data):
            others = (*OURS, "MOLB-UCB", "MOL-TS")
            rival = max(others, key=lambda p: float(rows[p]["effective"].mean()))
            own = rows["MOLB-eps-greedy"]["effective"]
            number = statistics.ratio(own, rows[rival]["effective"])
            yield f"{name} against {rival}", number

    return Claim(
        f"epsilon-greedy worst, {setting}",
        f"MOLB-epsilon-greedy has the highest effective Pareto regret with {setting}.",
        "its final regret / that of the worst other policy, above 1",
        above(1.0, against_next()),
    )


def fair_pay(data: Table, *, setting: str) -> Claim:
    """Return the claim that policies which aim at the whole Pareto front pay for it."""
    dearer = [
        (
            f"{policy} at {name}",
            statistics.double_ratio(
                *(rows[p][kind] for p in (policy, "MOGRO-RW") for kind in ("effective", "pareto"))
            ),
        )
        for name, rows in cells(data)
        for policy in ("MOLB-eps-greedy", "MOLB-UCB")
    ]
    return Claim(
        f"fair policies pay in effective regret, {setting}",
        "MOLB-epsilon-greedy and MOLB-UCB, which aim at the whole Pareto front, do relatively "
        f"worse in effective Pareto regret with {setting}.",
        "their effective / Pareto regret, over that of MOGRO-RW, above 1",
        above(1.0, dearer),
        varies="the policy and the size",
    )
