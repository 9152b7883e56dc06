"""Parameters that move while somebody learns them."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base
from mogro.environments.synthetic import FixedArms


@final
@dataclass(frozen=True, eq=False, repr=False)
class DriftingArms(_base.StayingArms):
    """K arms that stay, and linear rewards whose parameters move from one place to the next.

    Parameters
    ----------
    features
        Features of the arms, (K, d).
    path
        Parameters that are passed, (S, M, d), S >= 2. They move on straight lines, and stay at the
        last.
    every
        Rounds from one to the next.
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Examples
    --------
    >>> world = DriftingArms(np.eye(2), [[[1.0, 0.0]], [[0.0, 1.0]]], every=100, noise=0.1)
    >>> world
    DriftingArms(dim=2, arms=2, objectives=1, noise=0.1)
    >>> world.means(world.features, step=25)
    array([[0.75],
           [0.25]])
    """

    features: FloatArray
    path: FloatArray
    every: int = field(kw_only=True)
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        features = _base.read_only(check.floats(self.features, "features", shape=("K", "d")))
        path = check.floats(self.path, "path", shape=("S", "M", features.shape[1]))
        check.count(len(path), "number of places in path", minimum=2)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "path", _base.read_only(path))
        object.__setattr__(self, "every", check.count(self.every, "every"))
        object.__setattr__(self, "noise", check.real(self.noise, "noise", minimum=0.0))

    @classmethod
    def sample(
        cls,
        dim: int,
        arms: int,
        objectives: int,
        *,
        places: int = 2,
        every: int,
        noise: float,
        rng: np.random.Generator,
    ) -> "DriftingArms":
        """Draw arms as :meth:`FixedArms.sample`, and all ``places`` as it draws parameters."""
        S = check.count(places, "places", minimum=2)
        worlds = [FixedArms.sample(dim, arms, objectives, noise=noise, rng=rng) for _ in range(S)]
        path = np.stack([world.theta for world in worlds])
        return cls(worlds[0].features, path, every=every, noise=noise)

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.path.shape[1])

    def parameters(self, step: int) -> FloatArray:
        """Return the parameters in a round, (M, d), counted from 0."""
        place = min(step / self.every, len(self.path) - 1)
        before = min(int(place), len(self.path) - 2)
        share = place - before
        return np.asarray((1 - share) * self.path[before] + share * self.path[before + 1])

    def means(self, features: ArrayLike, *, step: int) -> FloatArray:
        """Return the mean rewards (*batch, K, M) of ``features`` (*batch, K, d) in a round."""
        values = check.floats(features, "features", shape=(..., "K", self.dim))
        return _base.mean_rewards(values, self.parameters(step))

    def observe(self, x: ArrayLike, *, rng: Rng, step: int) -> FloatArray:
        """Return noisy reward vectors (*batch, M) for the features ``x`` of shape (*batch, d)."""
        chosen = check.floats(x, "x", shape=(..., self.dim))
        return _base.with_noise(_base.mean_rewards(chosen, self.parameters(step)), self.noise, rng)
