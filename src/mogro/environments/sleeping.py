"""Arms that are not on offer in every round."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base
from mogro.environments.synthetic import FixedArms


@final
@dataclass(frozen=True, eq=False, repr=False)
class SleepingArms(_base.LinearWorld):
    """Some of the arms are awake in each round, drawn anew; the others cannot be pulled.

    What is on offer are the features of those awake, in their order, and regret is judged among
    them. Which arms they are tell their features, not their places, so that policies that know
    arms by their place are lost here.

    Parameters
    ----------
    features
        Features of all arms, (N, d).
    theta
        True parameters of the objectives, (M, d).
    awake
        Arms on offer in each round, K, from 1 to N; all sets of that size are equally likely.
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Examples
    --------
    >>> world = SleepingArms(np.eye(4), [[4.0, 3.0, 2.0, 1.0]], awake=2, noise=0.1)
    >>> world
    SleepingArms(dim=4, arms=2, objectives=1, noise=0.1)
    >>> world.contexts(rng=np.random.default_rng(0), batch=(5,)).shape
    (5, 2, 4)
    """

    features: FloatArray
    theta: FloatArray
    awake: int = field(kw_only=True)
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        features = _base.read_only(check.floats(self.features, "features", shape=("N", "d")))
        check.floats(self.theta, "theta", shape=("M", features.shape[1]))
        self._check()
        object.__setattr__(self, "features", features)
        if check.count(self.awake, "awake") > len(features):
            raise ValueError(f"awake: expected at most {len(features)} arms, got {self.awake}")

    @classmethod
    def sample(
        cls,
        dim: int,
        arms: int,
        objectives: int,
        *,
        awake: int,
        noise: float,
        rng: np.random.Generator,
    ) -> "SleepingArms":
        """Draw arms and parameters as :meth:`FixedArms.sample` does."""
        world = FixedArms.sample(dim, arms, objectives, noise=noise, rng=rng)
        return cls(world.features, world.theta, awake=awake, noise=noise)

    @property
    def arms(self) -> int:
        """The number of arms that are awake in a round, K."""
        return int(self.awake)

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features of the arms that are awake, (*batch, K, d)."""
        order = rng.random((*batch, len(self.features))).argsort(axis=-1)
        return np.asarray(self.features[np.sort(order[..., : self.awake], axis=-1)])
