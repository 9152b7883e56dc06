"""Uniform draws from Pareto fronts and effective Pareto fronts."""

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import BoolArray, IntArray
from mogro.pareto.dominance import front
from mogro.pareto.effective import effective_front


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
    return _draw(front(means), rng)


def random_effective_member(means: ArrayLike, *, rng: Rng) -> IntArray:
    """Return an arm of the effective Pareto front of each problem, every member equally likely.

    Parameters and keys are those of :func:`random_member`.

    Examples
    --------
    >>> import numpy as np
    >>> means = [[1.0, 0.0], [0.3, 0.3], [0.0, 1.0]]
    >>> rng = np.random.default_rng(0)
    >>> sorted({int(random_effective_member(means, rng=rng)) for _ in range(50)})
    [0, 2]
    """
    return _draw(effective_front(means), rng)


def _draw(members: BoolArray, rng: Rng) -> IntArray:
    """Return the member with the smallest random key."""
    return np.asarray(np.where(members, rng.random(members.shape), 2.0).argmin(-1))
