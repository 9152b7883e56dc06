"""Optimistic rounds: how a greedy policy without a threshold of its own follows the noise.

Once every direction is known a little, every few rounds an arm is worth its estimate plus two
standard errors instead of its estimate alone. Where noise is small that changes no choice; where
it is large it tries the arms that may be better than they look, and no others. With n observations
it is the turn of every ``sqrt(n) / 3``-th round, so that they are ``6 sqrt(n)`` in all.
"""

import math

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray
from mogro.choice.beliefs import Beliefs
from mogro.choice.rule import Rule

_MANY = 256  # arms from which on most are passed over without a look at their standard errors


def is_optimistic(policy: Rule, beliefs: Beliefs, step: int) -> bool:
    """Tell whether a round is optimistic: the policy is, and it is the turn of its optimism."""
    return policy.optimistic and step % _period(beliefs) == 0


def _period(beliefs: Beliefs) -> int:
    """Return every how many rounds it is the turn of optimism.

    What fades counts as far as it is left, so that a learner that forgets goes on being curious.
    """
    counts = beliefs.counts
    observed = counts if isinstance(counts, int) else np.max(counts)
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
    return np.asarray(2 * np.sqrt(2 / (objectives + 1) * beliefs.noise))


def values_in_round(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng
) -> FloatArray:
    """Return what arms (..., K, d) are worth in a round, (..., K, M)."""
    if is_optimistic(policy, beliefs, step):
        return optimistic_values(arms, beliefs)
    return policy.values(arms, beliefs, rng=rng)


def candidates(arms: FloatArray, beliefs: Beliefs, weights: FloatArray) -> IntArray | None:
    """Return those of many arms (K, d) that optimism may prefer, of one learner; None for all.

    No standard error is above the norm of the arm times the root of the trace of ``V^+``.
    """
    if len(arms) < _MANY or beliefs.batch:
        return None
    scores = np.matvec(arms, np.vecmat(weights, beliefs.theta))
    inverse, _ = beliefs.coverage
    longest = np.sqrt(np.trace(inverse, axis1=-2, axis2=-1))
    reach = float(np.vecdot(weights, _widths(beliefs) * longest))
    norms = np.sqrt(np.vecdot(arms, arms))
    return np.flatnonzero(scores + reach * norms >= scores.max())
