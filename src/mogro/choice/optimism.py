"""Optimistic rounds: how a greedy policy without a threshold of its own follows the noise.

Once every direction is known a little, every few rounds an arm is worth its estimate plus some
standard errors instead of its estimate alone. Where noise is small that changes no choice; where
it is large it tries the arms that may be better than they look, and no others. With n observations
it is the turn of every ``sqrt(n) / 3``-th round, so that they are ``6 sqrt(n)`` in all.
"""

import math
from typing import cast

import numpy as np

from mogro._spans import sum_of_squares
from mogro._streams import Rng
from mogro._ties import picked
from mogro._validation import BoolArray, FloatArray, IntArray, unwarned
from mogro.choice.beliefs import Beliefs
from mogro.choice.best import best_by_products, best_by_score, check_finite, refuse
from mogro.choice.rule import Choice, Rule
from mogro.scalarization import Scalarization, is_nonlinear
from mogro.selection import Selection, draw_member, is_front

_NEAR = 1e-9  # scores this close, relatively, are equal
_MANY = 256  # arms from which on most are passed over without a look at their standard errors


def is_optimistic(policy: Rule, beliefs: Beliefs, step: int) -> bool:
    """Tell whether a round is optimistic: the policy is, and it is the turn of its optimism."""
    return policy.optimistic and step % _period(beliefs) == 0


def _period(beliefs: Beliefs) -> int:
    """Return every how many rounds it is the turn of optimism.

    What fades counts as far as it is left, so that a learner that forgets goes on being curious.
    """
    counts = beliefs.counts
    observed = counts if isinstance(counts, int) else max(counts.ravel().tolist())
    return max(math.isqrt(int(observed)) // 3, 1)


def optimistic_values(arms: FloatArray, beliefs: Beliefs) -> FloatArray:
    """Return estimates plus standard errors, (..., K, M), of arms (..., K, d).

    Two standard errors for a single objective, and ``2 sqrt(2 / (M + 1))`` for M of them, so that
    it is about two for their sum with random weights, whose errors partly cancel. What is in
    flight counts as if it had been observed. Before an objective has more observations than
    directions its noise is unknown, and nothing is added.
    """
    inverse, _ = beliefs.coverage
    wide = arms[..., None, :, :]
    variances = np.swapaxes(np.maximum(np.vecdot(wide @ inverse, wide), 0), -1, -2)
    errors = np.sqrt(variances) * _widths(beliefs)[..., None, :]
    return np.asarray(beliefs.estimates(arms) + errors)


def _widths(beliefs: Beliefs) -> FloatArray:
    """Return what is added for an arm of variance 1, (..., M)."""
    objectives = beliefs.theta.shape[-2]
    return np.asarray(np.sqrt(8 / (objectives + 1) * beliefs.noise))


def values_in_round(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng
) -> FloatArray:
    """Return what arms (..., K, d) are worth in a round, (..., K, M)."""
    if is_optimistic(policy, beliefs, step):
        return optimistic_values(arms, beliefs)
    return policy.values(arms, beliefs, rng=rng)


@unwarned
def choose_optimistically(
    arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> Choice:
    """Select by optimistic values; where estimates favour another arm, that is exploring."""
    objectives, batch = beliefs.theta.shape[-2], beliefs.batch
    no = np.zeros(batch, dtype=np.bool_)
    if is_front(selection):
        values = optimistic_values(arms, beliefs)
        check_finite(values, arms)
        return Choice(draw_member(selection, values, rng=rng), None, ~no, no)
    scalarization = cast("Scalarization", selection)
    weights = scalarization.weights(objectives, step=step, batch=batch, rng=rng)
    if is_nonlinear(scalarization):
        values = optimistic_values(arms, beliefs)
        check_finite(values, arms)
        chosen = best_by_score(arms, beliefs.theta, values, weights, scalarization, rng)
        scores = scalarization.score(beliefs.estimates(arms), weights)
    else:
        scores = np.matvec(arms, np.vecmat(weights, beliefs.theta))
        chosen = _best(arms, beliefs, weights, scores, rng)
    return Choice(chosen, weights, _is_another(scores, chosen), no)


def _is_another(scores: FloatArray, chosen: IntArray) -> BoolArray:
    """Tell whether arms (...) are others than the best by scores (..., K)."""
    if scores.ndim == 1:
        top, mine = scores.max().item(), scores.item(chosen)
        return np.asarray(mine < top - _NEAR * max(abs(top), abs(mine)))
    best, own = scores.max(axis=-1), picked(scores, chosen, 0)
    return np.asarray(own < best - _NEAR * np.maximum(np.abs(best), np.abs(own)))


def _best(
    arms: FloatArray, beliefs: Beliefs, weights: FloatArray, scores: FloatArray, rng: Rng
) -> IntArray:
    """Return the arm of the largest optimistic score; scores (..., K) are those of estimates."""
    rows = None
    if len(arms) >= _MANY and not beliefs.batch:
        _check_scores(scores, arms, weights)
        rows = _candidates(arms, beliefs, weights, scores)
        arms, scores = arms[rows], scores[rows]
    totals = scores + _bonuses(arms, beliefs, weights)
    _check_scores(totals, arms, weights)
    sizes = np.vecdot(np.abs(weights), np.sqrt(np.vecdot(beliefs.theta, beliefs.theta)))
    best = best_by_products(totals, arms, sizes, rng)
    return best if rows is None else np.asarray(rows[best])


def _check_scores(scores: FloatArray, arms: FloatArray, weights: FloatArray) -> None:
    """Refuse weights or arms whose scores are not finite."""
    if not math.isfinite(sum_of_squares(scores)):
        check_finite(weights, weights, "weights")
        refuse(arms, "features")


def _bonuses(arms: FloatArray, beliefs: Beliefs, weights: FloatArray) -> FloatArray:
    """Return what optimism adds to weighted estimates, (..., K)."""
    inverse, _ = beliefs.coverage
    widths = _widths(beliefs)
    if inverse.shape[-3] == 1:  # the same standard error, up to the noise, for every objective
        errors = np.sqrt(np.maximum(np.vecdot(arms @ inverse[..., 0, :, :], arms), 0))
        return np.asarray(np.vecdot(weights, widths)[..., None] * errors)
    wide = arms[..., None, :, :]
    errors = np.sqrt(np.maximum(np.vecdot(wide @ inverse, wide), 0))
    return np.asarray(np.vecmat(weights * widths, errors))


def _candidates(
    arms: FloatArray, beliefs: Beliefs, weights: FloatArray, scores: FloatArray
) -> IntArray:
    """Return those of many arms (K, d) that optimism may prefer, of one learner.

    No standard error is above the norm of the arm times the root of the trace of ``V^+``.
    """
    inverse, _ = beliefs.coverage
    longest = np.sqrt(np.trace(inverse, axis1=-2, axis2=-1))
    reach = np.vecdot(weights, _widths(beliefs) * longest)
    bounds = scores + reach * np.sqrt(np.vecdot(arms, arms))
    return np.flatnonzero(bounds >= scores.max() - _NEAR * abs(scores.max()))
