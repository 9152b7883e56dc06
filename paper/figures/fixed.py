"""Fixed arms over the whole grid of sizes: both regrets."""

import numpy as np

from mogro.simulation import ConfidenceInterval
from paper.lab import regrets
from paper.lab.contenders import ALL
from paper.lab.parallel import Results
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation
from paper.lab.scale import Scale
from paper.lab.tables import Table
from paper.lab.worlds import Fixed
from paper.report import comparisons, statistics
from paper.report.claims import SAME, Case, Claim, above, below, certain
from paper.report.figure import Figure
from paper.report.panels import draw_curves
from paper.report.style import Drawing


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Fixed(*size) for size in regrets.GRID)
    return regrets.plan_runs(worlds, ALL, scale, sample=regrets.SAMPLE)


def _tables(scale: Scale, results: Results) -> Tables:
    tasks = _tasks(scale)
    return {"curves": regrets.curves(tasks, results), "instances": regrets.finals(tasks, results)}


def _draw(tables: Tables) -> Drawing:
    return draw_curves(tables["curves"], columns=3)


def _claims(tables: Tables) -> list[Claim]:
    data = tables["instances"]
    others = comparisons.other_sizes(data)
    elsewhere = comparisons.lowest_regret(others, where="fixed arms (other sizes)")
    return [
        *(claim for claim in elsewhere if claim.cases),
        *comparisons.next_best(data, where="fixed arms"),
        *_after_exploration(data),
        *_baselines(data),
        *_both_regrets(data),
    ]


def _after_exploration(data: Table) -> list[Claim]:
    return [
        Claim(
            "no regret after exploration, fixed arms",
            "After the initial exploration MOGRO incurs almost no effective Pareto regret.",
            "share of the final regret that came after exploration, below 0.01",
            below(0.01, comparisons.share_since(data, policies, "explored")),
            setting=setting,
        )
        for setting, policies in comparisons.BY_SETTING.items()
    ]


def _baselines(data: Table) -> list[Claim]:
    going_on = list(comparisons.share_since(data, comparisons.BASELINES, "half"))
    return [
        Claim(
            "baselines go on paying, fixed arms",
            "The other policies go on adding effective Pareto regret in later rounds.",
            "share of the final regret added in the second half, above 0.1",
            above(0.1, going_on),
        ),
        Claim(
            "baselines' regret is sublinear, fixed arms",
            "The regret of the other policies is sublinear.",
            "share of the final regret added in the second half, below 0.5 (a straight line)",
            below(0.5, going_on),
        ),
        comparisons.epsilon_greedy_worst(data, where="fixed arms"),
        comparisons.fair_policies_pay(data, where="fixed arms"),
    ]


def _both_regrets(data: Table) -> list[Claim]:
    return [
        Claim(
            "Pareto regret never above effective regret",
            "Pareto regret is bounded by effective Pareto regret.",
            "effective less Pareto regret, the smallest of all instances, at least 0: an "
            "inequality that is certain is checked in every row (up to rounding)",
            [
                _ordered(f"{p} at {name}", r)
                for name, rows in regrets.by_size(data)
                for p, r in rows.items()
            ],
            check=True,
        ),
        Claim(
            "both regrets have the same best policy, fixed arms",
            "Pareto regret shows a trend similar to that of effective Pareto regret; read as: the "
            "policy that is best in Pareto regret is best in effective Pareto regret, too.",
            "effective regret of the policy best in Pareto regret / of the one best in effective, "
            f"below {SAME[1]}: no difference",
            below(SAME[1], [_same_best(name, rows) for name, rows in regrets.by_size(data)]),
        ),
    ]


def _ordered(where: str, rows: Table) -> Case:
    """Check both regrets at every moment that was noted, instance by instance."""
    noted = ("", "_half", "_explored")
    ahead = np.concatenate([rows[f"effective{when}"] - rows[f"pareto{when}"] for when in noted])
    smallest = float(ahead[~np.isnan(ahead)].min())
    scale = float(rows["effective"].max())
    return certain(where, statistics.exactly(smallest), smallest >= -1e-12 * scale, smallest)


def _same_best(name: str, rows: dict[str, Table]) -> tuple[str, ConfidenceInterval]:
    by_gap, by_effective_gap = (
        min(rows, key=lambda p: float(rows[p][k].mean())) for k in regrets.KINDS
    )
    number = statistics.ratio(rows[by_gap]["effective"], rows[by_effective_gap]["effective"])
    return f"{name}: {by_gap} in Pareto, {by_effective_gap} in effective", number


FIGURE = Figure(
    name="fixed",
    title="Fixed arms",
    about=(
        "Both regrets with fixed arms over the grid of sizes; thick lines are MOGRO at mogro's "
        "default, thin ones with B = 1 and the paper's exploration. MOGRO's lines end in a "
        "plateau: nearly all it pays is the exploration of its first rounds. Bands are 95 % "
        "intervals over instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=regrets.SAMPLE,
)
