"""Means with their intervals: independent values are the sample."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray

LEVEL = 0.95


class ConfidenceInterval(NamedTuple):
    """A value and its 95 % confidence interval; NaN where there is none.

    Examples
    --------
    >>> print(ConfidenceInterval(0.5, 0.4, 0.61))
    0.5 [0.4, 0.61]
    """

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


def band(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (...) of values (..., n): Student's interval.

    A single value has no interval: low and high are the mean, for drawings.
    """
    mean = values.mean(axis=-1)
    n = values.shape[-1]
    if n < 2:
        return mean, mean.copy(), mean.copy()
    half = student_quantile(LEVEL, n - 1) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def are_rates(values: FloatArray) -> BoolArray:
    """Tell whether all values (n, ...) that are known (not NaN) are 0 or 1, for each column."""
    return np.asarray(((values == 0) | (values == 1) | np.isnan(values)).all(axis=0))


def rate_interval(rate: ArrayLike, n: ArrayLike, z: ArrayLike) -> FloatArray:
    """Return Wilson's intervals (..., 2) of z standard errors for rates that n observations gave.

    They are within 0 and 1, and not empty where all observations were 0, or 1. An n below 1 counts
    as what it is: the interval is then nearly all of it.

    Examples
    --------
    >>> rate_interval(0.0, 20.0, 1.96).round(3)
    array([0.   , 0.161])
    """
    p, n, z = np.clip(rate, 0.0, 1.0), np.asarray(n, dtype=float), np.asarray(z, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(n > 0, z**2 / n, np.inf)
        middle = np.where(np.isinf(ratio), 0.5, (p + ratio / 2) / (1 + ratio))
        half = np.sqrt(ratio * (p * (1 - p) + ratio / 4)) / (1 + ratio)
    half = np.where(np.isinf(ratio), 0.5, half)
    bounds = np.stack([middle - half, middle + half], axis=-1)
    bounds[..., 0] = np.where(p == 0, 0.0, bounds[..., 0])  # but for rounding
    bounds[..., 1] = np.where(p == 1, 1.0, bounds[..., 1])
    return np.asarray(np.clip(bounds, 0.0, 1.0))


def student_quantile(level: float, degrees_of_freedom: FloatArray | float) -> FloatArray:
    """Return two-sided quantiles of Student's distribution."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees_of_freedom, (1 + level) / 2), dtype=np.float64)
