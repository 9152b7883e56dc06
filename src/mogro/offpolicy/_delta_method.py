"""From rows to columns, from means of columns to estimates, and by the delta method to covariance.

Every estimator is a smooth function of means of a few columns: the weight w, the product x = w e
with the residual e, and the predicted value b of the target. Where rewards are missing, columns are
multiplied by the indicator o of what was observed, per objective. The first column is always the
weight of every row, observed or not.

With groups k (logged arms, or one group) of shares s_k, the share a_k of rewards observed in each,
and means over groups of these columns, the estimate is

    B + N            or, self-normalised,            B + N / D,
    B = sum_k s_k b_k,    N = sum_k s_k x_k / a_k,    D = sum_k s_k w_k / a_k.

Its first-order change with a row is linear in the columns of the row (the influence of the row);
influences of rows are martingale differences even if the log was collected adaptively, as long as
propensities are what they were at the time and contexts do not follow from the choices. So the
sum of their squares is the variance, whether or not rows are independent.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray
from mogro.offpolicy._moments import Moments
from mogro.offpolicy.rows import Rows

Places = NDArray[np.intp]  # a column for each objective


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the columns stand; places are None for columns that are not needed."""

    size: int
    product: Places
    weight: Places
    seen: Places | None
    baseline: Places | None

    @classmethod
    def arrange(cls, objectives: int, *, missing: bool, baseline: bool) -> Self:
        """Give every column its place."""
        blocks = (np.arange(1, 1 + 4 * objectives)).reshape(4, objectives)
        product, weight, seen = blocks[0], np.zeros(objectives, dtype=np.intp), None
        used = 1
        if missing:
            weight, seen, used = blocks[1], blocks[2], 3
        predicted = blocks[used] if baseline else None
        return cls(1 + (used + baseline) * objectives, product, weight, seen, predicted)

    @property
    def sets(self) -> Places:
        """The columns that the estimate of an objective depends on, (M, q)."""
        places = (self.seen, self.weight, self.product, self.baseline)
        return np.stack([columns for columns in places if columns is not None], axis=1)

    def fill(self, rows: Rows, part: slice) -> FloatArray:
        """Return the columns of some rows, (p, n)."""
        weights = rows.weights[part]
        columns = np.empty((self.size, len(weights)))
        columns[0] = weights
        np.multiply(rows.residuals[part].T, weights, out=columns[_span(self.product)])
        if self.seen is not None:
            observed = 1.0 if rows.observed is None else rows.observed[part].T
            columns[_span(self.seen)] = observed
            columns[_span(self.weight)] = weights * observed
        if self.baseline is not None and rows.baseline is not None:
            columns[_span(self.baseline)] = rows.baseline[part].T
        return columns


def _span(places: Places) -> slice:
    return slice(int(places[0]), int(places[-1]) + 1)


class Linearisation(NamedTuple):
    """An estimate (M,), N / D or N within it, and how rows move it.

    A row moves it by the level (G, M) of its group and by coefficients (G, p, M) of its deviations
    from the means of the group.
    """

    value: FloatArray
    ratio: FloatArray
    level: FloatArray
    coefficients: FloatArray


def linearise(moments: Moments, layout: Layout, *, normalised: bool) -> Linearisation:
    """Return the estimate from moments of the columns."""
    means = moments.means
    shares = (moments.counts / moments.counts.sum())[:, None]
    seen = np.ones((1, 1)) if layout.seen is None else means[:, layout.seen]
    products = _quotient(means[:, layout.product], seen)
    weights = _quotient(means[:, layout.weight], seen)
    baselines = np.zeros_like(products) if layout.baseline is None else means[:, layout.baseline]
    numerator = (shares * products).sum(axis=0)
    scale = (shares * weights).sum(axis=0) if normalised else np.ones_like(numerator)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = numerator / scale
    # Without any weight the value is NaN; its influence need not be.
    by_product = _quotient(np.ones_like(scale), scale)
    by_weight = -np.nan_to_num(ratio) * by_product * float(normalised)
    both = products * by_product + weights * by_weight
    level = both + baselines
    level = level - (shares * level).sum(axis=0)
    every = np.arange(level.shape[1])
    coefficients = np.zeros((*means.shape, level.shape[1]))
    coefficients[:, layout.product, every] = _quotient(by_product, seen)
    coefficients[:, layout.weight, every] += _quotient(by_weight, seen)
    if layout.seen is not None:
        coefficients[:, layout.seen, every] = -_quotient(both, seen)
    if layout.baseline is not None:
        coefficients[:, layout.baseline, every] = 1.0
    return Linearisation((shares * baselines).sum(axis=0) + ratio, ratio, level, coefficients)


def covariance(moments: Moments, linear: Linearisation) -> FloatArray:
    """Return the covariance (M, M) of the estimate; NaN for a single row."""
    total = moments.counts.sum()
    within = sandwich(linear.coefficients, moments.scatter)
    between = np.einsum("g,gm,gn->mn", moments.counts, linear.level, linear.level)
    if total < 2:
        return np.full_like(within, np.nan)
    return np.asarray((within + between) / (total * (total - 1)))


def sandwich(coefficients: FloatArray, scatter: FloatArray) -> FloatArray:
    """Return the sum over groups of C' S C, (M, M), of C (G, p, M) and S (G, p, p)."""
    return np.asarray((coefficients.transpose(0, 2, 1) @ scatter @ coefficients).sum(axis=0))


def skewness(moments: Moments, linear: Linearisation, layout: Layout) -> FloatArray:
    """Return the skewness (M,) of the estimate: of a row's influence, over the root of n."""
    sets = layout.sets
    # Coefficients of the columns of each objective, (G, M, q).
    slopes = linear.coefficients[:, sets, np.arange(len(sets))[:, None]]
    scatter = moments.scatter[:, sets[:, :, None], sets[:, None, :]]
    squares = np.einsum("gma,gmab,gmb->gm", slopes, scatter, slopes)
    cubes = np.vecdot(np.matvec(np.matvec(moments.thirds, slopes[:, :, None]), slopes), slopes)
    counts = moments.counts[:, None]
    third = (cubes + 3 * linear.level * squares + counts * linear.level**3).sum(axis=0)
    second = (squares + counts * linear.level**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(third / second**1.5)


def _quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide; 0 where nothing was observed."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
