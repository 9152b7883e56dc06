"""Scaling with the number of arms, up to 10,000: regret and time."""

from typing import TYPE_CHECKING

import numpy as np

from mogro._validation import FloatArray
from mogro.experiments import statistics
from mogro.experiments.claims import Claim, below
from mogro.experiments.contenders import PAPER
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import BASELINES, ROUNDS, Runs, explored, finals
from mogro.experiments.running_time import AS_BUILT, Stopwatch
from mogro.experiments.runs import parts
from mogro.experiments.scale import Scale
from mogro.experiments.style import legend, look, panels
from mogro.experiments.table import distinct, select, table
from mogro.experiments.worlds import Fixed
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_DIM = 5
_TIMED_ROUNDS = 300
_TIMED_INSTANCES = 3


def _arms(scale: Scale) -> tuple[int, ...]:
    return (50, 200, 1000) if scale.quick else (50, 200, 1000, 3000, 10_000)


def _worlds(scale: Scale) -> list[Fixed]:
    return [Fixed(_DIM, arms, _DIM) for arms in _arms(scale)]


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(world, contender, scale, rounds=ROUNDS, repeats=1, probe=explored)
        for world in _worlds(scale)
        for contender in PAPER
    }


def _timed(scale: Scale) -> list[Stopwatch]:
    return [
        Stopwatch(world, AS_BUILT, scale.horizon(_TIMED_ROUNDS), scale.seed, i)
        for world in _worlds(scale)
        for i in range(min(_TIMED_INSTANCES, scale.instances))
    ]


def _pieces(scale: Scale) -> list[Piece]:
    simulated: list[Piece] = [piece for pieces in _runs(scale).values() for piece in pieces]
    return simulated + list(_timed(scale))


def _tables(scale: Scale, results: Results) -> Tables:
    rows = [
        (
            piece.world.arms,
            contender.label,
            piece.instance,
            float(seconds) / piece.rounds * 1000,
        )
        for piece in _timed(scale)
        for contender, seconds in zip(piece.contenders, results[piece]["seconds"], strict=True)
    ]
    return {
        "instances": finals(_runs(scale), results),
        "milliseconds": table(("arms", "policy", "instance", "milliseconds"), rows),
    }


def _draw(tables: Tables) -> "Drawing":
    drawing, axes = panels(1, 2, width=4.4, height=3.3)
    for panel, name, column, title in (
        (axes[0, 0], "instances", "effective", "effective Pareto regret"),
        (axes[0, 1], "milliseconds", "milliseconds", "processor milliseconds per round"),
    ):
        data = tables[name]
        arms = [k for (k,) in distinct(data, "arms")]
        for (policy,) in distinct(data, "policy"):
            how = look(policy)
            found = [select(data, arms=k, policy=policy)[column] for k in arms]
            # Three timings make no interval: their range has to do.
            spread = _extent if name == "milliseconds" else statistics.band
            middle, low, high = (np.array(x) for x in zip(*map(spread, found), strict=True))
            panel.plot(
                arms,
                middle,
                color=how.colour,
                linestyle=how.line,
                marker=how.marker,
                label=how.name,
                markersize=5,
            )
            panel.fill_between(arms, low, high, color=how.colour, alpha=0.15, lw=0)
        panel.set_xscale("log")
        panel.set_xlabel("number of arms K")
        panel.set_ylabel(title)
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 1].set_yscale("log")
    legend(drawing, axes[0, 0])
    return drawing


def _extent(values: FloatArray) -> tuple[float, float, float]:
    return float(values.mean()), float(values.min()), float(values.max())


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
            below(
                1.0,
                [(p, statistics.ratio(here["MOGRO-RW"], here[p])) for p in BASELINES],
            ),
            varies="the baseline",
        )
    ]


FIGURE = Figure(
    name="arms",
    title="Many arms",
    about=(
        "More arms than in the paper: final effective Pareto regret and time per round for up to "
        "10,000 fixed arms, d = M = 5, one run in each instance. Time is processor time of one "
        "learner at a time, the baselines with the whole front every round. Bands are 95 % "
        "intervals over instances, for times the range."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
)
