"""What else to measure in a run, beside the two regrets.

A measure is a function that names what it needs:

- ``chosen``, (..., M): the true means of the arm that was pulled, or ``reward``, (..., M), what it
  paid, and maybe ``means``, (..., K, M), those of all arms in that round. Its value, (...), is that
  of one round, and is summed over rounds;
- otherwise its value is that of a checkpoint: ``average``, (..., M), the average so far of the
  means of the arms pulled; and, where means stay, ``means``, (K, M), and ``pulls``, (..., K).

Any function will do, with its own name, or under another in a dict; also one with settings, by
``functools.partial``. Those here are common.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, IntArray, floats
from mogro.pareto import hypervolume

Measure = Callable[..., Any]
Measures = Mapping[str, Measure] | Sequence[Measure]


@dataclass(frozen=True)
class ScalarizedRegret:
    """What the arms pulled lack under given weights: max over arms of w . mu - w . mu(pulled).

    Examples
    --------
    >>> regret = ScalarizedRegret((0.5, 0.5))
    >>> float(regret(means=np.array([[1.0, 0.0], [0.8, 0.8]]), chosen=np.array([1.0, 0.0])))
    0.3...
    """

    weights: tuple[float, ...]

    def __call__(self, means: FloatArray, chosen: FloatArray) -> FloatArray:
        """Return the regret of a round."""
        weights = floats(self.weights, "weights", shape=(chosen.shape[-1],))
        # Both the same way, so that the best arm has no regret that is rounding.
        best = (means * weights).sum(axis=-1).max(axis=-1)
        return np.asarray(best - (chosen * weights).sum(axis=-1))


@dataclass(frozen=True)
class ConstraintViolation:
    """What the arms pulled lack to the least that is allowed, summed over objectives.

    ``at_least`` has a value for each objective, ``-inf`` where there is no constraint.

    Examples
    --------
    >>> violation = ConstraintViolation((0.5, float("-inf")))
    >>> float(violation(chosen=np.array([0.2, 0.0])))
    0.3...
    """

    at_least: tuple[float, ...]

    def __call__(self, chosen: FloatArray) -> FloatArray:
        """Return the violation of a round."""
        if len(self.at_least) != chosen.shape[-1]:
            raise ValueError(
                f"at_least: expected a value for each of {chosen.shape[-1]} objectives, "
                f"got {self.at_least!r}"
            )
        return np.asarray(np.maximum(np.array(self.at_least) - chosen, 0.0).sum(axis=-1))


@dataclass(frozen=True)
class HypervolumeRegret:
    """The volume that all arms dominate, less that of the arms pulled so far.

    The simple regret of R. Zhang (2023), Optimal scalarizations for sublinear hypervolume regret;
    the cumulative one is its sum over rounds. It needs means that stay.

    Examples
    --------
    >>> regret = HypervolumeRegret(reference=(0.0, 0.0))
    >>> float(regret(means=np.array([[1.0, 0.5], [0.5, 1.0]]), pulls=np.array([3, 0])))
    0.25
    """

    reference: tuple[float, ...]

    def __call__(self, means: FloatArray, pulls: IntArray) -> FloatArray:
        """Return the regret at checkpoints."""
        sets, place = np.unique(pulls.reshape(-1, len(means)) > 0, axis=0, return_inverse=True)
        corner = np.asarray(self.reference)
        whole = hypervolume(means, reference=corner)
        missing = [whole - hypervolume(means[s], reference=corner) for s in sets]
        return np.array(missing)[place.ravel()].reshape(pulls.shape[:-1])


@dataclass(frozen=True)
class GiniRegret:
    """What the average so far lacks in generalised Gini welfare to the best mixture of arms.

    The welfare of a vector is the sum of ``weights`` times its entries in ascending order; weights
    fall, so that the worst objective counts most. As by R. Busa-Fekete, B. Szorenyi, P. Weng and S.
    Mannor (2017), Multi-objective bandits: optimizing the generalized Gini index, for rewards where
    they have costs, and with the means of the arms pulled. It needs means that stay.

    Examples
    --------
    >>> regret = GiniRegret((1.0, 0.5))
    >>> float(regret(means=np.eye(2), average=np.array([1.0, 0.0])).round(6))
    0.25
    """

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        values = floats(self.weights, "weights", shape=("M",))
        if (values < 0).any() or (np.diff(values) > 0).any():
            raise ValueError(f"weights: expected weights >= 0 that fall, got {self.weights!r}")

    def welfare(self, values: ArrayLike) -> FloatArray:
        """Return the welfare of vectors (..., M)."""
        size = (..., len(self.weights))
        ascending = np.sort(floats(values, "values", shape=size), axis=-1)
        return np.asarray(ascending @ np.asarray(self.weights))

    def best(self, means: FloatArray) -> float:
        """Return the welfare of the best mixture of arms (K, M), by a linear program.

        The sum of the k smallest entries of x is the largest k t - sum_i max(t - x_i, 0) over t
        (Ogryczak); falling weights are sums of such.
        """
        from scipy.optimize import linprog

        arms, size = means.shape
        steps = np.append(-np.diff(self.weights), self.weights[-1])
        gain = np.concatenate(
            [np.zeros(arms), steps * np.arange(1, size + 1), np.repeat(-steps, size)]
        )
        # t_k - d_ki - sum_a p_a mu_ai <= 0
        rows = np.hstack(
            [
                -np.tile(means.T, (size, 1)),
                np.repeat(np.eye(size), size, axis=0),
                -np.eye(size * size),
            ]
        )
        total = np.concatenate([np.ones(arms), np.zeros(size + size * size)])
        free = [(0, None)] * arms + [(None, None)] * size + [(0, None)] * (size * size)
        solution = linprog(-gain, rows, np.zeros(size * size), total[None], [1.0], bounds=free)
        return -float(solution.fun or 0.0)

    def __call__(self, means: FloatArray, average: FloatArray) -> FloatArray:
        """Return the regret at checkpoints."""
        welfare = self.welfare(average)  # checks the number of objectives, too
        return np.asarray(np.maximum(self.best(means) - welfare, 0.0))


def variance_over_users(average: FloatArray) -> FloatArray:
    """Return how far apart users are, where every objective is the reward of one of them.

    The variance, over objectives, of what each got on average so far.

    Examples
    --------
    >>> float(variance_over_users(np.array([1.0, 0.0])))
    0.25
    """
    return np.asarray(average.var(axis=-1))
