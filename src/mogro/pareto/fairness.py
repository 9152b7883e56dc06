"""How fairly an algorithm serves all weighted objectives (Definition EPF of the paper).

With f_a the share of the pulls that arm a got, the effective Pareto fairness index is the least
share, over all weights w on the simplex, of pulls of arms within epsilon of the best under w:

    EPFI = min over w of the sum of f_a over arms a with max_k w . (mu_k - mu_a) < epsilon.

Always ball estimate <= lower bound <= index. Pool the pulls of all repeats
of an instance first: the mean of the indices of single runs is biased downwards. A distance that
equals epsilon up to rounding (1e-12 of the spread of the means) is not within it.
"""

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, floats, real
from mogro.pareto._fairness_search import least_served_pulls
from mogro.pareto.dominance import front
from mogro.pareto.effective import effective_certificates, effective_front, effective_gaps

_ROUNDING = 1e-12
_TILT = 2.0**-23


def fairness_index(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return the effective Pareto fairness index of fixed arms, exactly.

    The simplex is cut into the cells where one front member is best. In each cell a mixed-integer
    program finds the weights under which the pulled arms that are epsilon or more behind have the
    largest share. Its branch and bound is our own, on linear programs, so that no tolerance of a
    solver moves an arm across epsilon. 200 arms with 10 objectives of the paper's instances take a
    fraction of a second; in the worst case the time grows exponentially with the number of pulled
    arms whose distance is above epsilon for some weights and below for others.

    Parameters
    ----------
    means
        (K, M), all objectives maximised.
    pulls
        (K,) counts of the pulls (or their shares), not all 0.
    epsilon
        Positive.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> fairness_index(means, [3, 2, 5], epsilon=0.1)
    0.2
    """
    points, counts, within = _checked(means, pulls, epsilon)
    return least_served_pulls(points, counts, epsilon=within) / float(counts.sum())


def fairness_lower_bound(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return a certified lower bound of :func:`fairness_index` at the price of one matrix.

    It is the least share, over members a* of the effective front, of the pulls of arms that are
    less than epsilon behind a* in every objective: they are within epsilon wherever a* is best.

    Parameters are those of :func:`fairness_index`.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.95, 0.0]]
    >>> fairness_lower_bound(means, [3, 5, 2], epsilon=0.1)
    0.5
    """
    points, counts, within = _checked(means, pulls, epsilon)
    near = [(member - points).max(1) < within for member in _members(points)]
    return _least_share(counts, near)


def fairness_ball_estimate(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return the paper's estimate of the fairness index: pulls inside balls around the members.

    It is the least share, over members of the effective front, of the pulls of arms whose means lie
    within epsilon of the member's in Euclidean distance. It never exceeds
    :func:`fairness_lower_bound` and is often much smaller.

    Parameters are those of :func:`fairness_index`.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.95, 0.0]]
    >>> fairness_ball_estimate(means, [3, 5, 2], epsilon=0.01)
    0.3
    """
    points, counts, within = _checked(means, pulls, epsilon)
    near = [np.linalg.norm(member - points, axis=1) < within for member in _members(points)]
    return _least_share(counts, near)


def _checked(
    means: ArrayLike, pulls: ArrayLike, epsilon: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return means, pulls, and epsilon less what rounding may do to a distance."""
    points = floats(means, "means", shape=("K", "M")).astype(np.float64)
    counts = floats(pulls, "pulls", shape=(len(points),)).astype(np.float64)
    if (counts < 0).any():
        raise ValueError(f"pulls: expected numbers >= 0, got {counts.min():g}")
    within = real(epsilon, "epsilon", above=0.0)
    if not counts.any():
        raise ValueError("pulls: expected at least one pull, got none")
    points = points - points[0]
    spread = float(np.ptp(points, axis=0).max())
    return points, counts, max(within - _ROUNDING * spread, within / 2)


def _members(points: FloatArray) -> FloatArray:
    """Return the means of the effective front, with arms best under vanishing weights only.

    :func:`effective_front` asks for weights above 1e-7, and leaves out the latter. An arm of gap 0
    that it leaves out is no member if some mixture is at least as good in every objective, and
    better in one: one that is found with a small part of the sum of all objectives added to each.
    """
    best = np.flatnonzero(front(points))
    best = best[effective_gaps(points, arms=best) == 0]
    doubtful = ~effective_front(points, arms=best)
    scaled = points / np.where(np.ptp(points, axis=0) > 0, np.ptp(points, axis=0), 1)
    tilted = scaled + _TILT * scaled.sum(axis=1, keepdims=True)
    proof = effective_certificates(tilted, arms=best)
    lead = np.einsum("as,asm->am", proof.shares, scaled[proof.support]) - scaled[best]
    dominated = (lead.min(axis=1) >= -_ROUNDING) & (lead.max(axis=1) > _ROUNDING)
    return np.asarray(points[best[~(doubtful & dominated)]])


def _least_share(counts: FloatArray, near: list[BoolArray]) -> float:
    return min(float(counts[served].sum()) for served in near) / float(counts.sum())
