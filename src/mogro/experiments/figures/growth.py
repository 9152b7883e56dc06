"""The growth of the smallest eigenvalue of V: implicit exploration at a glance."""

import numpy as np

from mogro._intervals import ConfidenceInterval, band
from mogro._plots import Drawing, curve, legend, look, panels
from mogro._validation import FloatArray
from mogro.experiments.lab import regrets
from mogro.experiments.lab.contenders import COMMIT, FIVE, Contender
from mogro.experiments.lab.probes import smallest_eigenvalue
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.runs import Simulation, by_run, gather
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import Table, distinct, select, table
from mogro.experiments.lab.worlds import Fixed
from mogro.experiments.report import statistics
from mogro.experiments.report.claims import Claim, above, below
from mogro.experiments.report.comparisons import OURS
from mogro.experiments.report.figure import Figure
from mogro.simulation.parallel import Results

_SAMPLE = (50, 1)
_CONTENDERS: tuple[Contender, ...] = (*FIVE, COMMIT)


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Fixed(*size) for size in regrets.MAIN_SIZES)
    return regrets.plan_runs(worlds, _CONTENDERS, scale, sample=_SAMPLE, probe=smallest_eigenvalue)


def _tables(scale: Scale, results: Results) -> Tables:
    rows = []
    for (world, contender), tasks in by_run(_tasks(scale)).items():
        arrays = gather(results, tasks)
        values = arrays["probed"].mean(axis=-1)
        for t, eigenvalues in zip(arrays["rounds"].tolist(), values.tolist(), strict=True):
            rows += [(*world.sizes, contender.label, t, i, v) for i, v in enumerate(eigenvalues)]
    return {"eigenvalue": table((*regrets.SIZE, "policy", "round", "instance", "eigenvalue"), rows)}


def _by_round(data: Table) -> tuple[FloatArray, FloatArray]:
    """Return rounds (C,) and eigenvalues (C, I) of one policy at one size."""
    rounds = [t for (t,) in distinct(data, "round")]
    return np.array(rounds), data["eigenvalue"].reshape(len(rounds), -1)


def _draw(tables: Tables) -> Drawing:
    data = tables["eigenvalue"]
    drawing, axes = panels(1, len(regrets.MAIN_SIZES), width=4.4, height=3.3)
    for panel, size in zip(axes[0], distinct(data, *regrets.SIZE), strict=True):
        here = regrets.select_size(data, size)
        for (policy,) in distinct(here, "policy"):
            rounds, values = _by_round(select(here, policy=policy))
            middle, low, high = band(values)
            curve(panel, look(policy), rounds, middle, np.maximum(low, 0), high)
        panel.set_title(regrets.size_name(size))
        panel.set_xlabel("round")
        panel.set_ylabel("smallest eigenvalue of V")
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
    legend(drawing, axes[0, 0], columns=3)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    def since_middle(policy: str) -> list[tuple[str, ConfidenceInterval]]:
        found = []
        for name, rows in regrets.by_size(tables["eigenvalue"]):
            _, values = _by_round(rows[policy])
            number = statistics.ratio(values[-1], values[len(values) // 2 - 1])
            found.append((f"{policy} at {name}", number))
        return found

    return [
        Claim(
            "greedy rounds explore by themselves",
            "The smallest eigenvalue of V grows linearly in the greedy rounds of MOGRO.",
            "eigenvalue at the end / in the middle of the run, above 1.5 (a straight line has 2)",
            above(1.5, [case for policy in OURS for case in since_middle(policy)]),
        ),
        Claim(
            "without them nothing is learned",
            "A policy that does not learn from its greedy rounds stays where exploration left it.",
            "eigenvalue at the end / in the middle of the run, below 1.01",
            below(1.01, since_middle(COMMIT.label)),
        ),
    ]


FIGURE = Figure(
    name="growth",
    title="Implicit exploration",
    about=(
        "Beyond the paper's experiments: the smallest eigenvalue of V, the sum of x x^T over the "
        "rounds that a policy learned from. MOGRO, at mogro's default, explores for a few "
        "rounds; what it has above explore-then-commit, which stays there, its greedy choices "
        "taught by themselves. Bands "
        "are 95 % intervals over instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
    beyond=True,
)
