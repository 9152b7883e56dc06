"""The arm with the largest score: different arms that tie are drawn, copies stay with the first."""

import math

import numpy as np

from mogro._algebra import distinct, rounding
from mogro._streams import Rng, part_of
from mogro._validation import BoolArray, FloatArray, IntArray

EQUAL_SCORES = 1e-9  # scores this close, relatively, are equal


def best(scores: FloatArray, arms: FloatArray, direction: FloatArray, rng: Rng) -> IntArray:
    """Return the arm of each learner with the largest of scores (..., K), ties drawn, (...).

    Scores are equal up to the rounding of products of the best arm with a direction (..., d), or
    one with entries as large: whatever the units of features. They change for a moment only.
    """
    unit = 4 * rounding(arms.shape[-1])
    if scores.ndim == 1:
        first = scores.argmax()
        top = scores.item(first)
        if not math.isfinite(top):
            _refuse_scores(top)
        near = top - unit * (abs(top) + float(np.abs(direction).dot(np.abs(arms[first]))))
        scores[first] = -math.inf
        second = scores.item(scores.argmax())
        scores[first] = top
        if second < near:
            return np.asarray(first)
        return np.asarray(draw(arms, (scores >= near).nonzero()[0], rng))
    batch, listed = scores.shape[:-1], scores.reshape(-1, scores.shape[-1])
    chosen, tops, seconds = leaders(listed)
    if not np.isfinite(tops).all():
        _refuse_scores(float(tops[~np.isfinite(tops)][0]))
    terms = np.vecdot(np.abs(_features_of(arms, chosen.reshape(batch))), np.abs(direction))
    near = tops - unit * (np.abs(tops) + terms.reshape(-1))
    tied = np.flatnonzero(seconds >= near)
    if tied.size:
        arms_by_learner = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))
        for learner in tied:
            close = np.flatnonzero(listed[learner] >= near[learner])
            offered = arms_by_learner[np.unravel_index(learner, batch)]
            chosen[learner] = draw(offered, close, part_of(rng, np.array(learner)))
    return chosen.reshape(batch)


def draw(arms: FloatArray, tied: IntArray, rng: Rng) -> int:
    """Return one of the tied arms of (K, d): copies stay with the first, others are drawn."""
    different = distinct(arms, tied)
    if len(different) == 1:
        return int(different[0])
    return int(different[int(rng.random(()) * len(different))])


def first_copies(arms: FloatArray, chosen: IntArray) -> IntArray:
    """Return the first copies of chosen arms (...): errors of copies round as they please."""
    if chosen.ndim == 0 and arms.ndim == 2:
        near = (arms[:chosen, -1] == arms[chosen, -1]).nonzero()[0]  # seldom any: less than a scan
        copies = near[(arms[near] == arms[chosen]).all(axis=-1)] if near.size else near
        return copies[0] if copies.size else chosen
    same = (arms == _features_of(arms, chosen)[..., None, :]).all(axis=-1)
    return np.asarray(same.argmax(axis=-1))


def differ_from_best(scores: FloatArray, chosen: IntArray) -> BoolArray:
    """Tell whether chosen arms (...) are not the best by scores (..., K)."""
    if scores.ndim == 1:
        top, taken = scores.item(scores.argmax()), scores.item(chosen)
        return np.asarray(taken < top - EQUAL_SCORES * max(abs(top), abs(taken)))
    tops, values = scores.max(axis=-1), scores_of(scores, chosen)
    return np.asarray(values < tops - EQUAL_SCORES * np.maximum(np.abs(tops), np.abs(values)))


def leaders(scores: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the best arms (n,) by scores (n, K), their scores, and those of the second best.

    Scores change for a moment only.
    """
    flat, first = scores.reshape(-1), np.arange(0, scores.size, scores.shape[-1])
    best = scores.argmax(axis=-1)
    places = first + best
    tops = flat.take(places)
    flat[places] = -math.inf
    seconds = flat.take(first + scores.argmax(axis=-1))
    flat[places] = tops
    return best, tops, seconds


def scores_of(scores: FloatArray, arms: IntArray) -> FloatArray:
    """Return the scores (...) of arms (...) among (..., K)."""
    first = np.arange(0, scores.size, scores.shape[-1])
    return np.asarray(scores.reshape(-1).take(first + arms.reshape(-1)).reshape(arms.shape))


def _features_of(arms: FloatArray, chosen: IntArray) -> FloatArray:
    """Return the features (..., d) of chosen arms (...)."""
    if arms.ndim == 2:
        return np.asarray(arms[chosen])
    arms_by_learner = np.broadcast_to(arms, (*chosen.shape, *arms.shape[-2:]))
    return np.take_along_axis(arms_by_learner, chosen[..., None, None], axis=-2)[..., 0, :]


def _refuse_scores(top: float) -> None:
    if top == -math.inf:
        raise ValueError("scores: expected an arm with a score above -inf, got -inf for all arms")
    raise ValueError(f"scores: expected numbers or -inf, got {top}")
