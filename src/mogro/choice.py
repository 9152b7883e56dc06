"""The choice of an arm, written once: for a live decision and for ten thousand replications.

A policy says what arms are worth to it, how it selects by that, and when it explores or is
optimistic; what it may know is :class:`~mogro.beliefs.Beliefs`. Everything works over leading batch
axes, one entry for each learner; ``()`` is a single one.
"""

import math
from typing import NamedTuple, Protocol, cast

import numpy as np

from mogro._algebra import arms_in_turn, distinct, matvec, rounding, vecmat
from mogro._screening import (
    clearly_best,
    is_shared,
    shared_scores,
    shared_variances,
    take_scores,
)
from mogro._streams import Rng, part_of
from mogro._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_floats,
    check_shape,
    floats,
    without_warnings,
)
from mogro.beliefs import Beliefs, covariance, take, take_arms, variances
from mogro.exploration import Exploration, ExplorationContext
from mogro.scalarization import (
    FixedWeights,
    RandomWeights,
    RoundRobin,
    Scalarization,
    is_nonlinear,
)
from mogro.selection import FrontSelection, Selection, draw_member

_OPTIMISTIC_ARMS = 256  # arms that a round is optimistic about
_EQUAL_SCORES = 1e-9  # scores this close, relatively, are equal
_TINY = float(np.finfo(np.float64).tiny)
_FALSE = np.zeros((), dtype=np.bool_)
_FALSE.flags.writeable = False


_SUM_TO_1 = (RandomWeights, FixedWeights, RoundRobin)  # whose weights do


class Optimism(NamedTuple):
    """An optimistic round: standard errors to add, and the number of such rounds before it.

    They are those of every objective, or of the sum that weights (M,) make of the objectives, where
    these are known before they are drawn.
    """

    width: float
    turn: int
    weights: FloatArray | None = None


class Prices(NamedTuple):
    """What budgets add to the weights, (M,), and a decision's worth of each objective, (M,)."""

    weights: FloatArray
    worth: FloatArray

    def optimism(self, beliefs: Beliefs) -> FloatArray:
        """Return by what optimistic rounds count errors beside the weights, (..., M).

        An observation is wrong by a decision's worth at most: where few arms are dear, and have
        most of the noise, it says little of the others.
        """
        with np.errstate(divide="ignore"):
            shares = np.minimum(1.0, self.worth / np.sqrt(beliefs.noise))
        return np.asarray(np.abs(self.weights) * shares)


