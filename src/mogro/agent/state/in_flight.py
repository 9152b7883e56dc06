"""Decisions whose rewards have not come yet: what is known once they have.

The last ones are kept one by one, so that those whose rewards come soon cost little; others as the
sum of their ``x x'``. Exploration goes by what was observed and what is in flight.
"""

import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import diagonals, outer_sums
from mogro._validation import FloatArray, IntArray, check_shape
from mogro.posterior import Posterior

_MAX_SINGLE = 256  # decisions that are kept one by one, more of them as a sum
_ROUNDING = 1e-10  # of the square of a feature that was taken out: what is left beside it is none


class InFlight:
    """Decisions in flight, for each objective.

    Parameters
    ----------
    size, objectives
        p and M.
    """

    def __init__(self, size: int, objectives: int) -> None:
        self._nothing: FloatArray = np.zeros((objectives, size, size))
        self._sums: FloatArray = self._nothing  # of x x', (M, p, p); never changed
        self._summed = [0] * objectives  # decisions in these
        self._recent: dict[int, FloatArray] = {}  # the last ones, by number; not in the sums yet

    def __bool__(self) -> bool:
        return bool(self._recent) or any(self._summed)

    @property
    def counts(self) -> list[int]:
        """How many decisions there are, for each objective."""
        return [count + len(self._recent) for count in self._summed]

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (M, p, p)."""
        if not self._recent:
            return self._sums
        rows = np.array(list(self._recent.values()))
        return np.asarray(self._sums + rows.T @ rows)

    def copy(self) -> "InFlight":
        """Return what goes on by itself."""
        other = copy.copy(self)
        other._recent = self._recent.copy()
        return other

    def add(self, number: int, x: FloatArray) -> None:
        """Add a decision (p,) for every objective; its features must not change any more."""
        self._recent[number] = x
        if len(self._recent) > _MAX_SINGLE:
            self._set(self.V, self.counts)

    def _set(self, sums: FloatArray, counts: list[int]) -> None:
        self._sums, self._summed, self._recent = sums, counts, {}

    def arrive(self, number: int) -> bool:
        """Take out a decision for every objective, if it is one of the last; tell whether it is."""
        return self._recent.pop(number, None) is not None

    def change(self, x: FloatArray, signs: IntArray, weights: FloatArray) -> None:
        """Add decisions (n, p) of weights (n,), or take them out, by signs (M, n): 1, 0 or -1."""
        changes = zip(self.counts, signs.sum(axis=1).tolist(), strict=True)
        counts = [count + change for count, change in changes]
        if not any(counts):
            self._set(self._nothing, counts)
            return
        more = outer_sums(np.broadcast_to(x, (len(signs), *x.shape)), signs * weights)
        sums = self.V + more
        # Rounding of what was taken out is left: it must not look like a direction.
        kept = diagonals(sums) > -_ROUNDING * diagonals(more)
        kept[[count == 0 for count in counts]] = False
        self._set(sums * (kept[:, :, None] & kept[:, None, :]), counts)

    def decay(self, factor: float) -> None:
        """Weigh all down."""
        self._set(self.V * factor, self.counts)

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        return {
            "pending_sums": self._sums.copy(),
            "recent": np.array(list(self._recent.values())).reshape(-1, self._sums.shape[-1]),
            "recent_numbers": np.array(list(self._recent), dtype=np.int64),
            "pending": np.array(self.counts),
        }

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` gave, to the bit."""
        recent = arrays["recent"].astype(np.float64)
        check_shape(arrays["pending_sums"], "pending_sums", self._sums.shape)
        check_shape(arrays["pending"], "pending", (len(self._summed),))
        check_shape(recent, "recent", (len(recent), self._sums.shape[-1]))
        numbers = arrays["recent_numbers"].astype(np.int64).tolist()
        counts = (arrays["pending"].astype(np.int64) - len(recent)).tolist()
        self._set(arrays["pending_sums"].astype(np.float64), counts)
        self._recent = dict(zip(numbers, recent, strict=True))


class ExpectedPosterior:
    """What was observed, and what is in flight as if it had been; computed when asked for.

    Most decisions do not ask for it: those that look whether to explore, or are optimistic.
    """

    def __init__(self, observed: Posterior, in_flight: InFlight) -> None:
        self._observed, self._in_flight = observed, in_flight.copy()
        self.version = observed.version
        self._more = np.array(in_flight.counts[: observed.n.shape[-1]], dtype=np.float64)
        self.n = observed.n + self._more

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (M,)."""
        return self._observed.noise

    @cached_property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, (G, p, p)."""
        return self._observed.root_with(self._in_flight.V[: len(self._more)], self._more)
