"""The best arm of each learner, ties drawn, and what scores show to be wrong."""

import math
from typing import Any

import numpy as np

from mogro._spans import sum_of_squares
from mogro._streams import Rng
from mogro._ties import draw_best, draw_one, picked, rounding
from mogro._validation import FloatArray, IntArray, as_floats, check_shape, floats, unwarned
from mogro.choice.rule import Arms
from mogro.scalarization import NonlinearScalarization

_LARGE = 1e30  # sums of squares below are far from any overflow, in single precision, too
_MANY = 2**15  # numbers in arms from which another look at them costs more than it saves
_NEAR = 1e-6  # share of the largest score within which scores may tie


def total_square(arms: Arms) -> float:
    """Return the sum of the squares of arms, (K, d); infinite if it would cost much to know it."""
    if not isinstance(arms, np.ndarray) or arms.size > _MANY:
        return math.inf
    return sum_of_squares(arms)


def best_of_moderate(
    arms: FloatArray, weights: FloatArray, theta: FloatArray, total: float, rng: Rng
) -> IntArray | None:
    """Return the best arm of one learner, as :func:`best_in_direction` does but in less time.

    None where products of arms, with that sum of squares, could overflow: then it costs more not to
    be warned of it.
    """
    largest = float(np.vdot(theta, theta)) * float(np.vdot(weights, weights))
    if not (1 + total) * (1 + largest) < _LARGE:
        return None
    if min(*arms.shape, *theta.shape) > 1 and arms.flags.c_contiguous:
        # The same routines of BLAS, called faster.
        direction = np.dot(weights, theta)
        scores = arms.dot(direction.astype(arms.dtype, copy=False))
    else:
        direction = np.vecmat(weights, theta)
        scores = np.matvec(arms, direction.astype(arms.dtype, copy=False))
    best: IntArray = scores.argmax()
    top = scores.item(best)
    scores[best] = -math.inf
    second = scores.item(scores.argmax())
    near = 2 * rounding(arms.shape[1], scores.dtype) * (math.sqrt(total * largest) + abs(top))
    if second < top - near:
        return best
    scores[best] = top
    return _best_of_some(scores, arms, direction, top - near, rng)


@unwarned
def best_in_direction(arms: Arms, weights: FloatArray, theta: FloatArray, rng: Rng) -> IntArray:
    """Return the best arm for the weights (..., M) and estimates (..., M, d) of the learners."""
    direction = np.vecmat(weights, theta)
    if not isinstance(arms, np.ndarray):
        check_finite(direction, direction, "weights")
        tied = arms.best(direction)
        if len(tied) == 1:
            return np.asarray(tied[0])
        return np.asarray(draw_one(arms.features, tied, rng=rng))
    if arms.dtype == np.float64 or direction.ndim > 1:
        return best_scored(np.matvec(arms, direction), arms, direction, rng)
    scores = np.matvec(arms, direction.astype(arms.dtype))
    _check_scores(scores, arms, direction)
    best = scores.argmax()
    largest = max(scores.item(best), -scores.item(scores.argmin()))
    near = rounding(arms.shape[1], arms.dtype) * (_norms(arms[best]) * _norms(direction) + largest)
    return _best_of_some(scores, arms, direction, scores.item(best) - 4 * near, rng)


def _best_of_some(
    scores: FloatArray, arms: FloatArray, direction: FloatArray, least: float, rng: Rng
) -> IntArray:
    """Return the best arm of one learner, of those with scores from ``least`` on.

    What looks alike in single precision is looked at again in double precision, as probabilities
    look at it.
    """
    rows: IntArray = np.flatnonzero(scores >= least)
    if len(rows) == 1:
        return np.asarray(rows[0])
    some = arms[rows].astype(np.float64)
    again = some.dot(direction)
    best = np.asarray(again.argmax())
    return np.asarray(rows[_draw_near(again, best, some, _norms(direction), math.inf, rng)])


def best_scored(scores: FloatArray, arms: FloatArray, direction: FloatArray, rng: Rng) -> IntArray:
    """Return the arm of the largest score, which may not be finite, by directions (..., d)."""
    _check_scores(scores, arms, direction)
    return best_by_products(scores, arms, _norms(direction), rng)


def _check_scores(scores: FloatArray, arms: FloatArray, direction: FloatArray) -> None:
    if not math.isfinite(sum_of_squares(scores)):
        check_finite(direction, direction, "weights")
        refuse(arms, "features")


