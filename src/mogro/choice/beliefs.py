"""What a policy may know when it chooses."""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray, IntArray


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

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (..., M); 0 as long as unknown."""
        if isinstance(self.counts, int) and not self.batch:  # the same, in less time
            few = self.counts - self.ranks.item()
            return np.maximum(self.squares, 0) / few if few >= 1 else np.zeros_like(self.squares)
        free = self.counts - self.ranks
        return np.where(free >= 1, np.maximum(self.squares, 0) / np.maximum(free, 1), 0)

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
        own: list[Any] = [take(part, self.batch, learners) for part in self[:-1]]
        coverage = Coverage(*(take(part, self.batch, learners) for part in self.coverage))
        return Beliefs._make([*own, coverage])


def take(array: Any, batch: tuple[int, ...], learners: IntArray) -> Any:
    """Return the entries (n, ...) of an array (*batch, ...) at flat positions of the batch."""
    if array is None or np.ndim(array) == 0:
        return array
    if not batch:
        return np.broadcast_to(array, (len(learners), *array.shape))
    return array[np.unravel_index(learners, batch)]
