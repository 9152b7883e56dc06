"""What the functions of this package accept: means of any batch, and the choice of some arms."""

import math

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, IntArray, floats, indices


def read_means(means: ArrayLike) -> FloatArray:
    """Return ``means`` as contiguous float64 of shape (..., K, M)."""
    if (
        type(means) is np.ndarray
        and means.dtype == np.float64
        and means.ndim >= 2
        and means.size
        # The sum of squares is finite only if all numbers are: much cheaper than to look at each.
        and math.isfinite(np.vdot(means, means))
    ):
        return np.ascontiguousarray(means)
    checked = floats(means, "means", shape=(..., "K", "M"))
    return np.ascontiguousarray(checked, dtype=np.float64)


def read_arms(
    means: FloatArray, arms: ArrayLike | None
) -> tuple[IntArray, IntArray, tuple[int, ...]]:
    """Return the flat problem and the arm of every choice, and the shape of the answer.

    With as many axes as the batch or fewer, ``arms`` is one arm per problem; one more axis means
    several arms per problem, and None all of them. The leading axes broadcast against the batch.
    """
    batch, count = means.shape[:-2], means.shape[-2]
    arms = np.broadcast_to(np.arange(count), means.shape[:-1]) if arms is None else arms
    positions = indices(arms, "arms", below=count)
    has_arm_axis = positions.ndim > len(batch)
    leading = positions.shape[:-1] if has_arm_axis else positions.shape
    try:
        shape = np.broadcast_shapes(batch, leading)
    except ValueError:
        shape = None
    if shape is None or positions.ndim > len(batch) + 1:
        raise ValueError(
            f"arms: expected shape {batch} for one arm per problem or {(*batch, 'n')} for several, "
            f"got {positions.shape}"
        )
    problem: IntArray = np.arange(math.prod(batch)).reshape(batch)
    if has_arm_axis:
        problem, shape = problem[..., None], (*shape, positions.shape[-1])
    problem = np.broadcast_to(problem, shape).ravel()
    return problem, np.broadcast_to(positions, shape).ravel().astype(np.int64, copy=False), shape
