"""MOLB-UCB: a uniform member of the Pareto front of optimistic indices."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, check_rng
from mogro._validation import IntArray, unwarned
from mogro.pareto import random_member
from mogro.policies.base import check_finite
from mogro.policies.confidence import ConfidentPolicy


@final
@dataclass(frozen=True, eq=False, repr=False)
class UCB(ConfidentPolicy):
    """Optimism for every objective.

    An arm's index is ``x . theta_m + c_t sqrt(x^T V^-1 x)`` for each objective m; pull a uniformly
    random member of the Pareto front of the index vectors.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    noise
        Sub-Gaussian constant sigma of the rewards.
    delta
        Probability with which the radius may fail; 1 / T for T rounds.
    ridge
        Weight of the penalty of the estimates.
    norm
        Bound on the norms of the true parameters.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = UCB(dim=2, objectives=2, noise=0.1, delta=0.01)
    >>> policy.learn(np.array([[1.0, 0.0]] * 50), np.ones((50, 2)))
    >>> policy.select(np.eye(2), rng=rng)  # little is known about the second arm
    1
    """

    dim: int
    objectives: int
    _: KW_ONLY
    noise: float
    delta: float
    ridge: float = 1.0
    norm: float = 1.0
    batch: tuple[int, ...] = ()

    @unwarned
    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        check_rng(rng)
        arms = self._offered(features)
        values = arms @ np.swapaxes(self.model.theta, -1, -2)
        width = self.radius * np.sqrt(self.model.variances(arms))
        index = values + width[..., None]
        check_finite(index, arms)
        return self._answer(random_member(index, rng=rng))
