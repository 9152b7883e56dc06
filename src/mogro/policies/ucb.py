"""Optimistic indices: MOLB-UCB, and with a scalarisation hypervolume UCB."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.beliefs import Beliefs
from mogro.policies.confidence import ConfidentPolicy
from mogro.selection import ParetoFront, Selection, check_selection


@final
@dataclass(frozen=True, eq=False, repr=False)
class UCB(ConfidentPolicy):
    """Optimism for every objective.

    An arm's index is ``x . theta_m + c_t sqrt(x^T V^-1 x)`` for each objective m; pull a uniformly
    random member of the Pareto front of the index vectors: MOLB-UCB. With
    ``selection=RandomHypervolume(...)`` it is the hypervolume-scalarised UCB of Zhang, Optimal
    scalarizations for sublinear hypervolume regret, 2023.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    noise
        Sub-Gaussian constant sigma of the rewards.
    delta
        Probability with which the radius may fail; 1 / T for T rounds. It holds for d = 2 or more;
        see :meth:`radii`.
    selection
        How to select by the indices: a front, or a scalarisation.
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
    selection: Selection = ParetoFront()  # noqa: RUF009
    ridge: float = 1.0
    norm: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_selection(self.selection, "selection", objectives=self.objectives)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return the indices of arms (..., K, d), (..., K, M)."""
        width = self.radii(beliefs)[..., None, :] * np.sqrt(beliefs.variances(arms))
        return np.asarray(beliefs.estimates(arms) + width)
