"""Ties are decided here: among arms that are equal up to rounding, the lowest index wins."""

import numpy as np

from mogro._validation import FloatArray, IntArray


def first_best(scores: FloatArray) -> IntArray:
    """Return the first arm, (...), whose score in (..., K) is the largest up to rounding.

    Equal rows of a matrix may get products that differ in the last digits, depending on where
    they stand, so a plain argmax would not give the lowest index.
    """
    best = scores.max(axis=-1)
    slack = 4 * np.finfo(scores.dtype).eps * np.sqrt(np.vecdot(scores, scores))
    return np.asarray((scores >= (best - slack)[..., None]).argmax(axis=-1))
