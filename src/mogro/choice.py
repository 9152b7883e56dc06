"""The choice of an arm, written once: for a live decision and for ten thousand replications.

A policy says what arms are worth to it, how it selects by that, and when it explores or is
optimistic; what it may know is :class:`~mogro.beliefs.Beliefs`. Everything works over leading batch
axes, one entry for each learner; ``()`` is a single one.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeGuard, cast

import numpy as np

from mogro._algebra import matvec, sums, vecmat
from mogro._screening import is_shared, screened_arms
from mogro._streams import Rng, part_of
from mogro._ties import best, differ_from_best, draw, first_copies
from mogro._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_floats,
    check_finite,
    refuse,
    without_warnings,
)
from mogro.beliefs import Beliefs, take, take_arms, variances
from mogro.exploration import Exploration, ExplorationContext, arms_to_explore
from mogro.scalarization import Scalarization, is_linear, is_nonlinear
from mogro.selection import Selection, draw_member, is_front
from mogro.valuation import (
    Optimism,
    Prices,
    ValueRule,
    add_prices,
    optimism_in_round,
    theta_with_prices,
    values_in_round,
)

_FALSE = np.zeros((), dtype=np.bool_)
_FALSE.flags.writeable = False


class ChoiceRule(ValueRule, Protocol):
    """What a choice asks of a policy: settings, and what arms are worth to it."""

    @property
    def selection(self) -> Selection:
        """How to select by the values of the arms."""

    @property
    def exploration(self) -> Exploration | None:
        """How to explore, if the policy does."""

    @property
    def epsilon(self) -> float:
        """Probability of a uniformly random arm instead."""

    @property
    def greedy(self) -> bool:
        """Whether ``values`` are the plain estimates, so that weights can meet them first."""


class SearchableArms(Protocol):
    """Arms on offer to one learner that know a faster way to the best one: those of a catalogue."""

    @property
    def features(self) -> FloatArray:
        """The arms, (K, d), finite."""

    def best(self, direction: FloatArray) -> IntArray:
        """Return the positions of the arms that are best for a direction, up to rounding."""


Arms = FloatArray | SearchableArms


class LimitedArms(Protocol):
    """Arms on offer to one learner of which some are left; finding out which takes long."""

    def __len__(self) -> int:
        """Return the number of all arms, K."""

    @property
    def offered(self) -> Arms:
        """All arms."""

    @property
    def features(self) -> FloatArray:
        """The arms that are left, (L, d)."""

    @property
    def rows(self) -> IntArray:
        """Which of all arms these are, (L,)."""

    @property
    def taken(self) -> int | None:
        """Which of all arms was taken, if one was."""

    def take(self, rows: Sequence[int]) -> bool:
        """Take the first of some of all arms, if all of them are left, and tell whether it was."""


def is_limited(arms: Arms | LimitedArms) -> TypeGuard[LimitedArms]:
    """Tell whether only some arms are left."""
    return hasattr(arms, "taken")


class Choice(NamedTuple):
    """What was chosen, for every learner.

    Attributes
    ----------
    arm
        (...), integers.
    weights
        Those drawn for the choice, (..., M) up to broadcasting; None unless all drew some.
    exploring
        (...), whether the arm was chosen to explore.
    uniform
        (...), whether it was a uniform draw from all arms.
    """

    arm: IntArray
    weights: FloatArray | None
    exploring: BoolArray
    uniform: BoolArray


class _Inputs(NamedTuple):
    """What a choice is made of, for all learners or some."""

    arms: Arms | LimitedArms
    beliefs: Beliefs
    step: int
    rng: Rng
    selection: Selection
    prices: Prices | None

    @property
    def features(self) -> FloatArray:
        """The arms, (..., K, d)."""
        return arm_features(self.arms)

    @property
    def all_false(self) -> BoolArray:
        """False for each learner, (...)."""
        return np.zeros(self.beliefs.batch, dtype=np.bool_) if self.beliefs.batch else _FALSE

    def weights(self) -> FloatArray:
        """Draw the weights of a round, (..., M) up to broadcasting."""
        beliefs, scalarization = self.beliefs, cast("Scalarization", self.selection)
        objectives, batch = beliefs.theta.shape[-2], beliefs.batch
        return np.asarray(
            scalarization.weights(objectives, step=self.step, batch=batch, rng=self.rng)
        )


def choose(
    policy: ChoiceRule,
    arms: Arms | LimitedArms,
    beliefs: Beliefs,
    *,
    step: int,
    rng: Rng,
    explore: ExplorationContext | None,
    selection: Selection | None = None,
    epsilon: float = 0.0,
    prices: Prices | None = None,
) -> Choice:
    """Choose an arm for each learner: a uniform draw, or one to explore, or the best by its values.

    Parameters
    ----------
    policy
        How to choose.
    arms
        Arms on offer, (..., K, d), broadcastable to the batch of the beliefs; for one learner also
        :class:`SearchableArms`, or :class:`LimitedArms`.
    beliefs
        What is known.
    step
        Number of choices before.
    rng
        Where random numbers come from.
    explore
        The learners that have to explore; see :func:`mogro.exploration.needed_exploration`.
    selection
        Instead of the policy's own.
    epsilon
        Probability of a uniform draw, besides the policy's own.
    prices
        What budgets add to the weights, where these sum to 1; see :func:`add_prices`.
    """
    inputs = _Inputs(arms, beliefs, step, rng, selection or policy.selection, prices)
    share = 1 - (1 - epsilon) * (1 - policy.epsilon)
    choice = _choose(policy, inputs, explore, share)
    if is_limited(arms) and arms.taken is None:
        return choice._replace(arm=arms.rows[choice.arm])
    return choice


def _choose(
    policy: ChoiceRule, inputs: _Inputs, explore: ExplorationContext | None, share: float
) -> Choice:
    """Choose an arm for each learner, with a probability of a uniform draw."""
    uniform = None
    if share > 0:
        draws = inputs.rng.random((*inputs.beliefs.batch, 2))
        uniform = np.asarray(draws[..., 0] < share)
        if uniform.any():
            arms = inputs.features
            check_finite(arms, arms)
            drawn = (draws[..., 1] * arms.shape[-2]).astype(np.int64)
        if share == 1:
            return Choice(np.asarray(drawn), None, np.zeros_like(uniform), uniform)
    choice = _exploit(policy, inputs) if explore is None else _explore(policy, inputs, explore)
    if uniform is not None and uniform.any():
        arm = np.where(uniform, drawn, choice.arm)
        return Choice(arm, None, choice.exploring & ~uniform, uniform)
    return choice


def _explore(policy: ChoiceRule, inputs: _Inputs, explore: ExplorationContext) -> Choice:
    """Explore where a learner has to, exploit elsewhere; each draws only what it needs."""
    assert policy.exploration is not None
    batch, rng, learners = explore.batch, inputs.rng, explore.learners
    exploring = np.zeros(math.prod(batch), dtype=np.bool_)
    exploring[learners] = True
    arm = np.empty(exploring.size, dtype=np.int64)
    arm[learners] = arms_to_explore(policy.exploration, explore, rng=part_of(rng, learners))
    others = np.flatnonzero(~exploring)
    if others.size:
        arms, beliefs = take_arms(inputs.features, batch, others), inputs.beliefs.take(others)
        part = inputs._replace(arms=arms, beliefs=beliefs, rng=part_of(rng, others))
        arm[others], _, exploring[others], _ = _exploit(policy, part)
    return Choice(arm.reshape(batch), None, exploring.reshape(batch), inputs.all_false)


def _exploit(policy: ChoiceRule, inputs: _Inputs) -> Choice:
    """Select by values: a member of their front, or the arm with the largest score."""
    _, beliefs, step, rng, selection, prices = inputs
    optimism = optimism_in_round(policy, beliefs, step, selection, prices)
    if policy.greedy and is_linear(selection):
        return _by_weights(inputs, optimism)
    values = values_in_round(policy, inputs.features, beliefs, rng, optimism, prices)
    if prices is not None:
        values = add_prices(values, beliefs.theta, inputs.features, prices.weights)
    if is_front(selection):
        all_false = inputs.all_false
        arm = draw_member(selection, _possible(values, 1.0)[0], rng=rng)
        return Choice(arm, None, all_false | bool(optimism), all_false)
    return _by_scores(inputs, values, optimism)


def _by_weights(inputs: _Inputs, optimism: Optimism | None) -> Choice:
    """Let weights meet the estimates first: one product of the arms with a vector."""
    beliefs, prices = inputs.beliefs, inputs.prices
    weights = drawn = bonus = inputs.weights()
    if prices is not None:
        total = sums(drawn)
        weights = drawn + total * prices.weights
        if optimism is not None:
            known = optimism.weights
            bonus = drawn + total * prices.optimism(beliefs) if known is None else known
    direction = vecmat(weights, beliefs.theta)
    arms = inputs.arms
    if is_limited(arms):
        if optimism is None or optimism.is_about_all(len(arms)):
            # What is best of all arms is best of those that are left, if it is one of them. With
            # optimism, what was best before has to be one, too: it tells what optimism changed.
            arm, changed = _best_for(arms.offered, inputs, bonus, direction, optimism)
            rows = [arm.item()]
            if optimism is not None:
                rows.append(int(matvec(arm_features(arms.offered), direction).argmax()))
            if arms.take(rows):
                return Choice(arm, drawn, changed, _FALSE)
        arms = arms.features
    arm, changed = _best_for(cast("Arms", arms), inputs, bonus, direction, optimism)
    return Choice(arm, drawn, changed, inputs.all_false)


def _best_for(
    arms: Arms,
    inputs: _Inputs,
    weights: FloatArray,
    direction: FloatArray,
    optimism: Optimism | None,
) -> tuple[IntArray, BoolArray]:
    """Return the best arms for a direction, and whether optimism made them others."""
    if optimism is not None or isinstance(arms, np.ndarray):
        beliefs, rng = inputs.beliefs, inputs.rng
        return best_arms(arm_features(arms), beliefs, weights, direction, rng, optimism)
    check_finite(direction, weights, "weights")
    tied = arms.best(direction)
    first = int(tied[0]) if len(tied) == 1 else draw(arms.features, tied, inputs.rng)
    return np.asarray(first), _FALSE


def best_arms(
    arms: FloatArray,
    beliefs: Beliefs,
    weights: FloatArray,
    direction: FloatArray,
    rng: Rng,
    optimism: Optimism | None,
    *,
    alone: bool = False,
) -> tuple[IntArray, BoolArray]:
    """Return the arms (...) with the largest product, and whether optimism made them others.

    ``direction`` is what weights and prices make of the estimates, (..., d). Optimism adds errors
    by the sizes of both, (..., M). Learners that share arms are screened together, unless alone.
    """
    if direction.ndim > 1 and not alone and is_shared(arms) and beliefs.expected.W.shape[-3] == 1:
        arm, changed, doubtful = screened_arms(arms, beliefs, weights, direction, optimism)
        batch = beliefs.batch
        if doubtful.size:
            arm[doubtful], changed[doubtful] = best_arms(
                take_arms(arms, batch, doubtful),
                beliefs.take(doubtful),
                take(np.broadcast_to(weights, (*batch, weights.shape[-1])), batch, doubtful),
                take(direction, batch, doubtful),
                part_of(rng, doubtful),
                optimism,
                alone=True,
            )
        return arm.reshape(batch), changed.reshape(batch)
    scores = matvec(arms, direction)
    if not math.isfinite(np.vdot(scores, scores)):
        check_finite(direction, weights, "weights")
        refuse(arms, "features")
    if optimism is None:
        unchanged = _FALSE if scores.ndim == 1 else np.zeros(scores.shape[:-1], dtype=np.bool_)
        return best(scores, arms, direction, rng), unchanged
    optimistic, total = optimism.arms(arms.shape[-2]), scores.copy()
    variance, noise = variances(arms[..., optimistic, :], beliefs.expected.W), beliefs.noise
    if variance.shape[-1] == 1:  # one S: a root for each arm
        width = np.vecdot(optimism.bonus(noise), weights)
        total[..., optimistic] += width[..., None] * np.sqrt(variance[..., 0])
    else:
        bonus = optimism.bonus(variance * noise[..., None, :])
        total[..., optimistic] += np.vecdot(bonus, weights[..., None, :])
    arm = first_copies(arms, best(total, arms, direction, rng))
    return arm, differ_from_best(scores, arm)


@without_warnings
def _by_scores(inputs: _Inputs, values: FloatArray, optimism: Optimism | None) -> Choice:
    """Score the values of the arms (..., K, M)."""
    arms, beliefs, rng = inputs.features, inputs.beliefs, inputs.rng
    prices = None if inputs.prices is None else inputs.prices.weights
    scalarization = cast("Scalarization", inputs.selection)
    weights, all_false, theta = inputs.weights(), inputs.all_false, beliefs.theta
    sizes = vecmat(np.abs(weights), np.abs(theta_with_prices(theta, prices)))
    arm = best(_scores(values, weights, scalarization), arms, sizes, rng)
    if optimism is None:
        return Choice(arm, weights, all_false, all_false)
    estimates = add_prices(beliefs.estimates(arms), theta, arms, prices)
    greedy, arm = _scores(estimates, weights, scalarization), first_copies(arms, arm)
    return Choice(arm, weights, differ_from_best(greedy, arm), all_false)


def _possible(values: FloatArray, below: float) -> tuple[FloatArray, BoolArray | None]:
    """Return values (..., K, M) in which arms that are worth -inf are the worst, and which are.

    They are worth the least of the other arms, less ``below`` in its unit.
    """
    if values[..., 0].min() > -math.inf:
        return values, None
    never = np.isneginf(values[..., :1])
    least = np.where(never, math.inf, values).min(axis=-2, keepdims=True)
    return np.where(never, least - below * (1 + np.abs(least)), values), never[..., 0]


def _scores(values: FloatArray, weights: FloatArray, scalarization: Scalarization) -> FloatArray:
    """Return the scores (..., K) of arms with values (..., K, M); -inf: never."""
    check_finite(weights, weights, "weights")
    values, never = _possible(values, 0.0)
    if is_nonlinear(scalarization):
        scores = as_floats(scalarization.score(values, weights), "scores").copy()
    else:
        scores = np.vecdot(values, weights[..., None, :])
    return scores if never is None else np.where(never, -math.inf, scores)


def arm_features(arms: Arms | LimitedArms) -> FloatArray:
    """Return the features of arms, (..., K, d)."""
    return arms if isinstance(arms, np.ndarray) else arms.features
