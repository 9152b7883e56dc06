"""A uniformly random arm, every round."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, check_rng
from mogro._validation import IntArray, unwarned
from mogro.policies.base import LinearPolicy, check_finite


@final
@dataclass(frozen=True, eq=False, repr=False)
class RandomArm(LinearPolicy):
    """Pull any arm: the reference that ignores what it learns.

    Its estimates are those of a randomised trial, with honest standard errors.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> RandomArm(dim=2, objectives=2).select(np.eye(2), rng=np.random.default_rng(0))
    1
    """

    dim: int
    objectives: int
    _: KW_ONLY
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._prepare(ridge=0.0)

    @unwarned
    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        check_rng(rng)
        arms = self._offered(features)
        check_finite(arms, arms)
        draws = np.asarray(rng.random(self.batch))
        return self._answer((draws * arms.shape[-2]).astype(np.int64))
