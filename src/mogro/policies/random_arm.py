"""A uniformly random arm, every round."""

from dataclasses import KW_ONLY, dataclass
from typing import final

from mogro.policies.base import LinearPolicy


@final
@dataclass(frozen=True, eq=False, repr=False)
class RandomArm(LinearPolicy):
    """Pull a uniformly random arm: the reference that ignores what it learns.

    Its estimates are those of a randomised trial, with honest standard errors.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> import numpy as np
    >>> RandomArm(dim=2, objectives=2).select(np.eye(2), rng=np.random.default_rng(0))
    0
    """

    dim: int
    objectives: int
    _: KW_ONLY
    batch: tuple[int, ...] = ()

    epsilon = 1.0
