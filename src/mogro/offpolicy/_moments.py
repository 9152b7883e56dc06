"""Counts, means, scatter and third moments of vectors, in groups; mergeable.

Moments are central: a constant added to all rewards costs no digits. Two sets merge by the
formulas of Chan, Golub and LeVeque (1979), for third moments of Pebay (2008), so that chunks and
their order change nothing but the rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray

BLOCK = 8192  # rows at once, so that they stay in the cache


@dataclass(eq=False)
class Moments:
    """Moments of p columns in G groups.

    Third moments are kept within sets of columns, one set of q columns for each objective.
    """

    counts: FloatArray  # (G,)
    means: FloatArray  # (G, p)
    scatter: FloatArray  # (G, p, p), sums of products of deviations
    thirds: FloatArray  # (G, M, q, q, q), sums of triple products of deviations
    sets: NDArray[np.intp]  # (M, q), columns

    @classmethod
    def zero(cls, groups: int, columns: int, sets: NDArray[np.intp]) -> "Moments":
        """Return the moments of nothing."""
        objectives, q = sets.shape
        return cls(
            np.zeros(groups),
            np.zeros((groups, columns)),
            np.zeros((groups, columns, columns)),
            np.zeros((groups, objectives, q, q, q)),
            sets,
        )

    def add(self, columns: FloatArray, groups: NDArray[np.intp] | None) -> None:
        """Add rows, given as columns (p, n), of the groups (n,), or all of group 0."""
        for group, block in _by_group(columns, groups):
            size = block.shape[1]
            mean = block.mean(axis=1)
            deviations = block - mean[:, None]
            scatter = deviations @ deviations.T
            self._merge(group, float(size), mean, scatter, _thirds(deviations, self.sets))

    def merge(self, other: "Moments") -> None:
        """Add what another set of moments, of other rows, has seen."""
        for group in np.flatnonzero(other.counts):
            self._merge(
                int(group),
                float(other.counts[group]),
                other.means[group],
                other.scatter[group],
                other.thirds[group],
            )

    def _merge(
        self, group: int, size: float, mean: FloatArray, scatter: FloatArray, thirds: FloatArray
    ) -> None:
        before = self.counts[group]
        total = before + size
        shift = mean - self.means[group]
        step, sets = shift[self.sets], self.sets
        inside = sets[:, :, None], sets[:, None, :]
        mixed = (before * scatter[inside] - size * self.scatter[group][inside]) / total
        cube = np.einsum("ma,mb,mc->mabc", step, step, step)
        self.thirds[group] += thirds + cube * (before * size * (before - size) / total**2)
        for pattern in ("ma,mbc->mabc", "mb,mac->mabc", "mc,mab->mabc"):
            self.thirds[group] += np.einsum(pattern, step, mixed)
        self.scatter[group] += scatter + np.outer(shift, shift) * (before * size / total)
        self.means[group] += shift * (size / total)
        self.counts[group] = total


def _by_group(
    columns: FloatArray, groups: NDArray[np.intp] | None
) -> Iterator[tuple[int, FloatArray]]:
    if groups is None:
        yield 0, columns
        return
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    starts = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
    arranged = columns[:, order]
    for start, stop in zip(starts, [*starts[1:], len(groups)], strict=True):
        yield int(sorted_groups[start]), arranged[:, start:stop]


def _thirds(deviations: FloatArray, sets: NDArray[np.intp]) -> FloatArray:
    """Sum triple products, (M, q, q, q); each is computed once, for a <= b."""
    objectives, q = sets.shape
    result = np.empty((objectives, q, q, q))
    for m, columns in enumerate(sets):
        part = deviations[columns]
        for a in range(q):
            sums = (part[a] * part[a:]) @ part.T
            result[m, a, a:] = sums
            result[m, a:, a] = sums
    return result
