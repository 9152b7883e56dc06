"""Uniform draws from Pareto fronts and effective Pareto fronts."""

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import IntArray
from mogro.pareto._arguments import read_means
from mogro.pareto.dominance import pareto_front
from mogro.pareto.effective import effective_front, power_of_two_units, undominated_by_mixtures

_TRIES = 32  # members of a Pareto front that are tried before an effective front is built


def random_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the Pareto front of each problem, every member being equally likely.

    Every arm gets a random key, and the member with the smallest key is drawn: the same arm for
    the same keys, whether the problem stands alone or in a batch.

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
    points = read_means(means)
    keys = rng.random(points.shape[:-1])
    return np.asarray(np.where(pareto_front(points), keys, 2.0).argmin(-1))


def random_effective_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the effective Pareto front of each problem, every member equally likely.

    The members of the Pareto front are tried in the order of random keys, as in
    :func:`random_member`, until no mixture dominates one. Usually a few tests find the draw, where
    the whole effective front would need one for each member; if many fail, it is built after all.

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
    points = read_means(means)
    problems = points.reshape(-1, *points.shape[-2:])
    front, units = pareto_front(problems), power_of_two_units(problems)
    keys = np.where(front, rng.random(points.shape[:-1]).reshape(front.shape), 2.0)
    order = keys.argsort(axis=1, kind="stable")[:, : int(front.sum(axis=1).max())]
    ordered = np.take_along_axis(problems, order[:, :, None], axis=1)
    index = np.zeros(len(problems), dtype=np.int64)
    undecided = np.arange(len(problems))
    for _ in range(_TRIES):
        member = undominated_by_mixtures(
            ordered[undecided], np.arange(len(undecided)), index[undecided], units=units[undecided]
        )
        undecided = undecided[~member]
        if not len(undecided):
            break
        index[undecided] += 1
    for i in undecided:
        index[i] = effective_front(ordered[i]).argmax()
    return order[np.arange(len(problems)), index].reshape(points.shape[:-2])
