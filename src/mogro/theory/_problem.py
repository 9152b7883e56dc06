"""Problems and quantities of the theory, checked, and problems in coordinates of their span."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, between, count, floats, real

HUGE = 1e60
MOST_ROUNDS = 10**18


class Problem(NamedTuple):
    """Features (K, d) and parameters (M, d), checked, as float64."""

    features: FloatArray
    theta: FloatArray


def read_problem(features: ArrayLike, theta: ArrayLike) -> Problem:
    """Check a problem: finite, of fitting shapes, some feature and every parameter not zero."""
    arms = read_features(features)
    return Problem(arms, read_parameters(theta, dim=arms.shape[1]))


def read_features(features: ArrayLike) -> FloatArray:
    """Return features (K, d), not all of them zero, as float64."""
    arms = floats(features, "features", shape=("K", "d")).astype(np.float64)
    if not arms.any():
        raise ValueError("features: expected at least one nonzero vector, got zeros only")
    _representable(arms.reshape(1, -1), "features")
    return arms


def read_parameters(theta: ArrayLike, *, dim: int | None = None) -> FloatArray:
    """Return parameters (M, d), none of them zero, as float64."""
    array = floats(theta, "theta", shape=("M", "d" if dim is None else dim)).astype(np.float64)
    if len(zero := np.flatnonzero(~array.any(axis=1))):
        raise ValueError(f"theta: expected nonzero parameters, got zero for objective {zero[0]}")
    _representable(array, "theta")
    return array


def _representable(vectors: FloatArray, name: str) -> None:
    """Refuse vectors whose squares, and squares of these, overflow or vanish."""
    largest = np.abs(vectors).max(axis=1)
    is_off = (largest > HUGE) | ((largest < 1 / HUGE) & (largest > 0))
    if is_off.any():
        raise ValueError(
            f"{name}: expected absolute values between {1 / HUGE:g} and {HUGE:g}, "
            f"got {largest[is_off][0]:g}; choose other units"
        )


def read_norms(norms: tuple[float, float] | None) -> tuple[float, float]:
    """Return the smallest and the largest norm of the parameters, l and L; None is (1, 1)."""
    if norms is None:
        return 1.0, 1.0
    if np.shape(norms) != (2,):
        raise ValueError(f"parameter_norms: expected a pair (smallest, largest), got {norms!r}")
    smallest = real(norms[0], "parameter_norms", above=0)
    return smallest, real(norms[1], "parameter_norms", minimum=smallest)


def read_run(
    noise: object, dim: object, rounds: object, feature_norm: object = 1.0
) -> tuple[float, int, int, float]:
    """Return sigma, d, T and x_max, which every bound needs, checked."""
    return (
        between(noise, "noise", 0, HUGE),
        count(dim, "dim"),
        read_rounds(rounds),
        between(feature_norm, "feature_norm", 0, HUGE, closed="(]"),
    )


def read_rounds(rounds: object, name: str = "rounds", *, minimum: int = 1) -> int:
    """Return a number of rounds, small enough for every bound to be a float."""
    checked = count(rounds, name, minimum=minimum)
    if checked > MOST_ROUNDS:
        digits = math.floor(math.log10(checked)) + 1
        raise ValueError(f"{name}: expected at most 10^18, got a number of {digits} digits")
    return checked


def span_coordinates(features: ArrayLike, theta: ArrayLike) -> Problem:
    """Return the same problem in coordinates of the span of its features.

    This is how the results carry over to features that span only a subspace S_x: mean rewards,
    regret and the choices of MOGRO depend on the projections of the parameters on S_x only, and
    in its coordinates, of which there are r = rank, every result of this package holds as it
    stands, with r for d.

    Parameters
    ----------
    features, theta
        Arms (K, d) and parameters (M, d).

    Returns
    -------
    Problem
        ``features`` (K, r) and ``theta`` (M, r). Inner products of arms, and of arms with
        parameters, are unchanged. The very same arrays if the features span everything. An
        objective that no arm can influence gets the parameter zero.

    Examples
    --------
    >>> small = span_coordinates([[3.0, 4.0], [6.0, 8.0]], [[1.0, 0.0]])
    >>> small.features.shape, small.theta.shape
    ((2, 1), (1, 1))
    >>> abs(small.features @ small.theta.T).round(12)
    array([[3.],
           [6.]])
    """
    arms = read_features(features)
    values = floats(theta, "theta", shape=("M", arms.shape[1])).astype(np.float64)
    if (basis := span_basis(arms)) is None:
        return Problem(arms, values)
    coordinates = values @ basis
    coordinates[np.linalg.norm(coordinates, axis=1) <= 1e-12 * np.linalg.norm(values, axis=1)] = 0
    return Problem(arms @ basis, coordinates)


def span_basis(arms: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (d, r) of the span of arms (K, d); None if that is everything."""
    rank = int(np.linalg.matrix_rank(arms))
    if rank == arms.shape[1]:
        return None
    return np.asarray(np.linalg.svd(arms, full_matrices=False)[2][:rank].T)
