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

from mogro._spans import Precision, has_part, precision_of, span, span_basis, squares, unit_rows
from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray, floats
from mogro.linear import TINY

# The threshold that MOGRO takes by itself: this share of the mean squared norm of the arms on
# offer; benchmarks/threshold.py shows the sweep.
DEFAULT_SHARE = 0.1

# A direction may be known at exactly the threshold: need * threshold is 1 up to rounding.
SATISFIED = 1 + 1e-9

_EPS = float(np.finfo(np.float64).eps)
_SAMPLED = 1000  # arms that the default threshold looks at
_SAME = 1e-9  # eigenvalues this close, relatively, are one eigenspace
_COMPARED = 2**16  # numbers in arms up to which they are compared with those of last time
_AT_ONCE = 2**16  # numbers in arms looked at together, so that a batch stays in the cache
_STRICT = 0.01  # of the share that counts as rounding: certainly rounding
_TIED = 1e-8  # gains this close, relatively, are equal


def default_threshold(arms: FloatArray) -> FloatArray:
    """Return the threshold (...) for arms (..., K, d): a tenth of their mean squared norm.

    Of more than a thousand arms, evenly spaced ones stand for all: a decision among many arms must
    not cost twice as much for a number of which the order of magnitude matters.

    Examples
    --------
    >>> default_threshold(np.array([[2.0, 0.0], [0.0, 1.0]])).item()
    0.25
    """
    if arms.shape[-2] > _SAMPLED:
        arms = arms[..., :: math.ceil(arms.shape[-2] / _SAMPLED), :]
    flat = arms.reshape(*arms.shape[:-2], -1)
    return np.asarray(np.vecdot(flat, flat) * (DEFAULT_SHARE / arms.shape[-2]))


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
    units, precision = unit_rows(arms), precision_of(arms)
    new = np.asarray(_unseen_parts(units, unseen, precision).any(axis=-1))
    found: FloatArray = np.where(new, np.inf, 0.0)
    for seen in _parts_of(~new):
        inside = _within(span(units[seen], precision), inverse[seen])
        found[seen] = np.maximum(np.linalg.eigvalsh(inside)[:, -1], 0)
    return found


