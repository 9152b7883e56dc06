"""Dominance and Pareto gaps straight from their definitions."""

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray


def front(means: FloatArray, arms: IntArray | None = None) -> BoolArray:
    """Judge all arms, or some of them."""
    chosen = means if arms is None else means[arms]
    return np.array([not ((means >= a).all(1) & (means > a).any(1)).any() for a in chosen])


def gaps(means: FloatArray) -> FloatArray:
    return np.array([max(0.0, max((b - a).min() for b in means)) for a in means])
