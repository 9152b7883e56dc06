"""Scaling with the number of arms, up to 10,000: regret and time."""

import numpy as np

from mogro.simulation import ConfidenceInterval
from paper.lab.arrays import FloatArray
from paper.lab.contenders import ALL
from paper.lab.parallel import Results, Task
from paper.lab.regrets import finals, plan_runs
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.lab.tables import distinct, select, table
from paper.lab.timing import WITH_WHOLE_FRONTS, Stopwatch
from paper.lab.worlds import Fixed
from paper.report import statistics
from paper.report.claims import Claim, lower
from paper.report.comparisons import BASELINES, BY_SETTING
from paper.report.figure import Figure
from paper.report.panels import sweep_with_band
from paper.report.style import Drawing, legend, line_style, panels

_DIM = 5
_SAMPLE = (10, 1)
_TIMED_ROUNDS = 300
_TIMED_INSTANCES = 3


def _worlds(scale: Scale) -> list[Fixed]:
    arms = (50, 200, 1000) if scale.quick else (50, 200, 1000, 3000, 10_000)
    return [Fixed(_DIM, K, _DIM) for K in arms]


def _timed(scale: Scale) -> list[Stopwatch]:
    instances = min(_TIMED_INSTANCES, scale.sample(*_SAMPLE)[0])
    return [
        Stopwatch(world, WITH_WHOLE_FRONTS, scale.horizon(_TIMED_ROUNDS), scale.seed, i)
        for world in _worlds(scale)
        for i in range(instances)
    ]


def _tasks(scale: Scale) -> list[Task]:
    return [*plan_runs(_worlds(scale), ALL, scale, sample=_SAMPLE), *_timed(scale)]


def _tables(scale: Scale, results: Results) -> Tables:
    rows = [
        (task.world.arms, contender.label, task.instance, float(seconds) / task.rounds * 1000)
        for task in _timed(scale)
        for contender, seconds in zip(task.contenders, results[task]["seconds"], strict=True)
    ]
    return {
        "instances": finals(_tasks(scale), results),
        "milliseconds": table(("arms", "policy", "instance", "milliseconds"), rows),
    }


def _draw(tables: Tables) -> Drawing:
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    for panel, name, column, title in (
        (axes[0, 0], "instances", "effective", "effective Pareto regret"),
        (axes[0, 1], "milliseconds", "milliseconds", "processor milliseconds per round"),
    ):
        data = tables[name]
        arms = [K for (K,) in distinct(data, "arms")]
        spread = _extent if name == "milliseconds" else statistics.mean
        for (policy,) in distinct(data, "policy"):
            values = [select(data, arms=K, policy=policy)[column] for K in arms]
            sweep_with_band(panel, line_style(policy), arms, map(spread, values))
        panel.set_xscale("log")
        panel.set_xlabel("number of arms K")
        panel.set_ylabel(title)
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 1].set_yscale("log")
    legend(drawing, axes[0, 0])
    return drawing


def _extent(values: FloatArray) -> ConfidenceInterval:
    """Return mean and range: three timings make no interval."""
    return ConfidenceInterval(*(float(f(values)) for f in (np.mean, np.min, np.max)))


def _claims(tables: Tables) -> list[Claim]:
    data = tables["milliseconds"]
    most = int(data["arms"].max())
    here = {
        p: select(data, arms=most, policy=p)["milliseconds"] for (p,) in distinct(data, "policy")
    }
    return [
        Claim(
            "MOGRO suited to many arms",
            "MOGRO is well suited to large numbers of arms, being fast there.",
            f"time of MOGRO-RW at K = {most} / that of a baseline, below 1",
            lower([(p, statistics.ratio(here[mogro], here[p])) for p in BASELINES]),
            setting=setting,
        )
        for setting, (mogro, _) in BY_SETTING.items()
    ]


FIGURE = Figure(
    name="arms",
    title="Many arms",
    about=(
        "More arms than in the paper: final effective Pareto regret and time per round for up to "
        "10,000 fixed arms, d = M = 5, one run in each instance, MOGRO at mogro's "
        "default, and with B = 1 and the paper's exploration. Time is processor time "
        "of one learner at a time, the baselines with the whole front every round. Bands are 95 % "
        "intervals over instances, for times the range."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
)
