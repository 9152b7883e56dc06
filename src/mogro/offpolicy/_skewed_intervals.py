"""Intervals from an estimate, its error and its skewness."""

from functools import lru_cache

import numpy as np

from mogro._intervals import student_quantile
from mogro._validation import FloatArray

MAX_SKEWNESS = 0.45  # of an estimate (about five clicks); beyond it the expansion is no guide
_DRAWS = 2**15


def skewed_interval(
    value: FloatArray, error: FloatArray, skewness: FloatArray, z: FloatArray
) -> FloatArray:
    """Return intervals (M, 2) of z standard errors, corrected for skewness.

    Inverts the cubic transformation of Hall (1992), "On the removal of skewness by
    transformation", which is monotone and makes a Studentised mean normal to second order.
    """
    skew = np.clip(np.nan_to_num(skewness), -MAX_SKEWNESS, MAX_SKEWNESS)
    is_symmetric = abs(skew) < 1e-6
    steps = []
    for quantile in (z, -z):
        divisor = np.where(is_symmetric, 1.0, skew)
        transforms = 3 / divisor * (np.cbrt(1 + divisor * (quantile - divisor / 6)) - 1)
        steps.append(np.where(is_symmetric, quantile, transforms))
    return np.stack([value - error * steps[0], value - error * steps[1]], axis=-1)


def scores(
    value: FloatArray, error: FloatArray, skewness: FloatArray, sizes: FloatArray
) -> FloatArray:
    """Return by how many standard deviations of a normal law values (M,) are above 0.

    The inverse of :func:`skewed_interval` with :func:`quantiles`: at such a level 0 is an end of
    the interval.
    """
    from scipy.special import ndtri, stdtr

    skew = np.clip(np.nan_to_num(skewness), -MAX_SKEWNESS, MAX_SKEWNESS)
    step = np.divide(value, error, out=np.full(len(value), np.nan), where=error > 0)
    z = skew / 6 + step + skew * step**2 / 3 + skew**2 * step**3 / 27
    z = np.clip(z, -30, 30)  # beyond, probabilities are rounding
    tail = stdtr(_degrees_of_freedom(sizes), -abs(z))
    return np.asarray(-np.sign(z) * ndtri(tail))


def quantiles(level: float, sizes: FloatArray) -> FloatArray:
    """Return two-sided quantiles of Student's t, for variances of so many observations."""
    return student_quantile(level, _degrees_of_freedom(sizes))


def _degrees_of_freedom(sizes: FloatArray) -> FloatArray:
    return np.maximum(np.nan_to_num(sizes, nan=1.0) - 1, 1.0)


def joint_level(level: float, covariance: FloatArray) -> float:
    """Return the level that intervals need one by one so that all hold together at ``level``.

    By simulation of normal vectors of this correlation, always with the same draws.
    """
    from scipy.special import ndtr

    has_variance = np.diag(covariance) > 0
    if has_variance.sum() < 2:
        return level
    draws = correlated_normals(covariance[np.ix_(has_variance, has_variance)])
    critical_value = np.quantile(abs(draws).max(axis=0), level)
    return float(2 * ndtr(critical_value) - 1)


def correlated_normals(covariance: FloatArray) -> FloatArray:
    """Return standard normal vectors (p, draws) with the correlation of a covariance (p, p)."""
    error = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(error, error))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(root @ _normals(len(root)))


@lru_cache(maxsize=8)
def _normals(size: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((size, _DRAWS))
