"""Selection probabilities by brute force: many draws, every arm scored, ties shared."""

import numpy as np

from mogro._validation import FloatArray
from mogro.scalarization import Scalarization, is_nonlinear

_CHUNK = 500


def frequencies(
    values: FloatArray, selection: Scalarization, *, draws: int, rng: np.random.Generator
) -> FloatArray:
    """How often each arm with values (K, M) wins; arms within 1e-14 of the best share."""
    won = np.zeros(len(values))
    for _ in range(0, draws, _CHUNK):
        weights = selection.weights(values.shape[1], step=0, batch=(_CHUNK,), rng=rng)
        if is_nonlinear(selection):
            scores = selection.score(np.broadcast_to(values, (_CHUNK, *values.shape)), weights)
        else:
            scores = weights @ values.T
        best = scores.max(axis=1, keepdims=True)
        tied = scores >= best - 1e-14 * np.abs(best)
        won += (tied / tied.sum(axis=1, keepdims=True)).sum(axis=0)
    return won / (_CHUNK * -(-draws // _CHUNK))


def wins(
    values: FloatArray, weights: FloatArray, minimum: float, total: float, sizes: FloatArray
) -> FloatArray:
    """Who wins at weights (n, M) by part minimum, part sum, one after the other: (n, K)."""
    won = np.zeros((len(weights), len(values)))
    unit = 16 * np.finfo(float).eps * (minimum + total) * sizes
    for row, each in zip(won, weights, strict=True):
        terms = each * values
        scores = minimum * terms.min(axis=1) + total * terms.sum(axis=1)
        slack = float(unit @ each)  # scores that differ by less are equal up to rounding
        if not total:  # the minimum may be far smaller than other terms
            slack = min(slack, 5e-7 * abs(scores.max()))
        tied = scores >= scores.max() - slack
        row[tied] = 1 / tied.sum()
    return won


def two_objectives_by_grid(values: FloatArray, *, points: int) -> FloatArray:
    """Shares of uniform linear weights of two objectives, on a fine grid of midpoints."""
    first = (np.arange(points) + 0.5) / points
    scores = np.outer(first, values[:, 0]) + np.outer(1 - first, values[:, 1])
    return np.bincount(scores.argmax(axis=1), minlength=len(values)) / points
