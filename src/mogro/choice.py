"""The choice of an arm, written once: for a live decision and for ten thousand replications.

A policy says what arms are worth to it, how it selects by that, and when it explores; what it may
know is a :class:`Beliefs`. Everything here works over leading batch axes, one entry for each
learner; ``()`` is a single one.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from mogro._streams import Rng, part_of
from mogro._ties import distinct, draw_best, draw_one, rounding
from mogro._validation import BoolArray, FloatArray, IntArray, as_floats, floats, unwarned
from mogro.exploration import SATISFIED, Exploration, ExplorationContext, Settled, needs
from mogro.probability import Probabilities, selection_probabilities
from mogro.scalarization import NonlinearScalarization, Scalarization, is_nonlinear
from mogro.selection import Selection, draw_member, is_front

_CHOICES = 1024  # whole choices, where probabilities can only be counted
_DRAWN = 2**18  # features of arms that are drawn at once then
_NEAR = 1e-6  # share of the largest score within which nonlinear scores may tie


class Coverage(NamedTuple):
    """What exploration goes by: V of all that was observed, or is still in flight.

    ``inverse`` is its pseudo-inverse, (..., G, d, d), ``unseen`` the projector on the directions
    it has nothing of, or None if there are none; G is 1, or M if every objective has its own.
    """

    inverse: FloatArray
    unseen: FloatArray | None


class Beliefs(NamedTuple):
    """All that a policy may know when it chooses; nothing changes it any more.

    G is 1 where all objectives share one Gram matrix V, and M where each has its own, because it
    was observed for decisions of its own. Both broadcast against the M objectives.

    Attributes
    ----------
    theta
        Estimates, (..., M, d).
    inverse
        Pseudo-inverse of V, (..., G, d, d).
    unseen
        Projector on the directions that V has nothing of, (..., G, d, d); None if there are none.
        Beliefs about arms in a context have symmetric matrices that need not be projectors: their
        product with an arm is as large as the part of it that was never seen.
    counts
        Observations, (..., G) up to broadcasting.
    ranks
        Ranks of V, (..., G).
    squares
        Residual sums of squares, (..., M).
    totals
        Sums of the rewards, (..., M).
    coverage
        What exploration goes by.
    """

    theta: FloatArray
    inverse: FloatArray
    unseen: FloatArray | None
    counts: FloatArray | int
    ranks: IntArray
    squares: FloatArray
    totals: FloatArray
    coverage: Coverage

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.theta.shape[:-2]

    @property
    def means(self) -> FloatArray:
        """Mean rewards so far, (..., M); 0 before the first."""
        return np.asarray(self.totals / np.maximum(self.counts, np.finfo(np.float64).tiny))

    def estimates(self, arms: FloatArray) -> FloatArray:
        """Return the estimated rewards (..., K, M) of arms (..., K, d)."""
        return np.asarray(arms @ np.swapaxes(self.theta, -1, -2))

    def variances(self, arms: FloatArray) -> FloatArray:
        """Return ``x^T V^+ x``, (..., K, G), of arms (..., K, d)."""
        wide = arms[..., None, :, :]
        variances = np.vecdot(wide @ self.inverse, wide)
        return np.swapaxes(np.maximum(variances, 0), -1, -2)

    def take(self, learners: IntArray) -> "Beliefs":
        """Return the beliefs of some learners, given by flat positions of the batch: (n, ...)."""
        own: list[Any] = [_take(part, self.batch, learners) for part in self[:-1]]
        coverage = Coverage(*(_take(part, self.batch, learners) for part in self.coverage))
        return Beliefs._make([*own, coverage])


class Rule(Protocol):
    """What a choice asks of a policy: settings, and what arms are worth to it."""

    @property
    def selection(self) -> Selection:
        """How to select by the values of the arms."""
        ...

    @property
    def exploration(self) -> Exploration | None:
        """How to explore, if the policy does."""
        ...

    @property
    def uniform(self) -> float:
        """Probability of a uniformly random arm instead."""
        ...

    @property
    def values_are_estimates(self) -> bool:
        """Whether ``values`` are the plain estimates, so that weights can meet them first."""
        ...

    @property
    def threshold(self) -> float | None:
        """Down to which V a direction counts as unknown; None for a default."""
        ...

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M), to be maximised."""
        ...


class Listing(Protocol):
    """Arms on offer to one learner that know a faster way to the best one: those of a catalogue."""

    def __len__(self) -> int:
        """Return how many they are."""
        ...

    @property
    def features(self) -> FloatArray:
        """The arms, (K, d), finite."""
        ...

    def best(self, direction: FloatArray) -> IntArray:
        """Return the positions of the arms that are best for a direction, up to rounding."""
        ...


