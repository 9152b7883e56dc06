"""The first rounds: which arm to pull while some direction has been seen too little.

A direction u of norm 1 is known once ``u^T V^+ u``, the variance of an estimate along it, is at
most ``1 / threshold``. A policy explores until that holds for all of the span of the arms on offer.
With arms that stay the same this is the paper's test, the smallest eigenvalue of V restricted to
the span of the features; with arms that change it also lets a learner go on when nothing on offer
could teach it anything.
"""

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mogro._streams import Rng
from mogro._ties import first_best
from mogro._validation import BoolArray, FloatArray, IntArray, floats
from mogro.linear import TINY, Spectrum

# The threshold that MOGRO takes by itself: this share of the largest squared feature norm seen;
# benchmarks/threshold.py shows the sweep.
DEFAULT_SHARE = 0.1

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Situation:
    """What some exploring learners of a batch, n of them, know and have on offer.

    Attributes
    ----------
    features
        Arms on offer, (n, K, d).
    spectrum
        Eigenvalues (n, d) and eigenvectors (n, d, d) of V, within the span of the arms if V has
        something outside of it.
    parts
        Squared parts of every arm along the eigenvectors, (n, d, K).
    open
        Directions still to explore: below the threshold, and some arm has a part there, (n, d).
    learners
        Flat positions of these learners in their batch, (n,).
    batch
        Shape of that batch.
    step
        Number of arms selected before.
    """

    features: FloatArray
    spectrum: Spectrum
    parts: FloatArray
    open: BoolArray
    learners: NDArray[np.intp]
    batch: tuple[int, ...]
    step: int

    def only(self, chosen: BoolArray) -> "Situation":
        """Return the situation of some of these learners."""
        return replace(
            self,
            features=self.features[chosen],
            spectrum=_take(self.spectrum, chosen),
            parts=self.parts[chosen],
            open=self.open[chosen],
            learners=self.learners[chosen],
        )


def survey(
    features: FloatArray, spectrum: Spectrum, threshold: FloatArray
) -> tuple[Spectrum, FloatArray, BoolArray]:
    """Find out what arms (n, K, d) have to teach about V: spectrum, parts, open of a situation."""
    parts = squared_parts(features, spectrum)
    opened = open_directions(parts, spectrum, threshold)
    unseen = spectrum.values <= spectrum.rounding[:, None]
    # A direction never seen is open for certain. One that was seen may stick out of the span, and
    # then the arms could not raise its eigenvalue to the threshold if they were pulled for ever.
    doubtful = np.asarray(opened.any(axis=-1) & ~(opened & unseen).any(axis=-1))
    if doubtful.any():
        arms, seen = features[doubtful], _take(spectrum, doubtful)
        inside = within_span(arms, seen)
        if inside is seen:
            return spectrum, parts, opened
        spectrum = Spectrum(*(part.copy() for part in spectrum))
        for part, better in zip(spectrum, inside, strict=True):
            part[doubtful] = better
        parts[doubtful] = squared_parts(arms, inside)
        opened[doubtful] = open_directions(parts[doubtful], inside, threshold[doubtful])
    return spectrum, parts, opened


def within_span(features: FloatArray, spectrum: Spectrum) -> Spectrum:
    """Return what V says within the span of arms (n, K, d) that have no part in its null space.

    These are the eigenvalues and eigenvectors, in the span, of the inverse of ``V^+`` restricted to
    it: of V itself if it has nothing outside. Directions outside come first, with value 0.
    """
    wide = features.astype(np.float64, copy=False)
    squares = np.swapaxes(wide, -1, -2) @ wide
    sizes = np.linalg.eigvalsh(squares)
    if (sizes[:, 0] > 1e-6 * sizes[:, -1]).all():
        return spectrum  # nothing is outside, as usual: no need for eigenvectors
    sizes, basis = np.linalg.eigh(squares)
    reach = squared_parts(wide, Spectrum(sizes, basis, spectrum.rounding)).max(axis=-1)
    inside = reach > _unreached(reach, features.dtype)
    values, vectors, rounding = spectrum
    seen = values > rounding[:, None]
    roots = np.where(seen, 1 / np.sqrt(np.where(seen, values, 1)), 0)
    scaled = roots[..., None] * (np.swapaxes(vectors, -1, -2) @ basis) * inside[:, None, :]
    variances, turns = np.linalg.eigh(np.swapaxes(scaled, -1, -2) @ scaled)
    # Ascending: as many zeros as there are directions outside, then the best known ones first.
    outside = np.arange(values.shape[-1]) < (~inside).sum(axis=-1, keepdims=True)
    found = np.where(outside, 0, 1 / np.where(outside, 1, variances))
    order = np.argsort(found, axis=-1, kind="stable")
    found = np.take_along_axis(found, order, axis=-1)
    turned = np.take_along_axis(basis @ turns, order[:, None, :], axis=-1)
    whole = inside.all(axis=-1)[:, None]
    return Spectrum(
        np.where(whole, values, found), np.where(whole[..., None], vectors, turned), rounding
    )


