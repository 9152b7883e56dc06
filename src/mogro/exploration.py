"""The first rounds: which arm to pull while some direction has been seen too little.

A direction u of norm 1 is known once ``u^T V^+ u``, the variance of an estimate along it, is at
most ``1 / threshold``. A policy explores until that holds for all of the span of the arms on offer.
With arms that stay the same this is the paper's test, the smallest eigenvalue of V restricted to
the span of the features; with arms that change it also lets a learner go on when nothing on offer
could teach it anything.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mogro._streams import Rng
from mogro._ties import first_best
from mogro._validation import FloatArray, IntArray, floats

# The threshold that MOGRO takes by itself: this share of the mean squared norm of the arms.
DEFAULT_SHARE = 0.1
# A need times its threshold, at most: rounding must not keep exploration going.
REACHED = 1 + 1e-9

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExplorationContext:
    """What n exploring learners of a batch know and have on offer.

    Attributes
    ----------
    arms
        Arms on offer, (n, K, d).
    inverse
        Pseudo-inverse of V, (n, d, d).
    unseen
        Projector on the directions that V has nothing of, (n, d, d), or None.
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

    @property
    def gains(self) -> FloatArray:
        """Squared projections (n, K) of the arms on the weakest unexplored eigenspace."""
        return gains(self.arms, self.inverse, self.unseen)

    def only(self, place: int) -> "ExplorationContext":
        """Return the context of one of these learners."""
        one = slice(place, place + 1)
        unseen = None if self.unseen is None else self.unseen[one]
        return ExplorationContext(
            self.arms[one], self.inverse[one], unseen, self.learners[one], self.batch, self.step
        )


class Settled:
    """Remembers what needs no exploration."""

    def reset(self) -> None:
        """Forget."""


def default_threshold(arms: FloatArray) -> FloatArray:
    """Return the default threshold, (...), for arms (..., K, d)."""
    return np.asarray(DEFAULT_SHARE * np.vecdot(arms, arms).mean(axis=-1))


def needs(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return the largest ``u^T V^+ u`` over unit u in the span of arms, (n,); inf if unseen."""
    return np.array(
        [
            _weakest(x.astype(np.float64), v, None if unseen is None else unseen[i])[0]
            for i, (x, v) in enumerate(zip(arms, inverse, strict=True))
        ]
    )


def gains(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return squared projections (n, K) on the weakest eigenspace."""
    return np.array(
        [
            _weakest(x.astype(np.float64), v, None if unseen is None else unseen[i])[1]
            for i, (x, v) in enumerate(zip(arms, inverse, strict=True))
        ]
    )


def _weakest(
    x: FloatArray, inverse: FloatArray, unseen: FloatArray | None
) -> tuple[float, FloatArray]:
    norms = np.vecdot(x, x)
    if unseen is not None:
        outside = np.square(x @ unseen).sum(axis=-1)
        if (outside > negligible(x.shape[-1]) * norms).any():
            return np.inf, outside
    if not norms.max() > 0:
        return 0.0, norms
    _, sizes, basis = np.linalg.svd(x, full_matrices=False)
    basis = basis[sizes > 1e-9 * sizes[0]]
    values, vectors = np.linalg.eigh(basis @ inverse @ basis.T)
    same = values >= values[-1] * (1 - 1e-9)
    parts = x @ basis.T @ vectors[:, same]
    return float(values[-1]), np.vecdot(parts, parts)


def negligible(dim: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a squared norm that rounding of features makes of zero."""
    return dim * max(8 * _EPS, (8 * float(np.finfo(dtype).eps)) ** 2)


class Exploration(Protocol):
    """Chooses arms for learners that explore."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the n learners."""
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


@dataclass(frozen=True)
class Uniform:
    """A uniformly random arm: the paper's exploration for varying contexts."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        learners, arms = context.arms.shape[:2]
        return np.asarray(rng.random((learners,)) * arms, dtype=np.int64)


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
        Arms of the basis, (..., r), in the order of their turns.

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
        features.flags.writeable = False
        object.__setattr__(self, "features", features)
        bases = [_basis(arms) for arms in features.reshape(-1, *features.shape[-2:])]
        # Arms that span less have a shorter basis: repeat it, and remember its length.
        longest = max(len(basis) for basis in bases)
        table = np.array([np.resize(basis, longest) for basis in bases])
        self.__dict__["basis"] = table.reshape(*features.shape[:-2], longest)
        lengths = np.array([len(basis) for basis in bases])
        self.__dict__["_lengths"] = lengths.reshape(features.shape[:-2])

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        arms, known = context.arms.shape[-2], self.features.shape[-2]
        if arms != known:
            raise ValueError(f"features: expected the {known} arms of BasisRoundRobin, got {arms}")
        lengths = np.broadcast_to(self._lengths, context.batch).reshape(-1)
        table = np.broadcast_to(self.basis, (*context.batch, self.basis.shape[-1]))
        turn = context.step % lengths[context.learners]
        return np.asarray(table.reshape(-1, table.shape[-1])[context.learners, turn])

    def __repr__(self) -> str:
        return f"BasisRoundRobin(<array {self.features.shape}>)"


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    triangle, pivots = qr(features.T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    rank = int((sizes > 8 * max(features.shape) * np.finfo(features.dtype).eps * sizes[0]).sum())
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
