"""The oracle: greedy for a random objective, knowing the true parameters."""

from dataclasses import KW_ONLY, dataclass, field
from typing import final

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, floats
from mogro.choice import Beliefs
from mogro.policies.base import LinearPolicy
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
        super().__post_init__()
        self._offered(truth)  # leading axes fit the batch
        check_scalarization(self.scalarization, "scalarization", objectives=self.objectives)
        truth.flags.writeable = False
        object.__setattr__(self, "truth", truth)

    @property
    def selection(self) -> Scalarization:
        """How to select."""
        return self.scalarization

    def contracted(self, columns: FloatArray) -> "Oracle":
        """Return the oracle for arms that stand for features ``columns y``."""
        return Oracle(self.truth @ columns, scalarization=self.scalarization, batch=self.batch)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return the true values of arms (..., K, d), (..., K, M)."""
        return np.asarray(arms @ np.swapaxes(self.truth, -1, -2))