def gains(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return what each arm would add where V is weakest, (n, K); parameters as for :func:`needs`.

    These are squared projections on the directions never seen, if the arms have a part there, or
    else on the whole eigenspace, within the span of the arms, of the largest need.
    """
    units, precision = unit_rows(arms), precision_of(arms)
    wide = arms.astype(np.float64, copy=False)
    new = _unseen_parts(units, unseen, precision)
    some = np.asarray(new.any(axis=-1))
    found: FloatArray = np.zeros(arms.shape[:2])
    for never in _parts_of(some):
        assert unseen is not None
        found[never] = squares(wide[never] @ unseen[never]) * new[never]
    for seen in _parts_of(~some):
        weakest = _weakest(span(units[seen], precision), inverse[seen])
        found[seen] = squares(wide[seen] @ weakest)
    return found


def explores(need: FloatArray, threshold: FloatArray | float) -> BoolArray:
    """Tell who has to explore, from needs and thresholds, each (n,)."""
    return np.asarray(need * np.maximum(threshold, TINY) > SATISFIED)  # infinite, if never seen


def first_best(gains: FloatArray) -> IntArray:
    """Return the first arm, (n,), whose gain in (n, K) is the largest up to rounding."""
    level = gains.max(axis=-1, keepdims=True) * (1 - _TIED)
    return np.asarray((gains >= level).argmax(axis=-1))


def _parts_of(chosen: BoolArray) -> Iterator[slice | NDArray[np.intp]]:
    """Yield an index of the learners chosen, if there are any; all of them without a copy."""
    number = np.count_nonzero(chosen)
    if number:
        yield slice(None) if number == chosen.size else np.flatnonzero(chosen)


def _within(bases: FloatArray | None, inverse: FloatArray) -> FloatArray:
    """Return ``V^+`` (n, d, d) restricted to the span of bases (n, d, r)."""
    return inverse if bases is None else np.swapaxes(bases, -1, -2) @ inverse @ bases


def _weakest(bases: FloatArray | None, inverse: FloatArray) -> FloatArray:
    """Return the eigenspaces (n, d, r) of the largest need in the span of bases (n, d, r).

    Columns that do not belong to them are zero.
    """
    values, vectors = np.linalg.eigh(_within(bases, inverse))
    largest = values[:, -1:]
    # What rounding does to V is relative to its largest eigenvalue, hence to the smallest here;
    # zeros are directions outside of the span.
    rounding = 8 * inverse.shape[-1] * _EPS
    smallest = np.where(values > rounding * largest, values, np.inf).min(axis=-1, keepdims=True)
    slack = np.clip(rounding * largest / smallest, _SAME, _SAME**0.5)
    same = values >= largest * (1 - slack)
    space = vectors * same[:, None, :]
    return np.asarray(space if bases is None else bases @ space)


def _unseen_parts(units: FloatArray, unseen: FloatArray | None, precision: Precision) -> BoolArray:
    """Tell which unit vectors (n, K, d) have a part never seen, (n, K)."""
    if unseen is None:
        return np.zeros(units.shape[:2], dtype=np.bool_)
    return has_part(units, unseen, precision)


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

    @cached_property
    def gains(self) -> FloatArray:
        """Squared projections of the arms on the weakest eigenspace, (n, K): see :func:`gains`."""
        return gains(self.arms, self.inverse, self.unseen)

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
    >>> settled.look(arms, np.linalg.inv(V), None, 1.0)  # nobody has to explore
    array([], dtype=int64)
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
        self._work: FloatArray = np.zeros(n)  # spent on learners with nothing to explore
        self._due: FloatArray = np.ones(n)  # work after which to look for a bound,
        self._due_inside: FloatArray = np.full(n, 4.0)  # and for projectors

    def covers(self, arms: FloatArray, threshold: float | FloatArray | None) -> bool:
        """Tell whether it is certain that no learner has to explore.

        Parameters
        ----------
        arms
            Arms on offer, (K, d), or (*batch, K, d) up to broadcasting.
        threshold
            For all learners or (*batch); None for :func:`default_threshold`.
        """
        if self._arms_need < np.inf and self._same(arms):
            highest = self._arms_default if threshold is None else _highest(threshold)
            return min(self._arms_need, self._bound) * highest <= SATISFIED
        if self._bound < np.inf:
            highest = _highest(default_threshold(arms) if threshold is None else threshold)
            return self._bound * highest <= SATISFIED
        return False

    def look(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        threshold: float | FloatArray | None,
    ) -> NDArray[np.intp]:
        """Return the flat positions in the batch of learners that have to explore.

        Parameters
        ----------
        arms, threshold
            As for :meth:`covers`; arms have to be finite.
        inverse, unseen
            ``V^+`` and the projectors on directions never seen, (*batch, d, d); None if there are
            none.
        """
        n, matrix = self._work.size, (-1, *inverse.shape[-2:])
        given = default_threshold(arms) if threshold is None else threshold
        thresholds = self._for_each(given, ())
        offered = self._for_each(arms, arms.shape[-2:])
        inverse = inverse.reshape(matrix)
        unseen = None if unseen is None else unseen.reshape(matrix)
        found = self._arms_needs if self._same(arms) else np.full(n, np.inf)
        found = np.minimum(found, self._everywhere)
        asking = np.flatnonzero(explores(found, thresholds))
        asking = asking[self._beyond(asking, offered, thresholds, found)]
        for some in _chunks(asking, max(1, _AT_ONCE // math.prod(arms.shape[-2:]))):
            hidden = None if unseen is None else unseen[some]
            found[some] = needs(offered[some], inverse[some], hidden)
        exploring = explores(found, thresholds)
        self._remember(arms, found, default=given if threshold is None else None)
        done = asking[~exploring[asking]]
        self._work[done] += min(arms.shape[-2:]) / arms.shape[-1]
        for i in done[self._work[done] >= self._due[done]].tolist():
            hidden = None if unseen is None else unseen[i]
            self._find_bounds(i, inverse[i], hidden, float(thresholds[i]))
        return np.flatnonzero(exploring)

    def _for_each(self, array: float | FloatArray, shape: tuple[int, ...]) -> FloatArray:
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
        self, arms: FloatArray, found: FloatArray, *, default: float | FloatArray | None
    ) -> None:
        largest = float(found.max())
        if arms.size > _COMPARED or (found.size == 1 and largest == np.inf):
            self._arms, self._arms_need = (), np.inf
            return
        self._arms = (arms.shape, arms.dtype, arms.tobytes())
        self._arms_default = _highest(default_threshold(arms) if default is None else default)
        self._arms_needs, self._arms_need = found, largest

    def _beyond(
        self,
        asking: NDArray[np.intp],
        arms: FloatArray,
        thresholds: FloatArray,
        found: FloatArray,
    ) -> BoolArray:
        """Tell which of the learners asking may be offered something unknown.

        For the others, put a bound into ``found``.
        """
        if self._unknown is None or not self._useful:
            return np.ones(asking.size, dtype=np.bool_)
        units, precision = unit_rows(arms[asking]), precision_of(arms)
        # Stricter about rounding than needs() is, so that both agree.
        strict = precision._replace(share=_STRICT * precision.share)
        beyond = np.asarray(has_part(units, self._unknown[asking], strict).any(axis=-1))
        beyond |= explores(self._inside[asking], thresholds[asking])
        found[asking[~beyond]] = self._inside[asking[~beyond]]
        self._useful = not beyond.all()
        return beyond

    def _find_bounds(
        self, learner: int, inverse: FloatArray, unseen: FloatArray | None, threshold: float
    ) -> None:
        """Look for a bound everywhere, or else for the directions that are known to a learner."""
        if not threshold > 0:
            return
        total = inverse
        if unseen is not None:  # never seen: a variance beyond any that could be known
            total = inverse + (2 / threshold + 2 * np.trace(inverse)) * unseen
        for reserve in (4, 2, 1):  # for thresholds that go up and down
            if _is_below(total, 1 / (reserve * threshold)):
                self._everywhere[learner] = 1 / (reserve * threshold)
                self._bound = float(self._everywhere.max())
                return
        work = self._work[learner]
        self._due[learner] = 2 * work
        if work >= self._due_inside[learner]:  # eigenvectors are dear
            self._due_inside[learner] = 4 * work
            self._find_unknown(learner, total, threshold)

    def _find_unknown(self, learner: int, total: FloatArray, threshold: float) -> None:
        dim = len(total)
        values, vectors = np.linalg.eigh(total)
        known = values * threshold <= 1
        if self._unknown is None:
            self._unknown = np.tile(np.eye(dim), (self._work.size, 1, 1))
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


def _highest(threshold: float | FloatArray) -> float:
    if isinstance(threshold, np.ndarray) and threshold.ndim:
        return float(threshold.max())
    return float(threshold)


def _chunks(positions: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    return (positions[start : start + size] for start in range(0, positions.size, size))


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
    return (np.arange(context.arms.shape[1]) == arms[:, None]).astype(np.float64)


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    pivots = qr(features.T, mode="r", pivoting=True)[1]
    rank = span_basis(unit_rows(features), precision_of(features)).shape[1]
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
