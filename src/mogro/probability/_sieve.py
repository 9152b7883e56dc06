"""Which of many arms are above a level in every objective, by sets of arms as bits.

The arms whose value in one objective is at least something are one of few sets, if values are put
into bins of equal numbers of arms. The arms that are above a level in all objectives are among
those in the intersection of such sets, one for each objective.
"""

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray

_BIN = 8  # arms with neighbouring values, at least
_BINS = 128  # of an objective, at most
_WORD = 64  # arms


class Sieve:
    """Arms with values (M, K), by the bins of their values in every objective."""

    def __init__(self, values: FloatArray) -> None:
        arms = values.shape[1]
        size = max(_BIN, -(-arms // _BINS))
        order = values.argsort(axis=1, kind="stable")
        bins = np.empty(values.shape, dtype=np.int32)
        np.put_along_axis(bins, order, np.arange(arms)[None] // size, axis=1)
        ends = np.take_along_axis(values, order[:, size - 1 :: size], axis=1)
        self._ends = np.ascontiguousarray(ends)  # the largest value of each full bin
        number = np.arange(ends.shape[1] + 1)[:, None]
        some: BoolArray = np.zeros((len(number), -(-arms // _WORD) * _WORD), dtype=np.bool_)
        self._sets = []
        for each in bins:
            np.greater_equal(each, number, out=some[:, :arms])
            self._sets.append(np.packbits(some, axis=1, bitorder="little").view("<u8"))

    def above(self, floors: FloatArray) -> IntArray:
        """Return sets of arms, (n, words), with all whose values are at least floors (n, M)."""
        left: IntArray | None = None
        for ends, sets, floor in zip(self._ends, self._sets, floors.T, strict=True):
            some = sets.take(ends.searchsorted(np.ascontiguousarray(floor)), axis=0)
            left = some if left is None else np.bitwise_and(left, some, out=left)
        assert left is not None
        return left


def members(sets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the numbers of sets (n, words), and of their members, in any order."""
    words = sets.ravel()
    place = np.flatnonzero(words)
    words = words[place]
    places, bits = [], []
    while len(place):
        lowest = words & (~words + np.uint64(1))
        places.append(place)
        bits.append(np.log2(lowest.astype(np.float64)).astype(np.int64))
        words = words ^ lowest
        more = np.flatnonzero(words)
        place, words = place[more], words[more]
    if not places:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    row, word = np.divmod(np.concatenate(places), sets.shape[1])
    return row, word * _WORD + np.concatenate(bits)
