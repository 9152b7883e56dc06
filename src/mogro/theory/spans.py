"""Problems whose features span only a subspace, in coordinates of that subspace."""

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats
from mogro.theory._checks import Problem, feature_matrix


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
    arms = feature_matrix(features)
    values = floats(theta, "theta", shape=("M", arms.shape[1])).astype(np.float64)
    if (basis := span_basis(arms)) is None:
        return Problem(arms, values)
    inside = values @ basis
    inside[np.linalg.norm(inside, axis=1) <= 1e-12 * np.linalg.norm(values, axis=1)] = 0
    return Problem(arms @ basis, inside)


def span_basis(arms: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (d, r) of the span of arms (K, d); None if that is everything."""
    rank = int(np.linalg.matrix_rank(arms))
    if rank == arms.shape[1]:
        return None
    return np.asarray(np.linalg.svd(arms, full_matrices=False)[2][:rank].T)
