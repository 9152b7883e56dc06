"""Intervals: instances are the sample, repeats within one are averaged first."""

import math
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray

LEVEL = 0.95


class Interval(NamedTuple):
    """A value and where it may lie, with 95 % confidence; NaN where nobody can tell."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is a value with an interval."""
        return not any(map(math.isnan, self))

    def __str__(self) -> str:
        value, low, high = (f"{x:.3g}" for x in self)
        if not self.known:
            return "no number" if math.isnan(self.value) else f"{value}, no interval"
        return value if value == low == high else f"{value} [{low}, {high}]"


def exactly(value: float) -> Interval:
    """Return a number that was computed, not estimated from a sample."""
    return Interval(value, value, value)


def band(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (...) of values (..., n) of n instances: Student's interval.

    A single instance has no interval: low and high are the mean, for drawings.
    """
    mean = values.mean(axis=-1)
    n = values.shape[-1]
    if n < 2:
        return mean, mean.copy(), mean.copy()
    half = _quantile(n) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def mean(values: FloatArray) -> Interval:
    """Return the mean of one value per instance, (n,); without an interval if n is 1."""
    value, low, high = (float(x) for x in band(values))
    return Interval(value, low, high) if len(values) > 1 else Interval(value, math.nan, math.nan)


def positive_mean(values: FloatArray) -> Interval:
    """Return the mean of one value per instance, none negative, with an interval above 0."""
    return ratio(values, np.ones_like(values))


def ratio(above: FloatArray, below: FloatArray) -> Interval:
    """Return the ratio of two means over the same instances, (n,), none of them negative.

    The interval is Student's for the logarithm of the ratio, to first order in the deviations of
    the means; it covers a little less than 95 % where values are very skewed. Where all values
    above or all below are 0, the ratio is 0 or infinite in every sample; 0 / 0 is unknown, and one
    instance has no interval.
    """
    return _ratio(above.mean(), below.mean(), _influence(above) - _influence(below))


def double_ratio(
    above: FloatArray, below: FloatArray, rival_above: FloatArray, rival_below: FloatArray
) -> Interval:
    """Return the ratio of two ratios of means over the same instances, (n,)."""
    deviations = [_influence(x) for x in (above, below, rival_above, rival_below)]
    return _ratio(
        above.mean() * rival_below.mean(),
        below.mean() * rival_above.mean(),
        deviations[0] - deviations[1] - deviations[2] + deviations[3],
    )


def _influence(values: FloatArray) -> FloatArray:
    """Return by how much each value moves the logarithm of their mean, times n."""
    mean = values.mean()
    return np.asarray(values / mean - 1) if mean else np.zeros(len(values))


def _ratio(above: float, below: float, influence: FloatArray) -> Interval:
    """Return above / below, given by how much each instance moves its logarithm, times n."""
    n = len(influence)
    nothing_below = math.inf if above else math.nan
    value = float(above / below) if below else nothing_below
    if n < 2:
        return Interval(value, math.nan, math.nan)
    factor = math.exp(_quantile(n) * float(influence.std(ddof=1)) / math.sqrt(n))
    return Interval(value, value / factor, value * factor)


def _quantile(n: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, n - 1))


def share(hits: int, size: int) -> Interval:
    """Return a share of independent trials: the interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    low, high = binomtest(hits, size).proportion_ci(LEVEL, method="exact")
    return Interval(hits / size, float(low), float(high))
