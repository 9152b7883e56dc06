"""MOL-TS: optimistic Thompson sampling for every objective."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, count
from mogro.beliefs import Beliefs
from mogro.policies.confidence import ConfidentPolicy
from mogro.scalarization import RandomWeights
from mogro.selection import Selection, check_selection


@final
@dataclass(frozen=True, eq=False, repr=False)
class ThompsonSampling(ConfidentPolicy):
    """Thompson sampling with several draws per objective.

    For each objective draw L parameters from ``N(theta_m, c_t^2 V^-1)``; an arm's value for the
    objective is its largest over the draws. Then select among the arms by these values.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    noise
        Sub-Gaussian constant sigma of the rewards.
    delta
        Probability with which the radius may fail; 1 / T for T rounds.
    samples
        L; without it ``ceil(1 - ln M / ln(1 - 0.15))``, which makes all objectives optimistic
        together often enough.
    selection
        A scalarisation of the values, random weights by default (as the paper's experiments ran
        it), or :class:`~mogro.EffectiveFront` (as it was published). With
        :class:`~mogro.RandomHypervolume`, hypervolume-scalarised Thompson sampling (Zhang 2023).
    ridge
        Weight of the penalty of the estimates.
    norm
        Bound on the norms of the true parameters.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = ThompsonSampling(dim=2, objectives=5, noise=0.1, delta=0.01)
    >>> policy.draws
    11
    >>> log = np.eye(2).repeat(500, axis=0)
    >>> policy.learn(log, log[:, :1].repeat(5, axis=1))  # the first arm is better throughout
    >>> policy.select(np.eye(2), rng=rng)
    0
    """

    dim: int
    objectives: int
    _: KW_ONLY
    noise: float
    delta: float
    samples: int | None = None
    selection: Selection = RandomWeights()  # noqa: RUF009
    ridge: float = 1.0
    norm: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples is not None:
            object.__setattr__(self, "samples", count(self.samples, "samples"))
        check_selection(self.selection, "selection", objectives=self.objectives)

    @property
    def draws(self) -> int:
        """L, the number of parameters drawn for each objective."""
        return self.samples or math.ceil(1 - math.log(self.objectives) / math.log(1 - 0.15))

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return the largest values of arms (..., K, d) over the draws, (..., K, M)."""
        batch, dim = beliefs.batch, beliefs.theta.shape[-1]
        scaled_roots = self.radii(beliefs)[..., None, None] * beliefs.observed.W
        draws = rng.standard_normal((*batch, self.draws, self.objectives, scaled_roots.shape[-2]))
        if scaled_roots.shape[-3] == 1:  # one S: one product instead of many small ones
            draws = draws @ scaled_roots
        else:
            draws = np.vecmat(draws, scaled_roots[..., None, :, :, :])
        parameters = (beliefs.theta[..., None, :, :] + draws).reshape(*batch, -1, dim)
        # Arms last: the maximum over the draws runs along memory.
        products = parameters @ np.swapaxes(arms, -1, -2)
        products_of_draws = products.reshape(*batch, self.draws, self.objectives, -1)
        return np.swapaxes(products_of_draws.max(axis=-3), -1, -2)
