"""Which arms have the largest score at given weights: in single precision, and in double if close.

Scores are sums or minima of weighted values, or both. BLAS does the products.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import rows_alone
from mogro._validation import FloatArray, IntArray

SLACK = 16 * float(np.finfo(np.float64).eps)  # scores that are nearer, in their size, are equal
SINGLE = 2e-6  # what single precision may be off
TINY = 1e-30  # below, it loses digits
_MINIMA = 5e-7  # the most by which equal minima may differ, of their size
_SCORES = 1 << 16  # at a time, so that they stay in the cache
_FEWEST = 16  # rows of a table
_STRONG, _PILOT = 64, 256  # arms that set a level for the others, and weights that name them
_STEP = 16  # arms that are left out at once

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Scores:
    """``bend * min_m w_m y_m + total * sum_m w_m y_m`` for arms with values y, (K, M).

    ``sizes`` (M,) are those of the numbers that compete, as they were before a reference point was
    subtracted: the unit of rounding. Weights and values may change places.
    """

    values: Floats
    bend: float
    total: float
    sizes: FloatArray

    def of(self, values: Floats) -> "Scores":
        """Return the same for other arms."""
        return Scores(values, self.bend, self.total, self.sizes)

    def tables(self, weights: Floats) -> Iterator[tuple[slice, Floats]]:
        """Give the scores (n, K) for weights (n, M), a few at a time, in the precision of these.

        They are good until the next ones, and may be overwritten.
        """
        arms, objectives = self.values.shape
        values = np.ascontiguousarray(self.values.T, dtype=weights.dtype)
        block = min(max(_FEWEST, _SCORES // (1 + arms)), len(weights))
        whole, other = np.empty((2, block, arms), dtype=weights.dtype)
        if self.bend:  # a column times a row is fastest for BLAS if zeros are beside both
            rows = np.zeros((objectives, 2, arms), dtype=weights.dtype)
            columns = np.zeros((objectives, len(weights), 2), dtype=weights.dtype)
            rows[:, 0], columns[:, :, 0] = values, weights.T
        for start in range(0, len(weights), max(1, block)):
            part = slice(start, min(start + block, len(weights)))
            scores, term = whole[: part.stop - start], other[: part.stop - start]
            if not self.bend:
                yield part, _product(weights[part], values, scores)
                continue
            np.matmul(columns[0, part], rows[0], out=scores)
            for m in range(1, objectives):
                np.minimum(scores, np.matmul(columns[m, part], rows[m], out=term), out=scores)
            if self.total:
                weighted = weights[part] * weights.dtype.type(self.total)
                scores += _product(weighted, values, term)
            yield part, scores

    def table(self, weights: Floats) -> Floats:
        """Return all scores (n, K) for a few weights (n, M)."""
        return np.concatenate([table.copy() for _, table in self.tables(weights)])

    def pairs(self, arms: IntArray, weights: FloatArray) -> FloatArray:
        """Return the score (n,) of one arm for each of the weights (n, M)."""
        terms = weights * self.values[arms]
        return np.asarray(self.bend * terms.min(axis=1) + self.total * terms.sum(axis=1))

    def best(self, weights: Floats) -> IntArray:
        """Return the first of the best arms (n,) at weights (n, M)."""
        best = np.empty(len(weights), dtype=np.int64)
        for part, table in self.tables(weights):
            table.argmax(axis=1, out=best[part])
        return best

    def in_single_precision(self) -> "Scores":
        """Return scores of another size, and of sums another level, that order arms alike."""
        values = self.values if self.bend else self.values - self.values.max(axis=0)
        scale = np.abs(values).max() or 1.0
        single = (values / scale).astype(np.float32)
        return Scores(single, self.bend, self.total, self.sizes / scale)

    def slack(self, weights: FloatArray, level: FloatArray) -> FloatArray:
        """Return up to what difference from a level (n,) scores are equal for weights (n, M)."""
        slack = SLACK * (self.bend + self.total) * (np.abs(weights) @ self.sizes)
        if self.bend and not self.total:  # minima with tiny weights may be below it
            slack = np.minimum(slack, _MINIMA * np.abs(level))
        return np.asarray(slack)


class Wins(NamedTuple):
    """Who has the largest score at weights, in several nets of them.

    Attributes
    ----------
    won
        (nets, K), how much each arm wins; arms that tie have shares.
    squares
        (K,), the sums of squares of that.
    share
        (n,), how much of each weight one arm wins.
    best
        (n,), the arm that wins it, -1 where several tie.
    """

    won: FloatArray
    squares: FloatArray
    share: FloatArray
    best: IntArray


def count_wins(
    scores: Scores,
    weights: FloatArray,
    *,
    sizes: FloatArray | None = None,
    nets: int = 1,
    arm: int = 0,
    strong: IntArray | None = None,
) -> Wins:
    """Tell which arms have the largest score at weights (n, M), each of a size.

    ``nets`` are equal parts of the weights, ``arm`` the one whose shares are told, ``strong`` are
    arms that are likely to be near the best.
    """
    count, arms = len(weights), len(scores.values)
    sizes = np.ones(count) if sizes is None else sizes
    net = np.arange(count) // max(1, count // nets)
    won, squares = np.zeros((nets, arms)), np.zeros(arms)
    share, best = np.zeros(count), np.full(count, -1)
    fast, single = scores.in_single_precision(), weights.astype(np.float32)
    groups = list(_groups(scores, fast, weights, single, strong))
    _write_clear_wins(best, fast, single, groups)
    for group, some in groups:
        doubtful = group[best[group] < 0]
        for part, table in scores.of(scores.values[some]).tables(weights[doubtful]):
            rows, (first, top, second) = doubtful[part], _leaders(table)
            level = top - scores.slack(weights[rows], top)
            best[rows] = np.where(second < level, some[first], -1)
            close = np.flatnonzero(second >= level)
            tied, rows = table[close] >= level[close, None], rows[close]
            each = sizes[rows] / np.count_nonzero(tied, axis=1)
            parts = np.zeros((nets, len(rows)))
            parts[net[rows], np.arange(len(rows))] = each
            won[:, some] += parts @ tied
            squares[some] += np.square(each) @ tied
            share[rows] = each * tied[:, some == arm].any(axis=1)
    clear = np.flatnonzero(best >= 0)
    places = net[clear] * arms + best[clear]
    won += np.bincount(places, sizes[clear], nets * arms).reshape(nets, arms)
    squares += np.bincount(best[clear], np.square(sizes[clear]), arms)
    share[best == arm] = sizes[best == arm]
    return Wins(won, squares, share, best)


def _write_clear_wins(
    best: IntArray, fast: Scores, single: Floats, groups: list[tuple[IntArray, IntArray]]
) -> None:
    """Write who wins where single precision can tell; where ties are usual it does not try."""
    sizes = np.abs(single)
    off = np.full(len(single), TINY)
    if fast.total:
        off += 2 * SLACK * (fast.bend + fast.total) * (sizes @ fast.sizes)
    if fast.total and (fast.bend or (single < 0).any()):  # terms of both signs
        off += SINGLE * fast.total * (sizes @ np.abs(fast.values).max(axis=0))
    for group, some in groups:
        for part, table in fast.of(fast.values[some]).tables(single[group]):
            rows, (first, top, second) = group[part], _leaders(table)
            ahead = top - second > off[rows] + SINGLE * (np.abs(top) + np.abs(second))
            best[rows] = np.where(ahead, some[first], -1)
            if 4 * np.count_nonzero(ahead) < len(rows):
                return


def _product(left: Floats, right: Floats, out: Floats) -> Floats:
    """Write a product in parts for which BLAS starts no threads."""
    step = rows_alone(len(right), max(1, right.shape[1]))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=out[start : start + step])
    return out


def _leaders(table: Floats) -> tuple[IntArray, Floats, Floats]:
    """Return the best arms (n,) by scores (n, K), their scores, and the second largest scores."""
    flat, start = table.reshape(-1), np.arange(0, table.size, table.shape[1])
    first = table.argmax(axis=1)
    top = flat[start + first]
    flat[start + first] = -np.inf
    second = flat[start + table.argmax(axis=1)]
    flat[start + first] = top
    return first, top, second


def _groups(
    scores: Scores, fast: Scores, weights: FloatArray, single: Floats, strong: IntArray | None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Give rows of weights (n, M), each once, and the arms that may win there.

    Of minima: whoever wins reaches the score of some strong arms in every objective. Rows go
    together for which the fewest arms do so in the same objective, and about as many.
    """
    count, (arms, objectives) = len(weights), scores.values.shape
    if not scores.bend or scores.total or arms <= 2 * _STRONG:
        yield np.arange(count), np.arange(arms)
        return
    if strong is None:
        wins = np.bincount(fast.best(single[:: max(1, count // _PILOT)]), minlength=arms)
        strong = np.argsort(-wins, kind="stable")[:_STRONG]
    level = fast.of(single).table(fast.values[strong]).max(axis=0).astype(np.float64)
    level -= 2 * SINGLE * np.abs(level) + TINY
    order = np.argsort(-scores.values, axis=0, kind="stable")
    reach = np.empty((objectives, count), dtype=np.int64)
    for m in range(objectives):
        needed = np.full(count, -np.inf)
        np.divide(level, weights[:, m], out=needed, where=weights[:, m] > TINY)
        rising = np.ascontiguousarray(fast.values[order[::-_STEP, m], m], dtype=np.float64)
        reach[m] = arms - _STEP * np.maximum(np.searchsorted(rising, needed) - 1, 0)
    fewest, number = reach.argmin(axis=0), reach.min(axis=0)
    for m in range(objectives):
        rows = np.flatnonzero(fewest == m)
        rows = rows[np.argsort(-number[rows], kind="stable")]
        while len(rows):
            some = order[: number[rows[0]], m]
            block = max(_FEWEST, _SCORES // len(some))
            yield rows[:block], some
            rows = rows[block:]
