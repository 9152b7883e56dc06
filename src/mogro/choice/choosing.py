"""The choice of an arm, written once: for a live decision and for ten thousand replications.

A policy says what arms are worth to it, how it selects by that, and when it explores; what it may
know is a :class:`Beliefs`. Everything here works over leading batch axes, one entry for each
learner; ``()`` is a single one.
"""

import math
from dataclasses import replace
from typing import cast

import numpy as np

from mogro._streams import Rng, part_of
from mogro._validation import BoolArray, FloatArray, IntArray, unwarned
from mogro.choice.beliefs import Beliefs, take
from mogro.choice.best import best_by_products, best_by_score, best_in_direction, check_finite
from mogro.choice.optimism import (
    candidates,
    is_optimistic,
    optimistic_values,
    values_in_round,
)
from mogro.choice.rule import Arms, Choice, Rule, listed
from mogro.exploration import SATISFIED, ExplorationContext, Settled, needs
from mogro.scalarization import Scalarization, is_nonlinear
from mogro.selection import Selection, draw_member, is_front

_NEAR = 1e-9  # scores this close, relatively, are equal
_NO: BoolArray = np.zeros((), dtype=np.bool_)
_YES: BoolArray = np.ones((), dtype=np.bool_)
for _constant in (_NO, _YES):
    _constant.flags.writeable = False


@unwarned
def choose(
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    *,
    step: int,
    rng: Rng,
    selection: Selection | None = None,
    uniform: float = 0.0,
    settled: Settled | None = None,
) -> Choice:
    """Choose an arm for each learner: any arm, or one to explore, or the best by its values.

    Parameters
    ----------
    policy
        How to choose.
    arms
        Arms on offer, (..., K, d), broadcastable to the batch of the beliefs; for one learner
        also a listing.
    beliefs
        What is known.
    step
        Number of choices before.
    rng
        Where random numbers come from.
    selection
        Instead of the policy's own.
    uniform
        Probability of any arm, each alike, before everything else.
    settled
        Remembers from one choice to the next what needs no exploration.
    """
    batch = beliefs.batch
    if uniform > 0:
        lucky, anything = _any_arm(arms, batch, uniform, rng)
        if not batch and lucky:
            return Choice(anything, None, _NO, _YES)
    context = None
    if policy.exploration is not None:
        context = explorers(policy, arms, beliefs, step=step, settled=settled)
    if context is None:
        found = _exploit(policy, arms, beliefs, step, rng, selection or policy.selection)
    else:
        found = _explore(policy, arms, beliefs, step, rng, selection or policy.selection, context)
    if uniform > 0 and batch:
        exploring = found.exploring & ~lucky
        arm = np.where(lucky, anything, found.arm)
        return Choice(arm, found.weights, exploring, found.uniform | lucky)
    return found


def explorers(
    policy: Rule, arms: Arms, beliefs: Beliefs, *, step: int, settled: Settled | None = None
) -> ExplorationContext | None:
    """Return the learners that have to explore, and what they go by; None if nobody has to.

    Where every objective has a Gram matrix of its own, a learner goes by that of the objective
    with the largest need.
    """
    offered = listed(arms)
    batch = beliefs.batch
    grams = beliefs.inverse.shape[-3]
    known = Settled((*batch, grams) if grams > 1 else batch) if settled is None else settled
    each = offered[..., None, :, :] if grams > 1 and offered.ndim > 2 else offered
    if known.covers(each, policy.threshold):
        return None
    check_finite(offered, offered)
    inverse, unseen = beliefs.coverage  # which may be computed only now
    if grams == 1:
        inverse = inverse[..., 0, :, :]
        unseen = None if unseen is None else unseen[..., 0, :, :]
        return known.look(offered, inverse, unseen, policy.threshold, step=step)
    context = known.look(each, inverse, unseen, policy.threshold, step=step)
    if context is None:
        return None
    learners = context.learners // grams
    return replace(context, learners=learners, batch=batch).only(_neediest(context, learners))


def _neediest(context: ExplorationContext, learners: IntArray) -> IntArray:
    """Return, of the entries of several objectives, that of the largest need of each learner."""
    need = needs(context.arms, context.inverse, context.unseen)
    places = []
    for learner in np.unique(learners):
        mine = np.flatnonzero(learners == learner)
        places.append(mine[(need[mine] >= need[mine].max() / SATISFIED).argmax()])
    return np.array(places)


def _explore(
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    step: int,
    rng: Rng,
    selection: Selection,
    context: ExplorationContext,
) -> Choice:
    """Explore where a learner has to, exploit elsewhere; each draws only what it needs."""
    assert policy.exploration is not None
    batch = context.batch
    chosen = policy.exploration.choose(context, rng=part_of(rng, context.learners))
    if not batch:
        return Choice(np.asarray(chosen).reshape(()), None, _YES, _NO)
    exploring = np.zeros(math.prod(batch), dtype=np.bool_)
    exploring[context.learners] = True
    arm = np.empty(exploring.size, dtype=np.int64)
    arm[context.learners] = chosen
    uniform = np.zeros_like(exploring)
    rest = np.flatnonzero(~exploring)
    if rest.size:
        offered = listed(arms)
        theirs = take(np.broadcast_to(offered, (*batch, *offered.shape[-2:])), batch, rest)
        found = _exploit(policy, theirs, beliefs.take(rest), step, part_of(rng, rest), selection)
        arm[rest] = found.arm
        uniform[rest] = found.uniform
        exploring[rest] = found.exploring
    return Choice(arm.reshape(batch), None, exploring.reshape(batch), uniform.reshape(batch))


