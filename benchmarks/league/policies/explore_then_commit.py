"""Explore, then commit: what MOGRO would be if its greedy rounds taught it nothing."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import floats
from mogro.exploration import Exploration, WeakestDirection
from mogro.policies.base import LinearPolicy
from mogro.policies.mogro import MOGRO
from mogro.scalarization import RandomWeights, Scalarization


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExploreThenCommit(LinearPolicy):
    """Learn while exploring, and never again.

    The exploration is that of :class:`~mogro.MOGRO`, and so are the greedy choices after it, but
    with the estimates as they were when it ended. The difference between the two is what the
    greedy rounds teach.

    Parameters
    ----------
    dim, objectives, threshold, scalarization, exploration, batch
        As for :class:`~mogro.MOGRO`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> policy = ExploreThenCommit(dim=1, objectives=1)
    >>> for reward in (1.0, 2.0, 3.0):
    ...     arm = policy.select([[1.0]], rng=rng)
    ...     policy.update([1.0], [reward])
    >>> policy.theta
    array([[1.]])
    """

    dim: int
    objectives: int
    _: KW_ONLY
    threshold: float | None = None
    scalarization: Scalarization = RandomWeights()  # noqa: RUF009
    exploration: Exploration = WeakestDirection()  # noqa: RUF009
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        settings = {"threshold": self.threshold, "scalarization": self.scalarization}
        MOGRO(self.dim, self.objectives, exploration=self.exploration, **settings)  # type: ignore[arg-type]
        super().__post_init__()

    @property
    def selection(self) -> Scalarization:
        """How to select."""
        return self.scalarization

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        """Learn from the arm that was pulled, if it was pulled to explore."""
        x, y = self._observed(features, reward)
        floats(x, "features", shape=x.shape)
        floats(y, "reward", shape=y.shape)
        learning = np.asarray(self._exploring, dtype=np.float64)[..., None]
        self.posterior.update(x, y, np.broadcast_to(learning, y.shape))
