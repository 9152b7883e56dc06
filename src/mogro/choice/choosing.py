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
from mogro.choice.best import (
    best_by_products,
    best_by_score,
    best_in_direction,
    best_of_moderate,
    check_finite,
    check_values,
    total_square,
)
from mogro.choice.optimism import choose_optimistically, is_optimistic
from mogro.choice.rule import Arms, Choice, Rule, listed
from mogro.exploration import SATISFIED, ExplorationContext, Settled, needs, single_threshold
from mogro.scalarization import Scalarization, is_nonlinear
from mogro.selection import Selection, draw_member, is_front

_NO: BoolArray = np.zeros((), dtype=np.bool_)
_YES: BoolArray = np.ones((), dtype=np.bool_)
for _constant in (_NO, _YES):
    _constant.flags.writeable = False


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
    total: float | None = None,
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
    total
        Sum of the squared arms of one learner, if it is known.
    """
    batch = beliefs.batch
    if uniform > 0:
        lucky, anything = _any_arm(arms, batch, uniform, rng)
        if not batch and lucky:
            return Choice(anything, None, _NO, _YES)
    how = selection or policy.selection
    if total is None:
        total = math.inf if batch else total_square(arms)
    context = None
    if policy.exploration is not None:
        context = explorers(policy, arms, beliefs, step=step, settled=settled, total=total)
    if context is None:
        found = _exploit(policy, arms, beliefs, step, rng, how, total)
    else:
        found = _explore(policy, arms, beliefs, step, rng, how, context)
    if uniform > 0 and batch:
        exploring = found.exploring & ~lucky
        arm = np.where(lucky, anything, found.arm)
        return Choice(arm, found.weights, exploring, found.uniform | lucky)
    return found


def explorers(
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    *,
    step: int,
    settled: Settled | None = None,
    total: float = math.inf,
) -> ExplorationContext | None:
    """Return the learners that have to explore, and what they go by; None if nobody has to.

    Where every objective has a Gram matrix of its own, a learner goes by that of the objective
    with the largest need. ``total`` is the sum of the squared arms of one learner, if it is known.
    """
    offered = listed(arms)
    batch = beliefs.batch
    grams = beliefs.inverse.shape[-3]
    known = Settled((*batch, grams) if grams > 1 else batch) if settled is None else settled
    each = offered[..., None, :, :] if grams > 1 and offered.ndim > 2 else offered
    threshold = policy.threshold
    if threshold is None and total < math.inf:
        threshold = single_threshold(offered, total)
    if known.covers(each, threshold):
        return None
    check_finite(offered, offered)
    inverse, unseen = beliefs.coverage  # which may be computed only now
    if grams == 1:
        inverse = inverse[..., 0, :, :]
        unseen = None if unseen is None else unseen[..., 0, :, :]
        return known.look(offered, inverse, unseen, threshold, step=step)
    context = known.look(each, inverse, unseen, threshold, step=step)
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


@unwarned
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
        own, draws = beliefs.take(rest), part_of(rng, rest)
        found = _exploit(policy, theirs, own, step, draws, selection, math.inf)
        arm[rest] = found.arm
        uniform[rest] = found.uniform
        exploring[rest] = found.exploring
    return Choice(arm.reshape(batch), None, exploring.reshape(batch), uniform.reshape(batch))


def _exploit(
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    step: int,
    rng: Rng,
    selection: Selection,
    total: float,
) -> Choice:
    """Choose by the policy's values, or any arm with its own probability of that."""
    if is_optimistic(policy, beliefs, step):
        return choose_optimistically(listed(arms), beliefs, step, rng, selection)
    batch = beliefs.theta.shape[:-2]
    if not policy.uniform > 0:
        arm, weights = select(policy, arms, beliefs, step, rng, selection, total)
        no = np.zeros(batch, dtype=np.bool_) if batch else _NO
        return Choice(arm, weights, no, no)
    lucky, anything = _any_arm(arms, batch, policy.uniform, rng)
    no = np.zeros(batch, dtype=np.bool_)
    if policy.uniform == 1:
        return Choice(anything, None, no, lucky)
    arm, weights = select(policy, arms, beliefs, step, rng, selection, total)
    return Choice(np.where(lucky, anything, arm), None if lucky.any() else weights, no, lucky)


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
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    step: int,
    rng: Rng,
    selection: Selection,
    total: float = math.inf,
) -> tuple[IntArray, FloatArray | None]:
    """Return the arm that is selected, (...), and the weights drawn for it, if any were."""
    if is_front(selection) or is_nonlinear(selection) or not policy.values_are_estimates:
        return _select_by_values(policy, listed(arms), beliefs, step, rng, selection)
    scalarization, theta = cast("Scalarization", selection), beliefs.theta
    weights = scalarization.weights(theta.shape[-2], step=step, batch=theta.shape[:-2], rng=rng)
    arm = None
    if total < math.inf:
        arm = best_of_moderate(listed(arms), weights, theta, total, rng)
    if arm is None:
        arm = best_in_direction(arms, weights, theta, rng)
    return arm, weights


@unwarned
def _select_by_values(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> tuple[IntArray, FloatArray | None]:
    """Select where weights cannot meet the estimates first."""
    objectives, batch = beliefs.theta.shape[-2], beliefs.batch
    values = check_values(policy.values(arms, beliefs, rng=rng), arms, objectives)
    if is_front(selection):
        return draw_member(selection, values, rng=rng), None
    scalarization = cast("Scalarization", selection)
    weights = scalarization.weights(objectives, step=step, batch=batch, rng=rng)
    if is_nonlinear(scalarization):
        return best_by_score(arms, beliefs.theta, values, weights, scalarization, rng), weights
    scores = np.vecmat(weights, np.swapaxes(values, -1, -2))
    check_finite(scores, weights, "weights")
    sizes = np.vecdot(np.abs(weights), np.linalg.norm(beliefs.theta, axis=-1))
    return best_by_products(scores, arms, sizes, rng), weights