Arms = FloatArray | Listing


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
        (...), whether it was drawn from all arms alike.
    """

    arm: IntArray
    weights: FloatArray | None
    exploring: BoolArray
    uniform: BoolArray


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
    offered = floats(_features(arms), "features", shape=(..., "K", "d"))
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
    values = policy.values(arms[None], beliefs, rng=source)
    check_finite(values, arms)
    if source.bit_generator.state == before:
        every = np.arange(count)
        rows = every if is_front(selection) else distinct(arms, every)
        part = selection_probabilities(values[0][rows], selection, step=step, rng=source)
        whole = np.zeros((2, count))
        whole[:, rows] = part
        found = Probabilities(*whole)
    else:  # values that are random themselves
        found = _counted(_drawn_choices(policy, arms, beliefs, step, source, selection), count)
    return _mixed(found, policy.uniform)


def _drawn_choices(
    policy: Rule, arms: FloatArray, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> IntArray:
    """Return the arms of many selections of one learner, drawn as a batch of equal learners."""
    drawn = []
    at_once = max(1, _DRAWN // arms.size)
    for start in range(0, _CHOICES, at_once):
        copies = beliefs.take(np.zeros(min(at_once, _CHOICES - start), dtype=np.int64))
        drawn.append(_select(policy, arms, copies, step, rng, selection)[0])
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


def explorers(
    policy: Rule, arms: Arms, beliefs: Beliefs, *, step: int, settled: Settled | None = None
) -> ExplorationContext | None:
    """Return the learners that have to explore, and what they go by; None if nobody has to.

    Where every objective has a Gram matrix of its own, a learner goes by that of the objective
    with the largest need.
    """
    offered = _features(arms)
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
        offered = _features(arms)
        theirs = _take(np.broadcast_to(offered, (*batch, *offered.shape[-2:])), batch, rest)
        found = _exploit(policy, theirs, beliefs.take(rest), step, part_of(rng, rest), selection)
        arm[rest] = found.arm
        uniform[rest] = found.uniform
    return Choice(arm.reshape(batch), None, exploring.reshape(batch), uniform.reshape(batch))


def _exploit(
    policy: Rule, arms: Arms, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> Choice:
    """Choose by the policy's values, or any arm with its own probability of that."""
    batch = beliefs.theta.shape[:-2]
    if not policy.uniform > 0:
        arm, weights = _select(policy, arms, beliefs, step, rng, selection)
        no = np.zeros(batch, dtype=np.bool_) if batch else _NO
        return Choice(arm, weights, no, no)
    lucky, anything = _any_arm(arms, batch, policy.uniform, rng)
    no = np.zeros(batch, dtype=np.bool_)
    if policy.uniform == 1:
        return Choice(anything, None, no, lucky)
    arm, weights = _select(policy, arms, beliefs, step, rng, selection)
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


def _select(
    policy: Rule, arms: Arms, beliefs: Beliefs, step: int, rng: Rng, selection: Selection
) -> tuple[IntArray, FloatArray | None]:
    """Return the arm that is selected, (...), and the weights drawn for it, if any were."""
    if is_front(selection):
        offered = _features(arms)
        values = policy.values(offered, beliefs, rng=rng)
        check_finite(values, offered)
        return draw_member(selection, values, rng=rng), None
    objectives, batch = beliefs.theta.shape[-2], beliefs.batch
    selection = cast("Scalarization", selection)
    if policy.values_are_estimates and not is_nonlinear(selection):
        weights = selection.weights(objectives, step=step, batch=batch, rng=rng)
        return _best_in_direction(arms, np.vecmat(weights, beliefs.theta), rng), weights
    offered = _features(arms)
    values = policy.values(offered, beliefs, rng=rng)
    check_finite(values, offered)
    weights = selection.weights(objectives, step=step, batch=batch, rng=rng)
    if is_nonlinear(selection):
        return _best_score(offered, beliefs.theta, values, weights, selection, rng), weights
    scores = np.vecmat(weights, np.swapaxes(values, -1, -2))
    check_finite(scores, weights, "weights")
    sizes = np.vecdot(np.abs(weights), np.linalg.norm(beliefs.theta, axis=-1))
    return _best(scores, offered, sizes, rng), weights


