"""The oracle: greedy for a random objective, knowing the true parameters."""

from dataclasses import KW_ONLY, dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, check_rng
from mogro._validation import FloatArray, IntArray, floats, unwarned
from mogro.policies.base import LinearPolicy, greedy
from mogro.scalarization import RandomWeights, Scalarization, check_scalarization


@final
@dataclass(frozen=True, eq=False, repr=False)
class Oracle(LinearPolicy):
    """Greedy with the true parameters: no effective Pareto regret, with any linear objective.

    It learns like the others, but decides by what is true.

    Parameters
    ----------
    truth
        True parameters, (M, d), or (*batch, M, d) up to broadcasting.
    scalarization
        The objective of a round.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> oracle = Oracle([[1.0, 0.0]])
    >>> oracle.select(np.eye(2), rng=np.random.default_rng(0))
    0
    """

    truth: FloatArray
    _: KW_ONLY
    scalarization: Scalarization = RandomWeights()  # noqa: RUF009
    batch: tuple[int, ...] = ()
    dim: int = field(init=False)
    objectives: int = field(init=False)

    def __post_init__(self) -> None:
        truth = floats(self.truth, "truth", shape=(..., "M", "d")).astype(np.float64)
        object.__setattr__(self, "objectives", truth.shape[-2])
        object.__setattr__(self, "dim", truth.shape[-1])
        self._prepare(ridge=0.0)
        self._offered(truth)  # leading axes fit the batch
        check_scalarization(self.scalarization, "scalarization", objectives=self.objectives)
        truth.flags.writeable = False
        object.__setattr__(self, "truth", truth)

    @unwarned
    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        check_rng(rng)
        arms = self._offered(features)
        step, batch = self.progress.step, self.batch
        theta = np.broadcast_to(self.truth, self.model.theta.shape)
        return self._answer(
            greedy(arms, theta, self.scalarization, step=step, batch=batch, rng=rng)
        )
