"""Pareto Thompson sampling: a draw from the posterior of every arm by itself."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.league.policies.own_learner import ArmPolicy
from mogro._streams import Rng
from mogro._validation import IntArray
from mogro.pareto import random_member


@final
@dataclass(frozen=True, eq=False)
class ParetoThompsonSampling(ArmPolicy):
    """A uniform member of the Pareto front of draws from Beta posteriors; arms without features.

    For each arm and objective draw from ``Beta(1 + s, 1 + f)`` with s the sum of rewards and f the
    sum of what they missed of 1; pull a uniformly random member of the Pareto front of the draws.

    Yahyaa and Manderick, Thompson sampling for multi-objective multi-armed bandits problem, 2015.

    Parameters
    ----------
    dim, objectives
        Number of features, which decide nothing, and of objectives M. Rewards are 0 or 1; one in
        between counts as part of a success, one outside as the nearer of the two.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = ParetoThompsonSampling(dim=2, objectives=2)
    >>> for _ in range(500):
    ...     arm = policy.select(np.eye(2), rng=rng)
    ...     policy.update(np.eye(2)[arm], [arm, arm], arm=arm)  # the second arm is better
    >>> int(policy.learned.pulls[1]) > 450
    True
    """

    dim: int
    objectives: int
    _: KW_ONLY
    batch: tuple[int, ...] = ()

    def update(self, features: ArrayLike, reward: ArrayLike, *, arm: ArrayLike) -> None:
        """Learn the reward (*batch, M) of an arm, given by its place, (*batch)."""
        x, y = self._observed(features, reward)
        super().update(x, np.clip(y, 0, 1), arm=arm)

    def _pick(self, rng: Rng) -> IntArray:
        from scipy.special import betaincinv

        sums, pulls = self.learned.sums, self.learned.pulls[..., None]
        draws = betaincinv(1 + sums, 1 + pulls - sums, rng.random(sums.shape))
        return random_member(draws, rng=rng)
