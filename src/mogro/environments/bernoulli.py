"""Rewards of 0 and 1: arms with means of their own."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base


@final
@dataclass(frozen=True, eq=False, repr=False)
class BernoulliArms(_base.FixedFeatures, _base.LinearWorld):
    """K arms with means of their own, and independent rewards of 0 and 1: the K-armed bandit.

    The features are the unit vectors, (K, K), so that policies for linear rewards can play, too.

    Parameters
    ----------
    means
        Mean rewards of the arms, (K, M), from 0 to 1.

    Notes
    -----
    The setting of M. M. Drugan and A. Nowe (2013), Designing multi-objective multi-armed bandits
    algorithms: a study, International Joint Conference on Neural Networks.

    Examples
    --------
    >>> world = BernoulliArms([[1.0, 0.0], [0.5, 0.5]])
    >>> world
    BernoulliArms(dim=2, arms=2, objectives=2, noise=0.5)
    >>> world.observe([[1, 0], [1, 0]], rng=np.random.default_rng(0))
    array([[1., 0.],
           [1., 0.]])
    """

    means: FloatArray
    theta: FloatArray = field(init=False)
    features: FloatArray = field(init=False)
    noise: float = field(init=False, default=0.5)  # the sub-Gaussian bound between 0 and 1

    def __post_init__(self) -> None:
        means = _base.read_only(check.floats(self.means, "means", shape=("K", "M")))
        if (means < 0).any() or (means > 1).any():
            raise ValueError(
                f"means: expected values from 0 to 1, got {means.min():g} to {means.max():g}"
            )
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "theta", _base.read_only(means.T))
        object.__setattr__(self, "features", _base.read_only(np.eye(len(means))))

    @classmethod
    def sample(cls, arms: int, objectives: int, *, rng: np.random.Generator) -> "BernoulliArms":
        """Draw all means independently and uniformly from [0, 1]."""
        size = check.counts(arms=arms, objectives=objectives)
        return cls(check.generator(rng, "rng").random(size))

    def observe(self, x: ArrayLike, *, rng: Rng) -> FloatArray:
        """Return rewards of 0 and 1, (*batch, M), for unit vectors ``x`` (*batch, K)."""
        chosen = check.floats(x, "x", shape=(..., self.dim))
        return _base.zero_or_one(_base.mean_rewards(chosen, self.theta), rng)
