"""Intervals: instances are the sample, repeats within one are averaged first."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray

_RESAMPLES = 4000
LEVEL = 0.95


class Interval(NamedTuple):
    """A value and where it may lie, with 95 % confidence."""

    value: float
    low: float
    high: float


def band(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (...) of values (..., n) of n instances: Student's interval."""
    from scipy.stats import t

    mean = values.mean(axis=-1)
    n = values.shape[-1]
    if n < 2:
        return mean, mean.copy(), mean.copy()
    half = t.ppf((1 + LEVEL) / 2, n - 1) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def mean(values: FloatArray) -> Interval:
    """Return the mean of one value per instance, (n,)."""
    return Interval(*(float(x) for x in band(values)))


def ratio(above: FloatArray, below: FloatArray) -> Interval:
    """Return the ratio of two means over the same instances, (n,): a paired bootstrap."""
    chosen = _resamples(len(above))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = above.mean() / below.mean()
        drawn = above[chosen].mean(axis=-1) / below[chosen].mean(axis=-1)
    drawn = np.where(np.isnan(drawn), value, drawn)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return Interval(float(value), float(low), float(high))


def share(hits: int, size: int) -> Interval:
    """Return a share of independent trials: the interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    low, high = binomtest(hits, size).proportion_ci(LEVEL, method="exact")
    return Interval(hits / size, float(low), float(high))


def _resamples(n: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(n, size=(_RESAMPLES, n))
