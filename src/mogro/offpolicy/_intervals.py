"""Intervals from an estimate, its error and its skewness."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray

MAX_SKEWNESS = 0.45  # of an estimate (about five clicks); beyond it the expansion is no guide
_DRAWS = 2**15


class Calibration(NamedTuple):
    """Moments of weights and weighted rewards, what the likelihood of ips depends on."""

    rows: float
    means: FloatArray  # (M, 2), of w and w r
    scatter: FloatArray  # (M, 2, 2)
    thirds: FloatArray  # (M, 2, 2, 2)


def skewed_interval(
    value: FloatArray, error: FloatArray, skewness: FloatArray, z: FloatArray
) -> FloatArray:
    """Return intervals (M, 2) of z standard errors, corrected for skewness.

    Inverts the cubic transformation of Hall (1992), "On the removal of skewness by
    transformation", which is monotone and makes a Studentised mean normal to second order.
    """
    s = np.clip(np.nan_to_num(skewness), -MAX_SKEWNESS, MAX_SKEWNESS)
    flat = abs(s) < 1e-6
    steps = []
    for side in (z, -z):
        safe = np.where(flat, 1.0, s)
        bent = 3 / safe * (np.cbrt(1 + safe * (side - safe / 6)) - 1)
        steps.append(np.where(flat, side, bent))
    return np.stack([value - error * steps[0], value - error * steps[1]], axis=-1)


def scores(
    value: FloatArray, error: FloatArray, skewness: FloatArray, sizes: FloatArray, bound: float
) -> FloatArray:
    """Return by how many standard deviations of a normal law values (M,) are above a bound.

    The inverse of :func:`skewed_interval` with :func:`quantiles`: at such a level the bound is an
    end of the interval.
    """
    from scipy.special import ndtri, stdtr

    s = np.clip(np.nan_to_num(skewness), -MAX_SKEWNESS, MAX_SKEWNESS)
    step = np.divide(value - bound, error, out=np.full(len(value), np.nan), where=error > 0)
    z = s / 6 + step + s * step**2 / 3 + s**2 * step**3 / 27
    z = np.clip(z, -30, 30)  # beyond, probabilities are rounding
    tail = stdtr(_degrees_of_freedom(sizes), -abs(z))
    return np.asarray(-np.sign(z) * ndtri(tail))


def quantiles(level: float, sizes: FloatArray) -> FloatArray:
    """Return two-sided quantiles of Student's t, for variances of so many observations."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(_degrees_of_freedom(sizes), (1 + level) / 2), dtype=np.float64)


def _degrees_of_freedom(sizes: FloatArray) -> FloatArray:
    return np.maximum(np.nan_to_num(sizes, nan=1.0) - 1, 1.0)


def joint_level(level: float, covariance: FloatArray) -> float:
    """Return the level that intervals need one by one so that all hold together at ``level``.

    By simulation of normal vectors of this correlation, always with the same draws.
    """
    from scipy.special import ndtr

    varied = np.diag(covariance) > 0
    if varied.sum() < 2:
        return level
    drawn = correlated_normals(covariance[np.ix_(varied, varied)])
    reach = np.quantile(abs(drawn).max(axis=0), level)
    return float(2 * ndtr(reach) - 1)


def correlated_normals(covariance: FloatArray) -> FloatArray:
    """Return standard normal vectors (p, draws) with the correlation of a covariance (p, p)."""
    error = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(error, error))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(root @ _normals(len(root)))


@lru_cache(maxsize=8)
def _normals(size: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((size, _DRAWS))


def likelihood_interval(
    moments: Calibration, level: float, sizes: FloatArray, within: tuple[float, float] | None
) -> FloatArray:
    """Return intervals (M, 2) by the Euclidean member of the Cressie-Read family.

    All distributions on the rows are considered whose mean weight is 1 and whose distance
    ``sum (n q - 1)^2`` from equal weights is at most a quantile beyond the least possible. With
    bounds on the rewards, weights that the log happens not to hold may make up for a mean weight
    below 1, at the worst reward (Karampatziakis, Langford and Mineiro, 2020). This member of the
    family is blind to skewness, so the quantile is corrected for it.
    """
    z = quantiles(level, sizes - 1)
    inside = _calibrated(moments, z)
    if within is None:
        return inside
    low = np.minimum(inside[:, 0], _lower(moments, z, within[0]))
    high = np.maximum(inside[:, 1], -_lower(_mirrored(moments), z, -within[1]))
    return np.asarray(np.clip(np.stack([low, high], axis=-1), *within))


def _calibrated(moments: Calibration, z: FloatArray) -> FloatArray:
    """Return intervals (M, 2) of mean weight 1: a regression of w r on w, taken at w = 1."""
    ww, wx = moments.scatter[:, 0, 0], moments.scatter[:, 0, 1]
    slope = np.divide(wx, ww, out=np.zeros_like(wx), where=ww > 0)
    residual = np.stack([-slope, np.ones_like(slope)], axis=-1)
    value = moments.means[:, 1] + slope * (1 - moments.means[:, 0])
    square = np.maximum(np.einsum("ma,mab,mb->m", residual, moments.scatter, residual), 0)
    cube = np.einsum("ma,mb,mc,mabc->m", residual, residual, residual, moments.thirds)
    skewness = np.divide(cube, square**1.5, out=np.zeros_like(cube), where=square > 0)
    return skewed_interval(value, np.sqrt(square) / moments.rows, skewness, z)


def _mirrored(moments: Calibration) -> Calibration:
    sign = np.array([1.0, -1.0])
    return Calibration(
        moments.rows, moments.means * sign, moments.scatter * np.outer(sign, sign), moments.thirds
    )


def _lower(moments: Calibration, z: FloatArray, worst: float) -> FloatArray:
    """Return the least value (M,) where weight is missing; infinite if that would be too much."""
    weight, product = moments.means[:, 0], moments.means[:, 1]
    ww, wx, xx = moments.scatter[:, 0, 0], moments.scatter[:, 0, 1], moments.scatter[:, 1, 1]
    reach = z / moments.rows
    # y = w (r - worst): any missing weight has the worst reward, and adds nothing to y.
    yy = np.maximum(xx - 2 * worst * wx + worst**2 * ww, 0)
    spread = np.sqrt(yy)
    tilt = np.divide(reach * (wx - worst * ww), spread, out=np.zeros_like(yy), where=spread > 0)
    free = worst + product - worst * weight - reach * spread
    return np.asarray(np.where(weight - tilt <= 1, free, np.inf))
