"""Fairness over time, as a task."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mogro.pareto import effective_front, fairness_index
from paper.lab.arrays import FloatArray
from paper.lab.fairness_estimates import fairness_ball_estimate, fairness_lower_bound
from paper.lab.runs import Simulation

if TYPE_CHECKING:
    from paper.lab.parallel import Arrays

_EPSILON = 0.1
_EVERY = 5  # of the 100 checkpoints, the exact index is found at every fifth
_INDICES = {
    "index": fairness_index,
    "lower": fairness_lower_bound,
    "estimate": fairness_ball_estimate,
}


@dataclass(frozen=True)
class FairnessRun:
    """The fairness of some instances of a run, over time; repeats of an instance are pooled."""

    simulation: Simulation

    exclusive: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        return 0.25 * self.simulation.cost

    def run(self) -> "Arrays":
        """Simulate, and find what the table has: (C, I), or (I,) where time does not matter."""
        simulation = self.simulation
        trace = simulation.trace()
        pulls = trace.pulls().sum(axis=2)[_EVERY - 1 :: _EVERY]
        numbers = range(simulation.first, simulation.first + simulation.instances)
        means = [simulation.world.instance(n, simulation.seed).means for n in numbers]  # type: ignore[attr-defined]
        indices = {
            name: np.array(
                [
                    [index(m, p, epsilon=_EPSILON) for m, p in zip(means, row, strict=True)]
                    for row in pulls
                ]
            )
            for name, index in _INDICES.items()
        }
        after = at_exploration_end(trace.effective_regret, trace.probed).mean(axis=-1)
        return indices | {
            "rounds": trace.checkpoints[_EVERY - 1 :: _EVERY],
            "regret": trace.effective_regret.mean(axis=2)[_EVERY - 1 :: _EVERY],
            "single": _single(pulls, np.stack(means)),
            "members": np.array([effective_front(truth).sum() for truth in means]),
            "regret_explored": after,
        }


@dataclass(frozen=True)
class FinalFairness:
    """Fairness indices of one instance at the end: of each repeat, and of all pulls together."""

    simulation: Simulation
    epsilons: tuple[float, ...]

    exclusive: ClassVar[bool] = False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        return self.simulation.cost

    def run(self) -> "Arrays":
        """Simulate, and find the indices (E, R) of repeats and (E,) of pooled pulls."""
        simulation = self.simulation
        means = simulation.world.instance(simulation.first, simulation.seed).means  # type: ignore[attr-defined]
        pulls = simulation.trace().pulls()[-1, 0]
        indices = [
            [fairness_index(means, counts, epsilon=e) for counts in (*pulls, pulls.sum(axis=0))]
            for e in self.epsilons
        ]
        *single, pooled = np.array(indices).T
        return {"single": np.stack(single, axis=1), "pooled": pooled}


def at_exploration_end(values: FloatArray, explored: FloatArray) -> FloatArray:
    """Return values (I, R) at the first checkpoint after exploration.

    Both come as (C, I, R), ``explored`` being rounds explored so far. Where exploration did not end
    before the last checkpoint, nothing came after it, and the answer is NaN.
    """
    end = (explored == explored[-1]).argmax(axis=0)
    at_end = np.take_along_axis(values, end[None], axis=0)[0]
    return np.where(end < len(explored) - 1, at_end, np.nan)


def _single(pulls: FloatArray, means: FloatArray) -> FloatArray:
    """Return which share of pulls since the row before went to a best arm of some objective."""
    best = (means == means.max(axis=-2, keepdims=True)).any(axis=-1)
    new = np.diff(pulls, axis=0, prepend=np.zeros_like(pulls[:1]))
    return np.asarray((new * best).sum(axis=-1) / new.sum(axis=-1))
