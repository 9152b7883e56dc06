"""Intervals of means, ratios and shares: instances are the sample, their repeats averaged first."""

import math

import numpy as np

from mogro.simulation import ConfidenceInterval, band
from paper.lab.arrays import FloatArray

_LEVEL = 0.95


def exactly(value: float) -> ConfidenceInterval:
    """Return a number that was computed, not estimated from a sample."""
    return ConfidenceInterval(value, value, value)


def mean(values: FloatArray) -> ConfidenceInterval:
    """Return the mean of one value per instance, (n,); without an interval if n is 1."""
    value, low, high = (float(x) for x in band(values))
    return ConfidenceInterval(value, *((low, high) if len(values) > 1 else (math.nan, math.nan)))


def positive_mean(values: FloatArray) -> ConfidenceInterval:
    """Return the mean of one value per instance, none negative, with an interval above 0."""
    return ratio(values, np.ones_like(values))


def ratio(above: FloatArray, below: FloatArray) -> ConfidenceInterval:
    """Return the ratio of two means over the same instances, (n,), none of them negative.

    The interval is Student's for the logarithm of the ratio, to first order in the deviations of
    the means; it covers a little less than 95 % where values are very skewed. Where all values
    above or all below are 0, the ratio is 0 or infinite in every sample; 0 / 0 is unknown, and one
    instance has no interval.
    """
    return _ratio(above.mean(), below.mean(), _influence(above) - _influence(below))


def double_ratio(
    above: FloatArray, below: FloatArray, rival_above: FloatArray, rival_below: FloatArray
) -> ConfidenceInterval:
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


def _ratio(above: float, below: float, influence: FloatArray) -> ConfidenceInterval:
    """Return above / below, given by how much each instance moves its logarithm, times n."""
    n = len(influence)
    nothing_below = math.inf if above else math.nan
    value = float(above / below) if below else nothing_below
    if n < 2:
        return ConfidenceInterval(value, math.nan, math.nan)
    factor = math.exp(_quantile(n) * float(influence.std(ddof=1)) / math.sqrt(n))
    return ConfidenceInterval(value, value / factor, value * factor)


def share(hits: int, size: int) -> ConfidenceInterval:
    """Return a share of independent trials: the interval of Clopper and Pearson."""
    from scipy.stats import binomtest

    low, high = binomtest(hits, size).proportion_ci(_LEVEL, method="exact")
    return ConfidenceInterval(hits / size, float(low), float(high))


def _quantile(n: int) -> float:
    """Return the quantile of Student's distribution for the mean of n values."""
    from scipy.stats import t

    return float(t.ppf((1 + _LEVEL) / 2, n - 1))
