"""Effective Pareto fairness when the arms change from round to round."""

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, count, real
from mogro.pareto._arguments import chosen, means_of

_ROUNDING = 1e-12


class Bracket(NamedTuple):
    """Certified bounds: ``lower <= index <= upper``."""

    lower: float
    upper: float


def fairness_bracket(
    means: ArrayLike, arms: ArrayLike, *, epsilon: float, evaluations: int = 1000
) -> Bracket:
    """Return certified bounds of the effective Pareto fairness index of varying arms.

    The index is the least share, over weights w, of rounds t in which the pulled arm was less than
    epsilon behind the best arm of that round under w. How far it is behind is convex in w. So on a
    simplex of weights, rounds that are within epsilon at all its corners are so everywhere (a lower
    bound), and the share at any corner is an upper bound. Simplices with the smallest lower bound
    are halved until the bounds meet or ``evaluations`` corners were looked at.

    With two or three objectives the bracket closes; with ten it stays wide, and its upper end is
    much nearer to the truth. Rounding as in :func:`mogro.pareto.fairness_index`.

    Parameters
    ----------
    means
        (T, K, M): the mean reward vectors of the arms offered in each round, all maximised.
    arms
        (T,) the pulled arms.
    epsilon
        Positive.
    evaluations
        Each costs one product of all means with a weight vector.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.8, 0.2], [0.0, 0.9]]])
    >>> fairness_bracket(means, [0, 1], epsilon=0.3)
    Bracket(lower=0.5, upper=0.5)
    """
    points = means_of(means)
    if points.ndim != 3:
        raise ValueError(f"means: expected shape (T, K, M), got {points.shape}")
    rounds, _, objectives = points.shape
    problem, arm, shape = chosen(points, arms)
    if shape != (rounds,):
        raise ValueError(f"arms: expected shape ({rounds},), got {np.shape(arms)}")
    behind = points - points[problem, arm][:, None]
    within = real(epsilon, "epsilon", above=0.0)
    within = max(within - _ROUNDING * float(np.abs(behind).max()), within / 2)
    budget = count(evaluations, "evaluations")

    def near(weights: FloatArray) -> BoolArray:
        return np.asarray(np.matmul(behind, weights).max(1) < within)

    corners = np.eye(objectives)
    served = np.array([near(corner) for corner in corners])
    lower, upper = _halve(corners, served, near, budget - objectives)
    return Bracket(lower / rounds, upper / rounds)


def _halve(
    corners: FloatArray, served: BoolArray, near: Callable[[FloatArray], BoolArray], budget: int
) -> tuple[int, int]:
    """Return bounds of the least number of rounds served, after halving ``budget`` edges."""
    upper = int(served.sum(1).min())
    heap = [(int(served.all(0).sum()), 0, corners, served)]
    born = 0
    while heap[0][0] < upper and budget > 0:
        _, _, corners, served = heapq.heappop(heap)
        first, second = _longest_edge(corners)
        middle = (corners[first] + corners[second]) / 2
        there = near(middle)
        budget -= 1
        upper = min(upper, int(there.sum()))
        for end in (first, second):
            born += 1
            half, half_served = corners.copy(), served.copy()
            half[end], half_served[end] = middle, there
            heapq.heappush(heap, (int(half_served.all(0).sum()), born, half, half_served))
    return min(heap[0][0], upper), upper


def _longest_edge(corners: FloatArray) -> tuple[int, int]:
    lengths = ((corners[:, None] - corners[None]) ** 2).sum(-1)
    first, second = divmod(int(lengths.argmax()), len(corners))
    return first, second
