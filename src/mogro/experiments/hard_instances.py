"""The instances of the lower bound: regret against the square roots of T and of d."""

from typing import TYPE_CHECKING

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Case, Claim
from mogro.experiments.contenders import PAPER, Contender
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.runs import Part, gather
from mogro.experiments.scale import Scale
from mogro.experiments.style import legend, look, panels
from mogro.experiments.table import distinct, select, table
from mogro.experiments.worlds import Hard
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_DIM, _ROUNDS = 4, 4000


def _points(scale: Scale) -> list[Hard]:
    """Return what is swept: rounds at one dimension, and dimensions at one number of rounds."""
    # A few rounds do not make an instance: T has to be several times d.
    middle = max(50 * _DIM, scale.horizon(_ROUNDS))
    horizons = [middle // 8, middle // 4, middle // 2, middle, 2 * middle]
    swept = [Hard(_DIM, t) for t in horizons]
    return swept + [Hard(d, horizons[3]) for d in (2, 3, 6, 8)]


def _runs(scale: Scale) -> dict[tuple[Hard, Contender], Part]:
    """Return the runs: all d instances together, half of the repeats."""
    return {
        (world, contender): Part(
            world,
            contender,
            world.rounds,
            max(1, scale.repeats // 2),
            scale.seed,
            0,
            world.dim,
        )
        for world in dict.fromkeys(_points(scale))
        for contender in PAPER
    }


def _pieces(scale: Scale) -> list[Piece]:
    return list(_runs(scale).values())


def _tables(scale: Scale, results: Results) -> Tables:
    """Return one value for each repeat: the Pareto regret, averaged over the d instances."""
    rows = []
    for (world, contender), piece in _runs(scale).items():
        regret = gather(results, [piece])["pareto"][-1].mean(axis=0)
        rows += [
            (world.dim, world.rounds, contender.label, repeat, value)
            for repeat, value in enumerate(regret.tolist())
        ]
    return {"regret": table(("dim", "rounds", "policy", "repeat", "pareto"), rows)}


def _draw(tables: Tables) -> "Drawing":
    data = tables["regret"]
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    for panel, along, fixed in ((axes[0, 0], "rounds", "dim"), (axes[0, 1], "dim", "rounds")):
        level = _most_common(data[fixed])
        here = select(data, **{fixed: level})
        places = sorted(x for (x,) in distinct(here, along))
        for (policy,) in distinct(here, "policy"):
            how = look(policy)
            numbers = [
                statistics.mean(select(here, policy=policy, **{along: x})["pareto"]) for x in places
            ]
            middle, low, high = (np.array(part) for part in zip(*numbers, strict=True))
            roots = np.sqrt(places)
            panel.plot(
                roots,
                middle,
                color=how.colour,
                linestyle=how.line,
                marker=how.marker,
                label=how.name,
                markersize=5,
            )
            panel.fill_between(roots, low, high, color=how.colour, alpha=0.15, linewidth=0)
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
        panel.set_ylabel("Pareto regret, mean over the d instances")
    axes[0, 0].set_xlabel(f"square root of T (d = {_most_common(data['dim'])})")
    axes[0, 1].set_xlabel(f"square root of d (T = {_most_common(data['rounds'])})")
    legend(drawing, axes[0, 0])
    return drawing


def _most_common(values: np.ndarray) -> int:
    """Return the value at which the other quantity was swept."""
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def _claims(tables: Tables) -> list[Claim]:
    data = select(tables["regret"], dim=_most_common(tables["regret"]["dim"]))
    horizons = sorted(t for (t,) in distinct(data, "rounds"))
    expected = float(np.sqrt(horizons[-1] / horizons[0]))
    growth = []
    for (policy,) in distinct(data, "policy"):
        last, first = (
            select(data, policy=policy, rounds=t)["pareto"] for t in (horizons[-1], horizons[0])
        )
        growth.append((policy, statistics.ratio(last, first)))
    return [
        Claim(
            "no policy beats the square root of T on the hard instances",
            "On the lower-bound instances made for T rounds, the regret of every policy grows at "
            "least like the square root of T.",
            f"regret at T = {horizons[-1]} / at T = {horizons[0]}, not below {expected:.2f}: the "
            "interval reaches it, for growth like the square root has its interval around it",
            [Case(p, n, n.high >= expected, n.high - expected) for p, n in growth],
            varies="the policy",
        )
    ]


FIGURE = Figure(
    name="hard",
    title="The instances of the lower bound",
    about=(
        "Beyond the paper's experiments: Pareto regret on the instances of its lower bound (d^2 "
        "arms, noise 1), made anew for every T, averaged over the d instances. Straight lines "
        "through the origin are the order of the bound. Bands are 95 % intervals over repeats."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    rounds=_ROUNDS,
    beyond=True,
)
