"""Uniform draws from Pareto fronts and effective Pareto fronts."""

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray
from mogro.pareto._arguments import read_means
from mogro.pareto.dominance import pareto_front
from mogro.pareto.effective import effective_front, power_units, undominated_by_mixtures

_TRIES = 32  # arms tried before an effective front is built
_WALK = 3000  # numbers from which a front of more than four objectives costs more than a walk


def random_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the Pareto front of each problem, every member being equally likely.

    Every arm gets a random key, and the member with the smallest key is drawn: the same arm for
    the same keys, whether the problem stands alone or in a batch. One problem builds its front, in
    one call of compiled code. A batch needs no fronts: all problems walk through their arms in the
    order of the keys until one is not dominated, which was measured to be faster; so it is for one
    problem with many arms and more than four objectives, where fronts are large.

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
    large = points.shape[-1] > 4 and points.size >= _WALK
    if points.ndim == 2 and not large:
        return np.asarray(np.where(pareto_front(points), keys, 2.0).argmin())
    flat = points.reshape(-1, *points.shape[-2:])
    walk = _Walk(flat, keys.reshape(flat.shape[:2]))
    return walk.first(np.arange(len(flat))).reshape(points.shape[:-2])


def random_effective_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the effective Pareto front of each problem, every member equally likely.

    Arms are tried in the order of random keys, as in :func:`random_member`: first whether an arm
    dominates them, then whether a mixture does. Usually a few tests find the draw, where the whole
    front would need one for each arm; if many fail, the front is built after all.

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
    keys = rng.random(points.shape[:-1])
    flat = points.reshape(-1, *points.shape[-2:])
    walk = _Walk(flat, keys.reshape(flat.shape[:2]))
    drawn = np.empty(len(flat), dtype=np.int64)
    units = power_units(flat)
    open_ = np.arange(len(flat))
    for _ in range(_TRIES):
        if not len(open_):
            break
        arm = walk.first(open_)
        good = undominated_by_mixtures(*walk.left(flat, open_, arm), units=units[open_])
        drawn[open_[good]] = arm[good]
        open_ = open_[~good]
        walk.drop(open_, arm[~good])
    for i in open_:
        members = np.flatnonzero(effective_front(flat[i]))
        drawn[i] = members[walk.keys[i, members].argmin()]
    return drawn.reshape(points.shape[:-2])


class _Walk:
    """Goes through the arms of problems in the order of their keys, past those that are dominated.

    Whatever is compared with all arms takes those that it dominates out of the way, so a dominated
    arm leads to the best of its dominators next: that one clears away most of the others.
    """

    def __init__(self, flat: FloatArray, keys: FloatArray) -> None:
        self.values = np.ascontiguousarray(flat.transpose(2, 0, 1))  # (M, P, K)
        self.total = self.values.sum(0)
        self.keys = keys.copy()  # 2 for arms that are out

    def first(self, problem: IntArray) -> IntArray:
        """Return the first arm of each of some problems that is left and not dominated."""
        drawn = np.empty(len(problem), dtype=np.int64)
        open_ = np.arange(len(problem))
        arm = self.keys[problem].argmin(1)
        from_walk = np.ones(len(problem), dtype=bool)
        while len(open_):
            dominator = self._clear(problem[open_], arm)
            free = dominator < 0
            members = free & from_walk
            drawn[open_[members]] = arm[members]
            open_, from_walk = open_[~members], free[~members]
            arm = np.where(from_walk, self.keys[problem[open_]].argmin(1), dominator[~members])
        return drawn

    def left(
        self, means: FloatArray, problem: IntArray, arm: IntArray
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the problems with the arms that are left only, and where one arm of each went."""
        out = self.keys[problem] == 2
        order = out.argsort(axis=1, kind="stable")[:, : int((~out).sum(1).max())]
        places = (~out).cumsum(1)[np.arange(len(arm)), arm] - 1
        return means[problem[:, None], order], np.arange(len(arm)), places

    def drop(self, problem: IntArray, arm: IntArray) -> None:
        self.keys[problem, arm] = 2.0

    def _clear(self, problem: IntArray, arm: IntArray) -> IntArray:
        """Drop what the arms dominate, and return the best arm that dominates each, or -1."""
        shape = (len(problem), self.values.shape[2])
        above, below = np.ones(shape, dtype=bool), np.ones(shape, dtype=bool)
        every = len(problem) == self.values.shape[1]
        for values in self.values:
            rivals, point = values if every else values[problem], values[problem, arm][:, None]
            above &= rivals >= point
            below &= rivals <= point
        equal = above & below
        keys = self.keys[problem]
        keys[below & ~equal] = 2.0
        self.keys[problem] = keys
        best = np.where(above & ~equal, self.total[problem], -np.inf).argmax(1)
        each = np.arange(len(problem))
        return np.where(above[each, best] & ~equal[each, best], best, -1)
