"""Means with their intervals: independent values are the sample."""

import math
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray

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
    half = quantile(n) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def quantile(n: int) -> float:
    """Return the quantile of Student's distribution for the mean of n values."""
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, n - 1))
