"""Dominance and Pareto gaps straight from their definitions."""

import numpy as np

from mogro._validation import BoolArray, FloatArray


def front(means: FloatArray) -> BoolArray:
    return np.array(
        [not any((b >= a).all() and (b > a).any() for b in means) for a in means], dtype=bool
    )


def gaps(means: FloatArray) -> FloatArray:
    return np.array([max(0.0, max((b - a).min() for b in means)) for a in means])
