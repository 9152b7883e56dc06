"""Exploration among arms that nobody can list, but somebody can maximise over."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats
from mogro.exploration import negligible
from mogro.linear import HUGE, TINY, spectrum

Maximiser = Callable[[FloatArray], ArrayLike]


class Found(NamedTuple):
    """What exploration found: an arm, or None if every direction is known or empty."""

    arm: FloatArray | None
    empty: FloatArray  # orthonormal directions (n, d) in which no arm has a part
    direction: FloatArray  # along which no arm has more than this one
    value: float  # of V along it


def ask(maximise: Maximiser, direction: FloatArray) -> FloatArray:
    """Return the maximiser's arm for a direction, checked and copied."""
    answer = floats(maximise(direction.copy()), "maximise(v)", shape=direction.shape)
    arm = answer.astype(np.float64)
    if not np.abs(arm).max() < HUGE**0.5:
        raise ValueError(f"maximise(v): expected values whose squares are below {HUGE:g}")
    return arm


def explore_unlisted(
    maximise: Maximiser, gram: FloatArray, *, additions: int, empty: FloatArray, threshold: float
) -> Found:
    """Find the arm that adds most along the weakest direction in which there are arms.

    Parameters
    ----------
    maximise
        Maximises linear functions over the arms.
    gram, additions
        V, (d, d), and the number of outer products in it.
    empty
        Orthonormal directions (n, d) in which no arm had a part so far.
    threshold
        V along a direction that is known.
    """
    dim = gram.shape[-1]
    # Arms may have changed: a direction along which V has something is not empty.
    seen = np.vecdot(empty @ gram, empty)
    empty = empty[seen <= negligible(dim) * np.trace(gram)]
    nothing = np.zeros(dim)
    if len(empty) == dim:
        return Found(None, empty, nothing, 0.0)
    rest = np.linalg.qr(empty.T, mode="complete")[0][:, len(empty) :]
    values, vectors, rounding = spectrum(rest.T @ gram @ rest, additions=additions)
    unknown = (values < threshold) | (values <= rounding)
    for direction, value in zip((rest @ vectors).T[unknown], values[unknown], strict=True):
        arms = ask(maximise, direction), ask(maximise, -direction)
        arm = max(arms, key=lambda x: abs(float(direction @ x)))
        if (direction @ arm) ** 2 > max(negligible(dim) * (arm @ arm), TINY):
            return Found(arm, empty, direction, float(value))
        empty = np.vstack([empty, direction])
    return Found(None, empty, nothing, 0.0)