def best_by_products(
    scores: FloatArray, arms: FloatArray, sizes: FloatArray | float, rng: Rng
) -> IntArray:
    """Return the arm of the largest score; scores are products with vectors of norms (...)."""
    best: IntArray = scores.argmax(axis=-1)
    unit = rounding(arms.shape[-1], scores.dtype)
    if scores.ndim == 1:
        top = scores.item(best)
        own = 2 * unit * (_norms(arms[best]) * sizes + abs(top))
        near = max(own, _NEAR * max(top, -scores.item(scores.argmin())))
        if np.count_nonzero(scores >= top - near) == 1:
            return best
    else:
        own = 2 * unit * (_norms(picked(arms, best)) * sizes + np.abs(picked(scores, best, 0)))
        near = np.maximum(own, _NEAR * np.abs(scores).max(axis=-1))  # others may be rounded more
    return _draw_near(scores, best, arms, sizes, near, rng)


def _draw_near(
    scores: FloatArray,
    best: IntArray,
    arms: FloatArray,
    sizes: FloatArray | float,
    near: FloatArray | float,
    rng: Rng,
) -> IntArray:
    """Draw among arms that are as good as the best up to the rounding of products."""
    unit = rounding(arms.shape[-1], scores.dtype)

    def tolerance(at: tuple[Any, ...], rows: IntArray) -> FloatArray:
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))[at][rows]
        norms = np.sqrt(np.vecdot(listed, listed))
        own = np.broadcast_to(sizes, scores.shape[:-1])[at]
        return np.asarray(unit * (norms * own + np.abs(scores[at][rows])))

    return draw_best(scores, best, arms, near, tolerance, rng=rng)


def _norms(vectors: FloatArray) -> Any:
    """Return the norms (...) of vectors (..., d); a plain number for one, for speed."""
    if vectors.ndim == 1:
        return math.sqrt(np.vdot(vectors, vectors))
    return np.sqrt(np.vecdot(vectors, vectors))


def best_by_score(
    arms: FloatArray,
    theta: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    selection: NonlinearScalarization,
    rng: Rng,
) -> IntArray:
    """Return the arm of the largest nonlinear score of its values (..., K, M)."""
    check_finite(weights, weights, "weights")
    scores = as_floats(selection.score(values, weights), "scores")
    check_finite(scores, arms)
    near = _NEAR * np.abs(scores).max(axis=-1)

    def tolerance(at: tuple[Any, ...], rows: IntArray) -> FloatArray:
        """See what the rounding of the values may do to the scores."""
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))[at][rows]
        own = np.broadcast_to(theta, (*scores.shape[:-1], *theta.shape[-2:]))[at]
        size = np.linalg.norm(listed, axis=-1)[:, None] * np.linalg.norm(own, axis=-1)
        shift = np.zeros_like(values[at])
        shift[rows] = rounding(arms.shape[-1], scores.dtype) * (size + np.abs(values[at][rows]))
        mine = np.broadcast_to(weights, (*scores.shape[:-1], weights.shape[-1]))[at]
        above = selection.score(values[at] + shift, mine)[rows]
        below = selection.score(values[at] - shift, mine)[rows]
        return np.asarray(np.abs(above - below))

    return draw_best(scores, scores.argmax(axis=-1), arms, near, tolerance, rng=rng)


def check_values(values: FloatArray, arms: FloatArray, objectives: int) -> FloatArray:
    """Return what a policy says arms (..., K, d) are worth, (..., K, M); refuse anything else."""
    worth = as_floats(values, "values")
    if worth.shape[-2:] != (arms.shape[-2], objectives):
        check_shape(worth, "values", (..., arms.shape[-2], objectives))
    check_finite(worth, arms)
    return worth


def check_finite(values: FloatArray, given: FloatArray, name: str = "features") -> None:
    """Refuse what was given if values (...) computed from it are not finite.

    That costs less than a scan of all features.
    """
    if not math.isfinite(sum_of_squares(values)):
        refuse(given, name)


def refuse(given: FloatArray, name: str) -> None:
    """Say what is wrong with what leads to numbers that are not finite."""
    floats(given, name, shape=given.shape)
    raise ValueError(f"{name}: expected values whose squares and scores are finite")
