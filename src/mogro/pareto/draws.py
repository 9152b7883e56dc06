"""Uniform draws from Pareto fronts and effective Pareto fronts."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto._arguments import means_of
from mogro.pareto.dominance import _front, undominated
from mogro.pareto.effective import members


def random_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the Pareto front of each problem, every member being equally likely.

    The whole front is built, one call of compiled code for each problem unless problems are tiny. A
    walk over the arms in random order until one is not dominated was slower at every size where
    fronts are small, as they are for estimates of linear rewards.

    Parameters
    ----------
    means
        (..., K, M), all objectives maximised.
    rng
        A generator, or streams whose batch is the leading axes of ``means``.

    Returns
    -------
    Integers of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> int(random_member([[0.0, 0.0], [1.0, 2.0]], rng=np.random.default_rng(0)))
    1
    """
    points = means_of(means)
    mask = _front(points)
    turn = np.floor(np.asarray(rng.random(points.shape[:-2])) * mask.sum(axis=-1))
    return np.asarray((mask.cumsum(axis=-1) > turn[..., None]).argmax(axis=-1))


def random_effective_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the effective Pareto front of each problem, every member equally likely.

    Arms are tried in the order of random keys, as in :func:`random_member`: first whether an arm
    dominates them, then whether a mixture does. Nearly always a few tests find the draw, where the
    whole front would need one for each arm.

    Parameters
    ----------
    means
        (..., K, M), all objectives maximised.
    rng
        A generator, or streams whose batch is the leading axes of ``means``.

    Returns
    -------
    Integers of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> means = [[1.0, 0.0], [0.3, 0.3], [0.0, 1.0]]
    >>> rng = np.random.default_rng(0)
    >>> sorted({int(random_effective_member(means, rng=rng)) for _ in range(50)})
    [0, 2]
    """
    points = means_of(means)
    keys = rng.random(points.shape[:-1])
    flat = points.reshape(-1, *points.shape[-2:])
    return _walk(flat, keys.reshape(flat.shape[:2]), _stands_against_mixtures).reshape(
        points.shape[:-2]
    )


def _stands(flat: FloatArray, problem: IntArray, arm: IntArray) -> BoolArray:
    return undominated(flat, problem, flat[problem, arm])


def _stands_against_mixtures(flat: FloatArray, problem: IntArray, arm: IntArray) -> BoolArray:
    result = _stands(flat, problem, arm)
    if result.any():
        result[result] = members(flat, problem[result], arm[result])
    return result


def _walk(
    flat: FloatArray,
    keys: FloatArray,
    accepts: Callable[[FloatArray, IntArray, IntArray], BoolArray],
) -> IntArray:
    """Return the first accepted arm of each problem in the order of its keys."""
    result = np.empty(len(flat), dtype=np.int64)
    open_ = np.arange(len(flat))
    keys = keys.copy()
    while len(open_):
        arm = keys[open_].argmin(1)
        good = accepts(flat, open_, arm)
        result[open_[good]] = arm[good]
        open_, arm = open_[~good], arm[~good]
        keys[open_, arm] = 2.0
    return result
