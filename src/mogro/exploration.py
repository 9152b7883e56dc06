"""The first rounds: which arm to pull while some direction has been seen too little.

A direction u of norm 1 is known once ``u^T V^+ u``, the variance of an estimate along it, is at
most ``1 / threshold``. A policy explores until that holds for all of the span of the arms on offer.
With arms that stay the same this is the paper's test, the smallest eigenvalue of V restricted to
the span of the features; with arms that change it also lets a learner go on when nothing on offer
could teach it anything.

All is computed from ``V^+`` and the projector on the directions never seen, within the span of the
arms: an eigenvalue problem of size K for few arms, of size d for many. Answers depend on
eigenspaces, never on the eigenvectors by which LAPACK happens to describe them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mogro._spans import (
    Precision,
    parts_along,
    precision_of,
    span,
    span_basis,
    squares,
    sum_of_squares,
    unit_rows,
)
from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray, floats, unwarned
from mogro.linear import TINY

# Up to where MOGRO explores without a threshold, before it relies on optimism: this share of the
# mean squared norm of the arms on offer.
DEFAULT_SHARE = 0.1

# A direction may be known at exactly the threshold: need * threshold is 1 up to rounding.
SATISFIED = 1 + 1e-9

_EPS = float(np.finfo(np.float64).eps)
_MANY, _SAMPLED = 1024, 256  # of more arms, the default threshold looks at this many
_SAME = 1e-9  # eigenvalues this close, relatively, are one eigenspace
_COMPARED = 2**16  # numbers in arms up to which they are compared with those of last time
_AT_ONCE = 2**16  # numbers in arms looked at together, so that a batch stays in the cache
_STRICT = 0.01  # of the share that counts as rounding: certainly rounding
_CLEARLY = 0.5  # an eigenvalue of products of unit vectors that shows them to be independent
_FIRST: NDArray[np.intp] = np.zeros(1, dtype=np.intp)
_FIRST.flags.writeable = False
_Index = slice | NDArray[np.intp]
_TIED = 1e-8  # gains this close, relatively, are equal


def default_threshold(arms: FloatArray) -> FloatArray:
    """Return the threshold (...) for arms (..., K, d): a tenth of their mean squared norm.

    Of more than 1024 arms, 256 evenly spaced ones stand for all: a decision among many arms must
    not cost twice as much for a number of which only the order of magnitude matters.

    Examples
    --------
    >>> default_threshold(np.array([[2.0, 0.0], [0.0, 1.0]])).item()
    0.25
    """
    if arms.ndim == 2:
        return np.asarray(single_threshold(arms))
    sample = _sample(arms)
    flat = sample.reshape(*sample.shape[:-2], -1)
    return np.asarray(np.vecdot(flat, flat) / sample.shape[-2] * DEFAULT_SHARE)


def single_threshold(arms: FloatArray, total: float = math.inf) -> float:
    """Return the default threshold of one learner; ``total`` is the sum of squares, if known."""
    sample = _sample(arms)
    if total == math.inf or len(sample) < len(arms):
        total = sum_of_squares(sample)
    return total / len(sample) * DEFAULT_SHARE


def _sample(arms: FloatArray) -> FloatArray:
    if arms.shape[-2] <= _MANY:
        return arms
    return arms[..., :: math.ceil(arms.shape[-2] / _SAMPLED), :]


def needs(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return how badly known the span of some arms is: the largest ``u^T V^+ u``, (n,).

    Parameters
    ----------
    arms
        Arms on offer to n learners, (n, K, d), finite.
    inverse
        ``V^+``, (n, d, d).
    unseen
        Projectors on the null spaces of V, (n, d, d); None if there are none.

    Returns
    -------
    numpy.ndarray
        The largest ``u^T V^+ u`` over unit vectors u in the span; infinite where the span has a
        part never seen, 0 for arms that are all zero. A learner has to explore while this times
        the threshold is above 1, see :func:`explores`.

    Examples
    --------
    >>> arms = np.array([[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    >>> V = np.diag([4.0, 2.0, 1.0])
    >>> needs(arms, np.linalg.inv(V)[None], None)  # the third direction is not in the span
    array([0.5])
    """
    return _Study(arms, inverse, unseen).needs()


