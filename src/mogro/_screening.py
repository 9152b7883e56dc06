"""Arms that many learners share: products for all of them at once, trusted where they suffice.

One large product is several times faster than one small product for each learner, but rounds
otherwise. So it only counts where an answer is clear whatever the rounding: what is doubtful has to
be computed as for one learner alone. That way a learner of a batch does what it would do alone.
"""

import math
from functools import cache

import numpy as np

from mogro._algebra import rounding
from mogro._validation import FloatArray, IntArray

_NO_LEARNERS = np.zeros(0, dtype=np.int64)


def is_shared(arms: FloatArray) -> bool:
    """Tell whether arms (..., K, d) are the same along the last axis of a batch."""
    return arms.ndim == 2 or arms.shape[-3] == 1


def _transposed(arms: FloatArray) -> FloatArray:
    """Return shared arms without the axis along which they are, (..., d, K)."""
    return np.swapaxes(arms if arms.ndim == 2 else arms[..., 0, :, :], -1, -2)


def shared_scores(arms: FloatArray, directions: FloatArray) -> tuple[FloatArray, float]:
    """Return products (n, K) of shared arms and directions (*batch, d), and what they may be off.

    Neither they nor products computed in another way are off by more.
    """
    scores = (directions @ _transposed(arms)).reshape(-1, arms.shape[-2])
    sizes = math.sqrt(np.vdot(arms, arms)) * math.sqrt(np.vdot(directions, directions))
    return scores, rounding(arms.shape[-1]) * sizes


def shared_variances(
    arms: FloatArray, S: FloatArray, factors: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Return ``x' S x``, (n, K), of shared arms and S (*batch, d, d), and what they may be off.

    Times factors, (*batch), one for each learner.
    """
    dim, arms = arms.shape[-1], arms.astype(np.float64, copy=False)
    rows, columns, indices, twice = _triangle(dim)
    turned = _transposed(arms)
    products = turned.take(rows, axis=-2)
    products *= turned.take(columns, axis=-2)
    entries = S.reshape(*S.shape[:-2], dim * dim).take(indices, axis=-1)
    entries *= twice
    if factors is not None:
        entries *= factors[..., None]
    values = (entries @ products).reshape(-1, arms.shape[-2])
    # By Cauchy and Schwarz; what a feature that was never seen adds to an arm without it is zero.
    errors = np.sqrt(np.maximum(np.einsum("...ii->...i", S), 0))
    if factors is not None:
        errors *= np.sqrt(factors)[..., None]
    largest = np.vecdot(errors, np.abs(turned).max(axis=-1)[..., None, :]).max()
    return values, rounding(dim * dim) * float(largest) ** 2


def clearly_best(scores: FloatArray, slack: float) -> tuple[IntArray, IntArray]:
    """Return the best arms (n,) by scores (n, K), and for whom this is doubtful.

    That is where another arm is not behind by a slack. It overwrites the scores of the best.
    """
    first = np.arange(0, scores.size, scores.shape[-1])
    flat, best = scores.reshape(-1), scores.argmax(axis=-1)
    index = first + best
    top = flat.take(index)
    flat[index] = -math.inf
    ahead = top - flat.take(first + scores.argmax(axis=-1))
    doubtful = _NO_LEARNERS if ahead.min() > slack else np.flatnonzero(~(ahead > slack))
    return best, doubtful


def take_scores(scores: FloatArray, arms: IntArray) -> FloatArray:
    """Return the scores (n,) of arms (n,) among (n, K)."""
    return scores.reshape(-1).take(np.arange(0, scores.size, scores.shape[-1]) + arms)


@cache
def _triangle(dim: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return rows, columns and flat indices of an upper triangle, and how often entries occur."""
    rows, columns = np.triu_indices(dim)
    return rows, columns, rows * dim + columns, np.where(rows == columns, 1.0, 2.0)
