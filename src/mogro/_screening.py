"""The best of arms that many learners share: by products for all of them at once.

One large product is several times faster than a small one for each learner, but rounds otherwise.
So it only counts where an answer is clear whatever the rounding: what is doubtful has to be
computed as for one learner alone. That way a learner of a batch does what it would do alone.
"""

import math

import numpy as np

from mogro._algebra import rounding
from mogro._ties import EQUAL_SCORES, leaders, scores_of
from mogro._validation import BoolArray, FloatArray, IntArray, without_warnings
from mogro.beliefs import Beliefs
from mogro.valuation import Optimism


def is_shared(arms: FloatArray) -> bool:
    """Tell whether arms (..., K, d) are the same along the last axis of a batch."""
    return arms.ndim == 2 or arms.shape[-3] == 1


@without_warnings
def screened_arms(
    arms: FloatArray,
    beliefs: Beliefs,
    weights: FloatArray,
    direction: FloatArray,
    optimism: Optimism | None,
) -> tuple[IntArray, BoolArray, IntArray]:
    """Return the best arms (n,), whether optimism made them others, and who is in doubt.

    What is given is as in :func:`mogro.choice.best_arms`, for n learners that share arms and have
    one S each.
    """
    scores, error = shared_scores(arms, direction)
    slack = 16 * error  # more than ties, and rounding in either way
    if optimism is None:
        best, tops, seconds = leaders(scores)
        doubtful = np.flatnonzero(~(tops - seconds > slack))
        return best, np.zeros(best.shape, dtype=np.bool_), doubtful
    counted, W = np.zeros(arms.shape[-2]), beliefs.expected.W[..., 0, :, :]
    counted[optimism.arms(len(counted))] = 1
    width = np.vecdot(optimism.bonus(beliefs.noise), weights)[..., None]
    upper_bounds = deviation_bounds(arms * counted[:, None], W, width)
    wide_slack = slack + 16 * rounding(arms.shape[-1]) * float(upper_bounds.max())
    if width.min() < 0:
        wide_slack = math.inf  # by weights below zero: these are no bounds
    upper_bounds += scores
    tops = scores_of(scores, scores.argmax(axis=-1))
    # Few arms may be anybody's best: only these need their errors.
    candidates = np.flatnonzero(~(upper_bounds < (tops - wide_slack)[:, None]).all(axis=0))
    plain, errors = scores.take(candidates, axis=1), shared_deviations(arms[..., candidates, :], W)
    best, raised, seconds = leaders(plain + width.reshape(-1, 1) * counted[candidates] * errors)
    taken = scores_of(plain, best)
    behind = tops - taken - EQUAL_SCORES * np.maximum(np.abs(tops), np.abs(taken))
    margins = np.minimum(raised - seconds - wide_slack, np.abs(behind) - slack)
    if not counted.all():  # copies that do not count may come before those that do
        alike = np.abs(scores - taken[:, None]) <= slack
        margins[np.count_nonzero(alike, axis=1) > 1] = 0
    return candidates[best], behind > 0, np.flatnonzero(~(margins > 0))


def _transposed(arms: FloatArray) -> FloatArray:
    """Return shared arms without the axis along which they are, (..., d, K)."""
    return (arms if arms.ndim == 2 else arms[..., 0, :, :]).mT


def shared_scores(arms: FloatArray, directions: FloatArray) -> tuple[FloatArray, float]:
    """Return products (n, K) of shared arms and directions (*batch, d), and what they may be off.

    Neither they nor products computed in another way are off by more.
    """
    scores = (directions @ _transposed(arms)).reshape(-1, arms.shape[-2])
    sizes = math.sqrt(np.vdot(arms, arms)) * math.sqrt(np.vdot(directions, directions))
    return scores, rounding(arms.shape[-1]) * sizes


def shared_deviations(arms: FloatArray, W: FloatArray) -> FloatArray:
    """Return roots of ``x' S x``, (n, K), of shared arms and roots (*batch, d, d) of S."""
    parts = W @ np.ascontiguousarray(arms.mT)  # for which BLAS takes less time
    roots = np.sqrt(np.einsum("...ik,...ik->...k", parts, parts))
    return np.asarray(roots.reshape(math.prod(W.shape[:-2]), arms.shape[-2]))


def deviation_bounds(arms: FloatArray, W: FloatArray, width: FloatArray) -> FloatArray:
    """Return what these roots, ``width`` (*batch, 1) times, cannot exceed, (n, K).

    By Cauchy and Schwarz; what a feature that was never seen adds to an arm without it is zero.
    """
    errors = width * np.sqrt(np.einsum("...ij,...ij->...j", W, W))
    return np.asarray(errors @ np.abs(_transposed(arms))).reshape(-1, arms.shape[-2])
