"""Ties are decided here, once, for policies and agents alike.

Scores are equal if they differ by no more than the rounding of the scores that compete: those of
the best arm and of its rivals, never of outliers far behind. Exact copies of an arm stay with the
first of them. Arms that differ are drawn, each alike, by the random numbers of the decision; no
number is drawn where nothing ties.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mogro._streams import Rng, part_of
from mogro._validation import BoolArray, FloatArray, IntArray

_EPS = {np.dtype(kind): float(np.finfo(kind).eps) for kind in (np.float32, np.float64)}

Tolerance = Callable[[tuple[Any, ...], IntArray], FloatArray]
"""How far rounding may move the scores of some arms (n,) of the learner at an index."""


def rounding(dim: int, dtype: np.dtype[Any]) -> float:
    """Bound the rounding of a product of two vectors of norm 1."""
    return (dim + 2) * _EPS[dtype]


def first_best(scores: FloatArray) -> IntArray:
    """Return the first arm, (...), whose score in (..., K) is the largest up to rounding."""
    best = scores.max(axis=-1, keepdims=True)
    slack = 64 * _EPS[scores.dtype] * np.abs(best)
    return np.asarray((scores >= best - slack).argmax(axis=-1))


def picked(array: FloatArray, best: IntArray, axes: int = 1) -> FloatArray:
    """Return what an array (..., K, *rest) has for the best arms, (...): (..., *rest).

    ``axes`` is the number of axes of ``rest``; the leading ones broadcast to those of ``best``.
    """
    if array.ndim == axes + 1:  # for all learners alike
        return np.asarray(array[best])
    everywhere = np.broadcast_to(array, (*best.shape, *array.shape[array.ndim - axes - 1 :]))
    learners = [np.arange(size) for size in best.shape]
    places = learners if best.ndim == 1 else np.ix_(*learners)
    return np.asarray(everywhere[(*places, best)])


def draw_best(
    scores: FloatArray,
    best: IntArray,
    arms: FloatArray,
    near: FloatArray | float,
    tolerance: Tolerance,
    *,
    rng: Rng,
) -> IntArray:
    """Return the best arm of each learner, drawn where different arms tie.

    Parameters
    ----------
    scores, best
        (..., K), and where the largest stands, (...).
    arms
        Features, (..., K, d) up to broadcasting, to tell copies of an arm.
    near
        (...): no arm that is further behind the best than this ties with it.
    tolerance
        What rounding may do, asked for where some arm is near the best.
    rng
        Used by learners with ties only.
    """
    if scores.ndim == 1:
        close = scores >= scores[best] - near
        if np.count_nonzero(close) == 1:
            return np.asarray(best)
        return np.asarray(_draw(scores, arms, close, tolerance, (), rng))
    close = scores >= (picked(scores, best, 0) - near)[..., None]
    if np.count_nonzero(close) > best.size:
        rivals = np.count_nonzero(close, axis=-1) > 1
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))
        for position in np.flatnonzero(rivals):
            at = np.unravel_index(position, rivals.shape)
            own = part_of(rng, np.array([position]))
            best[at] = _draw(scores[at], listed[at], close[at], tolerance, at, own)
    return best


def _draw(
    scores: FloatArray,
    arms: FloatArray,
    close: BoolArray,
    tolerance: Tolerance,
    at: tuple[Any, ...],
    rng: Rng,
) -> int:
    """Return the arm of one learner, of those close to the best."""
    rows = np.flatnonzero(close)
    errors = tolerance(at, rows)
    best = scores[rows].argmax()
    return draw_one(arms, rows[scores[rows] + errors >= scores[rows][best] - errors[best]], rng=rng)


def draw_one(arms: FloatArray, tied: IntArray, *, rng: Rng) -> int:
    """Return one of the tied arms of (K, d): the first of its copies, each of these alike."""
    different = distinct(arms, tied)
    if len(different) == 1:
        return int(different[0])
    return int(different[int(rng.random((1,))[0] * len(different))])


def distinct(arms: FloatArray, rows: IntArray) -> IntArray:
    """Return those rows of arms (K, d) that are no copies of an earlier one."""
    if len(rows) == 1:
        return rows
    listed = arms[rows] + 0.0  # which makes zeros of both signs one
    first: dict[bytes, int] = {}
    for row, features in zip(rows.tolist(), listed, strict=True):
        first.setdefault(features.tobytes(), row)
    return np.fromiter(first.values(), np.int64, len(first))
