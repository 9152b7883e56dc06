"""What a policy may know when it chooses."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mogro._validation import FloatArray, IntArray

UNOBSERVED_DEVIATION = 1e63  # standard deviations of features never observed are above it


class FrozenPosterior(Protocol):
    """What beliefs are about: a posterior that nothing changes any more, or a part of one."""

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (..., G)."""

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, ``S = W' W``, (..., G, r, d)."""

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (..., M)."""

    @property
    def version(self) -> int:
        """Rises when S may have grown."""


class Beliefs:
    """All that a policy may know when it chooses; nothing changes it any more.

    G is 1 where all objectives share one V, and M where each has its own, because it was observed
    for decisions of its own. Both broadcast against the M objectives.

    Parameters
    ----------
    theta
        Estimates, (..., M, d).
    observed
        What was observed.
    expected
        What was observed or is still in flight, by which to explore.
    """

    def __init__(
        self, theta: FloatArray, observed: FrozenPosterior, expected: FrozenPosterior
    ) -> None:
        self.theta, self.observed, self.expected = theta, observed, expected

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.theta.shape[:-2]

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (..., G)."""
        return self.observed.n

    @cached_property
    def S(self) -> FloatArray:  # noqa: N802
        """Posterior covariance in units of the noise, ``(V + Lambda)^-1``, (..., G, d, d)."""
        return covariance(self.observed.W)

    @cached_property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (..., M)."""
        return self.observed.noise

    def estimates(self, arms: FloatArray) -> FloatArray:
        """Return the estimated rewards (..., K, M) of arms (..., K, d)."""
        return np.asarray(arms @ self.theta.mT)

    def variances(self, arms: FloatArray) -> FloatArray:
        """Return ``x' S x``, (..., K, G), of arms (..., K, d)."""
        return variances(arms, self.observed.W)

    def take(self, learners: IntArray) -> "Beliefs":
        """Return the beliefs of some learners, given by flat positions of the batch: (n, ...)."""

        def pick(array: FloatArray) -> FloatArray:
            return np.asarray(take(array, self.batch, learners))

        known, expected = (PickedPosterior(each, pick) for each in (self.observed, self.expected))
        return Beliefs(pick(self.theta), known, expected)


class PickedPosterior:
    """What is known of some learners of a batch, or of other objectives in their place."""

    def __init__(self, whole: FrozenPosterior, pick: Callable[[FloatArray], FloatArray]) -> None:
        self._whole, self._pick = whole, pick
        self.version = whole.version

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for while it is copied
            raise AttributeError(name)
        return self._pick(getattr(self._whole, name))


def covariance(W: FloatArray) -> FloatArray:
    """Return ``S = W' W``, (..., d, d), of roots (..., r, d)."""
    return np.asarray(W.mT @ W)


def variances(arms: FloatArray, W: FloatArray) -> FloatArray:
    """Return ``x' S x``, (..., K, G), of arms (..., K, d) and roots (..., G, r, d)."""
    if W.shape[-3] == 1:
        parts = arms @ np.ascontiguousarray(W[..., 0, :, :].mT)  # for which BLAS takes less time
        return np.asarray(np.vecdot(parts, parts)[..., None])
    parts = arms[..., None, :, :] @ W.mT
    return np.asarray(np.vecdot(parts, parts).mT)


def scale_unobserved(deviations: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return by what to multiply features (..., d) so that those never seen have sizes (..., d).

    A flat prior relative to these sizes is what they have then, so that no unit decides anything.
    Their standard deviations, root of the diagonal of S, tell them from the others.
    """
    unseen = (deviations > UNOBSERVED_DEVIATION) & (sizes > 0)
    scale = np.divide(10.0**4.5, deviations * sizes, out=np.ones(unseen.shape), where=unseen)
    return np.asarray(scale)


def take(array: Any, batch: tuple[int, ...], learners: IntArray) -> Any:
    """Return the entries (n, ...) of an array (*batch, ...) at flat positions of the batch."""
    if not batch:
        return np.broadcast_to(array, (len(learners), *array.shape))
    return array[np.unravel_index(learners, batch)]


def take_arms(arms: FloatArray, batch: tuple[int, ...], learners: IntArray) -> FloatArray:
    """Return arms (n, K, d) of some learners, given by flat positions; (K, d) if all share them."""
    if arms.size == arms.shape[-2] * arms.shape[-1]:
        return arms.reshape(arms.shape[-2:])
    return np.asarray(take(np.broadcast_to(arms, (*batch, *arms.shape[-2:])), batch, learners))
