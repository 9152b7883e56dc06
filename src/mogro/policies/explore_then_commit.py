"""Explore, then commit: what MOGRO would be if its greedy rounds taught it nothing."""

from dataclasses import KW_ONLY, dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._streams import Rng
from mogro._validation import IntArray
from mogro.exploration import Exploration, WeakestDirection
from mogro.linear import LinearModel
from mogro.policies.base import LinearPolicy, Progress
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
    explorer: MOGRO = field(init=False)

    def __post_init__(self) -> None:
        explorer = MOGRO(
            self.dim,
            self.objectives,
            threshold=self.threshold,
            scalarization=self.scalarization,
            exploration=self.exploration,
            batch=self.batch,
        )
        object.__setattr__(self, "explorer", explorer)
        for name in ("dim", "objectives", "threshold", "batch"):  # as they were checked
            object.__setattr__(self, name, getattr(explorer, name))

    @property
    def model(self) -> LinearModel:  # type: ignore[override]
        """What the exploration has taught."""
        return self.explorer.model

    @property
    def progress(self) -> Progress:  # type: ignore[override]
        """How far it has come."""
        return self.explorer.progress

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose an arm for each learner; see :meth:`LinearPolicy.select`."""
        return self.explorer.select(features, rng=rng)

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        """Learn from the arm that was pulled, if it was pulled to explore."""
        x, y = self._observed(features, reward)
        self.model.update_some(np.asarray(self.explorer.exploring), x, y)

    def learned(self) -> dict[str, NDArray[np.generic]]:
        """Return all that has been learned, as arrays under names."""
        return self.explorer.learned()

    def relearn(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`learned` of a policy with equal hyper-parameters gave."""
        self.explorer.relearn(arrays)
