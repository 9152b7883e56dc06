"""With what probability :func:`mogro.choice.choose` takes each arm: its twin."""

import math

import numpy as np

from mogro._algebra import distinct, rounding
from mogro._streams import Rng, part_of
from mogro._validation import FloatArray, IntArray, floats
from mogro.beliefs import Beliefs
from mogro.choice import Arms, ChoiceRule, arm_features, choose
from mogro.exploration import ExplorationContext, arms_to_explore
from mogro.probability import (
    Probabilities,
    counted_probabilities,
    exact_probabilities,
    merge_within_errors,
    selection_probabilities,
)
from mogro.scalarization import FixedWeights, RoundRobin
from mogro.selection import Selection, is_front
from mogro.valuation import (
    Prices,
    add_prices,
    optimism_in_round,
    theta_with_prices,
    values_in_round,
)

_CHOICES = 1024  # whole choices, where probabilities can only be counted
_FEATURES_AT_ONCE = 2**18  # features of arms that are drawn at once then


def probabilities(
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
    chosen: int | None = None,
) -> Probabilities:
    """Return with what probability :func:`choose` takes each arm, (..., K), and standard errors.

    Errors are 0 where probabilities are exact. Parameters are those of :func:`choose`, and what one
    learner chose, unless that was a uniform draw: estimates count it, and look more closely at it.
    """
    offered = floats(arm_features(arms), "features", shape=(..., "K", "d"))
    batch, shape = beliefs.batch, offered.shape[-2:]
    exploring = [] if explore is None else explore.learners.tolist()
    uniform_share = 1 - (1 - epsilon) * (1 - policy.epsilon)
    arms_by_learner = np.broadcast_to(offered, (*batch, *shape)).reshape(-1, *shape)
    answers = []
    for learner, features in enumerate(arms_by_learner):
        learner_rng = part_of(rng, np.array([learner])) if batch else rng
        if uniform_share == 1:
            answer = exact_probabilities(np.full(shape[0], 1 / shape[0]))
        elif explore is not None and learner in exploring:
            index = np.array([exploring.index(learner)])
            answer = _when_exploring(policy, explore.subset(index), learner_rng, chosen)
        else:
            learner_beliefs = beliefs.take(np.array([learner]))
            how = selection or policy.selection
            answer = _when_exploiting(
                policy, features, learner_beliefs, step, learner_rng, how, prices, chosen
            )
        answers.append(_mix_with_uniform(answer, uniform_share))
    columns = (np.stack(column).reshape(*batch, shape[0]) for column in zip(*answers, strict=True))
    return Probabilities(*columns)


def probabilities_of_values(
    values: FloatArray,
    arms: FloatArray,
    theta: FloatArray,
    *,
    step: int,
    rng: np.random.Generator,
    selection: Selection,
    epsilon: float = 0.0,
    prices: FloatArray | None = None,
    chosen: int | None = None,
) -> Probabilities:
    """Return what :func:`probabilities` does for one learner, by what arms are worth to it, (K, M).

    It is the same to the bit if the learner did not explore, its values were not random, and
    ``rng`` is :func:`estimation_rng`. Arms are (K, d) and estimates (M, d); ``epsilon`` includes
    the policy's own.
    """
    values, theta = add_prices(values, theta, arms, prices), theta_with_prices(theta, prices)
    rows = np.flatnonzero(values[:, 0] > -math.inf)
    if is_front(selection):
        values = values[rows]
    else:
        rows = distinct(arms, rows)
        values, selection = _merge_rounding(values[rows], arms[rows], theta, selection, step)
        index = np.flatnonzero(rows == chosen)
        chosen = int(index[0]) if index.size else None
    result = np.zeros((2, len(arms)))
    result[:, rows] = selection_probabilities(values, selection, step=step, rng=rng, chosen=chosen)
    return _mix_with_uniform(Probabilities(*result), epsilon)


