"""How fairly an algorithm serves all weighted objectives (Definition EPF of the paper).

With f_a the share of the pulls that arm a got, the effective Pareto fairness index is the least
share, over all weights w on the simplex, of pulls of arms within epsilon of the best under w:

    EPFI = min over w of the sum of f_a over arms a with max_k w . (mu_k - mu_a) < epsilon.

Always ball estimate <= lower bound <= index <= sampled upper bound. Pool the pulls of all repeats
of an instance first: the mean of the indices of single runs is biased downwards. A distance that
equals epsilon up to rounding (1e-12 of the spread of the means) is not within it. For arms that
change from round to round see :func:`mogro.pareto.fairness_bracket`.
"""

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray, count, floats, real
from mogro.pareto._excluded import fewest_served
from mogro.pareto.dominance import front
from mogro.pareto.effective import effective_gaps

_ROUNDING = 1e-12
_BLOCK = 1 << 20  # numbers at a time


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
    return fewest_served(points, counts, epsilon=within) / float(counts.sum())


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
    members = points[_best_somewhere(points)]
    return _least_share(counts, [(member - points).max(1) < within for member in members])


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
    members = points[_best_somewhere(points)]
    return _least_share(
        counts, [np.linalg.norm(member - points, axis=1) < within for member in members]
    )


def fairness_sampled_upper_bound(
    means: ArrayLike, pulls: ArrayLike, *, epsilon: float, rng: Rng, samples: int = 10_000
) -> float:
    """Return an upper bound of :func:`fairness_index`: the least share over random weights.

    Weights are uniform on the simplex, and its corners are always among them. With many objectives
    random weights hardly ever meet the worst cell, and the bound can be far too high.

    Parameters
    ----------
    means, pulls, epsilon
        As in :func:`fairness_index`.
    rng
        A generator.
    samples
        How many weights are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> rng = np.random.default_rng(0)
    >>> fairness_sampled_upper_bound(means, [3, 2, 5], epsilon=0.1, rng=rng)
    0.2
    """
    points, counts, within = _checked(means, pulls, epsilon)
    objectives = points.shape[1]
    weights = rng.dirichlet(np.ones(objectives), count(samples, "samples"))
    weights = np.concatenate([np.eye(objectives), weights])
    least = np.inf
    for part in np.array_split(weights, 1 + weights.shape[0] * len(points) // _BLOCK):
        values = part @ points.T
        near = values.max(1, keepdims=True) - values < within
        least = min(least, float((near @ counts).min()))
    return least / float(counts.sum())


def unfairness(means: ArrayLike, pulls: ArrayLike) -> float:
    """Return the Pareto unfairness of Drugan and Nowe: how unevenly the Pareto front was pulled.

    It is the variance of the numbers of pulls of the arms on the Pareto front: 0 if all were pulled
    equally often. It grows with the number of rounds, and says nothing about pulls elsewhere.

    Parameters
    ----------
    means
        (K, M), all objectives maximised.
    pulls
        (K,) counts.

    Examples
    --------
    >>> unfairness([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [4, 8, 3])
    4.0
    """
    points, counts = _means_and_pulls(means, pulls)
    return float(counts[front(points)].var())


def _means_and_pulls(means: ArrayLike, pulls: ArrayLike) -> tuple[FloatArray, FloatArray]:
    points = floats(means, "means", shape=("K", "M")).astype(np.float64)
    counts = floats(pulls, "pulls", shape=(len(points),)).astype(np.float64)
    if (counts < 0).any():
        raise ValueError(f"pulls: expected numbers >= 0, got {counts.min():g}")
    return points, counts


def _checked(
    means: ArrayLike, pulls: ArrayLike, epsilon: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return means, pulls, and epsilon less what rounding may do to a distance."""
    points, counts = _means_and_pulls(means, pulls)
    within = real(epsilon, "epsilon", above=0.0)
    if not counts.any():
        raise ValueError("pulls: expected at least one pull, got none")
    points = points - points[0]
    spread = float(np.ptp(points, axis=0).max())
    return points, counts, max(within - _ROUNDING * spread, within / 2)


def _best_somewhere(points: FloatArray) -> IntArray:
    """Return the effective front, with those that are best under vanishing weights only."""
    members = np.flatnonzero(front(points))
    return np.asarray(members[effective_gaps(points, arms=members) == 0])


def _least_share(counts: FloatArray, near: list[BoolArray]) -> float:
    return min(float(counts[one].sum()) for one in near) / float(counts.sum())
