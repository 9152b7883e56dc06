"""Ways to explore: what a learner that explores goes by, and what chooses for it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mogro._spans import precision_of, span_basis, unit_rows
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, floats
from mogro.exploration.needs import Study, first_best


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
    _study: Study | None = field(default=None, repr=False)  # if these were looked at before

    @cached_property
    def gains(self) -> FloatArray:
        """Squared projections of the arms on the weakest eigenspace, (n, K): see :func:`gains`."""
        return (self._study or Study(self.arms, self.inverse, self.unseen)).gains()

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
