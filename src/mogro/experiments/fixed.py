"""Fixed arms over the whole grid of sizes: both regrets."""

from typing import TYPE_CHECKING

from mogro.experiments import statistics
from mogro.experiments.claims import Case, Claim, above, below
from mogro.experiments.contenders import PAPER
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import (
    BASELINES,
    GRID,
    KINDS,
    OURS,
    ROUNDS,
    Runs,
    cells,
    curves,
    draw_curves,
    explored,
    fair_pay,
    finals,
    lowest,
    worst,
)
from mogro.experiments.runs import parts
from mogro.experiments.scale import Scale
from mogro.experiments.table import Table
from mogro.experiments.worlds import Fixed
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(world, contender, scale, rounds=ROUNDS, probe=explored)
        for world in (Fixed(*size) for size in GRID)
        for contender in PAPER
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    runs = _runs(scale)
    return {"curves": curves(runs, results), "instances": finals(runs, results)}


def _draw(tables: Tables) -> "Drawing":
    return draw_curves(tables["curves"], columns=3)


def _claims(tables: Tables) -> list[Claim]:
    data = tables["instances"]
    return [*lowest(data, setting="fixed arms"), *_after_exploration(data), *_order(data)]


def _after_exploration(data: Table) -> list[Claim]:
    flat = [
        (
            f"{ours} at {name}",
            statistics.ratio(
                rows[ours]["effective"] - rows[ours]["effective_explored"], rows[ours]["effective"]
            ),
        )
        for ours in OURS
        for name, rows in cells(data)
    ]
    going_on = [
        (
            f"{policy} at {name}",
            statistics.ratio(
                rows[policy]["effective"] - rows[policy]["effective_half"],
                rows[policy]["effective"],
            ),
        )
        for policy in BASELINES
        for name, rows in cells(data)
    ]
    return [
        Claim(
            "no regret after exploration, fixed arms",
            "After the initial exploration MOGRO incurs almost no effective Pareto regret.",
            "share of the final regret that came after exploration, below 0.01",
            below(0.01, flat),
            varies="the policy and the size",
        ),
        Claim(
            "baselines go on paying, fixed arms",
            "The other policies go on adding effective Pareto regret in later rounds.",
            "share of the final regret added in the second half, above 0.1",
            above(0.1, going_on),
            varies="the policy and the size",
        ),
        Claim(
            "baselines' regret is sublinear, fixed arms",
            "The regret of the other policies is sublinear.",
            "share of the final regret added in the second half, below 0.5 (a straight line)",
            below(0.5, going_on),
            varies="the policy and the size",
        ),
    ]


def _same_best(name: str, rows: dict[str, Table]) -> Case:
    plain, effective = (min(rows, key=lambda p: float(rows[p][k].mean())) for k in KINDS)
    number = statistics.ratio(rows[plain]["effective"], rows[effective]["effective"])
    same = plain == effective or {plain, effective} == set(OURS)
    return Case(f"{name}: {plain} in Pareto, {effective} in effective", number, same, -number.value)


def _order(data: Table) -> list[Claim]:
    bounded = [
        (f"{p} at {name}", statistics.ratio(r["effective"], r["pareto"]))
        for name, rows in cells(data)
        for p, r in rows.items()
    ]
    return [
        worst(data, setting="fixed arms"),
        Claim(
            "Pareto regret never above effective regret",
            "Pareto regret is bounded by effective Pareto regret.",
            "effective / Pareto regret, at least 1",
            above(1 - 1e-12, bounded),
        ),
        Claim(
            "both regrets have the same best policy, fixed arms",
            "Pareto regret shows a trend similar to that of effective Pareto regret; read as: the "
            "same policy is best, both MOGRO policies counting as one.",
            "effective regret of the policy best in Pareto regret / of the one best in effective",
            [_same_best(name, rows) for name, rows in cells(data)],
        ),
        fair_pay(data, setting="fixed arms"),
    ]


FIGURE = Figure(
    name="fixed",
    title="Fixed arms",
    about=(
        "Both regrets with fixed arms over the grid of sizes. MOGRO's lines end in a plateau: "
        "nearly all it pays is the exploration of its first rounds. Bands are 95 % intervals over "
        "instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
)
