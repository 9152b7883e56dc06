"""Which columns are summed, and where they stand.

Every estimator is a smooth function of means of a few columns: the weight w, the capped weight v,
the product x = v e with the residual e, and the predicted value b of the target. Where rewards are
missing, columns are multiplied by the indicator o of what was observed, per objective. The first
column is always the weight of every row, observed or not.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, real
from mogro.offpolicy.rows import Rows

Places = NDArray[np.intp]  # a column for each objective


class Cap(Protocol):
    """What is done to large weights: :class:`Clip` or :class:`Switch`, or the like."""

    def __call__(self, weights: FloatArray, /) -> FloatArray:
        """Return the weights to use, none above those given."""


@dataclass(frozen=True)
class Clip:
    """No weight counts more than the limit.

    Examples
    --------
    >>> Clip(2.0)(np.array([0.5, 8.0]))
    array([0.5, 2. ])
    """

    limit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", real(self.limit, "limit", above=0))

    def __call__(self, weights: FloatArray, /) -> FloatArray:
        """Return the weights, at most the limit."""
        return np.minimum(weights, self.limit)


@dataclass(frozen=True)
class Switch:
    """Rows with weights above the limit count by their prediction alone.

    Examples
    --------
    >>> Switch(2.0)(np.array([0.5, 8.0]))
    array([0.5, 0. ])
    """

    limit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", real(self.limit, "limit", minimum=0))

    def __call__(self, weights: FloatArray, /) -> FloatArray:
        """Return the weights, 0 where they are above the limit."""
        return np.where(weights <= self.limit, weights, 0.0)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the columns stand; places are None for columns that are not needed."""

    size: int
    weight: Places
    capped: Places
    product: Places
    excess: Places | None  # (w - v) e: what the cap takes away
    seen: Places | None
    baseline: Places | None

    @classmethod
    def arrange(cls, objectives: int, *, missing: bool, cap: bool, baseline: bool) -> Self:
        """Give every column its place."""
        size = 1

        def take(wanted: bool) -> Places | None:
            nonlocal size
            if not wanted:
                return None
            size += objectives
            return np.arange(size - objectives, size)

        shared = np.zeros(objectives, dtype=np.intp)
        product = take(True)
        seen, weight = take(missing), take(missing)
        if cap and not missing:
            size += 1
        alone = np.full(objectives, size - 1)
        capped = take(missing) if cap and missing else alone if cap else None
        excess, base = take(cap), take(baseline)
        weight = shared if weight is None else weight
        assert product is not None
        return cls(size, weight, weight if capped is None else capped, product, excess, seen, base)

    @property
    def sets(self) -> Places:
        """The columns that the estimate of an objective depends on, (M, q)."""
        places = (self.seen, self.capped, self.product, self.baseline)
        return np.stack([each for each in places if each is not None], axis=1)

    def fill(self, rows: Rows, part: slice, cap: Cap | None) -> FloatArray:
        """Return the columns of some rows, (p, n)."""
        weights, residuals = rows.weights[part], rows.residuals[part].T
        columns = np.empty((self.size, len(weights)))
        columns[0] = weights
        capped = weights if cap is None else cap(weights)
        np.multiply(residuals, capped, out=columns[self._span(self.product)])
        if self.excess is not None:
            np.multiply(residuals, weights - capped, out=columns[self._span(self.excess)])
        if self.seen is not None:
            self._fill_observed(columns, rows, part, capped)
        elif cap is not None:
            columns[self.capped[0]] = capped
        if self.baseline is not None and rows.baseline is not None:
            columns[self._span(self.baseline)] = rows.baseline[part].T
        return columns

    def _fill_observed(
        self, columns: FloatArray, rows: Rows, part: slice, capped: FloatArray
    ) -> None:
        assert self.seen is not None
        observed = 1.0 if rows.observed is None else rows.observed[part].T
        columns[self._span(self.seen)] = observed
        columns[self._span(self.weight)] = rows.weights[part] * observed
        if self.excess is not None:
            columns[self._span(self.capped)] = capped * observed

    @staticmethod
    def _span(places: Places) -> slice:
        return slice(int(places[0]), int(places[-1]) + 1)