def gains(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return what each arm would add where V is weakest, (n, K); parameters as for :func:`needs`.

    These are squared projections on the directions never seen, if the arms have a part there, or
    else on the whole eigenspace, within the span of the arms, of the largest need.
    """
    return _Study(arms, inverse, unseen).gains()


def explores(need: FloatArray, threshold: FloatArray | float) -> BoolArray:
    """Tell who has to explore, from needs and thresholds, each (n,)."""
    return np.asarray(need * np.maximum(threshold, TINY) > SATISFIED)  # infinite, if never seen


def first_best(gains: FloatArray) -> IntArray:
    """Return the first arm, (n,), whose gain in (n, K) is the largest up to rounding."""
    level = np.maximum.reduce(gains, axis=-1, keepdims=True) * (1 - _TIED)
    return np.asarray((gains >= level).argmax(axis=-1))


class _Study:
    """What :func:`needs` and :func:`gains` of the same arms have in common."""

    def __init__(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        units: FloatArray | None = None,
    ) -> None:
        self.arms, self.inverse, self.unseen = arms, inverse, unseen
        self.precision = precision_of(arms)
        self.units = unit_rows(arms) if units is None else units
        # Learners with arms that have a part never seen, and the others.
        self.never: _Index | None = None
        self.seen: _Index | None = slice(None)
        if unseen is not None:
            # The arms that have, and the squares of these parts of unit vectors, (n, K).
            self.new, self.shares = parts_along(self.units, unseen, self.precision)
            self.never, self.seen = _split(self.new)

    @cached_property
    def bases(self) -> FloatArray | None:
        """Of the spans of arms that have no part never seen."""
        return span(self.units[self.seen], self.precision)

    @cached_property
    def inside(self) -> FloatArray:
        """``V^+`` restricted to these spans."""
        inverse, bases = self.inverse[self.seen], self.bases
        return inverse if bases is None else np.swapaxes(bases, -1, -2) @ inverse @ bases

    def bound(self) -> float:
        """Return an upper bound on the need of a single learner, for half the price.

        It is infinite where it would be far from sharp. No eigenvalue is above the largest sum of a
        row without signs, and none of the products of unit vectors is below 1 less what such a row
        has off the diagonal.
        """
        units = self.units[0]
        least = 2 - _row_sum(units.dot(units.T))
        if self.never is not None or least < _CLEARLY:
            return math.inf
        return _row_sum(units.dot(self.inverse[0]).dot(units.T)) / least

    def needs(self) -> FloatArray:
        found: FloatArray = np.full(len(self.arms), np.inf)
        if self.seen is not None:
            found[self.seen] = np.maximum(np.linalg.eigvalsh(self.inside)[:, -1], 0)
        return found

    def gains(self) -> FloatArray:
        wide = self.arms.astype(np.float64, copy=False)
        if self.seen is None:
            return np.asarray(self.shares * self.new * squares(wide))
        found: FloatArray = np.zeros(self.arms.shape[:2])
        if self.never is not None:
            shares = self.shares[self.never] * self.new[self.never]
            found[self.never] = shares * squares(wide[self.never])
        weakest = _weakest(self.inside)
        if self.bases is not None:
            weakest = self.bases @ weakest
        found[self.seen] = squares(wide[self.seen] @ weakest)
        return found


def _split(new: BoolArray) -> tuple[_Index | None, _Index | None]:
    """Return indices of the learners with something new in (n, K), and of the others.

    For all of them that is a slice, for nobody None.
    """
    some = np.logical_or.reduce(new, axis=-1)
    number = np.count_nonzero(some)
    if number == 0:
        return None, slice(None)
    if number == some.size:
        return slice(None), None
    return np.flatnonzero(some), np.flatnonzero(~some)


def _row_sum(matrix: FloatArray) -> float:
    """Return the largest sum of absolute values of a row."""
    return float(np.maximum.reduce(np.add.reduce(np.abs(matrix), axis=1)))


def _weakest(inside: FloatArray) -> FloatArray:
    """Return the eigenspaces (n, r, r) of the largest eigenvalues; other columns are zero."""
    values, vectors = np.linalg.eigh(inside)
    largest = values[:, -1:]
    # What rounding does to V is relative to its largest eigenvalue, hence to the smallest here;
    # zeros are directions outside of the span.
    rounding = 8 * inside.shape[-1] * _EPS
    smallest = np.where(values > rounding * largest, values, np.inf).min(axis=-1, keepdims=True)
    slack = np.clip(rounding * largest / smallest, _SAME, _SAME**0.5)
    return np.asarray(vectors * (values >= largest * (1 - slack))[:, None, :])


@dataclass(frozen=True, eq=False)
class ExplorationContext:
    """What some exploring learners of a batch, n of them, know and have on offer.

    Attributes
    ----------
    arms
        Arms on offer, (n, K, d).
    inverse
        ``V^+``, (n, d, d).
    unseen
        Projectors on directions never seen, (n, d, d); None if there are none.
    learners
        Flat positions of these learners in their batch, (n,).
    batch
        Shape of that batch.
    step
        Number of arms selected before.
    """

    arms: FloatArray
    inverse: FloatArray
    unseen: FloatArray | None
    learners: NDArray[np.intp]
    batch: tuple[int, ...]
    step: int
    _study: _Study | None = field(default=None, repr=False)  # if these were looked at before

    @cached_property
    def gains(self) -> FloatArray:
        """Squared projections of the arms on the weakest eigenspace, (n, K): see :func:`gains`."""
        return (self._study or _Study(self.arms, self.inverse, self.unseen)).gains()

    def only(self, places: IntArray) -> "ExplorationContext":
        """Return the context of some of these learners."""
        unseen = None if self.unseen is None else self.unseen[places]
        return ExplorationContext(
            self.arms[places],
            self.inverse[places],
            unseen,
            self.learners[places],
            self.batch,
            self.step,
        )


class Settled:
    """Remembers what needs no exploration, so that usual rounds cost nearly nothing.

    It never changes an answer: all it knows are bounds on needs from earlier, and ``u^T V^+ u`` of
    a direction that has been seen never rises while observations are added to V. Call :meth:`reset`
    when something is taken out of V or fades.

    Remembered are, for each learner of a batch by itself,

    - a bound on ``u^T V^+ u`` over all u without a part in the directions still unknown to it, and
      the projector on these; once V is large everywhere there are none;
    - the needs of the arms last looked at, which are recognised by shape, type and content.

    Both are compared with the threshold of the day, so that it may change.

    Parameters
    ----------
    batch
        Shape of the batch.

    Examples
    --------
    >>> arms, V = np.eye(2), 3 * np.eye(2)
    >>> settled = Settled()
    >>> settled.covers(arms, 1.0)
    False
    >>> settled.look(arms, np.linalg.inv(V), None, 1.0, step=0)  # nobody has to explore
    >>> settled.covers(arms, 1.0), settled.covers(5 * np.ones((7, 2)), 1.0)
    (True, True)
    >>> settled.covers(arms, 4.0)  # more than V has
    False
    """

    def __init__(self, batch: tuple[int, ...] = ()) -> None:
        self.batch = batch
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        n = math.prod(self.batch)
        self._everywhere: FloatArray = np.full(n, np.inf)  # bounds for all directions
        self._bound = np.inf  # the largest of them
        self._inside: FloatArray = np.full(n, np.inf)  # bounds where nothing is unknown
        self._unknown: FloatArray | None = None  # projectors on what is, (n, d, d)
        self._useful = False  # whether the projectors served when they were last asked
        self._arms: tuple[object, ...] = ()  # shape, type and bytes of the arms last looked at
        self._arms_needs: FloatArray = np.full(n, np.inf)
        self._arms_need = np.inf  # the largest of them
        self._arms_default = np.inf  # their largest default threshold
        self._repeats = False  # whether the same arms may come again
        self._looks = [0] * n  # that found nothing to explore
        self._due = [1.0] * n  # looks after which to try for a bound everywhere
        self._work = [0.0] * n  # that went into them, in looks at d arms
        self._due_inside = [4.0] * n  # work after which to find what is unknown

    def covers(self, arms: FloatArray, threshold: float | FloatArray | None) -> bool:
        """Tell whether it is certain that no learner has to explore.

        Parameters
        ----------
        arms
            Arms on offer, (K, d), or (*batch, K, d) up to broadcasting.
        threshold
            For all learners or (*batch); None for :func:`default_threshold`.
        """
        if self._bound < np.inf:
            highest = _default(arms) if threshold is None else _highest(threshold)
            if self._bound * highest <= SATISFIED:
                return True
        if not self._repeats:
            return False
        self._repeats = self._same(arms)  # if not, do not compare again before the next look
        if not self._repeats:
            return False
        highest = self._arms_default if threshold is None else _highest(threshold)
        return self._arms_need * highest <= SATISFIED

    def covers_everything(self, threshold: float) -> bool:
        """Tell whether it is certain that no learner has to explore, whatever is on offer."""
        return self._bound * threshold <= SATISFIED

    @unwarned
    def look(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float | FloatArray | None,
        *,
        step: int,
    ) -> ExplorationContext | None:
        """Return what the learners that have to explore are to choose from; None if none has to.

        Parameters
        ----------
        arms, threshold
            As for :meth:`covers`; arms have to be finite.
        inverse, unseen
            ``V^+`` and the projectors on directions never seen, (*batch, d, d); None if there are
            none.
        step
            Number of arms selected before.
        """
        if not self.batch:
            return self._look_alone(arms, inverse, unseen, threshold, step)
        n, size = len(self._work), inverse.shape[-2:]
        default = default_threshold(arms) if threshold is None else None
        thresholds = self._for_each(default if threshold is None else threshold, ())
        offered = self._for_each(arms, arms.shape[-2:])
        inverse = inverse.reshape(n, *size)
        unseen = None if unseen is None else unseen.reshape(n, *size)
        found = np.minimum(self._everywhere, self._arms_needs if self._same(arms) else np.inf)
        asking = np.flatnonzero(explores(found, thresholds))
        if self._useful:
            units, precision = unit_rows(offered[asking]), precision_of(arms)
            asking = asking[self._beyond(asking, units, precision, thresholds, found)]
        at_once = max(1, _AT_ONCE // math.prod(arms.shape[-2:]))
        study = None
        for some in _chunks(asking, at_once):
            study = _Study(*_of(some, offered, inverse, unseen))
            found[some] = study.needs()
        exploring = explores(found, thresholds)
        self._remember(arms, found, default)
        learners = np.flatnonzero(exploring)
        if learners.size < asking.size:
            work = min(arms.shape[-2:]) / arms.shape[-1]
            for i in asking[~exploring[asking]].tolist():
                hidden = None if unseen is None else unseen[i]
                self._count_work(i, work, inverse[i], hidden, float(thresholds[i]))
        if not learners.size:
            return None
        if learners.size < asking.size or asking.size > at_once:
            study = None  # of others, too, or not of all
        return ExplorationContext(
            *_of(learners, offered, inverse, unseen), learners, self.batch, step, study
        )

    def _look_alone(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float | FloatArray | None,
        step: int,
    ) -> ExplorationContext | None:
        """Look for a single learner, as :meth:`look` does but in less time."""
        limit = _default(arms) if threshold is None else float(threshold)
        offered, units = arms[None], unit_rows(arms[None])
        if self._useful:
            limits, found = np.full(1, limit), np.full(1, np.inf)
            if not self._beyond(_FIRST, units, precision_of(arms), limits, found).item():
                return None
        hidden = None if unseen is None else unseen[None]
        study = _Study(offered, inverse[None], hidden, units)
        need = np.inf
        if study.never is None:
            need = study.bound() if arms.shape[0] < arms.shape[1] else np.inf
            if not need * limit <= 1:
                need = float(study.needs()[0])
        if not need * limit <= SATISFIED:
            self._arms, self._repeats = (), False
            return ExplorationContext(
                study.arms, study.inverse, study.unseen, _FIRST, (), step, study
            )
        self._remember(arms, np.full(1, need), limit if threshold is None else None)
        self._count_work(0, min(arms.shape) / arms.shape[1], inverse, unseen, limit)
        return None

    def _for_each(self, array: float | FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
        """Return an array (..., *shape) that broadcasts to the batch for each learner."""
        array = np.asarray(array)
        if array.ndim < len(self.batch) + len(shape) or array.shape != (*self.batch, *shape):
            array = np.broadcast_to(array, (*self.batch, *shape))
        return array.reshape(-1, *shape)

    def _same(self, arms: FloatArray) -> bool:
        """Tell whether these are the arms last looked at; bytes alone do not tell the shape."""
        last = self._arms
        return bool(
            last and arms.shape == last[0] and arms.dtype == last[1] and arms.tobytes() == last[2]
        )

    def _remember(
        self, arms: FloatArray, found: FloatArray, default: FloatArray | float | None
    ) -> None:
        if arms.size > _COMPARED:
            self._arms, self._repeats = (), False
            return
        self._arms = (arms.shape, arms.dtype, arms.tobytes())
        self._arms_default = _default(arms) if default is None else _highest(default)
        self._arms_needs, self._arms_need = found, float(found.max())
        self._repeats = self._arms_need < np.inf

    def _beyond(
        self,
        asking: NDArray[np.intp],
        units: FloatArray,
        precision: Precision,
        thresholds: FloatArray,
        found: FloatArray,
    ) -> BoolArray:
        """Tell which of the learners asking may be offered something unknown, by unit vectors.

        For the others, put a bound into ``found``.
        """
        assert self._unknown is not None
        # Stricter about rounding than needs() is, so that both agree.
        strict = precision._replace(share=_STRICT * precision.share)
        parts, _ = parts_along(units, self._unknown[asking], strict)
        beyond = np.asarray(parts.any(axis=-1))
        beyond |= explores(self._inside[asking], thresholds[asking])
        found[asking[~beyond]] = self._inside[asking[~beyond]]
        self._useful = not beyond.all()
        return beyond

    def _count_work(
        self,
        learner: int,
        work: float,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float,
    ) -> None:
        """Count a look at a learner with nothing to explore, and try to save the next ones."""
        self._looks[learner] += 1
        self._work[learner] += work
        if self._looks[learner] >= self._due[learner] and threshold > 0:
            self._find_bound(learner, inverse, unseen, threshold)

    def _find_bound(
        self, learner: int, inverse: FloatArray, unseen: FloatArray | None, threshold: float
    ) -> None:
        """Look for a bound everywhere, or else for the directions that are known to a learner."""
        total = inverse
        if unseen is not None and np.trace(unseen) > 0.5:
            # Never seen: a variance beyond any that could be known.
            total = inverse + (2 / threshold + 2 * np.trace(inverse)) * unseen
        elif _is_below(inverse, 1 / threshold):
            reserve = 4 * threshold  # thresholds go up and down
            bound = 1 / (reserve if _is_below(inverse, 1 / reserve) else threshold)
            self._everywhere[learner] = bound
            self._bound = float(self._everywhere.max())
            return
        self._due[learner] = 8 + 1.25 * self._looks[learner]
        work = self._work[learner]
        if work >= self._due_inside[learner]:  # eigenvectors are dear
            self._due_inside[learner] = 4 * work
            self._find_unknown(learner, total, threshold)

    def _find_unknown(self, learner: int, total: FloatArray, threshold: float) -> None:
        dim = len(total)
        values, vectors = np.linalg.eigh(total)
        known = values * threshold <= 1
        if self._unknown is None:
            self._unknown = np.tile(np.eye(dim), (len(self._work), 1, 1))
        self._unknown[learner] = np.eye(dim) - vectors[:, known] @ vectors[:, known].T
        self._inside[learner] = values[known].max(initial=0.0)
        self._useful = True


def _is_below(matrix: FloatArray, bound: float) -> bool:
    """Tell whether all eigenvalues of a matrix (d, d) are certainly below a bound."""
    try:  # ten times faster than the eigenvalues
        np.linalg.cholesky(bound * (1 - 1e-9) * np.eye(len(matrix)) - matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _default(arms: FloatArray) -> float:
    """Return the highest default threshold, of one learner without making an array."""
    if arms.ndim == 2:
        return single_threshold(arms)
    return float(default_threshold(arms).max())


def _highest(threshold: float | FloatArray) -> float:
    if isinstance(threshold, np.ndarray) and threshold.ndim:
        return float(threshold.max())
    return float(threshold)


def _chunks(positions: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    return (positions[start : start + size] for start in range(0, positions.size, size))


def _of(
    learners: NDArray[np.intp], arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return what belongs to some learners, without a copy if these are all."""
    if learners.size == len(arms):
        return arms, inverse, unseen
    return arms[learners], inverse[learners], None if unseen is None else unseen[learners]


class Exploration(Protocol):
    """Chooses arms for learners that explore."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the n learners.

        An exploration that knows the probabilities of its arms, (n, K), may say so in a method
        ``probabilities(context)``; else they are counted.
        """
        ...


def check_exploration(exploration: object, name: str) -> None:
    """Refuse what cannot choose."""
    if isinstance(exploration, type) or not callable(getattr(exploration, "choose", None)):
        raise ValueError(f"{name}: expected an object with a method choose, got {exploration!r}")


@dataclass(frozen=True)
class WeakestDirection:
    """The arm that adds most where V is weakest.

    It has the largest squared projection on the whole eigenspace of the smallest eigenvalue that
    arms on offer can still raise (the null space of V, as long as it has one there). It works for
    fixed and for changing arms, and usually ends exploration in fewer rounds than a round robin
    over a basis.

    Examples
    --------
    >>> import mogro
    >>> arms = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 0.5]])
    >>> policy = mogro.MOGRO(dim=2, objectives=1, exploration=mogro.WeakestDirection())
    >>> rng = np.random.default_rng(0)
    >>> policy.select(arms, rng=rng)
    0
    >>> policy.update(arms[0], [1.0])
    >>> policy.select(arms, rng=rng)
    2
    """

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        return first_best(context.gains)

    def probabilities(self, context: ExplorationContext) -> FloatArray:
        """Return the probabilities of the arms, (n, K)."""
        return _certain(first_best(context.gains), context)


@dataclass(frozen=True)
class Uniform:
    """A uniformly random arm: the paper's exploration for varying contexts."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        learners, arms = context.arms.shape[:2]
        return np.asarray(rng.random((learners,)) * arms, dtype=np.int64)

    def probabilities(self, context: ExplorationContext) -> FloatArray:
        """Return the probabilities of the arms, (n, K)."""
        return np.full(context.arms.shape[:2], 1 / context.arms.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class BasisRoundRobin:
    """Round robin over a basis of the features: the paper's exploration for fixed arms.

    The basis is found by QR with column pivoting, which avoids nearly collinear arms.

    Parameters
    ----------
    features
        The arms that will be on offer every round, (K, d), or (*batch, K, d) as for ``select``.

    Attributes
    ----------
    basis
        Arms of the basis, (..., r), in the order of their turns; read-only.

    Examples
    --------
    >>> BasisRoundRobin([[1.0, 0.0], [0.9, 0.1], [0.0, 0.5]]).basis
    array([0, 2])
    """

    features: FloatArray
    basis: IntArray = field(init=False)
    _lengths: IntArray = field(init=False)

    def __post_init__(self) -> None:
        features = floats(self.features, "features", shape=(..., "K", "d")).copy()
        bases = [_basis(arms) for arms in features.reshape(-1, *features.shape[-2:])]
        # Arms that span less have a shorter basis: repeat it, and remember its length.
        longest = max(len(basis) for basis in bases)
        table = np.array([np.resize(basis, longest) for basis in bases])
        lengths = np.array([len(basis) for basis in bases])
        made = {
            "features": features,
            "basis": table.reshape(*features.shape[:-2], longest),
            "_lengths": lengths.reshape(features.shape[:-2]),
        }
        for name, array in made.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        return self._turns(context)

    def probabilities(self, context: ExplorationContext) -> FloatArray:
        """Return the probabilities of the arms, (n, K)."""
        return _certain(self._turns(context), context)

    def _turns(self, context: ExplorationContext) -> IntArray:
        arms, known = context.arms.shape[-2], self.features.shape[-2]
        if arms != known:
            raise ValueError(f"features: expected the {known} arms of BasisRoundRobin, got {arms}")
        lengths = np.broadcast_to(self._lengths, context.batch).reshape(-1)
        table = np.broadcast_to(self.basis, (*context.batch, self.basis.shape[-1]))
        turn = context.step % lengths[context.learners]
        return np.asarray(table.reshape(-1, table.shape[-1])[context.learners, turn])

    def __repr__(self) -> str:
        return f"BasisRoundRobin(<array {self.features.shape}>)"


def _certain(arms: IntArray, context: ExplorationContext) -> FloatArray:
    """Return probabilities (n, K) of arms (n,) that are chosen for certain."""
    certain = np.arange(context.arms.shape[1]) == arms[:, None]
    return np.asarray(certain, dtype=np.float64)


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    pivots = qr(features.T, mode="r", pivoting=True)[1]
    rank = span_basis(unit_rows(features), precision_of(features)).shape[1]
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
