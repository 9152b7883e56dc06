"""From means of columns to estimates, and by the delta method to their covariance.

With groups k (logged arms, or one group) of shares s_k, the share a_k of rewards observed in each,
and means over groups of the columns of ``_columns``, the estimate is

    B + N            or, self-normalised,            B + N / D,
    B = sum_k s_k b_k,    N = sum_k s_k x_k / a_k,    D = sum_k s_k v_k / a_k.

Its first-order change with a row is linear in the columns of the row (the influence of the row);
influences of rows are martingale differences even if the log was collected adaptively, as long as
propensities are what they were at the time and contexts do not follow from the choices. So the
sum of their squares is the variance, whether or not rows are independent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray
from mogro.offpolicy._columns import Layout
from mogro.offpolicy._moments import Moments


class Parts(NamedTuple):
    """The pieces of an estimate, over leading axes and (..., G, M) or (..., M)."""

    shares: FloatArray  # s_k, (..., G, 1)
    products: FloatArray  # x_k / a_k
    weights: FloatArray  # v_k / a_k
    baselines: FloatArray  # b_k
    ratio: FloatArray  # N, or N / D
    scale: FloatArray  # 1, or D
    value: FloatArray


class Influence(NamedTuple):
    """Of a row: mean of its group, (G, M), and coefficients of its deviations, (G, p, M)."""

    means: FloatArray
    coefficients: FloatArray


def estimate(
    counts: FloatArray, means: FloatArray, layout: Layout, *, normalised: bool, capped: bool = True
) -> Parts:
    """Return the estimate from counts (..., G) and means (..., G, p)."""
    product = means[..., layout.product]
    weight = means[..., layout.capped]
    if not capped and layout.excess is not None:
        product = product + means[..., layout.excess]
        weight = means[..., layout.weight]
    if layout.seen is not None:
        seen = means[..., layout.seen]
        product, weight = _quotient(product, seen), _quotient(weight, seen)
    shares = (counts / counts.sum(axis=-1, keepdims=True))[..., None]
    baselines = np.zeros_like(product)
    if layout.baseline is not None:
        baselines = means[..., layout.baseline]
    numerator = (shares * product).sum(axis=-2)
    scale = (shares * weight).sum(axis=-2) if normalised else np.ones_like(numerator)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = numerator / scale
    value = (shares * baselines).sum(axis=-2) + ratio
    return Parts(shares, product, weight, baselines, ratio, scale, value)


def influence(
    counts: FloatArray, means: FloatArray, layout: Layout, *, normalised: bool, capped: bool = True
) -> Influence:
    """Return how rows move the estimate, from counts (..., G) and means (..., G, p)."""
    parts = estimate(counts, means, layout, normalised=normalised, capped=capped)
    # Without any weight the value is NaN; its influence need not be.
    by_product = _quotient(np.ones_like(parts.scale), parts.scale)[..., None, :]
    by_weight = -np.nan_to_num(parts.ratio)[..., None, :] * by_product * float(normalised)
    both = parts.products * by_product + parts.weights * by_weight
    level = both + parts.baselines
    level = level - (parts.shares * level).sum(axis=-2, keepdims=True)
    objectives = level.shape[-1]
    coefficients = np.zeros((*means.shape, objectives))
    every = np.arange(objectives)
    seen = 1.0 if layout.seen is None else means[..., layout.seen]
    weight_places = layout.capped if capped else layout.weight
    coefficients[..., layout.product, every] = _quotient(by_product, seen)
    if not capped and layout.excess is not None:
        coefficients[..., layout.excess, every] = _quotient(by_product, seen)
    coefficients[..., weight_places, every] += _quotient(by_weight, seen)
    if layout.seen is not None:
        coefficients[..., layout.seen, every] = -_quotient(both, seen)
    if layout.baseline is not None:
        coefficients[..., layout.baseline, every] = 1.0
    return Influence(level, coefficients)


def covariance(moments: Moments, found: Influence) -> FloatArray:
    """Return the covariance (M, M) of the estimate; NaN for a single row."""
    total = moments.counts.sum()
    within = sandwich(found.coefficients, moments.scatter)
    between = np.einsum("g,gm,gn->mn", moments.counts, found.means, found.means)
    if total < 2:
        return np.full_like(within, np.nan)
    return np.asarray((within + between) / (total * (total - 1)))


def sandwich(coefficients: FloatArray, scatter: FloatArray) -> FloatArray:
    """Return the sum over groups of C' S C, (M, M), of C (G, p, M) and S (G, p, p)."""
    return np.asarray((coefficients.transpose(0, 2, 1) @ scatter @ coefficients).sum(axis=0))


def skewness(moments: Moments, found: Influence, layout: Layout) -> FloatArray:
    """Return the skewness (M,) of the estimate: of a row's influence, over the root of n."""
    sets = layout.sets
    own = _own(found, sets)
    scatter = moments.scatter[:, sets[:, :, None], sets[:, None, :]]
    squares = np.einsum("gma,gmab,gmb->gm", own, scatter, own)
    cubes = np.vecdot(np.matvec(np.matvec(moments.thirds, own[:, :, None]), own), own)
    counts = moments.counts[:, None]
    third = (cubes + 3 * found.means * squares + counts * found.means**3).sum(axis=0)
    second = (squares + counts * found.means**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(third / second**1.5)


def variances(
    counts: FloatArray, scatter: FloatArray, found: Influence, layout: Layout
) -> FloatArray:
    """Return variances (..., M) of estimates, from the scatter (..., G, M, q, q) of the sets."""
    own = _own(found, layout.sets)
    within = np.einsum("...ma,...mab,...mb->...m", own, scatter, own)
    each = counts[..., None]
    return np.asarray((within + each * found.means**2).sum(axis=-2) / each.sum(axis=-2) ** 2)


def _own(found: Influence, sets: NDArray[np.intp]) -> FloatArray:
    """Return the coefficients (..., G, M, q) of each objective's own columns."""
    return np.asarray(found.coefficients[..., sets, np.arange(len(sets))[:, None]])


def _quotient(above: FloatArray, below: FloatArray | float) -> FloatArray:
    """Divide; 0 where nothing was observed."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
