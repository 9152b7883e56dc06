"""Explore, then commit: what MOGRO would be if its greedy rounds taught it nothing."""

from dataclasses import KW_ONLY, dataclass
from typing import final

from mogro._validation import BoolArray
from mogro.exploration import Exploration, WeakestDirection
from mogro.policies.base import LinearPolicy
from mogro.policies.mogro import check_explorer
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
        check_explorer(self)
        super().__post_init__()

    @property
    def selection(self) -> Scalarization:
        """How to select."""
        return self.scalarization

    def teaches(self, exploring: BoolArray) -> BoolArray:
        """Tell which decisions, (...), are learned from: those that explored."""
        return exploring
