"""Pareto fronts and Pareto suboptimality gaps. Every objective is maximised."""

from collections.abc import Iterator
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto._arguments import read_arms, read_means

_COMPARISONS = 6000  # K * K * M up to which comparing all pairs of a batch beats a call per problem
_MOST_OBJECTIVES = 31  # that every version of moocore accepts
_BLOCK = 1 << 18  # numbers compared at a time, so that they stay in the cache
_MIN_GAPS = 32  # gaps of one problem from which building its front pays
_MIN_ARMS = 3000  # arms from which taking out the clear losers first pays
_STRONG_ARMS = 8  # arms that they may lose to, at most


def front(means: ArrayLike) -> BoolArray:
    """Return which arms are on the Pareto front.

    An arm is on the front if no other arm is at least as good in every objective and better in
    one. Values are compared exactly as they are: equal arms stand or fall together, and a
    difference in the last digit decides. See :func:`mogro.pareto.effective_front` for domination
    by mixtures.

    Parameters
    ----------
    means
        Mean reward vectors, (..., K, M); leading axes are separate problems.

    Returns
    -------
    Booleans of shape (..., K).

    Examples
    --------
    >>> front([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3], [0.0, 0.5]])
    array([ True,  True,  True, False])
    """
    return pareto_front(read_means(means))


def pareto_front(points: FloatArray) -> BoolArray:
    """Return the front of checked means."""
    count, objectives = points.shape[-2:]
    if objectives == 1:
        values = points[..., 0]
        return np.asarray(values == values.max(-1, keepdims=True))
    if points.ndim == 2:
        return _single_front(points)
    problems = points.reshape(-1, count, objectives)
    if count * count * objectives <= _COMPARISONS:
        problem = np.repeat(np.arange(len(problems)), count)
        mask = _undominated(problems, problem, problems.reshape(-1, objectives))
    else:
        mask = np.array([_single_front(means) for means in problems], dtype=bool)
    return mask.reshape(points.shape[:-1])


def _single_front(points: FloatArray) -> BoolArray:
    from moocore import is_nondominated

    if points.shape[1] > _MOST_OBJECTIVES:
        return _undominated(points[None], np.zeros(len(points), dtype=np.int64), points)
    if len(points) < _MIN_ARMS:
        return np.asarray(is_nondominated(points, maximise=True, keep_weakly=True))
    candidates = _without_clearly_dominated(points)
    mask = np.zeros(len(points), dtype=bool)
    mask[candidates] = is_nondominated(points[candidates], maximise=True, keep_weakly=True)
    return mask


def _without_clearly_dominated(points: FloatArray) -> IntArray:
    """Return the arms that no strong arm dominates: with few objectives, few."""
    values = np.ascontiguousarray(points.T)
    low = values.min(1, keepdims=True)
    span = values.max(1, keepdims=True) - low
    strength = ((values - low) / np.where(span > 0, span, 1)).sum(0)
    candidates = np.arange(len(points))
    for _ in range(_STRONG_ARMS):
        strongest = strength.argmax()
        point = values[:, strongest, None]
        strength[strongest] = -np.inf
        remains = (values > point).any(0) | (values == point).all(0)
        if np.count_nonzero(remains) > 0.6 * len(remains):
            break
        values, candidates, strength = values[:, remains], candidates[remains], strength[remains]
    return candidates


def _undominated(problems: FloatArray, problem: IntArray, candidates: FloatArray) -> BoolArray:
    """Return which candidates (G, M) no arm of their problem, of P (P, K, M), dominates."""
    result = np.empty(len(candidates), dtype=bool)
    for block, pairs in _pairs(problems, problem, candidates):
        reached = reduce(np.logical_and, [rivals >= point for rivals, point in pairs])
        exceeded = reduce(np.logical_or, [rivals > point for rivals, point in pairs])
        result[block] = ~(reached & exceeded).any(1)
    return result


def _pairs(
    problems: FloatArray, problem: IntArray, points: FloatArray
) -> Iterator[tuple[slice, list[tuple[FloatArray, FloatArray]]]]:
    """Yield some points at a time: for each objective values of rivals (g, K) and points (g, 1)."""
    by_objective = np.ascontiguousarray(problems.transpose(2, 0, 1))
    step = max(1, _BLOCK // (problems.shape[1] * problems.shape[2]))
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        rivals = (values[problem[block]] for values in by_objective)
        yield block, list(zip(rivals, points[block].T[:, :, None], strict=True))


def gaps(means: ArrayLike, *, arms: ArrayLike | None = None) -> FloatArray:
    """Return the Pareto suboptimality gap of every arm.

    The gap of arm i is max(0, max_j min_m (mu_jm - mu_im)): the least amount that, added to all
    objectives of the arm, leaves no arm that is better in every one of them. It is 0 on the front,
    but also for an arm that is dominated without being beaten in every objective: next to (1, 1),
    the arm (1, 0) has gap 0.

    Parameters
    ----------
    means
        Mean reward vectors, (..., K, M); leading axes are separate problems.
    arms
        Arms to judge instead of all: shape (...) for one per problem, (..., n) for several.

    Returns
    -------
    Floats of shape (..., K), or of the shape of ``arms`` broadcast against the problems.

    Examples
    --------
    >>> gaps([[1.0, 0.0], [0.0, 1.0], [0.25, 0.25], [0.0, 0.5]])
    array([0., 0., 0., 0.])
    >>> gaps([[1.0, 1.0], [0.25, 0.5]])
    array([0. , 0.5])
    """
    points = read_means(means)
    problems = points.reshape(-1, *points.shape[-2:])
    problem, arm, shape = read_arms(points, arms)
    points_of_arms = problems[problem, arm]
    if problems.shape[2] == 1:
        return np.asarray(problems.max(1)[problem, 0] - points_of_arms[:, 0]).reshape(shape)
    if len(problems) == 1 and len(points_of_arms) > _MIN_GAPS:
        problems = problems[:, _single_front(problems[0])]  # only members can be the best rival
    result = np.empty(len(points_of_arms))
    for block, pairs in _pairs(problems, problem, points_of_arms):
        result[block] = reduce(np.minimum, (rivals - value for rivals, value in pairs)).max(1)
    return np.maximum(result, 0).reshape(shape)
