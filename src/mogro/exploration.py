"""The first rounds: which arm to pull while too little is known.

Without a threshold a policy explores while some arm on offer has a variance ``x' S x``, in units of
the noise, above 10: less is known of it than a tenth of an observation would tell. That is the same
in whatever units or coordinates the features are. A round looks at 64 arms at most, the next one at
others; once there are two observations a feature, every eighth round looks.

With a threshold B, the paper's, it explores while some direction u of norm 1 in the span of the
arms on offer has ``u' S u > 1 / B``. With a flat prior and arms that stay the same this is the
smallest eigenvalue of V, restricted to the span of the features, below B; with arms that change it
also lets a learner go on when no arm on offer has an unknown part.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mogro._algebra import arms_in_turn, largest, smallest
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, check_finite, floats
from mogro.beliefs import (
    UNSEEN,
    Beliefs,
    FrozenPosterior,
    covariance,
    take_arms,
    unseen_scale,
    variances,
)

UNKNOWN_VARIANCE = 10.0  # variance of an arm, in units of the noise, that calls for exploration
_ARMS_A_ROUND = 64  # arms that a round looks at, without a threshold
_SEEN_PER_FEATURE = 2  # observations a feature from which on not every round looks
_TEST_EVERY = 8  # but one of so many
_MAX_NOTED = 16  # rounds whose arms are remembered as known
_ONE = 1 + 1e-9  # u' S u times B may be 1 exactly, up to rounding
_EQUAL_EIGENVALUES = 1e-9  # eigenvalues this close, relatively, are one eigenspace
_EQUAL_GAINS = 1e-8  # gains this close, relatively, are equal
_TINY_PART = 1e-9  # of an arm: rounding
_NEGLIGIBLE_SQUARE = 1e-12  # of a threshold: squares of features that could never add up to it
_FULL_RANK = 1e-6  # condition of a Gram matrix of unit vectors that shows its rank plainly
_TOO_NEAR = 1e-6  # a random vector nearer to a span tells nothing about other arms
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ExplorationContext:
    """What some exploring learners of a batch, n of them, know and have on offer.

    Attributes
    ----------
    arms
        Arms on offer, (n, K, d).
    W
        Roots of the posterior covariances in units of the noise, ``S = W' W``, (n, d, d).
    threshold
        B; None for the default.
    learners
        Flat positions of these learners in their batch, (n,).
    batch
        Shape of that batch.
    step
        Number of arms selected before.
    """

    arms: FloatArray
    W: FloatArray
    threshold: float | None
    learners: NDArray[np.intp]
    batch: tuple[int, ...]
    step: int

    @cached_property
    def S(self) -> FloatArray:  # noqa: N802
        """Posterior covariances, (n, d, d)."""
        return covariance(self.W)

    @property
    def gains(self) -> FloatArray:
        """What each arm would tell, (n, K).

        Without a threshold, variances. With one, squared projections on the whole eigenspace of the
        largest ``u' S u`` in the span of the arms, so that nothing depends on which eigenvectors
        LAPACK returns.
        """
        if self.threshold is None:
            return variances(self._listed, self.W[:, None])[..., 0]
        return np.asarray(np.square(self._listed @ self.weakest).sum(axis=-1))

    @cached_property
    def weakest(self) -> FloatArray:
        """An orthonormal basis of that eigenspace, (n, d, r), with zeros where it is smaller."""
        assert self.threshold is not None
        inside, basis = _restricted(self._listed, self.S, _NEGLIGIBLE_SQUARE * self.threshold)
        values, vectors = np.linalg.eigh(inside)
        largest = values[:, -1:]
        # Rounding of V is relative to its largest eigenvalue, hence to the smallest here; zeros are
        # directions outside of the span.
        rounding = 8 * inside.shape[-1] * _EPS
        smallest = np.where(values > rounding * largest, values, np.inf).min(axis=-1, keepdims=True)
        slack = np.clip(rounding * largest / smallest, _EQUAL_EIGENVALUES, 1e-3)
        weakest = vectors * (values >= largest * (1 - slack))[:, None, :]
        return weakest if basis is None else np.asarray(basis @ weakest)

    @property
    def _listed(self) -> FloatArray:
        """The arms, once if learners share the very same ones."""
        return self.arms[:1] if self.arms.strides[0] == 0 else self.arms

    def subset(self, indices: IntArray) -> "ExplorationContext":
        """Return the context of some of these learners."""
        arms, W, learners = self.arms[indices], self.W[indices], self.learners[indices]
        return ExplorationContext(arms, W, self.threshold, learners, self.batch, self.step)


class Exploration(Protocol):
    """Chooses arms for learners that explore."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the n learners.

        An exploration that knows the probabilities of its arms, (n, K), may say so in a method
        ``probabilities(context)``; else they are counted.
        """


def check_exploration(exploration: object, name: str) -> None:
    """Refuse what cannot choose."""
    if isinstance(exploration, type) or not callable(getattr(exploration, "choose", None)):
        raise ValueError(f"{name}: expected an object with a method choose, got {exploration!r}")


@dataclass(frozen=True)
class WeakestDirection:
    """The arm that tells most where least is known.

    Without a threshold, the arm with the largest variance. With one, the arm with the largest
    squared projection on the direction in the span of the arms with the largest variance, or on all
    of these if there are several. It works for fixed and for changing arms, and usually ends
    exploration in fewer rounds than a round robin over a basis.

    Examples
    --------
    >>> import mogro
    >>> arms = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 0.5]])
    >>> policy = mogro.MOGRO(dim=2, objectives=1, exploration=mogro.WeakestDirection())
    >>> rng = np.random.default_rng(0)
    >>> first = policy.select(arms, rng=rng)
    >>> policy.update(arms[first], [1.0])
    >>> sorted([first, policy.select(arms, rng=rng)])
    [0, 2]
    """

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        gains = context.gains
        level = gains.max(axis=-1, keepdims=True) * (1 - _EQUAL_GAINS)
        return np.asarray((gains >= level).argmax(axis=-1))

    def probabilities(self, context: ExplorationContext) -> FloatArray:
        """Return the probabilities of the arms, (n, K)."""
        return _certain(self.choose(context, rng=np.random.default_rng(0)), context)


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
        """Return one arm for each learner: the one whose turn it is."""
        arms, known = context.arms.shape[-2], self.features.shape[-2]
        if arms != known:
            raise ValueError(f"features: expected the {known} arms of BasisRoundRobin, got {arms}")
        if self._lengths.size == 1:  # one basis for all learners, whatever the batch
            turn = context.step % self._lengths.item()
            return np.full(len(context.learners), self.basis.reshape(-1)[turn])
        lengths = np.broadcast_to(self._lengths, context.batch).reshape(-1)
        table = np.broadcast_to(self.basis, (*context.batch, self.basis.shape[-1]))
        turns = context.step % lengths[context.learners]
        return np.asarray(table.reshape(-1, table.shape[-1])[context.learners, turns])

    def probabilities(self, context: ExplorationContext) -> FloatArray:
        """Return the probabilities of the arms, (n, K)."""
        return _certain(self.choose(context, rng=np.random.default_rng(0)), context)

    def __repr__(self) -> str:
        return f"BasisRoundRobin(<array {self.features.shape}>)"


class ExplorationCache:
    """Remembers that nothing needs exploration up to a threshold, so that most rounds need no look.

    While observations are added, ``u' S u`` falls for every u. So what was known once, of all
    directions or of the span of some arms, needs no look again. A random vector that is orthogonal
    to a span is orthogonal to arms of this span and to no others. It changes no answer.
    """

    def __init__(self) -> None:
        self._version = -1
        self._outside: FloatArray | None = None  # vectors orthogonal to known spans, (..., d, G)
        self._looks = 0  # that found nothing to explore
        self._known: dict[int, FloatArray] = {}  # arms known without a threshold, by the first

    def _begin(self, version: int) -> None:
        """Forget what was known before S may have grown."""
        if version != self._version:
            self._version, self._outside, self._looks, self._known = version, None, 0, {}

    def knows(self, arms: FloatArray, first: int, version: int) -> bool:
        """Tell whether every one of these arms, the first of which is at some index, is known."""
        self._begin(version)
        return first in self._known and np.array_equal(self._known[first], arms)

    def note_known(self, arms: FloatArray, first: int) -> None:
        """Note that these arms are known, unless there are very many."""
        if len(self._known) < _MAX_NOTED:
            self._known[first] = arms.copy()

    def covers(self, arms: FloatArray, version: int) -> bool:
        """Tell whether it is certain that no learner has to explore arms (..., K, d)."""
        self._begin(version)
        if self._outside is None:
            return False
        if not self._outside.size:
            return True
        parts = np.square(arms @ self._outside)
        return bool((parts <= _TINY_PART**2 * np.vecdot(arms, arms)[..., None]).all())

    def note(self, arms: FloatArray, S: FloatArray, threshold: float) -> None:
        """Note that learners (..., G) had nothing to explore; see now and then what they know."""
        self._looks += 1
        if self._looks & (self._looks - 1):  # not a power of two
            return
        if (np.linalg.eigvalsh(S)[..., -1] * threshold <= _ONE).all():
            self._outside = np.zeros(0)
            return
        basis = _restricted(arms, S, _NEGLIGIBLE_SQUARE * threshold)[1]
        assert basis is not None  # or all directions would be known
        mixed = np.random.default_rng(0).standard_normal((*S.shape[:-1], 1))
        mixed -= basis @ (np.swapaxes(basis, -1, -2) @ mixed)
        norms = np.linalg.norm(mixed, axis=-2, keepdims=True)
        mixed = np.divide(mixed, norms, out=np.full(mixed.shape, np.nan), where=norms > _TOO_NEAR)
        whole = np.count_nonzero(basis.any(axis=-2), axis=-1) == S.shape[-1]  # nothing is outside
        self._outside = np.swapaxes(np.where(whole[..., None], 0.0, mixed[..., 0]), -1, -2)


def needed_exploration(
    arms: FloatArray,
    beliefs: Beliefs,
    threshold: float | None,
    *,
    step: int,
    cache: ExplorationCache | None = None,
) -> ExplorationContext | None:
    """Return the learners that have to explore arms (..., K, d); None if nobody has to.

    Where every objective has an S of its own, a learner goes by the one with the largest need.
    """
    known = beliefs.expected
    if threshold is None:
        looked_at = arms_to_test(arms.shape[-2], arms.shape[-1], known, step)
        if looked_at is None:
            return None
        some, first = arms[..., looked_at, :], looked_at.start
        if cache is not None and cache.knows(some, first, known.version):
            return None
    elif cache is not None and cache.covers(arms, known.version):
        return None
    batch, wide, W = beliefs.batch, arms[..., None, :, :], known.W
    if threshold is None:
        check_finite(some, some)
        needs = variances(some, W).max(axis=-2) / UNKNOWN_VARIANCE
        if cache is not None and largest(needs) <= 1:
            cache.note_known(some, first)
    else:
        check_finite(arms, arms)
        S = covariance(_in_units_of_the_arms(W, wide))
        needs = largest_variance(wide, S, _NEGLIGIBLE_SQUARE * threshold) * threshold
    if not np.count_nonzero(needs > _ONE):
        if cache is not None and threshold is not None:
            cache.note(wide, S, threshold)
        return None
    check_finite(arms, arms)
    W = _in_units_of_the_arms(W, wide)
    if not batch and len(W) == 1:  # one learner: nothing to sort out, nor to copy
        return ExplorationContext(wide, W, threshold, np.zeros(1, dtype=np.intp), batch, step)
    needs = np.broadcast_to(needs, W.shape[:-2])
    learners = np.flatnonzero(needs.max(axis=-1) > _ONE)
    if W.shape[-3] > 1 and threshold is None:  # in one unit, also where one was never observed
        needs = variances(some, W).max(axis=-2)
    neediest = (needs >= needs.max(axis=-1, keepdims=True) / _ONE).argmax(axis=-1)
    at = (*(np.unravel_index(learners, batch) if batch else ()), neediest.reshape(-1)[learners])
    offered = np.broadcast_to(take_arms(arms, batch, learners), (len(learners), *arms.shape[-2:]))
    return ExplorationContext(offered, W[at], threshold, learners, batch, step)


def arms_to_test(arms: int, dim: int, known: FrozenPosterior, step: int) -> slice | None:
    """Return which arms a round looks at, without a threshold; None in rounds that do not look."""
    if smallest(known.n) < _SEEN_PER_FEATURE * dim:
        return arms_in_turn(arms, step, _ARMS_A_ROUND)
    return None if step % _TEST_EVERY else arms_in_turn(arms, step // _TEST_EVERY, _ARMS_A_ROUND)


def _in_units_of_the_arms(W: FloatArray, arms: FloatArray) -> FloatArray:
    """Return W (..., d, d) in which features never seen have the sizes that they have among arms.

    So what is unknown of an arm does not depend on units.
    """
    deviations = np.sqrt(np.add.reduce(W * W, axis=-2))
    if largest(deviations) <= UNSEEN:
        return W
    sizes = np.sqrt(np.square(arms, dtype=np.float64).mean(axis=-2))
    return np.asarray(W * unseen_scale(deviations, sizes)[..., None, :])


def largest_variance(arms: FloatArray, S: FloatArray, negligible: float = 0.0) -> FloatArray:
    """Return the largest ``u' S u``, (...), of unit vectors u in the span of arms (..., K, d).

    It is 0 for arms that are all zero. Features whose squares are negligible count as zeros where
    arms may not span all of the space.

    Examples
    --------
    >>> arms = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> largest_variance(arms, np.diag([0.25, 0.5, 1.0])).item()  # the third is not in the span
    0.5
    """
    return np.asarray(
        np.maximum(np.linalg.eigvalsh(_restricted(arms, S, negligible)[0])[..., -1], 0)
    )


def _restricted(
    arms: FloatArray, S: FloatArray, negligible: float
) -> tuple[FloatArray, FloatArray | None]:
    """Return S restricted to the span of the arms, and a basis of it.

    The basis (..., d, r) is orthonormal, with zeros where a span has fewer dimensions than others;
    None if it is all of the space.
    """
    count, dim = arms.shape[-2:]
    few, every = count < dim, -(-count // (4 * dim))
    if every > 1 and _restricted(arms[..., ::every, :], S, negligible)[1] is None:
        return S, None  # some span all of the space already
    units = _unit_rows(arms)
    turned = np.swapaxes(units, -1, -2)
    lengths, vectors = np.linalg.eigh(units @ turned if few else turned @ units)
    if (lengths[..., 0] > _FULL_RANK * lengths[..., -1]).all():  # as many directions as can be
        if not few:
            return S, None
        basis = turned @ (vectors / np.sqrt(lengths)[..., None, :])
    else:
        basis = _careful_basis(arms, negligible)
    return np.swapaxes(basis, -1, -2) @ S @ basis, basis


def _careful_basis(arms: FloatArray, negligible: float = 0.0) -> FloatArray:
    """Return a basis as :func:`_restricted` does, whatever the units of the features."""
    sizes = np.abs(arms).max(axis=-2).astype(np.float64)
    sizes = np.where(np.square(sizes) > negligible, sizes, np.inf)
    _, lengths, directions = np.linalg.svd(
        _unit_rows(arms / sizes[..., None, :]), full_matrices=False
    )
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    inside = (np.square(lengths) > rounding_share(arms.shape[-1], arms.dtype))[..., None, :]
    basis = np.swapaxes(directions, -1, -2) * sizes[..., None]
    return np.asarray(np.linalg.qr(basis * inside)[0] * inside)


def rounding_share(dim: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a squared norm that rounding of features makes of zero.

    A smaller part of an arm could never be resolved in V beside the rest of the arm, however often
    the arm were pulled: if it called for exploration, that would not end.
    """
    return dim * max(8 * _EPS, (8 * float(np.finfo(dtype).eps)) ** 2)


def _unit_rows(arms: FloatArray) -> FloatArray:
    """Return arms (..., K, d) with norm 1: a direction counts however small the arm is."""
    wide = arms.astype(np.float64, copy=False)
    norms = np.sqrt(np.vecdot(wide, wide))[..., None]
    return np.asarray(np.divide(wide, norms, out=np.zeros(wide.shape), where=norms > 0))


def _certain(arms: IntArray, context: ExplorationContext) -> FloatArray:
    """Return probabilities (n, K) of arms (n,) that are chosen for certain."""
    certain = np.arange(context.arms.shape[1]) == arms[:, None]
    return np.asarray(certain, dtype=np.float64)


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    pivots = qr(features.T, mode="r", pivoting=True)[1]
    basis = _careful_basis(features)
    rank = int(np.count_nonzero(basis.any(axis=-2)))
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
