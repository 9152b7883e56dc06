"""How much the objectives of a problem are at odds."""

from dataclasses import astuple, dataclass

import numpy as np

from mogro import pareto
from mogro._validation import FloatArray


@dataclass(frozen=True)
class Conflict:
    """How much the objectives are at odds; for contexts, in the mean over sampled rounds.

    Attributes
    ----------
    largest
        Share of an objective's range over the arms that is lost by taking the best arm for
        another objective, for the worst pair. 0: one arm is best for all.
    mean
        The same, in the mean over pairs.
    smallest_cosine
        The least cosine between two parameters.
    pareto_front
        Number of arms on the Pareto front.
    effective_front
        Number of arms on the effective front.
    single_best
        Number of different arms that are best for a single objective.
    """

    largest: float
    mean: float
    smallest_cosine: float
    pareto_front: float
    effective_front: float
    single_best: float


def measure_conflict(features: FloatArray, theta: FloatArray) -> Conflict:
    """Measure the conflict between objectives (M, d) over arms (K, d)."""
    means = features @ theta.T
    best = means.argmax(axis=0)
    top, ranges = means.max(axis=0), np.ptp(means, axis=0)
    losses = (top - means[best]) / np.where(ranges > 0, ranges, 1)
    pairs = losses[~np.eye(len(theta), dtype=bool)]
    directions = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return Conflict(
        largest=float(pairs.max(initial=0)),
        mean=float(pairs.mean()) if pairs.size else 0.0,
        smallest_cosine=float((directions @ directions.T).min()),
        pareto_front=int(pareto.front(means).sum()),
        effective_front=int(pareto.effective_front(means).sum()),
        single_best=len(set(best.tolist())),
    )


def mean_conflict(rounds: FloatArray, theta: FloatArray) -> Conflict:
    """Measure the conflict over the arms of several rounds, (n, K, d), in the mean."""
    conflicts = [astuple(measure_conflict(arms, theta)) for arms in rounds]
    return Conflict(*np.mean(conflicts, axis=0).tolist())
