"""Products of one learner or many, each with the bits it would have alone, on every processor."""

import math
from functools import reduce
from operator import add

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray, without_warnings

# Up to so many products of numbers OpenBLAS starts no threads: on a busy machine, waiting for them
# takes a hundred times as long as what they do.
_MAX_WITHOUT_THREADS = 2**18
# An update that shrinks a variance by more, for each feature, leaves few digits in W: features are
# 8 times as large as a flat prior supposes.
_MAX_SHRINKAGE = 6.4e10
_WORTHWHILE = 8  # rows to multiply at once
_SMALL_HALF = 12  # rows of half a matrix that LAPACK inverts faster as a whole
_PAIRWISE = 8  # numbers from which NumPy adds otherwise than one after the other
_FEW = 32  # numbers of which Python finds the largest faster than NumPy
_EPS = float(np.finfo(np.float64).eps)


def dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products (...) of vectors (..., n), the same wherever they lie in memory."""
    # Backwards NumPy adds up by itself, one product after the other.
    turned = left[..., ::-1]
    products: FloatArray = np.vecdot(turned, turned if right is left else right[..., ::-1])
    return products


def matvec(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return products (..., n) of matrices (..., n, d) and vectors (..., d); no warnings."""
    if matrices.ndim == 2 and vectors.ndim == 1 and len(matrices) > 1 < len(vectors):
        product: FloatArray = matrices.dot(vectors)  # the same routine of BLAS, called faster
        return product
    return _matvec(matrices, vectors)


def vecmat(vectors: FloatArray, matrices: FloatArray) -> FloatArray:
    """Return products (..., d) of vectors (..., n) and matrices (..., n, d); no warnings."""
    if matrices.ndim == 2 and vectors.ndim == 1 and len(vectors) > 1 < matrices.shape[1]:
        product: FloatArray = vectors.dot(matrices)
        return product
    return _vecmat(vectors, matrices)


@without_warnings
def _matvec(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.matvec(matrices, vectors))


@without_warnings
def _vecmat(vectors: FloatArray, matrices: FloatArray) -> FloatArray:
    return np.asarray(np.vecmat(vectors, matrices))


def rank_one_update(
    solution: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray | None]:
    """Learn observations z = (x, y), (..., d + m), by Potter's update of a root of S.

    ``solution``, (..., d + m, d), is W above theta. Returned is what it becomes, by how much the
    squares of residuals and the prior's penalty grow, (..., m), and where digits were lost, (...).
    """
    if len(solution) == 1 == solution.ndim - 2:
        return _rank_one_update(solution[0], z[0])
    d = solution.shape[-1]
    product = np.matvec(solution, z[..., :d])
    whitened, errors = product[..., :d], product[..., d:] - z[..., d:]  # W x, theta x - y
    gain = np.vecmat(whitened, solution[..., :d, :])  # S x
    growth = 1 + dot(whitened, whitened)
    root = np.sqrt(growth)
    gain /= (growth + root)[..., None]
    shares = errors / root[..., None]
    np.add(errors, shares, out=product[..., d:])
    change = np.einsum("...i,...j->...ij", product, gain)  # of many, twice as fast as *
    lost = growth > _MAX_SHRINKAGE * d if largest(growth) > _MAX_SHRINKAGE * d else None
    return np.subtract(solution, change, out=change), shares * shares, lost


def _rank_one_update(
    solution: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray | None]:
    """Do the same for one learner: the same bits, by routines that are called faster."""
    d = solution.shape[1]
    product = solution.dot(z[:d])
    whitened, errors = product[:d], product[d:]
    errors -= z[d:]
    gain = whitened.dot(solution[:d])
    turned = whitened[::-1]  # as in dot
    growth = 1 + float(np.vecdot(turned, turned))
    root = math.sqrt(growth)
    gain /= growth + root
    shares = errors / root
    errors += shares
    change = product[:, None].dot(gain[None])
    lost = np.ones(1, dtype=np.bool_) if growth > _MAX_SHRINKAGE * d else None
    return np.subtract(solution, change, out=change)[None], shares * shares, lost


def rows_without_threads(inner: int, columns: int) -> int:
    """Return how many rows to multiply at once, so that BLAS does not start threads for them."""
    rows = _MAX_WITHOUT_THREADS // (inner * columns)
    return rows if rows >= _WORTHWHILE else _MAX_WITHOUT_THREADS


