"""Varying contexts over the whole grid of sizes: both regrets, and why random weights do well."""

import numpy as np

from paper.lab import regrets
from paper.lab.contenders import ALL
from paper.lab.parallel import Arrays, Results, Task
from paper.lab.probes import in_region
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation, by_run, gather
from paper.lab.scale import Scale
from paper.lab.tables import Table, table
from paper.lab.worlds import Varying
from paper.report import comparisons, statistics
from paper.report.claims import Claim, above, below, lower
from paper.report.figure import Figure
from paper.report.panels import draw_curves
from paper.report.style import Drawing


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Varying(*size) for size in regrets.GRID)
    return regrets.plan_runs(worlds, ALL, scale, sample=regrets.SAMPLE, probe=in_region)


def _tables(scale: Scale, results: Results) -> Tables:
    tasks = _tasks(scale)
    phases: dict[Task, Arrays] = {
        task: {**results[task], "probed": results[task]["probed"][..., 0]} for task in tasks
    }
    return {
        "curves": regrets.curves(tasks, results),
        "instances": regrets.finals(tasks, phases),
        "region": _region(tasks, results),
    }


def _region(tasks: list[Simulation], results: Results) -> Table:
    """Return how often estimates lie in the objective region, averaged over all checkpoints.

    The eigenvalue is that at the end and in the middle.
    """
    rows = []
    for (world, contender), run in by_run(tasks).items():
        probed = gather(results, run)["probed"].mean(axis=2)
        shares, eigenvalues = probed[..., 1:3].mean(axis=0), probed[..., 3]
        moments = eigenvalues[[-1, len(eigenvalues) // 2 - 1]].T
        rows += [
            (*world.sizes, contender.label, i, *values.tolist())
            for i, values in enumerate(np.hstack([shares, moments]))
        ]
    names = ("weighted", "single", "eigenvalue", "eigenvalue_half")
    return table((*regrets.SIZE, "policy", "instance", *names), rows)


def _draw(tables: Tables) -> Drawing:
    return draw_curves(tables["curves"], columns=3)


def _claims(tables: Tables) -> list[Claim]:
    data, region = tables["instances"], tables["region"]
    return [
        *(
            claim
            for claim in comparisons.lowest_regret(data, where="varying contexts")
            if claim.name.startswith("MOGRO-RW")
        ),
        *(
            claim
            for setting, (weighted, in_turn) in comparisons.BY_SETTING.items()
            for claim in (
                *_first_rounds(data, weighted, setting),
                *_ranking(data, weighted, in_turn, setting),
                _free_exploration(region, (weighted, in_turn), setting),
                _weighted_estimates(region, weighted, setting),
            )
        ),
        Claim(
            "MOL-TS ahead of MOLB-UCB, varying contexts",
            "In effective Pareto regret, MOL-TS does better than MOLB-UCB.",
            "ratio of final effective regrets, below 1",
            lower(comparisons.regret_ratios(data, "MOL-TS", "MOLB-UCB")),
        ),
        comparisons.epsilon_greedy_worst(data, where="varying contexts"),
        comparisons.fair_policies_pay(data, where="varying contexts"),
    ]


def _first_rounds(data: Table, mogro: str, setting: str) -> list[Claim]:
    return [
        Claim(
            "MOGRO-RW near zero, varying contexts",
            "MOGRO-RW has near-zero regret in most scenarios; read as: in all that are run here.",
            "effective regret / that of epsilon-greedy, below 0.1",
            below(0.1, comparisons.regret_ratios(data, mogro, "MOLB-eps-greedy")),
            setting=setting,
        ),
        Claim(
            "no regret after the first rounds, varying contexts",
            "MOGRO-RW pays a little in the initial rounds and essentially nothing afterwards.",
            "share of the final effective regret that came after exploration, below 0.05",
            below(0.05, comparisons.share_since(data, [mogro], "explored")),
            setting=setting,
        ),
    ]


def _ranking(data: Table, weighted: str, in_turn: str, setting: str) -> list[Claim]:
    pairs = (
        (weighted, "MOL-TS"),
        ("MOL-TS", in_turn),
        (weighted, in_turn),
        (in_turn, "MOLB-UCB"),
    )
    return [
        Claim(
            "{} ahead of {}, varying contexts".format(*names),
            "In effective Pareto regret, {} does better than {}.".format(*names),
            "ratio of final effective regrets, below 1",
            lower(comparisons.regret_ratios(data, mogro, baseline)),
            setting=setting,
        )
        for mogro, baseline in pairs
        for names in [[policy.partition(",")[0] for policy in (mogro, baseline)]]
    ]


def _free_exploration(region: Table, policies: tuple[str, ...], setting: str) -> Claim:
    grown = [
        (f"{p} at {name}", statistics.ratio(rows[p]["eigenvalue"], rows[p]["eigenvalue_half"]))
        for p in policies
        for name, rows in regrets.by_size(region)
    ]
    return Claim(
        "varying contexts explore by themselves",
        "The contextual setting itself induces free exploration: the smallest eigenvalue of V "
        "goes on growing in the greedy rounds of MOGRO.",
        "eigenvalue at the end / in the middle of the run, above 1.5 (a straight line has 2)",
        above(1.5, grown),
        setting=setting,
    )


def _weighted_estimates(region: Table, mogro: str, setting: str) -> Claim:
    inside = [
        (name, statistics.mean(rows[mogro]["weighted"] - rows[mogro]["single"]))
        for name, rows in regrets.by_size(region)
    ]
    return Claim(
        "weighted estimates in the objective region",
        "A weighted sum of the estimates lies in the region of the true objectives more often "
        "than a single estimate does, which is why random weights beat round robin.",
        "share of weighted less share of single estimates in the region (MOGRO-RW), above 0",
        above(0.0, inside),
        setting=setting,
    )


FIGURE = Figure(
    name="varying",
    title="Varying contexts",
    about=(
        "Both regrets with fresh arms in every round. Thick lines are MOGRO at mogro's default; "
        "for the thin ones it pulls uniform arms until the smallest eigenvalue of V reaches "
        "B = 1, then is greedy. The table region.csv has how often its estimates, weighted or "
        "single, lie in the cone of the true parameters, and the smallest eigenvalue of V. Bands "
        "are 95 % intervals over instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=regrets.SAMPLE,
)