def _exploit(
    policy: Rule, arms: Arms, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> Choice:
    """Choose by the policy's values, or any arm with its own probability of that."""
    batch = beliefs.theta.shape[:-2]
    if not policy.uniform > 0:
        arm, weights = select(policy, arms, beliefs, step, rng, selection)
        no = np.zeros(batch, dtype=np.bool_) if batch else _NO
        exploring = no
        if is_optimistic(policy, beliefs, step):
            exploring = _second_to_another(listed(arms), beliefs, arm, weights, selection)
        return Choice(arm, weights, exploring, no)
    lucky, anything = _any_arm(arms, batch, policy.uniform, rng)
    no = np.zeros(batch, dtype=np.bool_)
    if policy.uniform == 1:
        return Choice(anything, None, no, lucky)
    arm, weights = select(policy, arms, beliefs, step, rng, selection)
    return Choice(np.where(lucky, anything, arm), None if lucky.any() else weights, no, lucky)


def _second_to_another(
    arms: FloatArray,
    beliefs: Beliefs,
    chosen: IntArray,
    weights: FloatArray | None,
    selection: Selection,
) -> BoolArray:
    """Tell, (...), where another arm than the chosen one has the best estimates."""
    if weights is None:
        return np.ones(beliefs.batch, dtype=np.bool_)
    if is_nonlinear(selection):
        scores = selection.score(beliefs.estimates(arms), weights)
    else:
        scores = np.matvec(arms, np.vecmat(weights, beliefs.theta))
    own = np.take_along_axis(scores, chosen[..., None], axis=-1)[..., 0]
    return np.asarray(own < scores.max(axis=-1) - _NEAR * np.abs(scores).max(axis=-1))


def _any_arm(
    arms: Arms, batch: tuple[int, ...], share: float, rng: Rng
) -> tuple[BoolArray, IntArray]:
    """Draw who takes any arm, and which."""
    if isinstance(arms, np.ndarray):
        check_finite(arms, arms)
    count = arms.shape[-2] if isinstance(arms, np.ndarray) else len(arms)
    draws = rng.random((*batch, 2))
    lucky: BoolArray = draws[..., 0] < share
    return np.asarray(lucky), np.asarray((draws[..., 1] * count).astype(np.int64))


def select(
    policy: Rule, arms: Arms, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> tuple[IntArray, FloatArray | None]:
    """Return the arm that is selected, (...), and the weights drawn for it, if any were."""
    if is_front(selection):
        offered = listed(arms)
        values = values_in_round(policy, offered, beliefs, step, rng)
        check_finite(values, offered)
        return draw_member(selection, values, rng=rng), None
    objectives, batch = beliefs.theta.shape[-2], beliefs.batch
    selection = cast("Scalarization", selection)
    optimistic = is_optimistic(policy, beliefs, step)
    if policy.values_are_estimates and not optimistic and not is_nonlinear(selection):
        weights = selection.weights(objectives, step=step, batch=batch, rng=rng)
        return best_in_direction(arms, np.vecmat(weights, beliefs.theta), rng), weights
    offered = listed(arms)
    if optimistic and not is_nonlinear(selection):
        weights = selection.weights(objectives, step=step, batch=batch, rng=rng)
        return _select_optimistically(offered, beliefs, weights, rng), weights
    values = values_in_round(policy, offered, beliefs, step, rng)
    check_finite(values, offered)
    weights = selection.weights(objectives, step=step, batch=batch, rng=rng)
    if is_nonlinear(selection):
        return best_by_score(offered, beliefs.theta, values, weights, selection, rng), weights
    return _best_by_values(offered, values, beliefs, weights, rng), weights


def _select_optimistically(
    arms: FloatArray, beliefs: Beliefs, weights: FloatArray, rng: Rng
) -> IntArray:
    """Return the best arm by optimistic values, without a look at those that cannot be."""
    check_finite(weights, weights, "weights")
    rows = candidates(arms, beliefs, weights)
    offered = arms if rows is None or not rows.size else arms[rows]
    values = optimistic_values(offered, beliefs)
    check_finite(values, arms)
    best = _best_by_values(offered, values, beliefs, weights, rng)
    return best if offered is arms else np.asarray(rows)[best]


def _best_by_values(
    arms: FloatArray, values: FloatArray, beliefs: Beliefs, weights: FloatArray, rng: Rng
) -> IntArray:
    """Return the arm of the largest weighted sum of its values (..., K, M)."""
    scores = np.vecmat(weights, np.swapaxes(values, -1, -2))
    check_finite(scores, weights, "weights")
    sizes = np.vecdot(np.abs(weights), np.linalg.norm(beliefs.theta, axis=-1))
    return best_by_products(scores, arms, sizes, rng)
