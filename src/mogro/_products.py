"""Products of one learner or many, each with the bits it would have alone, on every processor."""

import math
from typing import Any

import numpy as np

from mogro._validation import FloatArray

_SMALL = 128  # numbers up to which calling einsum costs more than it gains
# Up to so many products of numbers OpenBLAS starts no threads: on a busy machine, waiting for them
# takes a hundred times as long as what they do.
_ALONE = 2**18
_WORTHWHILE = 8  # rows to multiply at once


def minus(matrices: FloatArray, change: FloatArray) -> FloatArray:
    """Return new matrices, less a temporary: the old ones may be in others' hands."""
    return np.subtract(matrices, change, out=change)


def without(matrices: FloatArray, where: Any, change: FloatArray) -> FloatArray:
    """Return new matrices: less a change, a temporary, at an index of the batch axes."""
    if where is ...:
        return minus(matrices, change)
    fresh = matrices.copy()
    fresh[where] -= change
    return fresh


def dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products (...) of vectors (..., n), the same wherever they lie in memory."""
    # Backwards NumPy adds up by itself, one product after the other.
    last = slice(None, None, -1)
    place: Any = last if left.ndim == right.ndim == 1 else (..., last)
    products: FloatArray = np.vecdot(left[place], right[place])
    return products


def matvec(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return products (..., n) of matrices (..., n, d), as they come, and vectors (..., d)."""
    if matrices.ndim == 2 and matrices.shape[1] > 1:
        return np.asarray(matrices.dot(vectors))  # the same routine of BLAS, called faster
    return np.asarray(np.matvec(matrices, vectors))


def outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return outer products (..., n, d) of vectors (..., n) and (..., d)."""
    if left.ndim == 1:  # one product in each sum: BLAS gives the same bits, in less time
        return np.asarray(left[:, None].dot(right[None]))
    if left.size <= _SMALL:
        return np.asarray(left[..., :, None] * right[..., None, :])
    return np.asarray(np.einsum("...i,...j->...ij", left, right))  # for many, twice as fast


def damping(variance: FloatArray) -> FloatArray | float:
    """Return ``1 / sqrt(1 + variance)``, (..., 1); a plain number for one learner, for speed."""
    if not variance.ndim:
        return 1 / math.sqrt(1 + variance)
    return np.asarray(1 / np.sqrt(1 + variance))[..., None]


def rows_alone(inner: int, columns: int) -> int:
    """Return how many rows to multiply at once, so that BLAS does not start threads for them."""
    rows = _ALONE // (inner * columns)
    return rows if rows >= _WORTHWHILE else _ALONE


def outer_sums(rows: FloatArray) -> FloatArray:
    """Return the sums (..., d, d) of the outer products of rows (..., n, d) with themselves."""
    count, dim = rows.shape[-2:]
    step = rows_alone(dim, dim)
    total: FloatArray = np.zeros((*rows.shape[:-2], dim, dim))
    for start in range(0, count, step):
        part = rows[..., start : start + step, :]
        total += np.swapaxes(part, -1, -2) @ part
    return total
