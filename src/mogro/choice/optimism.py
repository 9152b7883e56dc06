"""Optimistic rounds: how a greedy policy without a threshold of its own follows the noise.

Once every direction is known a little, every few rounds an arm is worth its estimate plus some
standard errors instead of its estimate alone. Where noise is small that changes no choice; where
it is large it tries the arms that may be better than they look, and no others. With n observations
it is the turn of every ``sqrt(n) / 3``-th round, so that they are ``6 sqrt(n)`` in all. Of many
arms a round is optimistic about some, evenly spaced, and the next one about others: it costs about
as much as any round.
"""

import math
from typing import cast

import numpy as np

from mogro._streams import Rng
from mogro._ties import picked
from mogro._validation import BoolArray, FloatArray, IntArray, unwarned
from mogro.choice.beliefs import Beliefs
from mogro.choice.best import best_by_score, best_scored, check_finite
from mogro.choice.rule import Choice, Rule
from mogro.scalarization import Scalarization, is_nonlinear
from mogro.selection import Selection, draw_member, is_front

_NEAR = 1e-9  # scores this close, relatively, are equal
_AT_ONCE = 256  # arms that a round is optimistic about


def is_optimistic(policy: Rule, beliefs: Beliefs, step: int) -> bool:
    """Tell whether a round is optimistic: the policy is, and it is the turn of its optimism."""
    return policy.optimistic and step % _period(beliefs) == 0


def _period(beliefs: Beliefs) -> int:
    """Return every how many rounds it is the turn of optimism.

    What fades counts as far as it is left, so that a learner that forgets goes on being curious.
    """
    counts = beliefs.counts
    observed = counts if isinstance(counts, int) else int(max(counts.ravel().tolist()))
    return math.isqrt(observed) // 3 or 1


def _turn(count: int, beliefs: Beliefs, step: int) -> slice:
    """Return which of the arms a round is optimistic about: all, if they are few."""
    every = -(-count // _AT_ONCE)
    return slice(step // _period(beliefs) % every, None, every)


def optimistic_values(arms: FloatArray, beliefs: Beliefs, step: int) -> FloatArray:
    """Return estimates, plus standard errors where it is the turn, (..., K, M), of (..., K, d).

    Two standard errors for a single objective, and ``2 sqrt(2 / (M + 1))`` for M of them, so that
    it is about two for their sum with random weights, whose errors partly cancel. What is in
    flight counts as if it had been observed. Before an objective has more observations than
    directions its noise is unknown, and nothing is added.
    """
    values = beliefs.estimates(arms)
    turn = _turn(arms.shape[-2], beliefs, step)
    errors = np.swapaxes(_errors(arms[..., turn, :], beliefs), -1, -2)
    values[..., turn, :] += errors * _widths(beliefs)[..., None, :]
    return values


def _errors(arms: FloatArray, beliefs: Beliefs) -> FloatArray:
    """Return the standard errors (..., G, K) of arms (..., K, d) where the noise is 1."""
    inverse, _ = beliefs.coverage
    wide = arms if arms.ndim == 2 else arms[..., None, :, :]
    variances = np.vecdot(wide @ inverse, wide)
    np.maximum(variances, 0, out=variances)
    return np.asarray(np.sqrt(variances, out=variances))


def _widths(beliefs: Beliefs) -> FloatArray:
    """Return what is added for an arm of variance 1, (..., M)."""
    objectives = beliefs.theta.shape[-2]
    return np.asarray(np.sqrt(8 / (objectives + 1) * beliefs.noise))


def values_in_round(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng
) -> FloatArray:
    """Return what arms (..., K, d) are worth in a round, (..., K, M)."""
    if is_optimistic(policy, beliefs, step):
        return optimistic_values(arms, beliefs, step)
    return policy.values(arms, beliefs, rng=rng)


@unwarned
def choose_optimistically(
    arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> Choice:
    """Select by optimistic values; where estimates favour another arm, that is exploring."""
    objectives, batch = beliefs.theta.shape[-2], beliefs.batch
    no = np.zeros(batch, dtype=np.bool_)
    if is_front(selection):
        values = optimistic_values(arms, beliefs, step)
        check_finite(values, arms)
        return Choice(draw_member(selection, values, rng=rng), None, ~no, no)
    scalarization = cast("Scalarization", selection)
    weights = scalarization.weights(objectives, step=step, batch=batch, rng=rng)
    if is_nonlinear(scalarization):
        values = optimistic_values(arms, beliefs, step)
        check_finite(values, arms)
        chosen = best_by_score(arms, beliefs.theta, values, weights, scalarization, rng)
        scores = scalarization.score(beliefs.estimates(arms), weights)
    else:
        direction = np.vecmat(weights, beliefs.theta)
        scores = np.matvec(arms, direction)
        totals = scores.copy()
        turn = _turn(arms.shape[-2], beliefs, step)
        totals[..., turn] += _bonuses(arms[..., turn, :], beliefs, weights)
        chosen = best_scored(totals, arms, direction, rng)
    return Choice(chosen, weights, _is_another(scores, chosen), no)


def _is_another(scores: FloatArray, chosen: IntArray) -> BoolArray:
    """Tell whether arms (...) are others than the best by scores (..., K)."""
    if scores.ndim == 1:
        top, mine = scores.item(scores.argmax()), scores.item(chosen)
        return np.asarray(mine < top - _NEAR * max(abs(top), abs(mine)))
    best, own = scores.max(axis=-1), picked(scores, chosen, 0)
    return np.asarray(own < best - _NEAR * np.maximum(np.abs(best), np.abs(own)))


def _bonuses(arms: FloatArray, beliefs: Beliefs, weights: FloatArray) -> FloatArray:
    """Return what optimism adds to weighted estimates, (..., K)."""
    errors, widths = _errors(arms, beliefs), _widths(beliefs)
    if errors.shape[-2] > 1:
        return np.asarray(np.vecmat(weights * widths, errors))
    errors = errors[..., 0, :]  # the same, up to the noise, for every objective
    errors *= np.vecdot(weights, widths)[..., None]
    return errors
