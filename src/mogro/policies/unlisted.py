"""Exploration among arms that nobody can list, but somebody can maximise over."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats
from mogro.exploration import negligible
from mogro.linear import spectrum

Maximiser = Callable[[FloatArray], ArrayLike]


def ask(maximise: Maximiser, direction: FloatArray) -> FloatArray:
    """Return the maximiser's arm for a direction, checked and copied."""
    answer = floats(maximise(direction.copy()), "maximise(v)", shape=direction.shape)
    return answer.astype(np.float64)


def explore_unlisted(
    maximise: Maximiser, gram: FloatArray, *, additions: int, empty: FloatArray, threshold: float
) -> tuple[FloatArray | None, FloatArray]:
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

    Returns
    -------
    tuple
        The arm, or None if every direction is known or empty; and the empty directions now.
    """
    dim = gram.shape[-1]
    # Arms may have changed: a direction along which V has something is not empty.
    seen = np.vecdot(empty @ gram, empty)
    empty = empty[seen <= negligible(dim) * np.trace(gram)]
    if len(empty) == dim:
        return None, empty
    rest = np.linalg.qr(empty.T, mode="complete")[0][:, len(empty) :]
    values, vectors, rounding = spectrum(rest.T @ gram @ rest, additions=additions)
    unknown = (values < threshold) | (values <= rounding)
    for direction in (rest @ vectors).T[unknown]:
        arms = ask(maximise, direction), ask(maximise, -direction)
        arm = max(arms, key=lambda x: abs(float(direction @ x)))
        if (direction @ arm) ** 2 > negligible(dim) * (arm @ arm):
            return arm, empty
        empty = np.vstack([empty, direction])
    return None, empty
