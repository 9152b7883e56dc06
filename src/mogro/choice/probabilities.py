"""With what probability :func:`mogro.choice.choose` takes each arm: its twin."""

import numpy as np

from mogro._streams import Rng, part_of
from mogro._ties import distinct, rounding
from mogro._validation import FloatArray, IntArray, floats
from mogro.choice.beliefs import Beliefs
from mogro.choice.best import check_values
from mogro.choice.choosing import explorers, select
from mogro.choice.optimism import values_in_round
from mogro.choice.rule import Arms, Rule, listed
from mogro.exploration import ExplorationContext
from mogro.probability import Probabilities, selection_probabilities
from mogro.scalarization import FixedWeights, RoundRobin
from mogro.selection import Selection, is_front

_CHOICES = 1024  # whole choices, where probabilities can only be counted
_DRAWN = 2**18  # features of arms that are drawn at once then


def probabilities(
    policy: Rule,
    arms: Arms,
    beliefs: Beliefs,
    *,
    step: int,
    rng: Rng,
    selection: Selection | None = None,
    uniform: float = 0.0,
) -> Probabilities:
    """Return with what probability :func:`choose` takes each arm, (..., K), and standard errors.

    Errors are 0 where probabilities are exact. Parameters are those of :func:`choose`.
    """
    offered = floats(listed(arms), "features", shape=(..., "K", "d"))
    batch, shape = beliefs.batch, offered.shape[-2:]
    context = None
    if policy.exploration is not None:
        context = explorers(policy, offered, beliefs, step=step)
    exploring = () if context is None else tuple(context.learners.tolist())
    everywhere = np.broadcast_to(offered, (*batch, *shape)).reshape(-1, *shape)
    found = []
    for learner, own in enumerate(everywhere):
        source = part_of(rng, np.array([learner])) if batch else rng
        if context is not None and learner in exploring:
            part = _exploring_probabilities(
                policy, context.only(np.array([exploring.index(learner)])), source
            )
        else:
            known = beliefs.take(np.array([learner]))
            part = _exploiting_probabilities(
                policy, own, known, step, source, selection or policy.selection
            )
        found.append(_mixed(part, uniform))
    columns = (np.stack(column) for column in zip(*found, strict=True))
    return Probabilities(*(column.reshape(*batch, shape[0]) for column in columns))


def _exploring_probabilities(policy: Rule, context: ExplorationContext, rng: Rng) -> Probabilities:
    """Return the probabilities of the arms of one learner that explores."""
    assert policy.exploration is not None
    arms = context.arms.shape[-2]
    tell = getattr(policy.exploration, "probabilities", None)
    if tell is not None:
        return _exactly(np.asarray(tell(context)[0]))
    drawn = [int(policy.exploration.choose(context, rng=rng)[0]) for _ in range(_CHOICES)]
    return _counted(np.array(drawn), arms)


def _exploiting_probabilities(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> Probabilities:
    """Return the probabilities of arms (K, d) of one learner, with beliefs (1, ...)."""
    count = len(arms)
    if policy.uniform == 1:
        return _exactly(np.full(count, 1 / count))
    source = np.random.default_rng(rng.random((1, 8)).view(np.uint64).ravel())
    before = source.bit_generator.state
    said = values_in_round(policy, arms[None], beliefs, step, source)
    values = check_values(said, arms, beliefs.theta.shape[-2])
    if source.bit_generator.state == before:
        every, worth = np.arange(count), values.reshape(count, -1)
        rows = every if is_front(selection) else distinct(arms, every)
        if not is_front(selection):
            worth, selection = _as_compared(worth, arms, beliefs.theta[0], selection, step)
        part = selection_probabilities(worth[rows], selection, step=step, rng=source)
        whole = np.zeros((2, count))
        whole[:, rows] = part
        found = Probabilities(*whole)
    else:  # values that are random themselves
        found = _counted(_drawn_choices(policy, arms, beliefs, step, source, selection), count)
    return _mixed(found, policy.uniform)


def _as_compared(
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
    sizes = np.linalg.norm(arms, axis=-1)[:, None] * np.linalg.norm(theta, axis=-1)
    errors = rounding(arms.shape[-1], np.dtype(np.float64)) * (sizes + np.abs(values))
    worth = np.empty_like(values)
    for m, (value, error) in enumerate(zip(values.T, errors.T, strict=True)):
        low = value - error
        order = low.argsort()
        reach = np.searchsorted(low[order], value + error, side="right") - 1
        worth[:, m] = np.maximum.accumulate(value[order])[reach]
    return worth, selection


def _drawn_choices(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> IntArray:
    """Return the arms of many selections of one learner, drawn as a batch of equal learners."""
    drawn = []
    at_once = max(1, _DRAWN // arms.size)
    for start in range(0, _CHOICES, at_once):
        copies = beliefs.take(np.zeros(min(at_once, _CHOICES - start), dtype=np.int64))
        drawn.append(select(policy, arms, copies, step, rng, selection)[0])
    return np.concatenate(drawn)


def _mixed(found: Probabilities, uniform: float) -> Probabilities:
    """Return probabilities where any arm, each alike, is taken with some probability."""
    values = uniform / len(found.values) + (1 - uniform) * found.values
    return Probabilities(values, (1 - uniform) * found.errors)


def _exactly(values: FloatArray) -> Probabilities:
    return Probabilities(values, np.zeros(len(values)))


def _counted(chosen: IntArray, arms: int) -> Probabilities:
    """Return shares of draws; one more draw, far off, keeps their errors from zero."""
    draws = len(chosen)
    shares = np.bincount(chosen, minlength=arms) / draws
    errors = np.sqrt((draws * shares * (1 - shares) + 1) / (draws * (draws - 1)))
    return Probabilities(shares, errors)
