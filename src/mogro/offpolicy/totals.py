"""The first look at a log: sums over its rows, by arm where rewards may be missing."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray
from mogro.offpolicy.rows import EXPONENTS, Rows

_BLOCK = 8192  # rows at once, so that they stay in the cache


def blocks(rows: Rows) -> Iterator[Rows]:
    """Yield rows, some at a time, without their totals."""
    columns = rows.weights, rows.residuals, rows.observed, rows.baseline, rows.arms, rows.noise
    for begin in range(0, len(rows), _BLOCK):
        yield Rows(*(None if c is None else c[begin : begin + _BLOCK] for c in columns))  # type: ignore[arg-type]


class Centre(NamedTuple):
    """An estimate (M,), and what is needed to tell how much a row moves it.

    With groups k of rows (logged arms, or one group), their shares s_k, the share a_k of rewards
    observed in each, and means over groups of the weight w, of its product with the residual e and
    of the predicted value b, the estimate is B + N or, self-normalised, B + N / D, with

        B = sum_k s_k b_k,    N = sum_k s_k (w e)_k / a_k,    D = sum_k s_k w_k / a_k.
    """

    value: FloatArray
    scale: FloatArray  # 1 / D, or 1
    shift: FloatArray  # what residuals are compared with: N / D, or 0
    observed: FloatArray  # a_k, (G, M)
    level: FloatArray  # means of w (e - shift) / a_k in each group, (G, M)


class Totals:
    """Sums over the rows of a log, for M objectives; groups are arms if rows have them."""

    def __init__(self, objectives: int) -> None:
        self.counts: FloatArray = np.zeros((1, 1))  # of rows, (G, 1)
        self.weights: FloatArray = np.zeros((1, 1))  # their sum, (G, 1)
        # Rewards observed, their weights, weighted residuals and predictions, (G, M).
        self.seen, self.seen_weights, self.products, self.baseline = np.zeros((4, 1, objectives))
        self.squares, self.fourths, self.largest = np.zeros((3, objectives))  # of weights seen
        self.lowest: FloatArray = np.full(objectives, np.inf)  # residuals
        self.highest: FloatArray = np.full(objectives, -np.inf)
        self.unsupported = 0.0  # target probability known to be without support
        self.other_arms: FloatArray = np.zeros((2, EXPONENTS))  # see Rows
        self.mass: FloatArray = np.zeros(0)  # target probability of the arms
        self.pulls: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def mean_weight(self) -> float:
        """Mean weight of all rows."""
        return float(self.weights.sum() / self.counts.sum())

    def add(self, rows: Rows) -> None:
        """Add rows."""
        objectives, arms = len(self.largest), len(self.mass)
        if (got := rows.residuals.shape[1]) != objectives:
            raise ValueError(f"rows: expected {objectives} objectives, got {got}")
        if rows.mass is not None and rows.arms is not None:
            if arms not in (0, len(rows.mass)):
                raise ValueError(f"rows: expected {arms} arms, got {len(rows.mass)}")
            pulls = np.bincount(rows.arms, minlength=len(rows.mass))
            self.mass = rows.mass + (self.mass if arms else 0.0)
            self.pulls = pulls + (self.pulls if arms else 0)
        for block in blocks(rows):
            self._add(block)
        self.unsupported += rows.unsupported
        if rows.other_arms is not None:
            self.other_arms += rows.other_arms

    def _add(self, block: Rows) -> None:
        weights, residuals, seen = block.weights[:, None], block.residuals, block.observed
        seen_weights, low, high = weights, residuals, residuals
        if seen is not None:
            seen_weights = weights * seen
            low, high = (np.where(seen, residuals, end) for end in (np.inf, -np.inf))
        squares = np.square(seen_weights).T
        self.squares += squares.sum(axis=1)
        self.fourths += np.vecdot(squares, squares)
        self.largest = np.maximum(self.largest, seen_weights.max(axis=0))
        self.lowest = np.minimum(self.lowest, low.min(axis=0))
        self.highest = np.maximum(self.highest, high.max(axis=0))
        if block.arms is not None:
            self._make_room(int(block.arms.max()) + 1)
        size = len(self.counts)
        counts = _by_group(np.ones((len(block), 1)), block.arms, size)
        self.counts += counts
        self.seen += counts if seen is None else _by_group(seen, block.arms, size)
        total = _by_group(weights, block.arms, size)
        self.weights += total
        self.seen_weights += total if seen is None else _by_group(seen_weights, block.arms, size)
        self.products += _by_group(weights * residuals, block.arms, size)
        if block.baseline is not None:
            self.baseline += _by_group(block.baseline, block.arms, size)

    def _make_room(self, groups: int) -> None:
        if (more := groups - len(self.counts)) > 0:
            for name in ("counts", "weights", "seen", "seen_weights", "products", "baseline"):
                setattr(self, name, np.pad(getattr(self, name), ((0, more), (0, 0))))

    def centre(self, *, self_normalised: bool) -> Centre:
        """Return the estimate."""
        n = self.counts.sum()
        products = quotient(self.products, self.seen)
        weights = quotient(self.seen_weights, self.seen)
        numerator = (self.counts * products).sum(axis=0) / n
        scale = np.ones_like(numerator)
        if self_normalised:
            scale = (self.counts * weights).sum(axis=0) / n
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = numerator / scale  # without any weight there is no value
        shift = np.nan_to_num(ratio) * float(self_normalised)
        return Centre(
            self.baseline.sum(axis=0) / n + ratio,
            quotient(np.ones_like(scale), scale),
            shift,
            quotient(self.seen, self.counts),
            products - shift * weights,
        )


def _by_group(columns: NDArray[Any], groups: NDArray[np.intp] | None, size: int) -> FloatArray:
    """Sum columns (n, k) in each of some groups, (G, k)."""
    if groups is None:
        # A product is faster than a sum over the first axis.
        return np.asarray(np.ones((1, len(columns))) @ columns)
    return np.stack([np.bincount(groups, column, size) for column in columns.T], axis=1)


def quotient(above: NDArray[Any], below: FloatArray) -> FloatArray:
    """Divide; 0 where there is nothing to divide by."""
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.zeros(above.shape), where=below != 0))
