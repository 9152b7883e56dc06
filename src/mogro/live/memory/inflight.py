"""Sums over the decisions in flight: those whose rewards have not come yet."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._spectrum import TINY
from mogro._validation import BoolArray, FloatArray, check_shape


class InFlight:
    """Outer products of decisions in flight, one sum for each of G Gram matrices.

    Parameters
    ----------
    grams
        G.
    size
        p, the number of features.
    """

    def __init__(self, grams: int, size: int) -> None:
        self._sums: FloatArray = np.zeros((grams, size, size))
        self._departed: list[FloatArray] = []  # decisions that are not in the sums yet
        self._summed = False  # whether the sums may be other than zero
        self._waiting = [0] * grams  # how many are in flight
        # What was taken out of the diagonals since they were last added up.
        self._removed: FloatArray = np.zeros((grams, size))

    @property
    def some(self) -> bool:
        """Whether anything is in flight."""
        return any(self._waiting)

    @property
    def most(self) -> int:
        """How many are in flight, for the Gram matrix with the most of them."""
        return max(self._waiting)

    def add(self, x: FloatArray) -> None:
        """Count one more, (p,), for every Gram matrix."""
        self._departed.append(x)
        self._waiting = [count + 1 for count in self._waiting]

    def remove(self, x: FloatArray, which: BoolArray | None, weight: float) -> None:
        """Take one out, (p,), of a weight, for the Gram matrices (G,) ``which``; None: all."""
        if which is None:
            self._waiting = [count - 1 for count in self._waiting]
        else:
            gone = which.tolist()
            self._waiting = [n - own for n, own in zip(self._waiting, gone, strict=True)]
        if not any(self._waiting):
            return  # the rest is zero
        self.gather()
        outer = weight * (x[:, None] * x)
        squares = np.diagonal(outer)
        if which is None:
            self._sums -= outer
            self._removed += squares
        else:
            self._sums[which] -= outer
            self._removed[which] += squares

    def remove_many(self, features: FloatArray, which: BoolArray, weights: FloatArray) -> None:
        """Take several out, (n, p), of weights (n,), where ``which``, (n, G)."""
        self.gather()
        gone = which.sum(axis=0).tolist()
        self._waiting = [n - own for n, own in zip(self._waiting, gone, strict=True)]
        for g, mine in enumerate(which.T):
            outer = _outer_sum(features[mine], weights[mine])
            self._sums[g] -= outer
            self._removed[g] += np.diagonal(outer)

    def recount(self, features: FloatArray, which: BoolArray, weights: FloatArray) -> None:
        """Add up anew: decisions (n, p) of weights (n,), where ``which``, (n, G)."""
        self._sums = np.array([_outer_sum(features[own], weights[own]) for own in which.T])
        self._departed = []
        self._waiting = which.sum(axis=0).tolist()
        self._removed[...] = 0
        self._summed = True

    def gather(self) -> None:
        """Add the decisions that departed last to the sums."""
        if self._departed:
            recent = np.array(self._departed)
            self._sums += recent.T @ recent
            self._departed = []
            self._summed = True

    def settle(self) -> None:
        """Let rounding vanish: where nothing is in flight, the sum is zero."""
        if not any(self._waiting):
            if self._summed:
                self._sums[...] = 0
                self._removed[...] = 0
                self._summed = False
            self._departed = []
        elif not all(self._waiting):
            self.gather()
            empty = np.array(self._waiting) == 0
            self._sums[empty] = 0
            self._removed[empty] = 0

    def fade(self, factor: float) -> None:
        """Weigh all of them down."""
        self.gather()
        self._sums *= factor
        self._removed *= factor

    def beside(self, gram: FloatArray) -> FloatArray:
        """Return the sums on top of others, (G, p, p)."""
        total = gram + self._sums
        if self._departed:
            recent = np.array(self._departed)
            total += recent.T @ recent
        return np.asarray(total)

    def wear(self, gram: FloatArray) -> float:
        """Return how much was taken out for each that is left beside others, the worst feature's.

        Rounding stays behind, in proportion to what was taken out. Beside what is left it must not
        look like a direction.
        """
        left = np.einsum("gii->gi", self.beside(gram))
        some = self._removed > 0
        return float((self._removed[some] / np.maximum(left[some], TINY)).max(initial=0.0))

    def copy(self) -> "InFlight":
        """Return sums that go on by themselves."""
        other = copy.copy(self)
        other._sums = self._sums.copy()
        other._departed = self._departed.copy()
        other._removed = self._removed.copy()
        return other

    def split(self, grams: int) -> "InFlight":
        """Return the same sums for each of several Gram matrices, where one stood for all."""
        other = copy.copy(self)
        other._sums = np.repeat(self._sums, grams, axis=0)
        other._departed = self._departed.copy()
        other._removed = np.repeat(self._removed, grams, axis=0)
        other._waiting = self._waiting * grams
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        return {
            "flight": self._sums,
            "departed": np.array(self._departed).reshape(-1, self._sums.shape[-1]),
            "waiting": np.array(self._waiting, dtype=np.int64),
            "removed": self._removed,
        }

    def load_state(self, arrays: dict[str, Any]) -> None:
        """Take over what :meth:`save_state` of equal sums gave, to the bit."""
        expected = self.save_state()
        for name in ("flight", "waiting", "removed"):
            check_shape(arrays[name], name, expected[name].shape)
        departed = arrays["departed"].astype(np.float64)
        check_shape(departed, "departed", (len(departed), self._sums.shape[-1]))
        self._sums = arrays["flight"].astype(np.float64)
        self._departed = list(departed)
        self._summed = True
        self._waiting = arrays["waiting"].astype(np.int64).tolist()
        self._removed = arrays["removed"].astype(np.float64)


def _outer_sum(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum (p, p) of the outer products of decisions (n, p), of weights (n,)."""
    return np.asarray((features.T * weights) @ features)