def _best_in_direction(arms: Arms, direction: FloatArray, rng: Rng) -> IntArray:
    """Return the best arm for the directions (..., d) of the learners."""
    if not isinstance(arms, np.ndarray):
        check_finite(direction, direction, "weights")
        tied = arms.best(direction)
        if len(tied) == 1:
            return np.asarray(tied[0])
        return np.asarray(draw_one(arms.features, tied, rng=rng))
    scores = np.matvec(arms, direction.astype(arms.dtype, copy=False))
    if not math.isfinite(_size(scores)):
        check_finite(direction, direction, "weights")
        refuse(arms, "features")
    return _best(scores, arms, _norms(direction), rng)


def _best(scores: FloatArray, arms: FloatArray, sizes: FloatArray | float, rng: Rng) -> IntArray:
    """Return the arm of the largest score; scores are products with vectors of norms (...)."""
    best: IntArray = scores.argmax(axis=-1)
    unit = rounding(arms.shape[-1], scores.dtype)
    if scores.ndim == 1:
        near = 2 * unit * (_norms(arms[best]) * sizes + abs(scores.item(best)))
        if np.count_nonzero(scores >= scores[best] - near) == 1:
            return best
    else:
        everywhere = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))
        x = np.take_along_axis(everywhere, best[..., None, None], axis=-2)[..., 0, :]
        top = np.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
        near = 2 * unit * (_norms(x) * sizes + np.abs(top))

    def tolerance(at: tuple[Any, ...], rows: IntArray) -> FloatArray:
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))[at][rows]
        norms = np.sqrt(np.vecdot(listed, listed))
        own = np.broadcast_to(sizes, scores.shape[:-1])[at]
        return np.asarray(unit * (norms * own + np.abs(scores[at][rows])))

    return draw_best(scores, best, arms, near, tolerance, rng=rng)


def _norms(vectors: FloatArray) -> Any:
    """Return the norms (...) of vectors (..., d); a plain number for one, for speed."""
    if vectors.ndim == 1:
        return math.sqrt(np.vdot(vectors, vectors))
    return np.sqrt(np.vecdot(vectors, vectors))


def _best_score(
    arms: FloatArray,
    theta: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    selection: NonlinearScalarization,
    rng: Rng,
) -> IntArray:
    """Return the arm of the largest nonlinear score of its values (..., K, M)."""
    check_finite(weights, weights, "weights")
    scores = as_floats(selection.score(values, weights), "scores")
    check_finite(scores, arms)
    near = _NEAR * np.abs(scores).max(axis=-1)

    def tolerance(at: tuple[Any, ...], rows: IntArray) -> FloatArray:
        """See what the rounding of the values may do to the scores."""
        listed = np.broadcast_to(arms, (*scores.shape, arms.shape[-1]))[at][rows]
        own = np.broadcast_to(theta, (*scores.shape[:-1], *theta.shape[-2:]))[at]
        size = np.linalg.norm(listed, axis=-1)[:, None] * np.linalg.norm(own, axis=-1)
        shift = np.zeros_like(values[at])
        shift[rows] = rounding(arms.shape[-1], scores.dtype) * (size + np.abs(values[at][rows]))
        mine = np.broadcast_to(weights, (*scores.shape[:-1], weights.shape[-1]))[at]
        above = selection.score(values[at] + shift, mine)[rows]
        below = selection.score(values[at] - shift, mine)[rows]
        return np.asarray(np.abs(above - below))

    return draw_best(scores, scores.argmax(axis=-1), arms, near, tolerance, rng=rng)


def check_finite(values: FloatArray, given: FloatArray, name: str = "features") -> None:
    """Refuse what was given if values (...) computed from it are not finite.

    That costs less than a scan of all features.
    """
    if not math.isfinite(_size(values)):
        refuse(given, name)


def refuse(given: FloatArray, name: str) -> None:
    """Say what is wrong with what leads to numbers that are not finite."""
    floats(given, name, shape=given.shape)
    raise ValueError(f"{name}: expected values whose squares and scores are finite")


def _size(values: FloatArray) -> float:
    """Return the sum of the squares, which is not finite if any value is not."""
    flat = values if values.ndim == 1 else values.ravel(order="K")
    return float(np.vdot(flat, flat))


def _features(arms: Arms) -> FloatArray:
    return arms if isinstance(arms, np.ndarray) else arms.features


def _take(array: Any, batch: tuple[int, ...], learners: IntArray) -> Any:
    """Return the entries (n, ...) of an array (*batch, ...) at flat positions of the batch."""
    if array is None or np.ndim(array) == 0:
        return array
    if not batch:
        return np.broadcast_to(array, (len(learners), *array.shape))
    return array[np.unravel_index(learners, batch)]
