"""Fairness: the index over 40,000 rounds for several weight distributions, and the regret."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Case, Claim, above, below, within
from mogro.experiments.contenders import RR, Contender, Greedy, single
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.runs import Part
from mogro.experiments.scale import Scale
from mogro.experiments.statistics import Interval
from mogro.experiments.style import MARKERS, SWEEP, Look, curve, legend, look, panels
from mogro.experiments.table import Table, distinct, select, table
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
_MEASURES = {"estimate": "estimated fairness index", "index": "exact fairness index"}


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
        """Simulate, and find indices (C, I), the regret (C, I) and the front's members (I,)."""
        trace = self.part.trace()
        rounds = trace.checkpoints[_EVERY - 1 :: _EVERY]
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
        regret = trace.effective_regret.mean(axis=2)[_EVERY - 1 :: _EVERY]
        members = np.array([effective_front(one).sum() for one in means])
        return found | {"rounds": rounds, "regret": regret, "members": members}


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
                )
            )
            for first in range(0, scale.instances, _TOGETHER)
        ]
        for contender in _CONTENDERS
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    names = ("policy", "instance", "members", "round", "index", "lower", "estimate", "regret")
    rows = []
    for contender, pieces in _runs(scale).items():
        found = [results[piece] for piece in pieces]
        rounds = found[0]["rounds"].tolist()
        columns = {
            name: np.concatenate([part[name] for part in found], axis=-1)
            for name in ("members", *names[4:])
        }
        for i, members in enumerate(columns["members"].tolist()):
            for c, t in enumerate(rounds):
                values = [float(columns[name][c, i]) for name in names[4:]]
                rows.append((contender.label, i, members, t, *values))
    return {"fairness": table(names, rows)}


def _looks() -> dict[str, Look]:
    swept = {
        _label(a): Look(f"MOGRO-RW, {_label(a)}", colour, "-", marker)
        for a, colour, marker in zip(_CONCENTRATIONS, SWEEP, MARKERS, strict=False)
    }
    return swept | {c.label: look(c.label) for c in _CONTENDERS if c.label not in swept}


def _by_instance(data: Table, policy: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounds (C,) and a column (C, I)."""
    one = select(data, policy=policy)
    instances = [select(one, instance=i) for (i,) in distinct(one, "instance")]
    return instances[0]["round"], np.stack([part[name] for part in instances], axis=-1)


def _draw(tables: Tables) -> "Drawing":
    data = tables["fairness"]
    drawing, axes = panels(1, 3, width=3.6, height=3.2)
    for panel, (name, title) in zip(axes[0], _INDICES.items(), strict=True):
        for policy, how in _looks().items():
            rounds, values = _by_instance(data, policy, name)
            middle, low, high = statistics.band(values)
            curve(panel, how, rounds, middle, np.maximum(low, 0), high, marked=True)
        panel.set_title(title)
        panel.set_xlabel("round")
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    data = tables["fairness"]

    def final(policy: str, name: str, when: int = -1) -> np.ndarray:
        return np.asarray(_by_instance(data, policy, name)[1][when])

    labels = [c.label for c in _DIRICHLET]
    middle = len(_by_instance(data, labels[0], "index")[0]) // 2 - 1
    spread = [
        (label, statistics.ratio(final(label, "regret"), final(labels[0], "regret")))
        for label in labels[1:]
    ]
    members = select(select(data, policy=labels[0]), round=int(data["round"].max()))["members"]
    balanced = _label(0.1)
    return [
        *(
            Claim(
                f"positive {what}",
                f"The {what} of MOGRO-RW is positive in the end for every weighting.",
                "mean over instances at the end; the smallest (with the case) above 0",
                [_positive(label, final(label, name)) for label in labels],
                varies="the weighting",
            )
            for name, what in _MEASURES.items()
        ),
        *(
            Claim(
                f"{what} has settled",
                f"The {what} converges: it has hardly moved since the middle of the run.",
                "at the end / in the middle of the run, within 0.9 to 1.1",
                within(
                    0.9,
                    1.1,
                    [(a, statistics.ratio(final(a, name), final(a, name, middle))) for a in labels],
                ),
                varies="the weighting",
            )
            for name, what in _MEASURES.items()
        ),
        Claim(
            "Dirichlet(0.1) most balanced",
            "Weights from Dirichlet(0.1) select the effective front in a balanced way.",
            "estimate under Dirichlet(0.1) / under another weighting, above 1",
            above(
                1.0,
                [
                    (a, statistics.ratio(final(balanced, "estimate"), final(a, "estimate")))
                    for a in labels
                    if a != balanced
                ],
            ),
            varies="the weighting",
        ),
        Claim(
            "Dirichlet(0.01) more skewed than Dirichlet(0.1)",
            "Weights from Dirichlet(0.01) select the effective front in a more skewed way.",
            "exact index under Dirichlet(0.01) / under Dirichlet(0.1), below 1",
            below(
                1.0,
                [
                    (
                        "all instances",
                        statistics.ratio(final(_label(0.01), "index"), final(balanced, "index")),
                    )
                ],
            ),
        ),
        Claim(
            "round robin is not fair",
            "MOGRO-RR pulls only arms that are best for a single objective, so it does not pursue "
            "effective Pareto fairness.",
            "exact index of MOGRO-RR / of MOGRO-RW under Dirichlet(0.1), below 1",
            below(
                1.0,
                [
                    (
                        "all instances",
                        statistics.ratio(final(RR.label, "index"), final(balanced, "index")),
                    )
                ],
            ),
        ),
        Claim(
            "the weighting does not change the regret",
            "The weight distribution makes no meaningful difference to effective Pareto regret.",
            "final regret / that under Dirichlet(1), within 0.9 to 1.1",
            within(0.9, 1.1, spread),
            varies="the weighting",
        ),
        Claim(
            "5 to 10 members of the effective front",
            "The effective front has between 5 and 10 members.",
            "mean [smallest, largest] number of members over the instances; all from 5 to 10",
            within(
                4.999,
                10.001,
                [("all instances", _range(members))],
            ),
        ),
    ]


def _range(values: np.ndarray) -> Interval:
    return Interval(float(values.mean()), float(values.min()), float(values.max()))


def _positive(label: str, values: np.ndarray) -> Case:
    smallest = float(values.min())
    number = statistics.positive_mean(values)
    return Case(f"{label}, smallest {smallest:.2g}", number, smallest > 0, smallest)


FIGURE = Figure(
    name="fairness",
    title="Effective Pareto fairness",
    about=(
        "The effective Pareto fairness index (epsilon = 0.1) over 40,000 rounds for five weight "
        "distributions and round robin, at d = M = 10 and K = 200: exact, and as the paper "
        "estimates it (pulls in a ball around every member of the effective front). Beside it the "
        "regret. A policy that cares for one objective only may have as little regret, and no "
        "fairness. Pulls of all repeats of an instance are pooled; bands are 95 % intervals over "
        "instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    rounds=_ROUNDS,
)
