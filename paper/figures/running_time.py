"""Running time: one learner at a time with the whole front every round, and as mogro runs them."""

from mogro.simulation import ConfidenceInterval
from paper.lab import regrets, times
from paper.lab.arrays import FloatArray
from paper.lab.parallel import Results
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.lab.tables import Table, distinct, select
from paper.lab.timing import Stopwatch
from paper.report import statistics
from paper.report.claims import Claim, above, below, higher
from paper.report.comparisons import BASELINES, OURS, fastest, other_sizes
from paper.report.figure import Figure
from paper.report.panels import time_panel
from paper.report.style import Drawing, legend, panels

_BUILDS = {
    times.WHOLE_FRONT: "one learner, whole front every round",
    times.LOCKSTEP: f"as mogro runs them: {times.TOGETHER} learners in lockstep",
}


def _tasks(scale: Scale) -> list[Stopwatch]:
    return times.stopwatches(regrets.GRID, scale, builds=list(_BUILDS))


def _tables(scale: Scale, results: Results) -> Tables:
    return {"seconds": times.timing_table(_tasks(scale), results)}


def _draw(tables: Tables) -> Drawing:
    data = tables["seconds"]
    sizes = distinct(data, *regrets.SIZE)
    columns = max(1, len(sizes) // 2)
    drawing, axes = panels(4, columns, width=3.3, height=2.6)
    for half, (build, name) in enumerate(_BUILDS.items()):
        for n, size in enumerate(sizes):
            panel = axes[2 * half + n // columns, n % columns]
            time_panel(panel, regrets.select_size(select(data, build=build), size))
            panel.set_title(f"{regrets.size_name(size)}\n{name}", fontsize=8)
            panel.set_ylabel("processor seconds")
    legend(drawing, axes[0, 0])
    return drawing


def _seconds(data: Table, policy: str, *, dim: int, arms: int) -> FloatArray:
    rows = select(data, build=times.WHOLE_FRONT, policy=policy, dim=dim, arms=arms)
    return rows["seconds"]


def _with_arms(data: Table, policy: str) -> list[tuple[str, ConfidenceInterval]]:
    """Return how a policy slows down from 50 to 200 arms."""
    return [
        (
            f"{policy}, d = M = {d}",
            statistics.ratio(*(_seconds(data, policy, dim=d, arms=K) for K in (200, 50))),
        )
        for d in (5, 10)
    ]


def _more_than_arms(data: Table, policy: str) -> Claim:
    """Return the claim that doubling d and M costs a policy more than four times the arms."""
    name = policy.partition("-R")[0]
    ratios = [
        (
            f"{policy}, K = {K}, against d = M = {d}",
            statistics.double_ratio(
                _seconds(data, policy, dim=10, arms=K),
                _seconds(data, policy, dim=5, arms=K),
                _seconds(data, policy, dim=d, arms=200),
                _seconds(data, policy, dim=d, arms=50),
            ),
        )
        for K in (50, 100, 200)
        for d in (5, 10)
    ]
    return Claim(
        f"{name} feels d and M more than K",
        f"The running time of {name} grows more with d and M than with the number of arms.",
        "growth when d and M double / growth from K = 50 to 200, above 1",
        higher(ratios),
    )


def _claims(tables: Tables) -> list[Claim]:
    data = tables["seconds"]
    return [
        *fastest(other_sizes(data), where="other sizes"),
        Claim(
            "MOGRO hardly slower with more arms",
            "For given d and M the running time of MOGRO is nearly the same for every K.",
            "time at K = 200 / time at K = 50, below 1.5",
            below(1.5, [case for ours in OURS for case in _with_arms(data, ours)]),
        ),
        Claim(
            "fronts slow the baselines down",
            "MOLB-epsilon-greedy and MOLB-UCB slow down markedly as the number of arms grows.",
            "time at K = 200 / time at K = 50, above 1.5",
            above(1.5, [case for p in BASELINES[:2] for case in _with_arms(data, p)]),
        ),
        _more_than_arms(data, "MOL-TS"),
        _more_than_arms(data, "MOGRO-RW"),
        Claim(
            "MOGRO far faster than MOL-TS",
            "MOGRO is incomparably faster than MOL-TS.",
            "running time of MOGRO-RW / MOL-TS, below 0.5",
            below(
                0.5,
                [
                    (name, statistics.ratio(rows["MOGRO-RW"]["seconds"], rows["MOL-TS"]["seconds"]))
                    for name, rows in regrets.by_size(select(data, build=times.WHOLE_FRONT))
                ],
            ),
        ),
    ]


FIGURE = Figure(
    name="time",
    title="Running time",
    about=(
        "Processor time of all rounds (choosing and learning, not the environment), fixed arms, "
        "MOGRO at mogro's default. "
        "Above, one learner at a time, the baselines as the paper built them: the whole Pareto "
        "front in every round, here with the compiled routine of moocore. Below, as mogro runs "
        "them: many learners in lockstep, time per learner. Dots are single instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=(times.INSTANCES, 1),
)