def estimation_rng(rng: Rng) -> np.random.Generator:
    """Return the generator by which probabilities are estimated."""
    return np.random.default_rng(rng.random((1, 8)).view(np.uint64).ravel())


def _mix_with_uniform(answer: Probabilities, share: float) -> Probabilities:
    """Return probabilities with a share of uniform draws."""
    return Probabilities(
        share / len(answer.values) + (1 - share) * answer.values, (1 - share) * answer.errors
    )


def _when_exploring(
    policy: ChoiceRule, explore: ExplorationContext, rng: Rng, chosen: int | None
) -> Probabilities:
    """Return the probabilities of the arms of one learner that explores."""
    assert policy.exploration is not None
    probabilities = getattr(policy.exploration, "probabilities", None)
    if probabilities is not None:
        return exact_probabilities(np.asarray(probabilities(explore)[0]))
    choices = [arms_to_explore(policy.exploration, explore, rng=rng)[0] for _ in range(_CHOICES)]
    return counted_probabilities(
        np.bincount(choices, minlength=explore.arms.shape[-2]), _CHOICES, chosen
    )


def _when_exploiting(
    policy: ChoiceRule,
    arms: FloatArray,
    beliefs: Beliefs,
    step: int,
    rng: Rng,
    selection: Selection,
    prices: Prices | None,
    chosen: int | None,
) -> Probabilities:
    """Return the probabilities of arms (K, d) of one learner, with beliefs (1, ...)."""
    number = len(arms)
    generator = estimation_rng(rng)
    state = generator.bit_generator.state
    optimism = optimism_in_round(policy, beliefs, step, selection, prices)
    values = values_in_round(policy, arms[None], beliefs, generator, optimism, prices)
    values = values.reshape(number, -1)
    if generator.bit_generator.state != state:  # values that are random themselves
        choices = _repeated_choices(policy, arms, beliefs, step, generator, selection, prices)
        return counted_probabilities(np.bincount(choices, minlength=number), len(choices), chosen)
    return probabilities_of_values(
        values,
        arms,
        beliefs.theta[0],
        step=step,
        rng=generator,
        selection=selection,
        prices=None if prices is None else prices.weights,
        chosen=chosen,
    )


def _merge_rounding(
    values: FloatArray, arms: FloatArray, theta: FloatArray, selection: Selection, step: int
) -> tuple[FloatArray, Selection]:
    """Return values (K, M) in which all that rounding may have set apart is equal.

    A choice draws among arms whose scores differ by the rounding of products. It grows with the
    sizes of arms (K, d) and estimates (M, d), which values do not show. Weights that are known
    beforehand make one score of them.
    """
    if isinstance(selection, FixedWeights | RoundRobin):
        weights = selection.weights(len(theta), step=step, batch=(), rng=np.random.default_rng(0))
        values, theta = values @ weights[:, None], weights[None] @ theta
        selection = FixedWeights([1.0])
    sizes = np.abs(arms) @ np.abs(theta).T + np.abs(values)
    return merge_within_errors(values, 2 * rounding(arms.shape[-1]) * sizes), selection


def _repeated_choices(
    policy: ChoiceRule,
    arms: FloatArray,
    beliefs: Beliefs,
    step: int,
    rng: Rng,
    selection: Selection,
    prices: Prices | None,
) -> IntArray:
    """Return the arms of many selections of one learner, drawn as a batch of equal learners."""
    choices = []
    at_once = max(1, _FEATURES_AT_ONCE // arms.size)
    for start in range(0, _CHOICES, at_once):
        copies = beliefs.take(np.zeros(min(at_once, _CHOICES - start), dtype=np.int64))
        choice = choose(
            policy,
            arms,
            copies,
            step=step,
            rng=rng,
            explore=None,
            selection=selection,
            prices=prices,
        )
        choices.append(choice.arm[~choice.uniform])
    return np.concatenate(choices)