def _take(spectrum: Spectrum, chosen: BoolArray) -> Spectrum:
    return Spectrum(*(part[chosen] for part in spectrum))


def _unreached(reach: FloatArray, dtype: DTypeLike) -> FloatArray:
    """Return which largest squared parts (n, d) along some directions may be rounding, (n, 1)."""
    share = negligible(reach.shape[-1], dtype)
    return np.asarray(np.maximum(share * reach.sum(axis=-1, keepdims=True), TINY))


def squared_parts(features: FloatArray, spectrum: Spectrum) -> FloatArray:
    """Return the squared parts (n, d, K) of arms (n, K, d) along the eigenvectors of V."""
    vectors = spectrum.vectors.astype(features.dtype, copy=False)
    parts = np.swapaxes(vectors, -1, -2) @ np.swapaxes(features, -1, -2)
    return np.square(parts, out=parts)


def open_directions(parts: FloatArray, spectrum: Spectrum, threshold: FloatArray) -> BoolArray:
    """Tell which eigenvectors, (n, d), are below the threshold (n,) and in reach of some arm."""
    reach = parts.max(axis=-1)
    in_reach = reach > _unreached(reach, parts.dtype)
    return np.asarray(in_reach & ~known_directions(spectrum, threshold))


def negligible(dim: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a squared norm that rounding of features makes of zero."""
    return dim * max(8 * _EPS, (8 * float(np.finfo(dtype).eps)) ** 2)


def nothing_new(features: FloatArray, unknown: FloatArray, largest: FloatArray) -> bool:
    """Tell whether no arm (*batch, K, d) is new: none is larger, or has a part in what is unknown.

    ``unknown`` holds the unknown directions in columns, others zero, (*batch, d, d), ``largest``
    the largest squared norms so far, (*batch). It costs one product; finding the unknown directions
    takes the eigenvectors.
    """
    parts = features @ unknown.astype(features.dtype, copy=False)
    outside = np.vecdot(parts, parts).max(axis=-1)
    norms = np.vecdot(features, features).max(axis=-1)
    small = negligible(features.shape[-1], features.dtype) * norms
    nothing = (outside <= small) & (norms <= largest)
    return bool(nothing.all() if nothing.ndim else nothing)


def known_directions(spectrum: Spectrum, threshold: FloatArray) -> BoolArray:
    """Tell along which eigenvectors, (n, d), V has reached the threshold (n,)."""
    values, _, rounding = spectrum
    return np.asarray((values >= threshold[:, None]) & (values > rounding[:, None]))


class Exploration(Protocol):
    """Chooses arms for learners that explore."""

    def choose(self, situation: Situation, *, rng: Rng) -> IntArray:
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

    def choose(self, situation: Situation, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        first = situation.open.argmax(axis=-1)
        values = situation.spectrum.values
        weakest = np.take_along_axis(values, first[:, None], axis=-1)
        same = np.abs(values - weakest) <= situation.spectrum.rounding[:, None]
        gains = np.vecmat(same.astype(situation.parts.dtype), situation.parts)
        return first_best(gains, np.vecdot(gains, gains))


@dataclass(frozen=True)
class Uniform:
    """A uniformly random arm: the paper's exploration for varying contexts."""

    def choose(self, situation: Situation, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        learners, arms = situation.features.shape[:2]
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

    def choose(self, situation: Situation, *, rng: Rng) -> IntArray:
        """Return one arm for each learner."""
        arms, known = situation.features.shape[-2], self.features.shape[-2]
        if arms != known:
            raise ValueError(f"features: expected the {known} arms of BasisRoundRobin, got {arms}")
        lengths = np.broadcast_to(self._lengths, situation.batch).reshape(-1)
        table = np.broadcast_to(self.basis, (*situation.batch, self.basis.shape[-1]))
        turn = situation.step % lengths[situation.learners]
        return np.asarray(table.reshape(-1, table.shape[-1])[situation.learners, turn])

    def __repr__(self) -> str:
        return f"BasisRoundRobin(<array {self.features.shape}>)"


def _basis(features: FloatArray) -> IntArray:
    """Return the arms of a pivoted-QR basis of (K, d); the first arm if all are zero."""
    from scipy.linalg import qr

    triangle, pivots = qr(features.T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    rank = int((sizes > 8 * max(features.shape) * np.finfo(features.dtype).eps * sizes[0]).sum())
    return np.asarray(pivots[: max(rank, 1)], dtype=np.int64)
