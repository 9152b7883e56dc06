"""The Poisson bootstrap: how often each row is drawn is keyed by its number, not by its chunk."""

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray

STEP = 16  # replicates come in multiples of this: draws of one step of the generator
_ROWS = 512  # rows at once, so that their draws stay in the cache
_COUNTS = 2**16


def _table() -> FloatArray:
    """Return Poisson(1) counts of 16-bit numbers, by inversion."""
    chances = np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)])
    below = np.cumsum(chances)
    return np.searchsorted(below, (np.arange(_COUNTS) + 0.5) / _COUNTS).astype(np.float64)


_POISSON = _table()


class Replicates:
    """Weighted sums of columns for every replicate, (R, G, 1 + p); the first is of ones."""

    def __init__(self, replicates: int, groups: int, columns: int, key: int) -> None:
        self.key = key
        self.sums: FloatArray = np.zeros((replicates, groups, 1 + columns))

    def add(self, columns: FloatArray, groups: NDArray[np.intp] | None, first: int) -> None:
        """Add rows, given as columns (p, n), the first of which has this number in the log."""
        size = columns.shape[1]
        for start in range(0, size, _ROWS):
            part = slice(start, min(start + _ROWS, size))
            draws = self._draws(first + start, part.stop - start)
            ones = np.ones((1, part.stop - start))
            block = np.concatenate((ones, columns[:, part]))
            if groups is None:
                self.sums[:, 0] += draws.T @ block.T
                continue
            for group in np.unique(groups[part]):
                own = groups[part] == group
                self.sums[:, group] += draws[own].T @ block[:, own].T

    def _draws(self, first: int, size: int) -> FloatArray:
        """Return how often rows are drawn, (n, R)."""
        replicates = len(self.sums)
        steps = replicates // STEP
        source = np.random.Philox(key=self.key, counter=first * steps)
        numbers = source.random_raw(size * steps * 4).view(np.uint16)
        return _POISSON[numbers].reshape(size, replicates)
