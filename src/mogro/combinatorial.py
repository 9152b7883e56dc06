"""MOGRO among combinatorial actions, which only a linear oracle can search: routes, slates.

Explore along the direction about which least is known, as far as there are actions in it; then be
greedy for a random objective. Directions are asked for in an order, and with a sign, that do not
depend on which eigenvectors of an eigenspace LAPACK returns.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import FloatArray, floats
from mogro.beliefs import Beliefs, scale_unobserved
from mogro.exploration import UNKNOWN_VARIANCE, Exploration, WeakestDirection, rounding_share
from mogro.scalarization import Scalarization, is_nonlinear

Oracle = Callable[[FloatArray], ArrayLike]

_EPS = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-9  # numbers of size 1 this close are equal
_GRID_STEPS = 2.0**36  # in a unit: directions are asked for on a grid
_LARGEST_NUMBER = 1e75  # numbers whose squares may be summed


def check_searchable(
    batch: tuple[int, ...], scalarization: Scalarization, exploration: Exploration
) -> None:
    """Refuse settings of a policy that cannot choose with a linear oracle."""
    if batch:
        raise ValueError(f"batch: expected () to choose with a linear oracle, got {batch}")
    if is_nonlinear(scalarization):
        raise ValueError(
            f"scalarization: {type(scalarization).__name__} is not linear in the arm, so "
            "no linear oracle can serve it; use RandomWeights or RoundRobin"
        )
    if not isinstance(exploration, WeakestDirection):
        raise ValueError(
            f"exploration: expected WeakestDirection to choose with a linear oracle, "
            f"got {type(exploration).__name__}, which needs a list of arms"
        )


def call_oracle(maximise: Oracle, direction: FloatArray) -> FloatArray:
    """Return the oracle's action for a direction, checked and copied."""
    answer = floats(maximise(direction.copy()), "maximise(v)", shape=direction.shape)
    action = answer.astype(np.float64)
    if not np.abs(action).max() < _LARGEST_NUMBER:
        raise ValueError(f"maximise(v): expected values below {_LARGEST_NUMBER:g}")
    return action


class ActionSearch:
    """Chooses actions for a policy; remembers directions in which there are none."""

    def __init__(self, dim: int) -> None:
        self._null_basis: FloatArray = np.zeros((0, dim))  # orthogonal to all actions
        self._covered = False  # every direction is known or empty
        self._version = -1  # of the beliefs, then

    def choose(
        self,
        maximise: Oracle,
        beliefs: Beliefs,
        weights: Callable[[], FloatArray],
        *,
        sizes: FloatArray,
        threshold: float | None,
        width: float,
        rng: Rng,
    ) -> tuple[FloatArray, bool]:
        """Return an action (d,), and whether it explores.

        ``weights`` draws those of the round (M,), where the action does not explore; ``sizes`` are
        the root mean squares of the features (d,), 0 while never seen; ``threshold`` is B, or None
        for the default of :mod:`mogro.exploration`; ``width`` is by how many standard errors an
        optimistic round is off, 0 for others.
        """
        observed, dim, S = beliefs.observed, beliefs.theta.shape[-1], beliefs.S[0]
        if threshold is None:  # an action of usual size has a variance of 10
            sizes, limit = np.where(sizes > 0, sizes, 1.0), dim / UNKNOWN_VARIANCE
        else:
            sizes, limit = np.ones(dim), threshold
        scale = scale_unobserved(np.sqrt(S.diagonal()), np.full(dim, limit**0.5))
        S = S * (scale[:, None] * scale)
        if observed.version != self._version:  # variances may have grown
            self._version, self._covered = observed.version, False
        if not self._covered:
            action = self._explore(maximise, S, sizes, limit)
            if action is not None:
                return action, True
        round_weights = weights()
        theta = _draw_theta(beliefs, width, rng) if width else beliefs.theta
        action = call_oracle(maximise, np.vecmat(round_weights, theta))
        # An action in a direction that was empty: look again next time.
        scaled = action / sizes
        square = np.square(self._null_basis @ action).sum()
        self._covered = not square > rounding_share(dim) * (scaled @ scaled)
        return action, width > 0

    def _explore(
        self, maximise: Oracle, S: FloatArray, sizes: FloatArray, threshold: float
    ) -> FloatArray | None:
        """Return the action that adds most along the least known direction that has actions."""
        S, dim = S * (sizes[:, None] * sizes), len(S)
        # Actions may have changed: a direction that is known by now is not empty.
        null_basis = np.linalg.qr((self._null_basis * sizes).T)[0].T  # in features of one size
        null_basis = null_basis[np.vecdot(null_basis @ S, null_basis) * threshold > 1 + _TOLERANCE]
        projector = np.eye(dim) - null_basis.T @ null_basis
        for direction in _unknown_directions(projector @ S @ projector, threshold):
            action = _extreme_action(maximise, direction / sizes)
            scaled = action / sizes
            if float(direction @ scaled) ** 2 > rounding_share(dim) * float(scaled @ scaled):
                self._null_basis = null_basis / sizes
                return action
            null_basis = np.vstack([null_basis, direction])
        self._null_basis = null_basis / sizes
        return None


def _draw_theta(beliefs: Beliefs, width: float, rng: Rng) -> FloatArray:
    """Draw estimates (M, d) some standard errors off: no oracle can maximise optimism."""
    draws = np.vecmat(rng.standard_normal(beliefs.theta.shape), beliefs.observed.W)
    return np.asarray(beliefs.theta + width * np.sqrt(beliefs.noise)[:, None] * draws)


def _extreme_action(maximise: Oracle, direction: FloatArray) -> FloatArray:
    """Return the action with the largest part along a direction; with its sign if there are two.

    Entries of the direction that are equal but for rounding are made equal, so that an oracle that
    decides ties by position does the same on every machine.
    """
    direction = direction / np.abs(direction).max()
    rounded = np.round(direction * _GRID_STEPS) / _GRID_STEPS + 0.0
    action, opposite = call_oracle(maximise, rounded), call_oracle(maximise, -rounded)
    is_larger = abs(direction @ opposite) > (1 + _TOLERANCE) * abs(direction @ action)
    return opposite if is_larger else action


def _unknown_directions(S: FloatArray, threshold: float) -> Iterator[FloatArray]:
    """Yield unknown directions (d,), the least known first."""
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = 8 * len(values) * _EPS
    smallest = values[values > rounding * values[0]].min(initial=np.inf)
    slack = min(max(rounding * values[0] / smallest, _TOLERANCE), 1e-3)
    start = 0
    while start < len(values) and values[start] * threshold > 1 + _TOLERANCE:
        end = start + int((values[start:] >= values[start] * (1 - slack)).sum())
        space = vectors[:, start:end]
        yield from _canonical_basis(space @ space.T)
        start = end


def _canonical_basis(projector: FloatArray) -> Iterator[FloatArray]:
    """Yield an orthonormal basis of a space that is given by its projector (d, d).

    Each is the direction of the space nearest to a coordinate axis: the first of the nearest axes.
    """
    remaining = projector
    for _ in range(round(float(np.trace(projector)))):
        diagonal = np.diagonal(remaining)
        axis = int((diagonal >= diagonal.max() * (1 - _TOLERANCE)).argmax())
        direction = remaining[axis] / np.sqrt(diagonal[axis])
        direction = remaining @ direction  # once more, for deflation leaves rounding behind
        direction /= np.linalg.norm(direction)
        remaining = remaining - direction[:, None] * direction
        yield direction
