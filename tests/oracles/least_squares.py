"""Least squares from the whole history at once, obvious and slow."""

from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray


class Fit(NamedTuple):
    """Estimates (M, d), residual sums of squares (M,), and observations that are left free."""

    theta: FloatArray
    squares: FloatArray
    free: float


def minimum_norm(
    x: FloatArray, y: FloatArray, *, sizes: FloatArray, weights: FloatArray | None = None
) -> Fit:
    """Fit observations (n, d) and (n, M) by the rows themselves, in columns divided by sizes (d,).

    Of all solutions the one of least norm there; ``weights`` (n,) are those of the observations.
    """
    weight = np.ones(len(x)) if weights is None else weights
    root = np.sqrt(weight)[:, None]
    scaled = root * x / np.where(sizes > 0, sizes, 1.0)
    coefficients, _, rank, _ = np.linalg.lstsq(scaled, root * y, rcond=1e-7)
    squares = np.square(root * y - scaled @ coefficients).sum(axis=0)
    return Fit(coefficients.T / np.where(sizes > 0, sizes, 1.0), squares, weight.sum() - rank)


def ridge(
    x: FloatArray,
    y: FloatArray,
    *,
    precision: FloatArray | float,
    mean: FloatArray | float = 0.0,
    weights: FloatArray | None = None,
) -> Fit:
    """Fit with a prior: a precision (d,) around a mean (M, d), or one number for all."""
    weight = np.ones(len(x)) if weights is None else weights
    precision = np.broadcast_to(precision, x.shape[1])
    mean = np.broadcast_to(mean, (y.shape[1], x.shape[1]))
    V = (x * weight[:, None]).T @ x
    S = np.linalg.inv(V + np.diag(precision))
    theta = np.stack(
        [S @ (x.T @ (weight * y[:, m]) + precision * mean[m]) for m in range(y.shape[1])]
    )
    squares = (weight[:, None] * np.square(y - x @ theta.T)).sum(axis=0)
    return Fit(theta, squares, float(weight.sum() - np.trace(S @ V)))