def outer_sums(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sums (..., d, d) of outer products of rows (..., n, d), by weights (..., n)."""
    count, dim = rows.shape[-2:]
    step = rows_without_threads(dim, dim)
    left = right = np.sqrt(np.abs(weights))[..., None] * rows
    if (weights < 0).any():
        left = np.sign(weights)[..., None] * right
    total: FloatArray = np.zeros((*rows.shape[:-2], dim, dim))
    for start in range(0, count, step):
        part = slice(start, start + step)
        total += np.swapaxes(left[..., part, :], -1, -2) @ right[..., part, :]
    return total


def diagonals(matrices: FloatArray) -> FloatArray:
    """Return the diagonals (..., d) of the first d rows of matrices (..., n, d), as a view."""
    return np.asarray(np.einsum("...ii->...i", matrices[..., : matrices.shape[-1], :]))


def inverse_root(V: FloatArray, precision: FloatArray) -> FloatArray:
    """Return W (..., d, d) with ``W' W = (V + Lambda)^-1``, for a diagonal Lambda (..., d).

    Columns are brought to one scale first. Where rounding has made V less than it should be in a
    direction never seen, by more than Lambda, Lambda is made larger.
    """
    size = np.sqrt(diagonals(V) + precision)
    scaled = V / size[..., :, None]
    scaled /= size[..., None, :]
    diagonals(scaled)[...] = 1.0
    try:
        return np.asarray(_lower_inverse(np.linalg.cholesky(scaled)) / size[..., None, :])
    except np.linalg.LinAlgError:
        if V.ndim == 2:
            return inverse_root(V, np.maximum(8 * precision, 64 * _EPS * size**2))
        parts = zip(V.reshape(-1, *V.shape[-2:]), precision.reshape(-1, V.shape[-1]), strict=True)
        return np.stack([inverse_root(*part) for part in parts]).reshape(V.shape)


def _lower_inverse(L: FloatArray) -> FloatArray:
    """Return the inverses of lower triangular matrices (..., d, d): by halves, mostly products."""
    half = L.shape[-1] // 2
    if half <= _SMALL_HALF:
        return np.asarray(np.linalg.inv(L))
    inverse = np.zeros_like(L)
    top = inverse[..., :half, :half] = _lower_inverse(L[..., :half, :half])
    bottom = inverse[..., half:, half:] = _lower_inverse(L[..., half:, half:])
    inverse[..., half:, :half] = -bottom @ (L[..., half:, :half] @ top)
    return inverse


def largest(numbers: FloatArray) -> float:
    """Return the largest of some numbers: of a few, a list takes less time."""
    if numbers.size == 1:
        return numbers.item()
    return float(numbers.max() if numbers.size > _FEW else max(numbers.ravel().tolist()))


def sums(numbers: FloatArray) -> FloatArray | float:
    """Return the sums of numbers (..., n), to be broadcast against them: of a few, a float."""
    if numbers.ndim == 1 and len(numbers) < _PAIRWISE:
        return float(reduce(add, numbers.tolist()))
    return np.asarray(np.add.reduce(numbers, axis=-1, keepdims=True))


def smallest(numbers: FloatArray) -> float:
    """Return the smallest of some numbers."""
    if numbers.size == 1:
        return numbers.item()
    return float(numbers.min() if numbers.size > _FEW else min(numbers.ravel().tolist()))


def rounding(dim: int) -> float:
    """Bound the rounding of a product of two vectors of norm 1."""
    return (dim + 2) * _EPS


def distinct(arms: FloatArray, rows: IntArray) -> IntArray:
    """Return those rows of arms (K, d) that are no copies of an earlier one."""
    if len(rows) == 1:
        return rows
    listed = arms[rows] + 0.0  # which makes zeros of both signs one
    first: dict[bytes, int] = {}
    for row, features in zip(rows.tolist(), listed, strict=True):
        first.setdefault(features.tobytes(), row)
    return np.fromiter(first.values(), np.int64, len(first))


def arms_in_turn(arms: int, turn: int, at_once: int) -> slice:
    """Return which of many arms a round looks at: some, evenly spaced, the next round others."""
    every = -(-arms // at_once)
    return slice(turn % every, None, every)
