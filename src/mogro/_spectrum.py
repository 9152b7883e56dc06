"""Pseudo-inverses of sums of outer products, and which of their directions are rounding.

The unit of a feature must not decide what is rounding. So every feature is first divided by its own
size (a power of two: no digit is lost), and the spectrum of what is left, with a diagonal between
1/2 and 2, tells the directions that were seen from those that are rounding of zero. The solution is
all the same that of Moore and Penrose in the units of the features: of least norm as they are.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray

HUGE, TINY = 1e280, 1e-280  # squares beyond are refused, or count as zero: sums stay finite
RENEW_EVERY = 256  # observations after which everything is computed anew from the sums

_EPS = float(np.finfo(np.float64).eps)
_ALIKE = 1e3  # ratio of sizes up to which the order of rows and columns does not matter
_EASY = 1e6  # condition up to which elimination is as good as a spectrum, and faster


class Spectrum(NamedTuple):
    """Eigenvalues (..., d), ascending, and eigenvectors (..., d, d) in columns."""

    values: FloatArray
    vectors: FloatArray
    rounding: FloatArray  # (...): eigenvalues up to this may be rounding of zero


class Solution(NamedTuple):
    """What normal equations say, for n learners."""

    inverse: FloatArray  # the pseudo-inverse V^+, (n, d, d)
    theta: FloatArray  # V^+ b, (n, M, d)
    unseen: FloatArray  # the orthogonal projector on the null space of V, (n, d, d)
    rank: IntArray  # (n,)
    units: FloatArray  # sizes of the features, (n, d): powers of two, infinite if never seen
    null: FloatArray  # the projector on the null space for features in these units, (n, d, d)
    blur: FloatArray  # how far rounding may have turned it, (n,)


def spectrum(gram: ArrayLike, *, additions: int) -> Spectrum:
    """Eigenvalues and eigenvectors of sums of ``additions`` outer products, (..., d, d)."""
    values, vectors = np.linalg.eigh(np.asarray(gram))
    rounding = np.maximum(relative_rounding(values.shape[-1], additions) * values[..., -1], TINY)
    return Spectrum(values, vectors, rounding)


def relative_rounding(dim: int, additions: int) -> float:
    """Bound what rounding does to an eigenvalue of the sums, relative to the largest."""
    return _EPS * (8 * dim + min(additions, RENEW_EVERY) + additions / RENEW_EVERY)


def solve(
    gram: FloatArray, moments: FloatArray, *, additions: int, ridge: float, full: BoolArray
) -> Solution:
    """Solve ``theta V = b`` for V (n, d, d), which has ``ridge`` in it, and b (n, M, d).

    ``full`` (n,) says which V had full rank before: those are tried without a spectrum.
    """
    n, m, d = moments.shape
    inverse: FloatArray = np.empty((n, d, d))
    theta: FloatArray = np.empty((n, m, d))
    unseen, rank = np.zeros((n, d, d)), np.full(n, d, dtype=np.int64)
    null, blur = np.zeros((n, d, d)), np.zeros(n)
    units = powers(np.einsum("nii->ni", gram))
    scaled, right = _divided(gram, units), moments / units[:, None, :]
    rounding = relative_rounding(d, additions)
    hard = ~full
    if full.any():
        inverse[full], theta[full], hard[full] = _eliminate(scaled[full], right[full])
    if hard.any():
        solved = _decompose(scaled[hard], right[hard], rounding)
        inverse[hard], theta[hard], null[hard], blur[hard] = solved
        rank[hard] = d - null[hard].any(axis=-2).sum(axis=-1)
    inverse, theta = _divided(inverse, units), theta / units[:, None, :]
    for each in np.flatnonzero(rank < d):
        unseen[each], null[each] = _projectors(null[each], units[each], rounding)
        inside = np.eye(d) - unseen[each]
        inverse[each] = _symmetric(inside @ inverse[each] @ inside)
        theta[each] = theta[each] @ inside
    if ridge > 0:  # V has the ridge where rounding of large features hides it
        inverse += unseen / ridge
        unseen[...], null[...], rank[...] = 0, 0, d
    return Solution(inverse, theta, unseen, rank, units, null, blur)


def powers(squares: FloatArray) -> FloatArray:
    """Return a power of two next to the root of each square; infinity for zero."""
    exponents = np.frexp(squares)[1] >> 1
    return np.where(squares > TINY, np.ldexp(1.0, exponents), np.inf)


def _divided(matrices: FloatArray, sizes: FloatArray) -> FloatArray:
    return np.asarray(matrices / sizes[:, :, None] / sizes[:, None, :])


def _symmetric(matrices: FloatArray) -> FloatArray:
    return np.asarray((matrices + np.swapaxes(matrices, -1, -2)) / 2)


def _eliminate(gram: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return inverses, estimates, and where they are no good because V is near to singular."""
    inverse = _symmetric(_inverses(gram))
    size = np.sqrt(np.square(inverse).sum(axis=(-1, -2)))
    hard = ~np.asarray(np.einsum("nii->n", gram) * size < _EASY)
    theta = right @ inverse
    theta += (right - theta @ gram) @ inverse  # one step of refinement
    return inverse, theta, hard


