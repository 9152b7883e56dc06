"""The instances of the lower bound: regret against the square roots of T and of d."""

import numpy as np

from paper.lab.arrays import IntArray
from paper.lab.contenders import ALL
from paper.lab.parallel import Results
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation
from paper.lab.scale import Scale
from paper.lab.tables import distinct, select, table
from paper.lab.worlds import Hard
from paper.report import statistics
from paper.report.claims import SAME, Claim, above
from paper.report.figure import Figure
from paper.report.panels import sweep_with_band
from paper.report.style import Drawing, legend, line_style, panels

_DIM, _ROUNDS, _REPEATS = 4, 4000, 20


def _points(scale: Scale) -> list[Hard]:
    """Return what is swept: rounds at one dimension, and dimensions at one number of rounds."""
    # A few rounds do not make an instance: T has to be several times d.
    middle = max(50 * _DIM, scale.horizon(_ROUNDS))
    horizons = [middle // 8, middle // 4, middle // 2, middle, 2 * middle]
    swept = [Hard(_DIM, t) for t in horizons]
    return swept + [Hard(d, horizons[3]) for d in (2, 3, 6, 8)]


def _tasks(scale: Scale) -> list[Simulation]:
    """Return the runs: all d instances together."""
    _, repeats = scale.sample(1, _REPEATS)
    return [
        Simulation(world, contender, world.rounds, repeats, scale.seed, 0, world.dim)
        for world in dict.fromkeys(_points(scale))
        for contender in ALL
    ]


def _tables(scale: Scale, results: Results) -> Tables:
    """Return one value for each repeat: the Pareto regret, averaged over the d instances."""
    rows = []
    for task in _tasks(scale):
        cell = (task.world.sizes[0], task.rounds, task.contender.label)
        regret = results[task]["pareto"][-1].mean(axis=0)
        rows += [(*cell, repeat, value) for repeat, value in enumerate(regret.tolist())]
    return {"regret": table(("dim", "rounds", "policy", "repeat", "pareto"), rows)}


def _draw(tables: Tables) -> Drawing:
    data = tables["regret"]
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    for panel, along, fixed in ((axes[0, 0], "rounds", "dim"), (axes[0, 1], "dim", "rounds")):
        here = select(data, **{fixed: _most_common(data[fixed])})
        places = sorted(x for (x,) in distinct(here, along))
        for (policy,) in distinct(here, "policy"):
            numbers = [
                statistics.mean(select(here, policy=policy, **{along: x})["pareto"]) for x in places
            ]
            sweep_with_band(panel, line_style(policy), np.sqrt(places).tolist(), numbers)
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
        panel.set_ylabel("Pareto regret, mean over the d instances")
    axes[0, 0].set_xlabel(f"square root of T (d = {_most_common(data['dim'])})")
    axes[0, 1].set_xlabel(f"square root of d (T = {_most_common(data['rounds'])})")
    legend(drawing, axes[0, 0])
    return drawing


def _most_common(values: IntArray) -> int:
    """Return the value at which the other quantity was swept."""
    values, counts = np.unique(values, return_counts=True)
    return int(values[counts.argmax()])


def _claims(tables: Tables) -> list[Claim]:
    data = select(tables["regret"], dim=_most_common(tables["regret"]["dim"]))
    horizons = sorted(t for (t,) in distinct(data, "rounds"))
    expected = float(np.sqrt(horizons[-1] / horizons[0]))
    growth = []
    for (policy,) in distinct(data, "policy"):
        last, first = (
            select(data, policy=policy, rounds=t)["pareto"] for t in (horizons[-1], horizons[0])
        )
        growth.append((policy, statistics.ratio(last, expected * first)))
    return [
        Claim(
            "no policy beats the square root of T on the hard instances",
            "On the lower-bound instances made for T rounds, the regret of every policy grows at "
            "least like the square root of T.",
            f"growth of regret from T = {horizons[0]} to {horizons[-1]} / that of the square root, "
            f"above {SAME[0]}: growth like the square root itself is no counter-example",
            above(SAME[0], growth),
        )
    ]


FIGURE = Figure(
    name="hard",
    title="The instances of the lower bound",
    about=(
        "Beyond the paper's experiments: Pareto regret on the instances of its lower bound (d^2 "
        "arms, noise 1), made anew for every T, averaged over the d instances. Straight lines "
        "through the origin are the order of the bound. MOGRO is at mogro's default, and with "
        "B = 1 and the paper's exploration. "
        "Bands are 95 % intervals over repeats."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=(1, _REPEATS),
    rounds=_ROUNDS,
    beyond=True,
)
