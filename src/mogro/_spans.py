"""Spans of arms, found with care: which directions arms have a part in, and which are rounding.

Rows count by their directions, however small an arm is, and columns by their own scale, so that the
unit of a feature decides nothing.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from mogro._products import outer_sums, rows_alone
from mogro._validation import BoolArray, FloatArray
from mogro.linear import TINY

_EPS = float(np.finfo(np.float64).eps)
_DOT_ALONE = 10_000  # numbers up to which OpenBLAS starts no threads for their sum of squares
_LARGE = 2**17  # numbers in an array from which threads are welcome
_CLEAR = 1e-6  # a Gram matrix of unit vectors conditioned better than this shows its rank plainly


def negligible(dim: int, dtype: DTypeLike = np.float64) -> float:
    """Return the share of a squared norm that rounding of features makes of zero.

    A smaller part of an arm could never be resolved in V beside the rest of the arm, however often
    the arm were pulled. If it called for exploration, that would not end.
    """
    return dim * max(8 * _EPS, (8 * float(np.finfo(dtype).eps)) ** 2)


class Precision(NamedTuple):
    """How small parts of unit vectors can be without being rounding."""

    share: float  # of a squared norm, once columns have been brought to one scale
    column: float  # size that a column is divided by at least


def precision_of(arms: FloatArray) -> Precision:
    """Return what can be resolved in arms (..., d) of their type.

    Divided by its size at least, a column that is rounding of the others stays below ``share``: for
    single precision this leaves the columns as they are.
    """
    return _precision(arms.shape[-1], arms.dtype)


@cache
def _precision(dim: int, dtype: np.dtype[np.floating]) -> Precision:
    share = negligible(dim, dtype)
    return Precision(share, min(1.0, 8 * dim * float(np.finfo(dtype).eps) / math.sqrt(share)))


def squares(vectors: FloatArray) -> FloatArray:
    """Return squared norms (...) of vectors (..., d)."""
    return np.asarray(np.vecdot(vectors, vectors))


def sum_of_squares(array: FloatArray) -> float:
    """Return the sum of the squares of all numbers, which is not finite if any number is not."""
    if array.size <= _DOT_ALONE or array.size > _LARGE:
        return float(np.vdot(array, array))
    flat, total = array.reshape(-1), 0.0
    for start in range(0, flat.size, _DOT_ALONE):
        part = flat[start : start + _DOT_ALONE]
        total += float(np.vdot(part, part))
    return total


def unit_rows(arms: FloatArray) -> FloatArray:
    """Return arms (..., K, d) with norm 1, or 0 where the squares of an arm vanish.

    A direction counts however small the arm is that has it, and beside however large others.
    """
    wide = arms.astype(np.float64, copy=False)
    norms = squares(wide)
    sizes = np.sqrt(norms)
    vanishing = norms <= TINY
    if np.count_nonzero(vanishing):
        sizes[vanishing] = np.inf
    return np.asarray(wide / sizes[..., None])


def parts_along(
    units: FloatArray, projector: FloatArray, precision: Precision
) -> tuple[BoolArray, FloatArray]:
    """Find the parts of unit vectors (n, K, d) in subspaces given by projectors (n, d, d).

    Returns which are more than rounding, (n, K), and their squared norms, (n, K).
    """
    parts = _product(units, projector)
    sizes = squares(parts)
    found = sizes > precision.share
    # Features in large units may hide what others have: where nothing is found, look again with
    # columns of one scale, unless no scale could make a difference.
    faint = sizes > precision.share * precision.column**2
    if np.count_nonzero(faint) > np.count_nonzero(found):
        hidden = ~found.any(axis=-1, keepdims=True)
        scales = _column_scales(units, precision)
        scaled = squares(parts / scales) > precision.share * squares(units / scales)
        found |= scaled & hidden
    return found, sizes


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return ``left @ right`` for (n, K, d) and (n, d, e)."""
    count, rows = left.shape[-2], rows_alone(*right.shape[-2:])
    if count <= rows:
        return np.asarray(left @ right)
    starts = range(0, count, rows)
    return np.concatenate([left[:, i : i + rows] @ right for i in starts], axis=1)


def _column_scales(units: FloatArray, precision: Precision) -> FloatArray:
    """Return the sizes of the columns of unit vectors (..., K, d), as (..., 1, d)."""
    return np.asarray(np.maximum(np.abs(units).max(axis=-2, keepdims=True), precision.column))


def span(units: FloatArray, precision: Precision) -> FloatArray | None:
    """Return orthonormal bases of the spans of unit vectors (n, K, d); None if all span R^d.

    They are (n, d, r), in columns, some zero where spans have fewer dimensions than others.
    """
    n, count, d = units.shape
    few = count < d
    turned = np.swapaxes(units, -1, -2)
    if few:
        sizes, vectors = np.linalg.eigh(units @ turned)
    else:
        sizes = np.linalg.eigvalsh(outer_sums(units))
    clear = sizes[:, 0] > _CLEAR * sizes[:, -1]
    if np.count_nonzero(clear) == n:
        return turned @ (vectors / np.sqrt(sizes)[:, None, :]) if few else None
    bases = np.zeros((n, d, min(count, d)))
    for i in range(n):
        if not clear[i]:
            basis = span_basis(units[i], precision)
            bases[i, :, : basis.shape[1]] = basis
        else:
            bases[i] = turned[i] @ (vectors[i] / np.sqrt(sizes[i])) if few else np.eye(d)
    return bases


def span_basis(units: FloatArray, precision: Precision) -> FloatArray:
    """Return an orthonormal basis (d, r) of the span of unit vectors (K, d), with care.

    Columns are brought to one scale first, so that the rank does not depend on their units.
    """
    scales = _column_scales(units, precision)
    scaled = unit_rows(units / scales)
    few = len(units) < units.shape[1]
    sizes, vectors = np.linalg.eigh(scaled @ scaled.T if few else scaled.T @ scaled)
    if few:  # parts of the vectors along the directions, squared
        parts = vectors**2 * np.maximum(sizes, 0)
        vectors = scaled.T @ vectors
    else:
        parts = (scaled @ vectors) ** 2
    inside = parts.max(axis=0) > precision.share
    if inside.sum() == units.shape[1]:
        return np.eye(units.shape[1])
    return np.asarray(np.linalg.qr(vectors[:, inside] * scales.T)[0])