def _inverses(matrices: FloatArray) -> FloatArray:
    """Return inverses, NaN where there is none."""
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan)
        return np.concatenate([_inverses(each[None]) for each in matrices])


def _decompose(
    gram: FloatArray, right: FloatArray, rounding: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return pseudo-inverses, estimates, null spaces, and how far rounding may turn these.

    A null space is given by a basis in columns; other columns are zero.
    """
    never = np.einsum("nii->ni", gram) == 0
    # An eigenvalue of its own keeps a feature never seen apart from what is rounding of zero.
    values, vectors = np.linalg.eigh(gram - never[:, :, None] * np.eye(gram.shape[-1]))
    seen = values > rounding * np.maximum(values[:, -1:], 0)
    roots = np.where(seen, 1 / np.where(seen, values, 1), 0)[:, None, :]
    back = np.ascontiguousarray(np.swapaxes(vectors, -1, -2))
    inverse = _symmetric((vectors * roots) @ back)
    # By the spectrum, not by the inverse: what is small along a strong direction stays small.
    theta = ((right @ vectors) * roots) @ back
    theta += (((right - theta @ gram) @ vectors) * roots) @ back
    return inverse, theta, np.where(seen[:, None, :], 0, vectors), rounding * roots.max(axis=(1, 2))


def _projectors(
    null: FloatArray, units: FloatArray, rounding: float
) -> tuple[FloatArray, FloatArray]:
    """Return the orthogonal projectors on the null space of V, as features are and in their units.

    ``null`` has a basis in columns, in these units; other columns are zero. Features whose part is
    rounding have none: in another unit it could be large. Small features first and columns by
    pivoting: so the factorisation is exact for every feature in its own unit (Cox and Higham 1998).
    """
    never = np.isinf(units)
    plain, scaled = np.diag(never.astype(np.float64)), np.diag(never.astype(np.float64))
    rows = np.flatnonzero(~never)
    rows = rows[np.argsort(units[rows], kind="stable")]
    columns = null.any(axis=0) & (np.square(null[never]).sum(axis=0) < 0.5)
    if columns.any():
        basis = null[rows][:, columns]
        basis[np.sqrt(np.square(basis).sum(axis=1)) < rounding] = 0
        own = _orthonormal(basis / units[rows][:, None])
        plain[np.ix_(rows, rows)] = own @ own.T
        scaled[np.ix_(rows, rows)] = basis @ basis.T
    return plain, scaled


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of columns whose rows get smaller and smaller."""
    sizes = np.abs(columns).max(axis=1)
    if sizes.max() <= _ALIKE * sizes[sizes > 0].min():
        return np.asarray(np.linalg.qr(columns)[0])
    from scipy.linalg import qr

    return np.asarray(qr(columns, mode="economic", pivoting=True, check_finite=False)[0])
