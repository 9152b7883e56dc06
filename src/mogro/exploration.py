"""The first rounds: which arm to pull while too little is known.

Without a threshold a policy explores while some arm on offer has a variance ``x' S x``, in units of
the noise, above 10: less is known of it than a tenth of an observation would tell. That is the same
in whatever units or coordinates the features are. A round looks at 64 arms at most, the next one at
others; once there are two observations a feature, every eighth round looks.

With a threshold B, the paper's, it explores while some direction u of norm 1 in the span of the
arms on offer has ``u' S u > 1 / B``. With a flat prior and arms that stay the same this is the
smallest eigenvalue of V, restricted to the span of the features, below B; with arms that change it
also lets a learner go on when no arm on offer has an unknown part. A threshold below 1e-8 of the
largest square of a feature counts as that much for the feature: a flat prior alone weighs 1e-9.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mogro._algebra import arms_in_turn, largest, smallest
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, check_finite, floats, indices
from mogro.beliefs import (
    UNOBSERVED_DEVIATION,
    Beliefs,
    FrozenPosterior,
    covariance,
    scale_unobserved,
    take_arms,
    variances,
)

UNKNOWN_VARIANCE = 10.0  # variance of an arm, in units of the noise, that calls for exploration
_ARMS_A_ROUND = 64  # arms that a round looks at, without a threshold
_SEEN_PER_FEATURE = 2  # observations a feature from which on not every round looks
_TEST_EVERY = 8  # but one of so many
_MAX_NOTED = 16  # sets of arms that are remembered as known
_ONE_AND_ROUNDING = 1 + 1e-9  # u' S u times B may be 1 exactly, up to rounding
_EQUAL_EIGENVALUES = 1e-9  # eigenvalues this close, relatively, are one eigenspace
_EQUAL_GAINS = 1e-8  # gains this close, relatively, are equal
_RESOLUTION = 1e-8  # of a squared feature: of a smaller weight a flat prior tells nothing
_NEGLIGIBLE_SQUARE = 1e-12  # of a threshold: squares of features that could never add up to it
_FAR_SMALLER = 1e-3  # of the largest feature: one below may be negligible
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

    @property
    def gains(self) -> FloatArray:
        """What each arm would tell, (n, K).

        Without a threshold, variances. With one, squared projections on the whole eigenspace of the
        largest ``u' S u`` in the span of the arms, so that nothing depends on which eigenvectors
        LAPACK returns.
        """
        if self.threshold is None:
            return variances(self._unrepeated_arms, self.W[:, None])[..., 0]
        arms = self._unrepeated_arms / _resolvable_units(self._unrepeated_arms, self.threshold)
        return np.asarray(np.square(arms @ self.weakest).sum(axis=-1))

    @cached_property
    def weakest(self) -> FloatArray:
        """An orthonormal basis of that eigenspace, (n, d, r), with zeros where it is smaller."""
        assert self.threshold is not None
        units = _resolvable_units(self._unrepeated_arms, self.threshold)
        basis = span(self._unrepeated_arms / units, self.threshold)
        values, vectors = np.linalg.eigh(basis.mT @ covariance(self.W * units) @ basis)
        largest = values[:, -1:]
        # Rounding of V is relative to its largest eigenvalue, hence to the smallest here; zeros are
        # directions outside of the span.
        rounding = 8 * values.shape[-1] * _EPS
        smallest = np.where(values > rounding * largest, values, np.inf).min(axis=-1, keepdims=True)
        slack = np.clip(rounding * largest / smallest, _EQUAL_EIGENVALUES, 1e-3)
        return np.asarray(basis @ (vectors * (values >= largest * (1 - slack))[:, None, :]))

    @property
    def _unrepeated_arms(self) -> FloatArray:
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


def arms_to_explore(exploration: Exploration, context: ExplorationContext, *, rng: Rng) -> IntArray:
    """Return the arm that an exploration chooses for each of the n learners."""
    answer = exploration.choose(context, rng=rng)
    arms = indices(answer, "exploration", below=context.arms.shape[-2])
    if arms.shape != context.learners.shape:
        raise ValueError(
            f"exploration: expected an arm for each of {context.learners.size} learners, "
            f"got shape {arms.shape}"
        )
    return arms


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
        arms, count = context.arms.shape[-2], self.features.shape[-2]
        if arms != count:
            raise ValueError(f"features: expected the {count} arms of BasisRoundRobin, got {arms}")
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
    """Remembers that nothing needs exploration, so that most rounds need no look.

    While observations are added, ``u' S u`` falls for every u. So what was known once needs no look
    again until a posterior says by its version that S may have grown. It changes no answer.
    """

    def __init__(self) -> None:
        self._valid: tuple[int, float | None] = -1, None  # for a version of S and a threshold
        self._everything = False  # whether all directions are known up to the threshold
        self._known: dict[int, tuple[object, ...]] = {}  # arms, by the index of the first

    def knows(self, arms: FloatArray, first: int, version: int, threshold: float | None) -> bool:
        """Tell whether nothing about these arms, of which the first has this index, is unknown."""
        if self._valid != (version, threshold):
            self._valid, self._everything, self._known = (version, threshold), False, {}
        if self._everything and threshold is not None and _is_resolved(arms, threshold):
            return True
        return self._known.get(first) == (arms.shape, arms.dtype, arms.tobytes())

    def note(self, arms: FloatArray, first: int, everything: bool) -> None:
        """Note that these arms are known, or everything is."""
        self._everything |= everything
        if len(self._known) < _MAX_NOTED:
            self._known[first] = arms.shape, arms.dtype, arms.tobytes()


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
    posterior, (count, dim) = beliefs.expected, arms.shape[-2:]
    test_slice = arms_to_test(count, dim, posterior, step) if threshold is None else slice(0, None)
    if test_slice is None:
        return None
    tested, first = arms[..., test_slice, :], test_slice.start
    if cache is not None and cache.knows(tested, first, posterior.version, threshold):
        return None
    tested, offers, W = np.ascontiguousarray(tested), arms[..., None, :, :], posterior.W
    check_finite(tested, tested)
    if threshold is None:
        needs, limit = variances(tested, W), UNKNOWN_VARIANCE * _ONE_AND_ROUNDING
    else:
        W, units = _in_units_of_the_arms(W, offers), _resolvable_units(offers, threshold)
        S, limit = covariance(W * units), _ONE_AND_ROUNDING / threshold
        needs = largest_variance(offers / units, S, threshold)[..., None, :]
    if not largest(needs) > limit:
        if cache is not None:
            everything = threshold is not None and _all_known(posterior.W, arms, threshold)
            cache.note(tested, first, everything)
        return None
    check_finite(arms, arms)
    batch = beliefs.batch
    needs = np.broadcast_to(needs.max(axis=-2), W.shape[:-2])
    learners = np.flatnonzero(needs.max(axis=-1) > limit)
    if threshold is None:
        W = _in_units_of_the_arms(W, offers)
        if W.shape[-3] > 1:  # needs in one unit, also where an objective was never observed
            needs = np.broadcast_to(variances(tested, W).max(axis=-2), W.shape[:-2])
    neediest = (needs >= needs.max(axis=-1, keepdims=True) / _ONE_AND_ROUNDING).argmax(axis=-1)
    at = (*(np.unravel_index(learners, batch) if batch else ()), neediest.reshape(-1)[learners])
    offered = np.broadcast_to(take_arms(arms, batch, learners), (len(learners), count, dim))
    return ExplorationContext(offered, W[at], threshold, learners, batch, step)


def _all_known(W: FloatArray, arms: FloatArray, threshold: float) -> bool:
    """Tell whether every direction is known up to a threshold, and not by a flat prior."""
    if not _is_resolved(arms, threshold):
        return False
    return bool((threshold * np.linalg.eigvalsh(covariance(W))[..., -1] <= _ONE_AND_ROUNDING).all())


def arms_to_test(arms: int, dim: int, posterior: FrozenPosterior, step: int) -> slice | None:
    """Return which arms a round looks at, without a threshold; None in rounds that do not look."""
    if smallest(posterior.n) < _SEEN_PER_FEATURE * dim:
        return arms_in_turn(arms, step, _ARMS_A_ROUND)
    return None if step % _TEST_EVERY else arms_in_turn(arms, step // _TEST_EVERY, _ARMS_A_ROUND)


def _in_units_of_the_arms(W: FloatArray, arms: FloatArray) -> FloatArray:
    """Return W (..., d, d) in which features never seen have the sizes that they have among arms.

    So what is unknown of an arm does not depend on units.
    """
    deviations = np.sqrt(np.add.reduce(W * W, axis=-2))
    if largest(deviations) <= UNOBSERVED_DEVIATION:
        return W
    sizes = np.sqrt(np.square(arms, dtype=np.float64).mean(axis=-2))
    return np.asarray(W * scale_unobserved(deviations, sizes)[..., None, :])


def _resolvable_units(arms: FloatArray, threshold: float) -> FloatArray:
    """Return the units (..., 1, d) of features in which a threshold can be resolved: mostly 1."""
    squares = np.square(np.abs(arms).max(axis=-2, keepdims=True), dtype=np.float64)
    return np.asarray(np.sqrt(np.maximum(_RESOLUTION * squares / threshold, 1.0)))


def _is_resolved(arms: FloatArray, threshold: float) -> bool:
    """Tell whether a threshold can be resolved in every feature of arms as it is, in units of 1."""
    limit = math.sqrt(threshold / _RESOLUTION)
    if float(np.vdot(arms, arms)) <= limit * limit:  # mostly, and less than a look at each
        return True
    return float(np.abs(arms).max()) <= limit


def largest_variance(arms: FloatArray, S: FloatArray, threshold: float = 0.0) -> FloatArray:
    """Return the largest ``u' S u``, (...), of unit vectors u in the span of arms (..., K, d).

    It is 0 for arms that are all zero. See :func:`span` for the threshold.

    Examples
    --------
    >>> arms = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> largest_variance(arms, np.diag([0.25, 0.5, 1.0])).item()  # the third is not in the span
    0.5
    """
    basis = span(arms, threshold)
    return np.asarray(np.maximum(np.linalg.eigvalsh(basis.mT @ S @ basis)[..., -1], 0))


def span(arms: FloatArray, threshold: float = 0.0) -> FloatArray:
    """Return an orthonormal basis (..., d, r) of the span of arms (..., K, d).

    It has zeros where a span has fewer dimensions than others. Whatever the units of the features
    and the sizes of the arms: both are brought to one size first. Beside features that are far
    larger, those whose squares could never add up to a threshold count as zeros.
    """
    sizes = np.abs(arms).max(axis=-2).astype(np.float64)
    far_smaller = sizes < _FAR_SMALLER * sizes.max(axis=-1, keepdims=True)
    negligible = far_smaller & (np.square(sizes) <= _NEGLIGIBLE_SQUARE * threshold)
    sizes = np.where(negligible, 0.0, sizes)[..., None]
    scaled = np.divide(arms, sizes.mT, out=np.zeros(arms.shape), where=sizes.mT > 0)
    norms = np.sqrt(np.vecdot(scaled, scaled))[..., None]
    units = np.divide(scaled, norms, out=scaled, where=norms > 0)
    _, lengths, directions = np.linalg.svd(units, full_matrices=False)
    inside = (np.square(lengths) > rounding_share(arms.shape[-1], arms.dtype))[..., None, :]
    basis = np.linalg.qr(directions.mT * sizes * inside)[0]
    # Rounding in a row of zeros would meet the variance of a feature that was never seen.
    return np.asarray(basis * (inside & (sizes > 0)))


def rounding_share(dim: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a squared norm that rounding of features makes of zero.

    A smaller part of an arm could never be resolved in V beside the rest of the arm, however often
    the arm were pulled: if it called for exploration, that would not end.
    """
    return dim * max(8 * _EPS, (8 * float(np.finfo(dtype).eps)) ** 2)


def _certain(arms: IntArray, context: ExplorationContext) -> FloatArray:
    """Return probabilities (n, K) of arms (n,) that are chosen for certain."""
    certain = np.arange(context.arms.shape[1]) == arms[:, None]
    return np.asarray(certain, dtype=np.float64)


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    pivots = qr(features.T, mode="r", pivoting=True)[1]
    rank = int(np.count_nonzero(span(features).any(axis=-2)))
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
