"""Which arms have the largest score at given weights: in single precision, and in double if close.

Scores are sums or minima of weighted values, or both. BLAS does the products.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import rows_alone
from mogro._validation import BoolArray, FloatArray, IntArray

SLACK = 16 * float(np.finfo(np.float64).eps)  # scores that are nearer, in their size, are equal
_SINGLE = 2e-6  # what single precision may be off
_TINY = 1e-30  # below, it loses digits
_LOWEST = np.finfo(np.float32).min
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

    def table(
        self, weights: Floats, arms: IntArray | None = None, scratch: Floats | None = None
    ) -> Floats:
        """Return the scores (n, k) of all arms, or some in rising order, for weights (n, M).

        ``scratch`` is room for two tables: memory that is used again is faster.
        """
        all_of_them = arms is None or len(arms) == len(self.values)
        columns = self._columns if all_of_them else self._columns[:, :, arms]
        shape = len(weights), columns.shape[2]
        if scratch is None:
            scratch = np.empty((2, shape[0] * shape[1]), dtype=columns.dtype)
        scores, term = (part[: shape[0] * shape[1]].reshape(shape) for part in scratch)
        if not self.minimum:
            return _product(weights, columns[:, 0], scores)
        beside = np.zeros((len(columns), len(weights), 2), dtype=columns.dtype)
        beside[:, :, 0] = weights.T
        np.matmul(beside[0], columns[0], out=scores)
        for column, row in zip(beside[1:], columns[1:], strict=True):
            np.minimum(scores, np.matmul(column, row, out=term), out=scores)
        if self.total:
            weighted = np.asarray(weights * columns.dtype.type(self.total))
            np.add(scores, _product(weighted, columns[:, 0], term), out=scores)
        return np.asarray(scores)

    def pairs(self, arms: IntArray, weights: FloatArray) -> FloatArray:
        """Return the score (n,) of one arm for each of the weights (n, M)."""
        terms = weights * self.values[arms]
        return np.asarray(self.minimum * terms.min(axis=1) + self.total * terms.sum(axis=1))

    def best(self, weights: Floats) -> IntArray:
        """Return the first of the best arms (n,) at weights (n, M)."""
        parts = _blocks(np.arange(len(weights)), len(self.values))
        return np.concatenate([self.table(weights[part]).argmax(axis=1) for part in parts])

    def slack(self, weights: FloatArray, top: FloatArray) -> FloatArray:
        """Return by how much scores may be below the best (n,) at weights (n, M), and equal it."""
        slack = SLACK * (self.minimum + self.total) * (np.abs(weights) @ self.sizes)
        if self.minimum and not self.total:  # minima with tiny weights may be below it
            slack = np.minimum(slack, _MINIMA * np.abs(top))
        return np.asarray(slack)

    def in_single_precision(self) -> "Scores":
        """Return scores of another size, and of sums another level, that order arms alike."""
        values = self.values if self.minimum else self.values - self.values.max(axis=0)
        scale = np.abs(values).max() or 1.0
        single = (values / scale).astype(np.float32)
        return Scores(single, self.minimum, self.total, self.sizes / scale)

    def is_ahead(self, weights: Floats, ahead: Floats, behind: Floats) -> BoolArray:
        """Tell for certain where scores in single precision at weights (n, M) exceed others."""
        off = _SINGLE * (np.abs(ahead) + np.abs(behind)) + _TINY
        if self.total:
            off += np.abs(weights) @ self._unit
        return np.asarray(ahead - behind > off)

    @cached_property
    def _unit(self) -> Floats:
        """By what sums in single precision may be off, for each objective."""
        unit = _SINGLE * np.abs(self.values).max(axis=0) + 2 * SLACK * self.sizes
        return np.asarray(2 * self.total * unit, dtype=np.float32)


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
    weights: FloatArray,
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
    fast, scratch = scores.in_single_precision(), np.empty((2, max(_BLOCK, _FEWEST * arms)))
    best, clear = _clear_winners(fast, weights, scratch)
    doubtful = np.flatnonzero(~clear)
    for part, some in _candidates(fast, weights[doubtful]):
        rows = doubtful[part]
        table = scores.table(weights[rows], some, scratch)
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


def _clear_winners(
    fast: Scores, weights: FloatArray, scratch: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Return the best arms (n,) in single precision, and where there is no doubt about them.

    Where ties are usual it does not try.
    """
    best, clear = np.zeros(len(weights), dtype=np.int64), np.zeros(len(weights), dtype=np.bool_)
    tried = 0
    for rows, some in _candidates(fast, weights):
        single = weights[rows].astype(np.float32)
        table = fast.table(single, some, scratch.view(np.float32))
        every, first = np.arange(len(rows)), table.argmax(axis=1)
        top = table[every, first]
        table[every, first] = _LOWEST
        second = table[every, table.argmax(axis=1)]
        best[rows], clear[rows] = some[first], fast.is_ahead(single, top, second)
        tried += len(rows)
        if 4 * np.count_nonzero(clear) < tried:
            break
    return best, clear


def _product(left: Floats, right: Floats, out: Floats) -> Floats:
    """Write a product in parts for which BLAS starts no threads."""
    step = rows_alone(len(right), max(1, right.shape[1]))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=out[start : start + step])
    return out


def _blocks(rows: IntArray, arms: int) -> Iterator[IntArray]:
    """Give rows in parts whose scores stay in the cache."""
    size = max(_FEWEST, _BLOCK // arms)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _candidates(fast: Scores, weights: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Give rows of weights (n, M), each once, and the arms that may win there.

    Of minima: whoever wins reaches the score of some strong arms in every objective. Each row looks
    at the one in which scores tend to be smallest; rows for which as few arms reach it go together.
    """
    count, (arms, objectives) = len(weights), fast.values.shape
    if not fast.minimum or fast.total or arms <= 2 * _STRONG or count <= 2 * _PILOT:
        yield from ((rows, np.arange(arms)) for rows in _blocks(np.arange(count), arms))
        return
    single = weights.astype(np.float32)
    wins = np.bincount(fast.best(single[:: count // _PILOT]), minlength=arms)
    strong = np.argsort(-wins, kind="stable")[:_STRONG]
    parts = _blocks(np.arange(count), _STRONG)
    level = np.concatenate([fast.table(single[rows], strong).max(axis=1) for rows in parts])
    level = level.astype(np.float64) - (2 * _SINGLE * np.abs(level) + _TINY)
    critical = (single * np.median(fast.values, axis=0)).argmin(axis=1)
    for m in range(objectives):
        rows = np.flatnonzero(critical == m)
        order = np.argsort(-fast.values[:, m], kind="stable")
        needed = level[rows] / np.maximum(weights[rows, m], _TINY)
        reach = np.searchsorted(-fast.values[order, m].astype(np.float64), -needed, side="right")
        rows, reach = rows[by := np.argsort(-reach, kind="stable")], reach[by]
        while len(rows):
            some = np.sort(order[: max(1, reach[0])])
            size = max(_FEWEST, _BLOCK // len(some))
            yield rows[:size], some
            rows, reach = rows[size:], reach[size:]
