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
_SINGLE_EPS = 2.0**-23  # what single precision may be off in one step
_SMALL_SINGLE = 1e-30  # below, it loses digits
_SMALLEST_DOUBLE = np.finfo(np.float64).tiny
_LARGEST_WEIGHT = 1e30  # weights that are larger, beside the smallest, decide no minimum
_MINIMUM_SLACK = 5e-7  # the most by which equal minima may differ, of their size
_BLOCK_SCORES = 1 << 16  # scores at a time, so that they stay in the cache
_MIN_ROWS = 16  # rows of a table
_LEADING_ARMS = 64  # that set a level for the others
_PILOT_WEIGHTS = 256  # at which these are looked for

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Scores:
    """``min_factor * min_m w_m y_m + sum_factor * sum_m w_m y_m`` for arms with values y, (K, M).

    ``magnitudes`` (M,) are those of the numbers that compete, as they were before a reference point
    was subtracted: the unit of rounding. Weights and values may change places.
    """

    values: Floats
    min_factor: float
    sum_factor: float
    magnitudes: FloatArray

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
        if not self.min_factor:
            return _product(weights, columns[:, 0], scores)
        weight_columns = np.zeros((len(columns), len(weights), 2), dtype=columns.dtype)
        weight_columns[:, :, 0] = weights.T
        np.matmul(weight_columns[0], columns[0], out=scores)
        products = np.empty_like(scores)
        for column, row in zip(weight_columns[1:], columns[1:], strict=True):
            np.minimum(scores, np.matmul(column, row, out=products), out=scores)
        if self.sum_factor:
            weighted = np.asarray(weights * columns.dtype.type(self.sum_factor))
            scores += _product(weighted, columns[:, 0], products)
        return scores

    def pairwise(self, arms: IntArray, weights: Floats) -> FloatArray:
        """Return the score (n,) of one arm for each of the weights (n, M)."""
        terms = weights * self.values[arms]
        return np.asarray(self.min_factor * terms.min(axis=1) + self.sum_factor * terms.sum(axis=1))

    def best(self, weights: Floats) -> IntArray:
        """Return the first of the best arms (n,) at weights (n, M)."""
        size = max(_MIN_ROWS, _BLOCK_SCORES // len(self.values))
        parts = np.split(weights, range(size, len(weights), size))
        return np.concatenate([self.table(part).argmax(axis=1) for part in parts])

    def slack(self, weights: Floats, best_scores: Floats) -> FloatArray:
        """Return by how much scores may be below the best (n,) at weights (n, M), and equal it."""
        slack = SLACK * (self.min_factor + self.sum_factor) * (np.abs(weights) @ self.magnitudes)
        if self.min_factor and not self.sum_factor:  # minima with tiny weights may be below it
            slack = np.minimum(slack, _MINIMUM_SLACK * np.abs(best_scores))
        return np.asarray(slack)

    def lead(self, arms: IntArray, others: IntArray, weights: Floats) -> FloatArray:
        """Return by how much arms (n,) are better than others at weights (n, M); 0: by rounding."""
        scores = self.pairwise(arms, weights)
        lead = scores - self.pairwise(others, weights)
        return np.where(lead > self.slack(weights, scores) / 4, lead, 0.0)

    @cached_property
    def in_single_precision(self) -> "Scores":
        """The same in single precision: values are rescaled, and those of sums shifted."""
        values = self.values if self.min_factor else self.values - self.values.max(axis=0)
        scale = np.abs(values).max() or 1.0
        single = (values / scale).astype(np.float32)
        return Scores(single, self.min_factor, self.sum_factor, self.magnitudes / scale)

    def scale_weights(self, weights: Floats) -> NDArray[np.float32]:
        """Return weights (n, M) in single precision, rescaled so that they order arms alike."""
        if not self.sum_factor and self.values.min() >= 0:  # the smallest weights decide
            unit = reduce(np.minimum, weights.T)
        else:
            unit = reduce(np.maximum, np.abs(weights.T))
        scaled = np.minimum(weights / np.maximum(unit, _SMALLEST_DOUBLE)[:, None], _LARGEST_WEIGHT)
        return np.asarray(scaled, dtype=np.float32)

    def cutoff(self, weights: Floats, scores: Floats) -> Floats:
        """Return from what score in single precision an arm may be as good as scores (n,)."""
        relative_error = _SINGLE_EPS * (weights.shape[1] + 4)
        cutoff = scores - (relative_error * np.abs(scores) + _SMALL_SINGLE)
        return np.asarray(cutoff - np.abs(weights) @ self._sum_error if self.sum_factor else cutoff)

    @cached_property
    def _sum_error(self) -> Floats:
        """How far sums in single precision may be off, for each objective."""
        relative_error = _SINGLE_EPS * (len(self.magnitudes) + 4)
        error = relative_error * np.abs(self.values).max(axis=0) + 2 * SLACK * self.magnitudes
        return np.asarray(self.sum_factor * error, dtype=np.float32)


class Wins(NamedTuple):
    """Who has the largest score at weights, in several nets of them.

    Attributes
    ----------
    counts
        (nets, K), how much each arm wins; arms that tie have shares.
    squares
        (K,), the sums of squares of that.
    best
        (n,), the arm that wins, or one of them.
    """

    counts: FloatArray
    squares: FloatArray
    best: IntArray


def count_wins(
    scores: Scores,
    weights: Floats,
    *,
    masses: FloatArray | None = None,
    net_indices: IntArray | None = None,
    net_count: int = 1,
) -> Wins:
    """Count the wins of arms at weights (n, M), each of which has a mass and belongs to a net."""
    number, arms = len(weights), len(scores.values)
    masses = np.ones(number) if masses is None else masses
    net_indices = np.zeros(number, dtype=np.int64) if net_indices is None else net_indices
    counts, squares = np.zeros((net_count, arms)), np.zeros(arms)
    best, clear = np.empty(number, dtype=np.int64), np.ones(number, dtype=np.bool_)
    single, scaled = scores.in_single_precision, scores.scale_weights(weights)
    for block, candidates in _blocks(single, scaled):
        table = single.table(scaled[block], candidates)
        leaders, close_rows, close_columns = _leaders(table, single, scaled[block])
        best[block] = candidates[leaders]
        if not close_rows.size:
            continue
        rows, candidates = block[close_rows], candidates[close_columns]
        clear[rows] = False
        table = scores.table(weights[rows].astype(np.float64), candidates)
        best[rows], top = candidates[table.argmax(axis=1)], table.max(axis=1)
        tied = (table >= (top - scores.slack(weights[rows], top))[:, None]).astype(np.float64)
        win_shares = masses[rows] / tied.sum(axis=1)
        net_shares = np.zeros((net_count, len(rows)))
        net_shares[net_indices[rows], np.arange(len(rows))] = win_shares
        counts[:, candidates] += net_shares @ tied
        squares[candidates] += np.square(win_shares) @ tied
    masses, cells = masses[clear], (net_indices * arms + best)[clear]
    counts += np.bincount(cells, masses, net_count * arms).reshape(net_count, arms)
    squares += np.bincount(best[clear], np.square(masses), arms)
    return Wins(counts, squares, best)


def _leaders(table: Floats, single: Scores, weights: Floats) -> tuple[IntArray, IntArray, IntArray]:
    """Return the best columns (n,) of a table in single precision, and where others come close.

    These are the rows in which they do, and all the columns that do in some row.
    """
    best = table.argmax(axis=1)
    close = table >= single.cutoff(weights, table[np.arange(len(table)), best])[:, None]
    if np.count_nonzero(close) == len(table):
        return best, best[:0], best[:0]
    rows = np.flatnonzero(np.bincount(np.flatnonzero(close) // close.shape[1]) > 1)
    return best, rows, np.flatnonzero(close[rows].any(axis=0))


def _blocks(single: Scores, weights: Floats) -> Iterator[tuple[IntArray, IntArray]]:
    """Give rows of weights (n, M), each once, and the arms that may win there.

    Of minima: an arm that wins reaches the best score of the leading arms in every objective. Each
    row looks at the one in which scores tend to be smallest; rows for which as few arms reach it go
    together.
    """
    number, (arms, objectives) = len(weights), single.values.shape
    size = max(_MIN_ROWS, _BLOCK_SCORES // arms)
    if single.sum_factor or arms <= 2 * _LEADING_ARMS or number <= 2 * _PILOT_WEIGHTS:
        rows, all_arms = np.arange(number), np.arange(arms)
        yield from ((rows[start : start + size], all_arms) for start in range(0, number, size))
        return
    wins = np.bincount(single.best(weights[:: number // _PILOT_WEIGHTS]), minlength=arms)
    leaders = np.sort(np.argsort(-wins, kind="stable")[:_LEADING_ARMS])
    level = single.cutoff(weights, single.table(weights, leaders).max(axis=1)).astype(np.float64)
    critical = (weights * np.median(single.values, axis=0)).argmin(axis=1)
    for m in range(objectives):
        rows = np.flatnonzero(critical == m)
        descending = np.argsort(-single.values[:, m], kind="stable")
        needed = level[rows] / np.maximum(weights[rows, m], _SMALL_SINGLE)
        column = single.values[descending, m].astype(np.float64)
        counts = np.searchsorted(-column, -needed, "right")
        rows, counts = rows[by := np.argsort(-counts, kind="stable")], counts[by]
        while len(rows):
            candidates = np.sort(descending[: max(1, counts[0])])
            size = max(_MIN_ROWS, _BLOCK_SCORES // len(candidates))
            yield rows[:size], candidates
            rows, counts = rows[size:], counts[size:]


def _product(left: Floats, right: Floats, out: Floats) -> Floats:
    """Write a product in parts for which BLAS starts no threads."""
    step = rows_without_threads(len(right), max(1, right.shape[1]))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=out[start : start + step])
    return out
