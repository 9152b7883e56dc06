"""The best arm of each learner, ties drawn, and what scores show to be wrong."""

import math
from typing import Any

import numpy as np

from mogro._streams import Rng
from mogro._ties import draw_best, draw_one, rounding
from mogro._validation import FloatArray, IntArray, as_floats, floats, unwarned
from mogro.choice.rule import Arms
from mogro.scalarization import NonlinearScalarization

# For one learner the same routines of BLAS can be called for less; those do not warn.
_quiet_matvec, _quiet_vecmat = unwarned(np.matvec), unwarned(np.vecmat)
_NEAR = 1e-6  # share of the largest score within which nonlinear scores may tie


def best_in_direction(arms: Arms, direction: FloatArray, rng: Rng) -> IntArray:
    """Return the best arm for the directions (..., d) of the learners."""
    if not isinstance(arms, np.ndarray):
        check_finite(direction, direction, "weights")
        tied = arms.best(direction)
        if len(tied) == 1:
            return np.asarray(tied[0])
        return np.asarray(draw_one(arms.features, tied, rng=rng))
    scores = _products(arms, direction)
    if not math.isfinite(size(scores)):
        check_finite(direction, direction, "weights")
        refuse(arms, "features")
    return best_by_products(scores, arms, _norms(direction), rng)


def combine(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the directions (..., d) that weights (..., M) make of estimates (..., M, d)."""
    if theta.ndim == 2 and isinstance(weights, np.ndarray) and min(theta.shape) > 1:
        return np.asarray(weights.dot(theta))
    return _quiet_vecmat(weights, theta)


def _products(arms: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the products (..., K) of arms (..., K, d) with directions (..., d)."""
    if direction.dtype != arms.dtype:
        direction = direction.astype(arms.dtype)
    single = arms.ndim == 2 and direction.ndim == 1
    if single and min(arms.shape) > 1 and arms.flags.c_contiguous:
        return np.asarray(arms.dot(direction))
    return _quiet_matvec(arms, direction)


def best_by_products(
    scores: FloatArray, arms: FloatArray, sizes: FloatArray | float, rng: Rng
) -> IntArray:
    """Return the arm of the largest score; scores are products with vectors of norms (...)."""
    best: IntArray = scores.argmax(axis=-1)
    if scores.ndim == 1:
        top = scores.item(best)
        unit = rounding(arms.shape[-1], scores.dtype)
        x = arms[best]
        near = 2 * unit * (math.sqrt(x.dot(x)) * sizes + abs(top))
        scores[best] = -math.inf
        second = scores.item(scores.argmax())
        scores[best] = top
        if second < top - near:
            return best
    return _draw_best(scores, best, arms, sizes, rng)


@unwarned
def _draw_best(
    scores: FloatArray, best: IntArray, arms: FloatArray, sizes: FloatArray | float, rng: Rng
) -> IntArray:
    """Return the best arm where several may tie."""
    unit = rounding(arms.shape[-1], scores.dtype)
    if scores.ndim == 1:
        top = scores.item(best)
        near = 2 * unit * (_norms(arms[best]) * sizes + abs(top))
    else:
        everywhere = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))
        x = np.take_along_axis(everywhere, best[..., None, None], axis=-2)[..., 0, :]
        highest = np.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
        near = 2 * unit * (_norms(x) * sizes + np.abs(highest))

    def tolerance(at: tuple[Any, ...], rows: IntArray) -> FloatArray:
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))[at][rows]
        norms = np.sqrt(np.vecdot(listed, listed))
        own = np.broadcast_to(sizes, scores.shape[:-1])[at]
        return np.asarray(unit * (norms * own + np.abs(scores[at][rows])))

    return draw_best(scores, best, arms, near, tolerance, rng=rng)


def _norms(vectors: FloatArray) -> Any:
    """Return the norms (...) of vectors (..., d); a plain number for one, for speed."""
    if vectors.ndim == 1:
        return math.sqrt(vectors.dot(vectors))
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


def check_finite(values: FloatArray, given: FloatArray, name: str = "features") -> None:
    """Refuse what was given if values (...) computed from it are not finite.

    That costs less than a scan of all features.
    """
    if not math.isfinite(size(values)):
        refuse(given, name)


def refuse(given: FloatArray, name: str) -> None:
    """Say what is wrong with what leads to numbers that are not finite."""
    floats(given, name, shape=given.shape)
    raise ValueError(f"{name}: expected values whose squares and scores are finite")


def size(values: FloatArray) -> float:
    """Return the sum of the squares, which is not finite if any value is not."""
    flat = values if values.ndim == 1 else values.ravel(order="K")
    return float(flat.dot(flat))
