"""Which arms have the largest score at given weights: in single precision, and in double if close.

Scores are sums or minima of weighted values, or both. BLAS does the products.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import rows_without_threads
from mogro._validation import FloatArray, IntArray

SLACK = 16 * float(np.finfo(np.float64).eps)  # scores that are nearer, in their size, are equal
_SINGLE = 2.0**-23  # what single precision may be off in one step
_TINY = 1e-30  # below, it loses digits
_LEAST = np.finfo(np.float64).tiny
_HUGE = 1e30  # weights that are larger, beside the smallest, decide no minimum
_MINIMA = 5e-7  # the most by which equal minima may differ, of their size
_BLOCK = 1 << 16  # scores at a time, so that they stay in the cache
_FEWEST = 16  # rows of a table
_STRONG, _PILOT = 64, 256  # arms that set a level for the others, and weights that name them

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Scores:
    """``minimum * min_m w_m y_m + total * sum_m w_m y_m`` for arms with values y, (K, M).

    ``sizes`` (M,) are those of the numbers that compete, as they were before a reference point was
    subtracted: the unit of rounding. Weights and values may change places.
    """

    values: Floats
    minimum: float
    total: float
    sizes: FloatArray

    @cached_property
    def _columns(self) -> Floats:
        """Values (M, 2, K), of which the second is 0: so BLAS is fast with a single objective."""
        columns = np.zeros((self.values.shape[1], 2, len(self.values)), dtype=self.values.dtype)
        columns[:, 0] = self.values.T
        return columns

    def table(self, weights: Floats, arms: IntArray | None = None) -> Floats:
        """Return the scores (n, k) of all arms, or some in rising order, for weights (n, M)."""
        columns = self._columns
        if arms is not None and len(arms) < len(self.values):
            columns = columns.take(arms, axis=2)
        scores = np.empty((len(weights), columns.shape[2]), dtype=columns.dtype)
        if not self.minimum:
            return _product(weights, columns[:, 0], scores)
        beside = np.zeros((len(columns), len(weights), 2), dtype=columns.dtype)
        beside[:, :, 0] = weights.T
        np.matmul(beside[0], columns[0], out=scores)
        term = np.empty_like(scores)
        for column, row in zip(beside[1:], columns[1:], strict=True):
            np.minimum(scores, np.matmul(column, row, out=term), out=scores)
        if self.total:
            weighted = np.asarray(weights * columns.dtype.type(self.total))
            scores += _product(weighted, columns[:, 0], term)
        return scores

    def pairs(self, arms: IntArray, weights: Floats) -> FloatArray:
        """Return the score (n,) of one arm for each of the weights (n, M)."""
        terms = weights * self.values[arms]
        return np.asarray(self.minimum * terms.min(axis=1) + self.total * terms.sum(axis=1))

    def best(self, weights: Floats) -> IntArray:
        """Return the first of the best arms (n,) at weights (n, M)."""
        size = max(_FEWEST, _BLOCK // len(self.values))
        parts = np.split(weights, range(size, len(weights), size))
        return np.concatenate([self.table(part).argmax(axis=1) for part in parts])

    def slack(self, weights: Floats, top: Floats) -> FloatArray:
        """Return by how much scores may be below the best (n,) at weights (n, M), and equal it."""
        slack = SLACK * (self.minimum + self.total) * (np.abs(weights) @ self.sizes)
        if self.minimum and not self.total:  # minima with tiny weights may be below it
            slack = np.minimum(slack, _MINIMA * np.abs(top))
        return np.asarray(slack)

    def lead(self, arms: IntArray, others: IntArray, weights: Floats) -> FloatArray:
        """Return by how much arms (n,) are better than others at weights (n, M); 0: by rounding."""
        scores = self.pairs(arms, weights)
        lead = scores - self.pairs(others, weights)
        return np.where(lead > self.slack(weights, scores) / 4, lead, 0.0)

    @cached_property
    def single(self) -> "Scores":
        """Scores in single precision, of another size, and of sums another level."""
        values = self.values if self.minimum else self.values - self.values.max(axis=0)
        scale = np.abs(values).max() or 1.0
        single = (values / scale).astype(np.float32)
        return Scores(single, self.minimum, self.total, self.sizes / scale)

    def scaled(self, weights: Floats) -> NDArray[np.float32]:
        """Return weights (n, M) of another size, which order arms alike, in single precision."""
        if not self.total and self.values.min() >= 0:  # the smallest weights decide
            unit = reduce(np.minimum, weights.T)
        else:
            unit = reduce(np.maximum, np.abs(weights.T))
        scaled = np.minimum(weights / np.maximum(unit, _LEAST)[:, None], _HUGE)
        return np.asarray(scaled, dtype=np.float32)

    def least(self, weights: Floats, top: Floats) -> Floats:
        """Return above what scores in single precision may be the best, if one is ``top`` (n,)."""
        relative = _SINGLE * (weights.shape[1] + 4)
        off = relative * np.abs(top) + _TINY
        return np.asarray(top - off - (np.abs(weights) @ self._absolute if self.total else 0))

    @cached_property
    def _absolute(self) -> Floats:
        """By what sums in single precision may be off, for each objective."""
        relative = _SINGLE * (len(self.sizes) + 4)
        unit = relative * np.abs(self.values).max(axis=0) + 2 * SLACK * self.sizes
        return np.asarray(self.total * unit, dtype=np.float32)


class Wins(NamedTuple):
    """Who has the largest score at weights, in several nets of them.

    Attributes
    ----------
    won
        (nets, K), how much each arm wins; arms that tie have shares.
    squares
        (K,), the sums of squares of that.
    best
        (n,), the arm that wins, or one of them.
    """

    won: FloatArray
    squares: FloatArray
    best: IntArray


def count_wins(
    scores: Scores,
    weights: Floats,
    *,
    sizes: FloatArray | None = None,
    net: IntArray | None = None,
    nets: int = 1,
) -> Wins:
    """Tell which arms have the largest score at weights (n, M), each of a size and in a net."""
    count, arms = len(weights), len(scores.values)
    sizes = np.ones(count) if sizes is None else sizes
    net = np.zeros(count, dtype=np.int64) if net is None else net
    won, squares = np.zeros((nets, arms)), np.zeros(arms)
    best, clear = np.empty(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
    single, scaled = scores.single, scores.scaled(weights)
    for block, some in _blocks(single, scaled):
        first, doubtful, near = _leaders(single.table(scaled[block], some), single, scaled[block])
        best[block] = some[first]
        if not doubtful.size:
            continue
        rows, some = block[doubtful], some[near]
        clear[rows] = False
        table = scores.table(weights[rows].astype(np.float64), some)
        best[rows], top = some[table.argmax(axis=1)], table.max(axis=1)
        tied = (table >= (top - scores.slack(weights[rows], top))[:, None]).astype(np.float64)
        each = sizes[rows] / tied.sum(axis=1)
        parts = np.zeros((nets, len(rows)))
        parts[net[rows], np.arange(len(rows))] = each
        won[:, some] += parts @ tied
        squares[some] += np.square(each) @ tied
    sizes, places = sizes[clear], (net * arms + best)[clear]
    won += np.bincount(places, sizes, nets * arms).reshape(nets, arms)
    squares += np.bincount(best[clear], np.square(sizes), arms)
    return Wins(won, squares, best)


def _leaders(table: Floats, single: Scores, weights: Floats) -> tuple[IntArray, IntArray, IntArray]:
    """Return the best columns (n,) of a table in single precision, and where others come close.

    These are the rows in which they do, and all the columns that do in some row.
    """
    best = table.argmax(axis=1)
    top = table[np.arange(len(table)), best]
    close = table >= single.least(weights, top)[:, None]
    if np.count_nonzero(close) == len(table):
        return best, best[:0], best[:0]
    rows = np.flatnonzero(np.bincount(np.flatnonzero(close) // close.shape[1]) > 1)
    return best, rows, np.flatnonzero(close[rows].any(axis=0))


def _blocks(single: Scores, weights: Floats) -> Iterator[tuple[IntArray, IntArray]]:
    """Give rows of weights (n, M), each once, and the arms that may win there.

    Of minima: whoever wins reaches the score of some strong arms in every objective. Each row looks
    at the one in which scores tend to be smallest; rows for which as few arms reach it go together.
    """
    count, (arms, objectives) = len(weights), single.values.shape
    size = max(_FEWEST, _BLOCK // arms)
    if single.total or arms <= 2 * _STRONG or count <= 2 * _PILOT:
        rows, every = np.arange(count), np.arange(arms)
        yield from ((rows[start : start + size], every) for start in range(0, count, size))
        return
    wins = np.bincount(single.best(weights[:: count // _PILOT]), minlength=arms)
    strong = np.sort(np.argsort(-wins, kind="stable")[:_STRONG])
    level = single.least(weights, single.table(weights, strong).max(axis=1)).astype(np.float64)
    critical = (weights * np.median(single.values, axis=0)).argmin(axis=1)
    for m in range(objectives):
        rows = np.flatnonzero(critical == m)
        falling = np.argsort(-single.values[:, m], kind="stable")
        needed = level[rows] / np.maximum(weights[rows, m], _TINY)
        reach = np.searchsorted(-single.values[falling, m].astype(np.float64), -needed, "right")
        rows, reach = rows[by := np.argsort(-reach, kind="stable")], reach[by]
        while len(rows):
            some = np.sort(falling[: max(1, reach[0])])
            size = max(_FEWEST, _BLOCK // len(some))
            yield rows[:size], some
            rows, reach = rows[size:], reach[size:]


def _product(left: Floats, right: Floats, out: Floats) -> Floats:
    """Write a product in parts for which BLAS starts no threads."""
    step = rows_without_threads(len(right), max(1, right.shape[1]))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=out[start : start + step])
    return out
