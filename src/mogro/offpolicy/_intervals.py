"""Intervals from an estimate, its error and its skewness."""

from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray

_STEEP = 0.45  # beyond this skewness (about five clicks) the expansion is no guide
_DRAWS = 2**16


class Calibration(NamedTuple):
    """Moments of weights and weighted rewards, what the likelihood of ips depends on."""

    rows: float
    means: FloatArray  # (M, 2), of w and w r
    scatter: FloatArray  # (M, 2, 2)


def skewed_interval(
    value: FloatArray, error: FloatArray, skewness: FloatArray, z: FloatArray
) -> FloatArray:
    """Return intervals (M, 2) of z standard errors, corrected for skewness.

    Inverts the cubic transformation of Hall (1992), "On the removal of skewness by
    transformation", which is monotone and makes a Studentised mean normal to second order.
    """
    s = np.clip(np.nan_to_num(skewness), -_STEEP, _STEEP)
    flat = abs(s) < 1e-6
    steps = []
    for side in (z, -z):
        safe = np.where(flat, 1.0, s)
        bent = 3 / safe * (np.cbrt(1 + safe * (side - safe / 6)) - 1)
        steps.append(np.where(flat, side, bent))
    return np.stack([value - error * steps[0], value - error * steps[1]], axis=-1)


def quantiles(level: float, sizes: FloatArray) -> FloatArray:
    """Return two-sided quantiles of Student's t, with degrees of freedom of effective sizes."""
    from scipy.special import stdtrit

    freedom = np.maximum(np.nan_to_num(sizes, nan=1.0) - 1, 1.0)
    return np.asarray(stdtrit(freedom, (1 + level) / 2), dtype=np.float64)


def joint_level(level: float, covariance: FloatArray) -> float:
    """Return the level that intervals need one by one so that all hold together at ``level``.

    By simulation of normal vectors of this correlation, always with the same draws.
    """
    from scipy.special import ndtr

    error = np.sqrt(np.diag(covariance))
    varied = error > 0
    if varied.sum() < 2:
        return level
    scaled = covariance[np.ix_(varied, varied)] / np.outer(error[varied], error[varied])
    values, vectors = np.linalg.eigh(scaled)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(root))) @ root.T
    reach = np.quantile(abs(draws).max(axis=1), level)
    return float(2 * ndtr(reach) - 1)


def likelihood_interval(
    found: Calibration, level: float, sizes: FloatArray, within: tuple[float, float] | None
) -> FloatArray:
    """Return intervals (M, 2) by the Euclidean member of the Cressie-Read family.

    All distributions on the rows are considered whose mean weight is 1 and whose distance
    ``sum (n q - 1)^2`` from equal weights is at most a quantile beyond the least possible. With
    bounds on the rewards, weights that the log happens not to hold may make up for a mean weight
    below 1, at the worst reward (Karampatziakis, Langford and Mineiro, 2020).
    """
    reach = quantiles(level, sizes - 1) / found.rows
    low = _lower(found, reach, None if within is None else within[0])
    high = -_lower(_mirrored(found), reach, None if within is None else -within[1])
    if within is not None:
        low, high = np.clip(low, *within), np.clip(high, *within)
    return np.stack([low, high], axis=-1)


def _mirrored(found: Calibration) -> Calibration:
    sign = np.array([1.0, -1.0])
    return Calibration(found.rows, found.means * sign, found.scatter * np.outer(sign, sign))


def _lower(found: Calibration, reach: FloatArray, worst: float | None) -> FloatArray:
    weight, product = found.means[:, 0], found.means[:, 1]
    ww, wx, xx = found.scatter[:, 0, 0], found.scatter[:, 0, 1], found.scatter[:, 1, 1]
    slope = np.divide(wx, ww, out=np.zeros_like(wx), where=ww > 0)
    left = np.sqrt(np.maximum(xx - slope * wx, 0))
    calibrated = product + slope * (1 - weight) - reach * left
    if worst is None:
        return np.asarray(calibrated)
    # y = w (r - worst): any missing weight has the worst reward, and adds nothing to y.
    yy = np.maximum(xx - 2 * worst * wx + worst**2 * ww, 0)
    spread = np.sqrt(yy)
    tilt = np.divide(reach * (wx - worst * ww), spread, out=np.zeros_like(yy), where=spread > 0)
    free = worst + product - worst * weight - reach * spread
    return np.asarray(np.where(weight - tilt <= 1, np.minimum(free, calibrated), calibrated))
