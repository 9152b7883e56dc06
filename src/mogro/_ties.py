"""Ties are decided here: among arms that are equal up to rounding, the lowest index wins."""

import numpy as np

from mogro._validation import FloatArray, IntArray

_SLACK = {np.dtype(kind): 16 * np.finfo(kind).eps for kind in (np.float32, np.float64)}


def first_best(scores: FloatArray, squares: FloatArray) -> IntArray:
    """Return the first arm, (...), whose score in (..., K) is the largest up to rounding.

    ``squares`` are the sums of squared scores, (...). Equal rows of a matrix may get products that
    differ in the last digits, depending on where they stand, so a plain argmax would not give the
    lowest index.
    """
    slack = _SLACK[scores.dtype] * np.sqrt(squares / scores.shape[-1])
    if scores.ndim == 1:  # one learner: no need to look behind the best
        best = scores.argmax()
        return np.asarray((scores[: best + 1] >= scores[best] - slack).argmax())
    level = scores.max(axis=-1) - slack
    return np.asarray((scores >= level[..., None]).argmax(axis=-1))
