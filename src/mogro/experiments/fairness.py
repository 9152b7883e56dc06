"""Fairness: the index over 40,000 rounds for several weight distributions, and the regret."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Claim
from mogro.experiments.contenders import RR, Contender, Greedy, single
from mogro.experiments.fairness_claims import by_instance, fairness_claims
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import at_exploration_end, explored
from mogro.experiments.runs import Part
from mogro.experiments.scale import Scale
from mogro.experiments.style import MARKERS, SWEEP, Look, curve, legend, look, panels
from mogro.experiments.table import table
from mogro.experiments.worlds import Fixed
from mogro.pareto import (
    effective_front,
    fairness_ball_estimate,
    fairness_index,
    fairness_lower_bound,
)
from mogro.scalarization import RandomWeights
from mogro.simulation.parallel import Arrays, Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_ROUNDS = 40_000
_EPSILON = 0.1
_SIZE = (10, 200, 10)
_CONCENTRATIONS = (1.0, 0.5, 0.1, 0.05, 0.01)
_TOGETHER = 10  # instances in one piece: these are many rounds of little work
_EVERY = 5  # of the 100 checkpoints, the exact index is found at every fifth
_INDICES = {
    "index": "effective Pareto fairness index",
    "estimate": "the paper's estimate of the index",
    "regret": "effective Pareto regret",
}


def _label(concentration: float) -> str:
    return f"Dirichlet({concentration:g})"


_DIRICHLET = tuple(Greedy(_label(a), scalarization=RandomWeights(a)) for a in _CONCENTRATIONS)
_CONTENDERS: tuple[Contender, ...] = (*_DIRICHLET, RR, single(_SIZE[2]))


@dataclass(frozen=True)
class Fairness:
    """The fairness of some instances of a run, over time; repeats of an instance are pooled."""

    part: Part

    @property
    def alone(self) -> bool:
        """Others may run meanwhile."""
        return False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        return 0.25 * self.part.cost

    def run(self) -> Arrays:
        """Simulate, and find what the table has: (C, I), or (I,) where time does not matter."""
        trace = self.part.trace()
        pulls = trace.pulls().sum(axis=2)[_EVERY - 1 :: _EVERY]
        numbers = range(self.part.first, self.part.first + self.part.instances)
        means = [self.part.world.instance(n, self.part.seed).means for n in numbers]  # type: ignore[attr-defined]
        found = {
            name: np.array(
                [
                    [f(m, p, epsilon=_EPSILON) for m, p in zip(means, row, strict=True)]
                    for row in pulls
                ]
            )
            for name, f in (
                ("index", fairness_index),
                ("lower", fairness_lower_bound),
                ("estimate", fairness_ball_estimate),
            )
        }
        after = at_exploration_end(trace.effective_regret, trace.probed).mean(axis=-1)
        return found | {
            "rounds": trace.checkpoints[_EVERY - 1 :: _EVERY],
            "regret": trace.effective_regret.mean(axis=2)[_EVERY - 1 :: _EVERY],
            "single": _single(pulls, np.stack(means)),
            "members": np.array([effective_front(one).sum() for one in means]),
            "regret_explored": after,
        }


def _single(pulls: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return which share of pulls since the row before went to a best arm of some objective."""
    best = (means == means.max(axis=-2, keepdims=True)).any(axis=-1)
    new = np.diff(pulls, axis=0, prepend=np.zeros_like(pulls[:1]))
    return np.asarray((new * best).sum(axis=-1) / new.sum(axis=-1))


def _runs(scale: Scale) -> dict[Contender, list[Fairness]]:
    return {
        contender: [
            Fairness(
                Part(
                    Fixed(*_SIZE),
                    contender,
                    scale.horizon(_ROUNDS),
                    scale.repeats,
                    scale.seed,
                    first,
                    min(_TOGETHER, scale.instances - first),
                    explored,
                )
            )
            for first in range(0, scale.instances, _TOGETHER)
        ]
        for contender in _CONTENDERS
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    once = ("members", "regret_explored")
    over_time = ("index", "lower", "estimate", "single", "regret")
    names = ("policy", "instance", *once, "round", *over_time)
    rows = []
    for contender, pieces in _runs(scale).items():
        found = [results[piece] for piece in pieces]
        columns = {
            name: np.concatenate([part[name] for part in found], axis=-1)
            for name in (*once, *over_time)
        }
        for i in range(scale.instances):
            same = [columns[name][i].item() for name in once]
            for c, t in enumerate(found[0]["rounds"].tolist()):
                values = [columns[name][c, i].item() for name in over_time]
                rows.append((contender.label, i, *same, t, *values))
    return {"fairness": table(names, rows)}


def _looks() -> dict[str, Look]:
    swept = {
        _label(a): Look(f"MOGRO-RW, {_label(a)}", colour, "-", marker)
        for a, colour, marker in zip(_CONCENTRATIONS, SWEEP, MARKERS, strict=False)
    }
    return swept | {c.label: look(c.label) for c in _CONTENDERS if c.label not in swept}


def _draw(tables: Tables) -> "Drawing":
    data = tables["fairness"]
    drawing, axes = panels(1, 3, width=3.6, height=3.2)
    for panel, (name, title) in zip(axes[0], _INDICES.items(), strict=True):
        for n, (policy, how) in enumerate(_looks().items()):
            rounds, values = by_instance(data, policy, name)
            middle = values.mean(axis=-1)
            curve(panel, how, rounds, middle, middle, middle, marked=True)
            end, low, high = statistics.positive_mean(values[-1])
            panel.errorbar(
                [rounds[-1] * (1.03 + 0.03 * n)],  # side by side: seven bands would be a wash
                [end],
                yerr=([end - low], [high - end]),
                fmt=how.marker,
                color=how.colour,
                markersize=3,
                elinewidth=1,
            )
        panel.set_title(title)
        panel.set_xlabel("round")
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
        panel.set_xticks(np.linspace(0, rounds[-1], 5))
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    return fairness_claims(
        tables["fairness"],
        [contender.label for contender in _DIRICHLET],
        balanced=_label(0.1),
        skewed=_label(0.01),
    )


FIGURE = Figure(
    name="fairness",
    title="Effective Pareto fairness",
    about=(
        "The effective Pareto fairness index (epsilon = 0.1) over 40,000 rounds for five weight "
        "distributions and round robin, at d = M = 10 and K = 200: exact, and as the paper "
        "estimates it (pulls in a ball around every member of the effective front). Beside it the "
        "regret. A policy that cares for one objective only may have as little regret, and no "
        "fairness. Pulls of all repeats of an instance are pooled; bars beside the ends of the "
        "lines are 95 % intervals over instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    rounds=_ROUNDS,
)
