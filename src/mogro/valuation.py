"""What arms are worth in a round: their estimates, optimism about them, and prices of budgets."""

import math
from typing import NamedTuple, Protocol

import numpy as np

from mogro._algebra import arms_in_turn, largest, matvec, vecmat
from mogro._streams import Rng
from mogro._validation import FloatArray, as_floats, check_finite, check_shape, without_warnings
from mogro.beliefs import Beliefs, variances
from mogro.priors import Learned, Prior
from mogro.scalarization import FixedWeights
from mogro.selection import Selection

_OPTIMISTIC_ARMS = 256  # arms that a round is optimistic about
_TINY = float(np.finfo(np.float64).tiny)


class Optimism(NamedTuple):
    """An optimistic round: standard errors to add, and the number of such rounds before it.

    They are those of every objective, or of the sum that weights (M,) make of the objectives, where
    these are known before they are drawn.
    """

    width: float
    turn: int
    weights: FloatArray | None = None

    def arms(self, count: int) -> slice:
        """Return which arms the round is optimistic about.

        Of many, some, evenly spaced, and the next one about others: it costs about as much as any
        round.
        """
        return arms_in_turn(count, self.turn, _OPTIMISTIC_ARMS)

    def is_about_all(self, count: int) -> bool:
        """Tell whether the round is optimistic about each of so many arms."""
        return count <= _OPTIMISTIC_ARMS

    def bonus(self, variance: FloatArray) -> FloatArray:
        """Return what to add to values (..., M) of some variances: standard errors.

        With weights, what adds most to their sum: as many standard errors of the sum.
        """
        if self.weights is None:
            return np.asarray(self.width * np.sqrt(variance))
        error = np.sqrt(np.vecdot(variance, self.weights * self.weights))[..., None]
        return np.asarray(self.width * self.weights * variance / np.maximum(error, _TINY))


class OptimisticPolicy(Protocol):
    """What the rule for optimistic rounds asks of a policy."""

    @property
    def objectives(self) -> int:
        """Their number, M."""

    @property
    def threshold(self) -> float | None:
        """Until when to explore; with one, no round is optimistic."""

    @property
    def prior(self) -> Prior:
        """What is believed before the first observation."""


def periodic_optimism(
    policy: OptimisticPolicy, beliefs: Beliefs, step: int, selection: Selection
) -> Optimism | None:
    """Return how optimistic a round is: without a threshold, every ``sqrt(n) / 3``-th is.

    Random weights of many objectives explore by themselves. Where nothing does, with a learned
    prior, before which no rounds go to explore, and weights that are known, every
    ``sqrt(n) / 8``-th round is. Every eighth of these rounds adds more and more standard errors, so
    that no arm is lost for good. Bonuses of objectives add up, where errors of a sum with random
    weights have a mean square of 2 / (M + 1); with weights that are fixed, the errors are those of
    the sum. What fades counts as far as it is left: a learner that forgets stays curious.
    """
    if policy.threshold is not None:
        return None
    objectives, n = policy.objectives, largest(beliefs.n)
    weights_known = objectives == 1 or isinstance(selection, FixedWeights)
    frequent = weights_known and isinstance(policy.prior, Learned)
    period = math.isqrt(int(n)) // (8 if frequent else 3) or 1
    if step % period:
        return None
    turn, spread = step // period, math.sqrt(2 / (objectives + 1))
    if turn % 8:
        return Optimism(2 * spread if frequent else 4 / (objectives + 1), turn)
    log_n = math.log(max(n, 1))
    return Optimism((max(2.0, log_n / 2) if frequent else 1.5 + log_n / 3) * spread, turn // 8)


class Prices(NamedTuple):
    """What budgets add to the weights, (M,), and a decision's worth of each objective, (M,)."""

    weights: FloatArray
    worth: FloatArray

    def optimism(self, beliefs: Beliefs) -> FloatArray:
        """Return by what optimistic rounds count errors beside the weights, (..., M).

        An observation is wrong by a decision's worth at most: where few arms are dear, and have
        most of the noise, it says little of the others.
        """
        shares = self.worth / np.maximum(self.worth, np.sqrt(beliefs.noise))
        return np.asarray(np.abs(self.weights) * shares)


class ValueRule(Protocol):
    """What arms are worth to a policy."""

    def optimism(self, beliefs: Beliefs, step: int, selection: Selection) -> Optimism | None:
        """Return how optimistic a round is that selects so; None for most rounds and policies."""

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M), to be maximised; -inf: never."""


def optimism_in_round(
    policy: ValueRule,
    beliefs: Beliefs,
    step: int,
    selection: Selection,
    prices: Prices | None = None,
) -> Optimism | None:
    """Return how optimistic a round is, and about which sum, where that is known beforehand."""
    optimism = policy.optimism(beliefs, step, selection)
    if optimism is None or not isinstance(selection, FixedWeights):
        return optimism
    weights = np.array(selection.vector)
    if prices is not None:
        weights = weights + prices.optimism(beliefs)
    return optimism._replace(weights=weights)


@without_warnings
def values_in_round(
    policy: ValueRule,
    arms: FloatArray,
    beliefs: Beliefs,
    rng: Rng,
    optimism: Optimism | None,
    prices: Prices | None,
) -> FloatArray:
    """Return what arms (..., K, d) are worth in a round, (..., K, M), before prices.

    Optimistic rounds count what is in flight as if it had been observed.
    """
    if optimism is not None:
        values, optimistic = beliefs.estimates(arms), optimism.arms(arms.shape[-2])
        variance = variances(arms[..., optimistic, :], beliefs.expected.W)
        bonus = optimism.bonus(variance * beliefs.noise[..., None, :])
        if prices is not None:
            added = prices.optimism(beliefs)[..., None, :]
            bonus = bonus + np.vecdot(bonus, added)[..., None]
        values[..., optimistic, :] += bonus
    else:
        values = as_floats(policy.values(arms, beliefs, rng=rng), "values")
    wanted = (arms.shape[-2], beliefs.theta.shape[-2])
    if values.shape[-2:] != wanted:
        check_shape(values, "values", (..., *wanted))
    if values.ndim != len(beliefs.batch) + 2:
        values = np.broadcast_to(values, (*beliefs.batch, *wanted))
    if not math.isfinite(np.vdot(values, values)):
        check_finite(arms, arms)
        if not (values < math.inf).all():
            raise ValueError("values: expected numbers or -inf from the policy, got inf or NaN")
        never = np.any(np.isneginf(values), axis=-1, keepdims=True)
        if never.all(axis=-2).any():
            raise ValueError("values: expected an arm worth more than -inf, got -inf for all arms")
        values = np.where(never, -math.inf, values)
    return values


def add_prices(
    values: FloatArray, theta: FloatArray, arms: FloatArray, prices: FloatArray | None
) -> FloatArray:
    """Return values (..., K, M) of which each has what the arm's estimates cost at prices (M,).

    For weights that sum to 1 that is as good as prices added to them. Fronts and scalarisations
    that are not linear know prices in this way, too: as they rise, what is dear is dominated.
    """
    if prices is None:
        return values
    return values + matvec(arms, vecmat(prices, theta))[..., None]


def theta_with_prices(theta: FloatArray, prices: FloatArray | None) -> FloatArray:
    """Return estimates (..., M, d) with prices (M,): what :func:`add_prices` makes of arms' own."""
    return theta if prices is None else theta + vecmat(prices, theta)[..., None, :]
