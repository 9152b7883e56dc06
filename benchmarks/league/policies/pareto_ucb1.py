"""Pareto UCB1: optimism about every arm by itself."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np

from benchmarks.league.policies.own_learner import ArmPolicy
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, count
from mogro.pareto import random_member


@final
@dataclass(frozen=True, eq=False)
class ParetoUCB1(ArmPolicy):
    """A uniform member of the Pareto front of optimistic means; arms without features.

    Pull every arm once. Then an arm's index is ``mean_m + sqrt(2 ln(n (M F)^(1/4)) / n_arm)`` for
    each objective m, after n pulls, n_arm of them of this arm, with F optimal arms; pull a
    uniformly random member of the Pareto front of the index vectors.

    Drugan and Nowe, Designing multi-objective multi-armed bandits algorithms: a study, 2013.

    Parameters
    ----------
    dim, objectives
        Number of features, which decide nothing, and of objectives M, with rewards in [0, 1].
    front_size
        The number F of Pareto optimal arms; without it the number of all arms.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = ParetoUCB1(dim=2, objectives=2)
    >>> for _ in range(500):
    ...     arm = policy.select(np.eye(2), rng=rng)
    ...     policy.update(np.eye(2)[arm], [arm, arm], arm=arm)  # the second arm is better
    >>> int(policy.learned.pulls[1]) > 450
    True
    """

    dim: int
    objectives: int
    _: KW_ONLY
    front_size: int | None = None
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.front_size is not None:
            object.__setattr__(self, "front_size", count(self.front_size, "front_size"))

    @property
    def indices(self) -> FloatArray:
        """The index vectors, (*batch, K, M), after every arm was pulled."""
        pulls = self.learned.pulls
        optimal = self.front_size or pulls.shape[-1]
        total = np.maximum(pulls.sum(axis=-1, keepdims=True), 1)
        spread = 2 * np.log(total * (self.objectives * optimal) ** 0.25) / np.maximum(pulls, 1)
        return np.asarray(self.learned.means + np.sqrt(spread)[..., None])

    def _pick(self, rng: Rng) -> IntArray:
        return self.learned.unpulled_first(random_member(self.indices, rng=rng))  # type: ignore[no-any-return]
