"""Exploration among combinatorial actions, which only a linear oracle can search."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._spans import negligible
from mogro._validation import FloatArray, floats
from mogro.linear import HUGE, TINY

Oracle = Callable[[FloatArray], ArrayLike]

_EPS = float(np.finfo(np.float64).eps)
_EQUAL = 1e-9  # numbers of size 1 this close are equal
_GRID = 2.0**36  # directions are asked for on a grid this fine


class Found(NamedTuple):
    """What exploration found: an arm, or None if every direction is known or empty."""

    arm: FloatArray | None
    empty: FloatArray  # orthonormal directions (n, d) in which no arm has a part
    direction: FloatArray  # along which no arm has more than this one
    value: float  # of V along it


def ask(maximise: Oracle, direction: FloatArray) -> FloatArray:
    """Return the oracle's arm for a direction, checked and copied."""
    answer = floats(maximise(direction.copy()), "maximise(v)", shape=direction.shape)
    arm = answer.astype(np.float64)
    if not np.abs(arm).max() < HUGE**0.5:
        raise ValueError(f"maximise(v): expected values whose squares are below {HUGE:g}")
    return arm


def explore(
    maximise: Oracle,
    inverse: FloatArray,
    unseen: FloatArray | None,
    *,
    empty: FloatArray,
    threshold: float,
) -> Found:
    """Find the arm that adds most along the weakest direction in which there are arms.

    Directions are asked for in an order, and with a sign, that do not depend on which eigenvectors
    of an eigenspace LAPACK returns.

    Parameters
    ----------
    maximise
        The oracle: maximises linear functions over the arms.
    inverse, unseen
        ``V^+`` and the projector on the directions never seen, (d, d); None if there are none.
    empty
        Orthonormal directions (n, d) in which no arm had a part so far.
    threshold
        V along a direction that is known.
    """
    dim = len(inverse)
    if unseen is None:
        unseen = np.zeros((dim, dim))
    # Arms may have changed: a direction along which V has something is not empty.
    empty = empty[np.vecdot(empty @ unseen, empty) > 1 - dim * _EQUAL]
    for direction, value in _unknown(inverse, unseen - empty.T @ empty, threshold):
        arm = _widest(maximise, direction)
        if float(direction @ arm) ** 2 > max(negligible(dim) * float(arm @ arm), TINY):
            return Found(arm, empty, direction, value)
        empty = np.vstack([empty, direction])
    return Found(None, empty, np.zeros(dim), 0.0)


def _widest(maximise: Oracle, direction: FloatArray) -> FloatArray:
    """Return the arm with the largest part along a direction; with its sign if there are two.

    Entries of the direction that are equal but for rounding are made equal, so that an oracle that
    decides ties by position does the same on every machine.
    """
    rounded = np.round(direction * _GRID) / _GRID + 0.0
    along, against = ask(maximise, rounded), ask(maximise, -rounded)
    wider = abs(direction @ against) > (1 + _EQUAL) * abs(direction @ along)
    return against if wider else along


def _unknown(
    inverse: FloatArray, unseen: FloatArray, threshold: float
) -> Iterator[tuple[FloatArray, float]]:
    """Yield unknown directions (d,) and V along them, the weakest first."""
    for direction in _canonical(unseen):
        yield direction, 0.0
    values, vectors = np.linalg.eigh(inverse)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = 8 * len(values) * _EPS
    smallest = values[values > rounding * values[0]].min(initial=np.inf)
    slack = min(max(rounding * values[0] / smallest, _EQUAL), _EQUAL**0.5)
    start = 0
    while start < len(values) and values[start] * threshold > 1 + _EQUAL:
        end = start + int((values[start:] >= values[start] * (1 - slack)).sum())
        space = vectors[:, start:end]
        for direction in _canonical(space @ space.T):
            yield direction, float(1 / values[start])
        start = end


def _canonical(projector: FloatArray) -> Iterator[FloatArray]:
    """Yield an orthonormal basis of a space that is given by its projector (d, d).

    Each is the direction of the space nearest to a coordinate axis: the first of the nearest axes.
    """
    left = projector
    for _ in range(round(float(np.trace(projector)))):
        near = np.diagonal(left)
        axis = int((near >= near.max() * (1 - _EQUAL)).argmax())
        direction = left[axis] / np.sqrt(near[axis])
        direction = left @ direction  # once more, for deflation leaves rounding behind
        direction /= np.linalg.norm(direction)
        left = left - direction[:, None] * direction
        yield direction
