"""MOLB-epsilon-greedy: a uniform arm now and then, else one of the estimated Pareto front."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, check_rng
from mogro._validation import IntArray, real, share, unwarned
from mogro.pareto import random_member
from mogro.policies.base import LinearPolicy, check_finite


@final
@dataclass(frozen=True, eq=False, repr=False)
class EpsilonGreedy(LinearPolicy):
    """Epsilon-greedy over the Pareto front of the estimates.

    With probability ``epsilon`` pull a uniformly random arm, otherwise a uniformly random member of
    the Pareto front of the ridge estimates.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    epsilon
        Probability of a random arm.
    ridge
        Weight of the penalty of the estimates.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = EpsilonGreedy(dim=2, objectives=2, epsilon=0.0)
    >>> policy.learn(np.eye(2), np.array([[1.0, 1.0], [0.0, 0.0]]))
    >>> policy.select(np.eye(2), rng=rng)
    0
    """

    dim: int
    objectives: int
    _: KW_ONLY
    epsilon: float = 0.1
    ridge: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", share(self.epsilon, "epsilon"))
        object.__setattr__(self, "ridge", real(self.ridge, "ridge", minimum=0))
        self._prepare(ridge=self.ridge)

    @unwarned
    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        check_rng(rng)
        arms = self._offered(features)
        values = arms @ np.swapaxes(self.model.theta, -1, -2)
        check_finite(values, arms)
        draws = rng.random((*self.batch, 2))
        anything = (draws[..., 1] * arms.shape[-2]).astype(np.int64)
        member = random_member(values, rng=rng)
        return self._answer(np.where(draws[..., 0] < self.epsilon, anything, member))
