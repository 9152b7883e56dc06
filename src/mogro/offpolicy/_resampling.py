"""The Poisson bootstrap: how often each row is drawn is keyed by its number, not by its chunk."""

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray

STEP = 16  # replicates come in multiples of this: draws of one step of the generator
_ROWS = 512  # rows at once, so that their draws stay in the cache
_STATES = 2**16  # of the numbers that decide how often a row is drawn


def _thresholds() -> NDArray[np.uint16]:
    """Return the 16-bit numbers from which a Poisson(1) count is at least 1, 2, 3 and so on."""
    chances = np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)])
    places = np.rint(chances.cumsum() * _STATES)
    return np.asarray(places[places < _STATES], dtype=np.uint16)


_FROM = _thresholds()


class Replicates:
    """Sums for every replicate: of ones, columns, and products of columns of the same set.

    Products tell the variance of a replicate, which a Studentised interval needs.
    """

    def __init__(
        self, replicates: int, groups: int, columns: int, sets: NDArray[np.intp], key: int
    ) -> None:
        self.key = key
        self._columns = columns
        left, right = np.triu_indices(sets.shape[1])
        self._pairs = left, right
        self._left, self._right = sets[:, left].ravel(), sets[:, right].ravel()
        self.sums: FloatArray = np.zeros((replicates, groups, 1 + columns + len(self._left)))

    @property
    def counts(self) -> FloatArray:
        """Rows drawn, (R, G)."""
        return self.sums[..., 0]

    @property
    def means(self) -> FloatArray:
        """Means of the columns, (R, G, p)."""
        sums = self.sums[..., 1 : 1 + self._columns]
        return np.asarray(sums / np.maximum(self.counts, 1)[..., None])

    def scatter(self, sets: NDArray[np.intp]) -> FloatArray:
        """Return sums of products of deviations within the sets, (R, G, M, q, q)."""
        objectives, q = sets.shape
        flat = self.sums[..., 1 + self._columns :]
        flat = flat.reshape(*flat.shape[:-1], objectives, len(self._pairs[0]))
        result = np.empty((*flat.shape[:-1], q, q))
        result[..., self._pairs[0], self._pairs[1]] = flat
        result[..., self._pairs[1], self._pairs[0]] = flat
        own = self.means[..., sets]
        each = self.counts[..., None, None, None]
        return np.asarray(result - each * own[..., :, None] * own[..., None, :])

    def add(self, columns: FloatArray, groups: NDArray[np.intp] | None, first: int) -> None:
        """Add rows, given as columns (p, n), the first of which has this number in the log."""
        size = columns.shape[1]
        for start in range(0, size, _ROWS):
            part = slice(start, min(start + _ROWS, size))
            draws = self._draws(first + start, part.stop - start)
            ones = np.ones((1, part.stop - start))
            here = columns[:, part]
            block = np.concatenate((ones, here, here[self._left] * here[self._right]))
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
        counts = np.zeros(numbers.shape, dtype=np.uint8)
        for threshold in _FROM:  # comparisons beat a look-up in a table by far
            counts += numbers >= threshold
        return counts.reshape(size, replicates).astype(np.float64)