class ChoiceRule(Protocol):
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

    def optimism(self, beliefs: Beliefs, step: int) -> Optimism | None:
        """Return how optimistic a round is; None for most rounds and policies."""

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M), to be maximised; -inf: never."""


class SearchableArms(Protocol):
    """Arms on offer to one learner that know a faster way to the best one: those of a catalogue."""

    @property
    def features(self) -> FloatArray:
        """The arms, (K, d), finite."""

    def best(self, direction: FloatArray) -> IntArray:
        """Return the positions of the arms that are best for a direction, up to rounding."""


Arms = FloatArray | SearchableArms


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


class _Round(NamedTuple):
    """What a choice is made of, for all learners or some."""

    arms: Arms
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


def choose(
    policy: ChoiceRule,
    arms: Arms,
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
        :class:`SearchableArms`.
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
    this = _Round(arms, beliefs, step, rng, selection or policy.selection, prices)
    share = 1 - (1 - epsilon) * (1 - policy.epsilon)
    if share > 0:
        uniform, drawn = _uniform_draws(this, share)
        if share == 1:
            return Choice(drawn, None, np.zeros_like(uniform), uniform)
    choice = _exploit(policy, this) if explore is None else _explore(policy, this, explore)
    if share > 0 and uniform.any():
        arm = np.where(uniform, drawn, choice.arm)
        return Choice(arm, None, choice.exploring & ~uniform, uniform)
    return choice


def _uniform_draws(this: _Round, share: float) -> tuple[BoolArray, IntArray]:
    """Draw who takes a uniform arm, and which."""
    arms = this.features
    check_finite(arms, arms)
    draws = this.rng.random((*this.beliefs.batch, 2))
    index = (draws[..., 1] * arms.shape[-2]).astype(np.int64)
    return np.asarray(draws[..., 0] < share), np.asarray(index)


def _explore(policy: ChoiceRule, this: _Round, explore: ExplorationContext) -> Choice:
    """Explore where a learner has to, exploit elsewhere; each draws only what it needs."""
    assert policy.exploration is not None
    batch, rng, indices = explore.batch, this.rng, explore.learners
    exploring = np.zeros(math.prod(batch), dtype=np.bool_)
    exploring[indices] = True
    arm = np.empty(exploring.size, dtype=np.int64)
    arm[indices] = policy.exploration.choose(explore, rng=part_of(rng, indices))
    others = np.flatnonzero(~exploring)
    if others.size:
        arms, known = take_arms(this.features, batch, others), this.beliefs.take(others)
        part = this._replace(arms=arms, beliefs=known, rng=part_of(rng, others))
        arm[others], _, exploring[others], _ = _exploit(policy, part)
    return Choice(arm.reshape(batch), None, exploring.reshape(batch), this.all_false)


def _exploit(policy: ChoiceRule, this: _Round) -> Choice:
    """Select by values: a member of their front, or the arm with the largest score."""
    selection = this.selection
    optimism = optimism_in_round(policy, this.beliefs, this.step, selection, this.prices)
    linear = not hasattr(selection, "members") and not is_nonlinear(selection)
    if policy.greedy and linear:
        return _by_weights(this, optimism)
    values = values_in_round(policy, this.features, this.beliefs, this.rng, optimism, this.prices)
    if this.prices is not None:
        values = add_prices(values, this.beliefs.theta, this.features, this.prices.weights)
    if hasattr(selection, "members"):
        front, all_false = cast("FrontSelection", selection), this.all_false
        arm = draw_member(front, _possible(values, 1.0)[0], rng=this.rng)
        return Choice(arm, None, all_false | bool(optimism), all_false)
    return _by_scores(this, values, optimism)


def _drawn_weights(this: _Round) -> FloatArray:
    """Draw the weights of a round, (..., M) up to broadcasting."""
    scalarization = cast("Scalarization", this.selection)
    objectives, batch = this.beliefs.theta.shape[-2], this.beliefs.batch
    return np.asarray(scalarization.weights(objectives, step=this.step, batch=batch, rng=this.rng))


def _by_weights(this: _Round, optimism: Optimism | None) -> Choice:
    """Let weights meet the estimates first: one product of the arms with a vector."""
    arms, beliefs, rng, prices = this.arms, this.beliefs, this.rng, this.prices
    weights = drawn = bonus = _drawn_weights(this)
    if prices is not None:
        total = 1.0
        if not isinstance(this.selection, _SUM_TO_1):
            total = drawn.sum(axis=-1, keepdims=True)
        weights = drawn + total * prices.weights
        if optimism is not None:
            bonus = drawn + total * prices.optimism(beliefs)
    direction = vecmat(weights, beliefs.theta)
    if optimism is None and not isinstance(arms, np.ndarray):
        check_finite(direction, weights, "weights")
        tied = arms.best(direction)
        best = int(tied[0]) if len(tied) == 1 else _draw(arms.features, tied, rng)
        return Choice(np.asarray(best), drawn, _FALSE, _FALSE)
    features = this.features
    many = beliefs.batch and is_shared(features) and beliefs.expected.W.shape[-3] == 1
    choose_arms = _screened if many else best_arms
    arm, another = choose_arms(features, beliefs, bonus, direction, rng, optimism)
    return Choice(arm, drawn, another, this.all_false)


def best_arms(
    arms: FloatArray,
    beliefs: Beliefs,
    weights: FloatArray,
    direction: FloatArray,
    rng: Rng,
    optimism: Optimism | None,
) -> tuple[IntArray, BoolArray]:
    """Return the arms (...) with the largest product, and whether optimism made them others.

    ``direction`` is what weights and prices make of the estimates, (..., d). Optimism adds errors
    by the sizes of both, (..., M).
    """
    sizes, scores = np.abs(direction), matvec(arms, direction)
    squares = scores.dot(scores) if scores.ndim == 1 else np.vdot(scores, scores)
    if not math.isfinite(squares):
        check_finite(direction, weights, "weights")
        refuse(arms, "features")
    if optimism is None:
        no = np.zeros(beliefs.batch, dtype=np.bool_) if scores.ndim > 1 else _FALSE
        return _best(scores, arms, sizes, rng), no
    turn, variance = _variances_in_turn(arms, beliefs, optimism)
    total, noise = scores.copy(), beliefs.noise
    if variance.shape[-1] == 1:
        bonus = np.vecdot(_errors(noise, optimism), weights)[..., None] * np.sqrt(variance[..., 0])
    else:
        bonus = np.vecdot(_errors(variance * noise[..., None, :], optimism), weights[..., None, :])
    total[..., turn] += bonus
    arm = _first_copies(arms, _best(total, arms, sizes, rng))
    return arm, _is_another(scores, arm)


@without_warnings
def _screened(
    arms: FloatArray,
    beliefs: Beliefs,
    weights: FloatArray,
    direction: FloatArray,
    rng: Rng,
    optimism: Optimism | None,
) -> tuple[IntArray, BoolArray]:
    """Do what :func:`best_arms` does where many learners share the arms; see _screening."""
    batch, dim = beliefs.batch, arms.shape[-1]
    scores, error = shared_scores(arms, direction)
    slack = 16 * error  # more than ties, and rounding in either way
    if optimism is None:
        arm, doubtful = clearly_best(scores, slack)
        another = np.zeros(arm.shape, dtype=np.bool_)
    else:
        arm, another, doubtful = _screened_optimism(arms, beliefs, weights, scores, slack, optimism)
    if doubtful.size:
        arm[doubtful], another[doubtful] = best_arms(
            take_arms(arms, batch, doubtful),
            beliefs.take(doubtful),
            take(np.broadcast_to(weights, (*batch, weights.shape[-1])), batch, doubtful),
            direction.reshape(-1, dim)[doubtful],
            part_of(rng, doubtful),
            optimism,
        )
    return arm.reshape(batch), another.reshape(batch)


def _screened_optimism(
    arms: FloatArray,
    beliefs: Beliefs,
    weights: FloatArray,
    scores: FloatArray,
    slack: float,
    optimism: Optimism,
) -> tuple[IntArray, BoolArray, IntArray]:
    """Return the best arms (n,), whether optimism made them others, and where this is doubtful."""
    turn = arms_in_turn(arms.shape[-2], optimism.turn, _OPTIMISTIC_ARMS)
    width = np.vecdot(_errors(beliefs.noise, optimism), weights)
    S = covariance(beliefs.expected.W[..., 0, :, :])
    squares, error = shared_variances(arms[..., turn, :], S, width * width)
    total = np.sqrt(squares, out=squares)
    total += scores[:, turn]
    if total.size < scores.size:
        total, some = scores.copy(), total
        total[:, turn] = some
    arm, doubtful = clearly_best(total, slack + 4 * math.sqrt(error))
    top, chosen = take_scores(scores, scores.argmax(axis=-1)), take_scores(scores, arm)
    behind = top - chosen - _EQUAL_SCORES * np.maximum(np.abs(top), np.abs(chosen))
    unsure = np.abs(behind) <= slack
    unsure[doubtful] = True
    return arm, behind > 0, np.flatnonzero(unsure)


@without_warnings
def _by_scores(this: _Round, values: FloatArray, optimism: Optimism | None) -> Choice:
    """Score the values of the arms (..., K, M)."""
    arms, beliefs, rng = this.features, this.beliefs, this.rng
    prices = None if this.prices is None else this.prices.weights
    scalarization = cast("Scalarization", this.selection)
    weights, all_false, theta = _drawn_weights(this), this.all_false, beliefs.theta
    sizes = vecmat(np.abs(weights), np.abs(theta_with_prices(theta, prices)))
    arm = _best(_scores(values, weights, scalarization), arms, sizes, rng)
    if optimism is None:
        return Choice(arm, weights, all_false, all_false)
    estimates = add_prices(beliefs.estimates(arms), theta, arms, prices)
    greedy, arm = _scores(estimates, weights, scalarization), _first_copies(arms, arm)
    return Choice(arm, weights, _is_another(greedy, arm), all_false)


def optimism_in_round(
    policy: ChoiceRule,
    beliefs: Beliefs,
    step: int,
    selection: Selection,
    prices: Prices | None = None,
) -> Optimism | None:
    """Return how optimistic a round is, and about which sum, where that is known beforehand."""
    optimism = policy.optimism(beliefs, step)
    if optimism is None or not isinstance(selection, FixedWeights):
        return optimism
    weights = np.array(selection.vector)
    if prices is not None:
        weights = weights + prices.optimism(beliefs)
    return optimism._replace(weights=weights)


@without_warnings
def values_in_round(
    policy: ChoiceRule,
    arms: FloatArray,
    beliefs: Beliefs,
    rng: Rng,
    optimism: Optimism | None,
    prices: Prices | None,
) -> FloatArray:
    """Return what arms (..., K, d) are worth in a round, (..., K, M), before prices."""
    if optimism is not None:
        values = beliefs.estimates(arms)
        turn, variance = _variances_in_turn(arms, beliefs, optimism)
        bonus = _errors(variance * beliefs.noise[..., None, :], optimism)
        if prices is not None:
            added = prices.optimism(beliefs)[..., None, :]
            bonus = bonus + np.vecdot(bonus, added)[..., None]
        values[..., turn, :] += bonus
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


def _possible(values: FloatArray, below: float) -> tuple[FloatArray, BoolArray | None]:
    """Return values (..., K, M) in which arms that are worth -inf are the worst, and which are.

    They are worth the least of the other arms, less ``below`` in its unit.
    """
    if values[..., 0].min() > -math.inf:
        return values, None
    never = np.isneginf(values[..., :1])
    least = np.where(never, math.inf, values).min(axis=-2, keepdims=True)
    return np.where(never, least - below * (1 + np.abs(least)), values), never[..., 0]


def _variances_in_turn(
    arms: FloatArray, beliefs: Beliefs, optimism: Optimism
) -> tuple[slice, FloatArray]:
    """Return which arms a round is optimistic about, and their ``x' S x``, (..., K', G).

    What is in flight counts as if it had been observed. Of many arms, a round is optimistic about
    some, evenly spaced, and the next one about others: it costs about as much as any round.
    """
    turn = arms_in_turn(arms.shape[-2], optimism.turn, _OPTIMISTIC_ARMS)
    return turn, variances(arms[..., turn, :], beliefs.expected.W)


def _errors(variance: FloatArray, optimism: Optimism) -> FloatArray:
    """Return what optimism adds to values (..., M) of some variances: standard errors.

    With weights, what adds most to their sum: as many standard errors of the sum.
    """
    weights = optimism.weights
    if weights is None:
        return np.asarray(optimism.width * np.sqrt(variance))
    error = np.sqrt(np.vecdot(variance, weights * weights))[..., None]
    return np.asarray(optimism.width * weights * variance / np.maximum(error, _TINY))


def _scores(values: FloatArray, weights: FloatArray, scalarization: Scalarization) -> FloatArray:
    """Return the scores (..., K) of arms with values (..., K, M); -inf: never."""
    check_finite(weights, weights, "weights")
    values, never = _possible(values, 0.0)
    if is_nonlinear(scalarization):
        scores = as_floats(scalarization.score(values, weights), "scores").copy()
    else:
        scores = np.vecdot(values, weights[..., None, :])
    return scores if never is None else np.where(never, -math.inf, scores)


def _best(scores: FloatArray, arms: FloatArray, sizes: FloatArray, rng: Rng) -> IntArray:
    """Return the arm of each learner with the largest score, (...), ties drawn.

    Scores are equal up to the rounding of products of the best arm with a vector whose entries are
    as large as ``sizes``, (..., d): whatever the units of features. They change for a moment only.
    """
    unit = 4 * rounding(arms.shape[-1])
    if scores.ndim == 1:
        first = scores.argmax()
        top = scores.item(first)
        if not math.isfinite(top):
            _refuse_scores(top)
        near = top - unit * (abs(top) + float(sizes.dot(np.abs(arms[first]))))
        scores[first] = -math.inf
        second = scores.item(scores.argmax())
        scores[first] = top
        if second < near:
            return np.asarray(first)
        return np.asarray(_draw(arms, (scores >= near).nonzero()[0], rng))
    best = np.asarray(scores.argmax(axis=-1))
    tops = np.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
    if not np.isfinite(tops).all():
        _refuse_scores(float(tops[~np.isfinite(tops)][0]))
    terms = np.vecdot(np.abs(_chosen_features(arms, best)), sizes)
    close = scores >= (tops - unit * (np.abs(tops) + terms))[..., None]
    if np.count_nonzero(close) > best.size:
        everywhere = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))
        for learner in np.flatnonzero(np.count_nonzero(close, axis=-1) > 1):
            at = np.unravel_index(learner, best.shape)
            theirs = part_of(rng, np.array(learner))
            best[at] = _draw(everywhere[at], np.flatnonzero(close[at]), theirs)
    return best


def _refuse_scores(top: float) -> None:
    if top == -math.inf:
        raise ValueError("scores: expected an arm with a score above -inf, got -inf for all arms")
    raise ValueError(f"scores: expected numbers or -inf, got {top}")


def _draw(arms: FloatArray, tied: IntArray, rng: Rng) -> int:
    """Return one of the tied arms of (K, d): copies stay with the first, others are drawn."""
    different = distinct(arms, tied)
    if len(different) == 1:
        return int(different[0])
    return int(different[int(rng.random(()) * len(different))])


def _first_copies(arms: FloatArray, best: IntArray) -> IntArray:
    """Return the first copies of the best arms (...): errors of copies round as they please."""
    if best.ndim == 0 and arms.ndim == 2:
        near = (arms[:best, -1] == arms[best, -1]).nonzero()[0]  # seldom any: less than a scan
        copies = near[(arms[near] == arms[best]).all(axis=-1)] if near.size else near
        return copies[0] if copies.size else best
    return np.asarray(
        (arms == _chosen_features(arms, best)[..., None, :]).all(axis=-1).argmax(axis=-1)
    )


def _is_another(scores: FloatArray, arm: IntArray) -> BoolArray:
    """Tell whether arms (...) are others than the best by scores (..., K)."""
    if scores.ndim == 1:
        best, taken = scores.item(scores.argmax()), scores.item(arm)
        return np.asarray(taken < best - _EQUAL_SCORES * max(abs(best), abs(taken)))
    top = scores.max(axis=-1)
    chosen = np.take_along_axis(scores, arm[..., None], axis=-1)[..., 0]
    return np.asarray(chosen < top - _EQUAL_SCORES * np.maximum(np.abs(top), np.abs(chosen)))


def _chosen_features(arms: FloatArray, best: IntArray) -> FloatArray:
    """Return the features (..., d) of the best arms (...)."""
    if arms.ndim == 2:
        return np.asarray(arms[best])
    everywhere = np.broadcast_to(arms, (*best.shape, *arms.shape[-2:]))
    return np.take_along_axis(everywhere, best[..., None, None], axis=-2)[..., 0, :]


def arm_features(arms: Arms) -> FloatArray:
    """Return the features of arms, (..., K, d)."""
    return arms if isinstance(arms, np.ndarray) else arms.features


def check_finite(values: FloatArray, given: FloatArray, name: str = "features") -> None:
    """Refuse what was given if values computed from it are not finite: less than a scan."""
    if not math.isfinite(np.vdot(values, values)):
        refuse(given, name)


def refuse(given: FloatArray, name: str) -> None:
    """Say what is wrong with what leads to numbers that are not finite."""
    floats(given, name, shape=given.shape)
    raise ValueError(f"{name}: expected values whose squares and scores are finite")
