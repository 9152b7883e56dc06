"""MO-OGDE: a mixture of arms that is best by the generalised Gini index, by online gradients."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.league.policies.own_learner import ArmMeans, ArmPolicy
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, floats, real, share


@dataclass
class _Mixed(ArmMeans):
    mixture: FloatArray  # (*batch, K)


@final
@dataclass(frozen=True, eq=False)
class GiniOGDE(ArmPolicy):
    """Online gradient ascent on a mixture of arms, for the generalised Gini index.

    The index of a reward vector is ``sum_j w_j y_(j)``, its smallest entry y_(1) with the largest
    weight w_1, and so on: what the worst-served objective gets counts most. A mixture of arms can
    have a larger index than every arm. Pull every arm once; then draw the arm from the mixture, and
    after each reward move the mixture by ``sqrt(2 ln(2 / delta) / t) / (1 - 1 / sqrt(K))`` along
    the gradient at the estimated means, and back onto the simplex where each of the K arms has at
    least a K-th of that step, or of 1 if that is less.

    Busa-Fekete, Szorenyi, Weng and Mannor, Multi-objective bandits: optimizing the generalized Gini
    index, 2017: MO-OGDE, which minimises costs. Step and exploration are the paper's, as three
    public implementations of it agree; ours are the default of ``delta``, and a step as for K = 4
    where there is only one arm and nothing to learn.

    Parameters
    ----------
    dim, objectives
        Number of features, which decide nothing, and of objectives M.
    weights
        (M,), not rising; without them 1, 1/2, 1/4, ...
    delta
        With what probability the bound of the paper may fail; steps and exploration are the longer
        the smaller it is.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = GiniOGDE(dim=2, objectives=2)
    >>> for _ in range(2000):
    ...     arm = policy.select(np.eye(2), rng=rng)
    ...     policy.update(np.eye(2)[arm], np.eye(2)[arm], arm=arm)  # each serves one objective
    >>> policy.mixture.round(1)
    array([0.5, 0.5])
    """

    dim: int
    objectives: int
    _: KW_ONLY
    weights: Sequence[float] | None = None
    delta: float = 0.05
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "delta", real(share(self.delta, "delta"), "delta", above=0))
        coefficients = 0.5 ** np.arange(self.objectives) if self.weights is None else self.weights
        weights = floats(coefficients, "weights", shape=(self.objectives,))
        if (weights < 0).any() or (np.diff(weights) > 0).any():
            raise ValueError(f"weights: expected numbers >= 0, not rising, got {self.weights!r}")
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    @property
    def mixture(self) -> FloatArray:
        """With what probability each arm is pulled next, (*batch, K), once all were."""
        return self.learned.mixture.copy()  # type: ignore[no-any-return]

    def update(self, features: ArrayLike, reward: ArrayLike, *, arm: ArrayLike) -> None:
        """Learn the reward (*batch, M) of an arm, given by its place, (*batch)."""
        super().update(features, reward, arm=arm)
        learned = self.learned
        means = learned.means
        rate = self._step(means.shape[-2]) / np.sqrt(learned.pulls.sum(axis=-1, keepdims=True))
        got = np.vecdot(np.swapaxes(means, -1, -2), learned.mixture[..., None, :])
        ranks = got.argsort(axis=-1, kind="stable").argsort(axis=-1, kind="stable")
        gradient = np.matvec(means, np.array(self.weights)[ranks])
        mixture = _projected(learned.mixture + rate * gradient, np.minimum(1, rate))
        all_pulled = (learned.pulls > 0).all(axis=-1, keepdims=True)
        learned.mixture = np.where(all_pulled, mixture, learned.mixture)

    def _step(self, arms: int) -> float:
        """Return the first step, which falls like the root of the rounds."""
        return math.sqrt(2 * math.log(2 / self.delta)) / (
            1 - 1 / math.sqrt(arms if arms > 1 else 4)
        )

    def _start(self, arms: int) -> _Mixed:
        nothing = super()._start(arms)
        return _Mixed(nothing.pulls, nothing.sums, np.full((*self.batch, arms), 1 / max(arms, 1)))

    def _pick(self, rng: Rng) -> IntArray:
        draw = rng.random((*self.batch, 1))
        arm = (self.learned.mixture.cumsum(axis=-1) <= draw).sum(axis=-1)
        last = self.learned.pulls.shape[-1] - 1
        return self.learned.unpulled_first(np.minimum(arm, last))  # type: ignore[no-any-return]


def _projected(points: FloatArray, explored: FloatArray) -> FloatArray:
    """Return the nearest points (..., K) of the simplex without entries below ``explored / K``."""
    arms = points.shape[-1]
    least, total = explored / arms, 1 - explored
    falling = -np.sort(-(points - least), axis=-1)
    excess = (falling.cumsum(axis=-1) - total) / np.arange(1, arms + 1)
    support_size = np.maximum((falling > excess).sum(axis=-1, keepdims=True), 1)
    level = np.take_along_axis(excess, support_size - 1, axis=-1)
    return np.asarray(np.maximum(points - least - level, 0) + least)
