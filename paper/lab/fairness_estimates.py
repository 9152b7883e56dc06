"""Estimates of the fairness index: always ball estimate <= lower bound <= index."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro.pareto import effective_certificates, effective_front, effective_gaps, front
from paper.lab.arrays import FloatArray

_ROUNDING = 1e-12
_TILT = 2.0**-23


def fairness_lower_bound(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return a lower bound of :func:`mogro.pareto.fairness_index` at the price of one matrix.

    It is the least share, over members a* of the effective front, of the pulls of arms that are
    less than epsilon behind a* in every objective: they are within epsilon wherever a* is best.

    Parameters are those of :func:`mogro.pareto.fairness_index`.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.95, 0.0]]
    >>> fairness_lower_bound(means, [3, 5, 2], epsilon=0.1)
    0.5
    """
    points, counts, within = _read(means, pulls, epsilon)
    near_arms = [(member - points).max(1) < within for member in _members(points)]
    return _least_share(counts, near_arms)


def fairness_ball_estimate(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return the paper's estimate of the fairness index: pulls inside balls around the members.

    It is the least share, over members of the effective front, of the pulls of arms whose means lie
    within epsilon of the member's in Euclidean distance. It never exceeds
    :func:`fairness_lower_bound` and is often much smaller.

    Parameters are those of :func:`mogro.pareto.fairness_index`.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.95, 0.0]]
    >>> fairness_ball_estimate(means, [3, 5, 2], epsilon=0.01)
    0.3
    """
    points, counts, within = _read(means, pulls, epsilon)
    near_arms = [np.linalg.norm(member - points, axis=1) < within for member in _members(points)]
    return _least_share(counts, near_arms)


def _read(
    means: ArrayLike, pulls: ArrayLike, epsilon: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return means, pulls, and epsilon less what rounding may do to a distance."""
    points, counts = np.asarray(means, dtype=np.float64), np.asarray(pulls, dtype=np.float64)
    points = points - points[0]
    spread = float(np.ptp(points, axis=0).max())
    return points, counts, max(epsilon - _ROUNDING * spread, epsilon / 2)


def _members(points: FloatArray) -> FloatArray:
    """Return the means of the effective front, with arms best under vanishing weights only.

    :func:`effective_front` asks for weights above 1e-7, and leaves out the latter. An arm of gap 0
    that it leaves out is no member if some mixture is at least as good in every objective, and
    better in one: one that is found with a small part of the sum of all objectives added to each.
    """
    best = np.flatnonzero(front(points))
    best = best[effective_gaps(points, arms=best) == 0]
    doubtful = ~effective_front(points)[best]
    scaled = points / np.where(np.ptp(points, axis=0) > 0, np.ptp(points, axis=0), 1)
    tilted = scaled + _TILT * scaled.sum(axis=1, keepdims=True)
    proof = effective_certificates(tilted, arms=best)
    lead = np.einsum("as,asm->am", proof.shares, scaled[proof.support]) - scaled[best]
    dominated = (lead.min(axis=1) >= -_ROUNDING) & (lead.max(axis=1) > _ROUNDING)
    return np.asarray(points[best[~(doubtful & dominated)]])


def _least_share(counts: FloatArray, near_arms: list[NDArray[np.bool_]]) -> float:
    return min(float(counts[served].sum()) for served in near_arms) / float(counts.sum())
