"""A complete table, played again: the rewards of every arm are known in every row."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base


@final
@dataclass(frozen=True, eq=False, repr=False)
class Replay(_base.World):
    """Row after row of a table in which the rewards of all arms are known.

    Rows are rounds: questions that every model has answered, visitors for whom every offer has
    been valued. The table is played from its beginning, and again from there after the last row.
    Nothing is drawn: all policies and repeats meet the same rows, and the regret of a round is
    exact, against the rewards of the other arms in the same row.

    Parameters
    ----------
    rewards
        Rewards of every arm in every row, (N, K, M), all to be maximised.
    features
        Features of the arms in every row, (N, K, d), or the same in all of them, (K, d).

    Examples
    --------
    >>> world = Replay([[[1.0], [0.0]], [[0.0], [1.0]]], [[[1.0], [0.0]], [[0.0], [1.0]]])
    >>> world
    Replay(dim=1, arms=2, objectives=1)
    >>> world.observe([0.0], arm=1, step=3, rng=np.random.default_rng(0))
    array([1.])
    """

    rewards: FloatArray
    features: FloatArray

    def __post_init__(self) -> None:
        rewards = _base.read_only(check.floats(self.rewards, "rewards", shape=("N", "K", "M")))
        rows, arms, _ = rewards.shape
        shape = (arms, "d") if np.ndim(self.features) == 2 else (rows, arms, "d")
        features = _base.read_only(check.floats(self.features, "features", shape=shape))
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "features", features)

    @property
    def dim(self) -> int:
        """The number of features, d."""
        return int(self.features.shape[-1])

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.rewards.shape[1])

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.rewards.shape[2])

    def contexts(self, *, rng: Rng, step: int, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features of the row, (K, d)."""
        return self.features if self.features.ndim == 2 else self.features[self._row(step)]

    def means(self, features: ArrayLike, *, step: int) -> FloatArray:
        """Return the rewards of all arms in the row, (K, M)."""
        return np.asarray(self.rewards[self._row(step)])

    def observe(self, x: ArrayLike, *, arm: Any, step: int, rng: Rng) -> FloatArray:
        """Return the rewards (*batch, M) of arms (*batch) in the row."""
        return np.asarray(self.rewards[self._row(step)][arm])

    def _row(self, step: int) -> int:
        return step % len(self.rewards)
