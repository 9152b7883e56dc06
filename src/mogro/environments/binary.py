"""Rewards of 0 and 1: arms with means of their own, and means by a logistic link."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base
from mogro.environments.synthetic import uniform_ball, unit_vectors


@final
@dataclass(frozen=True, eq=False, repr=False)
class BernoulliArms(_base.StayingArms):
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

    def __post_init__(self) -> None:
        means = _probabilities(self.means)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "theta", _base.read_only(means.T))
        object.__setattr__(self, "features", _base.read_only(np.eye(len(means))))

    @classmethod
    def sample(cls, arms: int, objectives: int, *, rng: np.random.Generator) -> "BernoulliArms":
        """Draw all means independently and uniformly from [0, 1]."""
        size = check.count(arms, "arms"), check.count(objectives, "objectives")
        return cls(check.generator(rng, "rng").random(size))

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.means.shape[1])

    @property
    def noise(self) -> float:
        """The sub-Gaussian bound of what lies between 0 and 1, 1/2."""
        return 0.5

    def observe(self, x: ArrayLike, *, rng: Rng) -> FloatArray:
        """Return rewards of 0 and 1, (*batch, M), for unit vectors ``x`` (*batch, K)."""
        chosen = check.floats(x, "x", shape=(..., self.dim))
        return _base.zero_or_one(_base.mean_rewards(chosen, self.theta), rng)


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogisticArms(_base.StayingArms):
    """K arms that stay, with rewards of 0 and 1 whose means are logistic in the features.

    Parameters
    ----------
    features
        Features of the arms, (K, d).
    coefficients
        Of the link, (M, d): the mean of an arm is 1 / (1 + exp(-coefficients . x)).

    Attributes
    ----------
    means
        Mean rewards of the arms, (K, M). They are not linear in the features.

    Examples
    --------
    >>> world = LogisticArms([[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [-3.0, 0.0]])
    >>> world
    LogisticArms(dim=2, arms=2, objectives=2)
    >>> world.means.round(2)
    array([[0.95, 0.05],
           [0.5 , 0.5 ]])
    """

    features: FloatArray
    coefficients: FloatArray
    means: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        features = _base.read_only(check.floats(self.features, "features", shape=("K", "d")))
        given = check.floats(self.coefficients, "coefficients", shape=("M", features.shape[1]))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "coefficients", _base.read_only(given))
        object.__setattr__(self, "means", _base.read_only(self._link(features)))

    @classmethod
    def sample(
        cls, dim: int, arms: int, objectives: int, *, rng: np.random.Generator, scale: float = 5.0
    ) -> "LogisticArms":
        """Draw arms uniformly from the unit ball, and coefficients of the norm ``scale``."""
        d, K = check.count(dim, "dim"), check.count(arms, "arms")
        M, norm = check.count(objectives, "objectives"), check.real(scale, "scale", minimum=0.0)
        coefficients = unit_vectors(check.generator(rng, "rng").standard_normal((M, d)))
        return cls(uniform_ball((K, d), rng), norm * coefficients)

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.coefficients.shape[0])

    def observe(self, x: ArrayLike, *, rng: Rng) -> FloatArray:
        """Return rewards of 0 and 1, (*batch, M), for features ``x`` (*batch, d)."""
        return _base.zero_or_one(self._link(check.floats(x, "x", shape=(..., self.dim))), rng)

    def _link(self, x: FloatArray) -> FloatArray:
        # tanh does not overflow: 1 / (1 + exp(-z)) = (1 + tanh(z / 2)) / 2
        return (1 + np.tanh(_base.mean_rewards(x, self.coefficients) / 2)) / 2


def _probabilities(means: ArrayLike) -> FloatArray:
    array = check.floats(means, "means", shape=("K", "M"))
    if (array < 0).any() or (array > 1).any():
        raise ValueError(
            f"means: expected values from 0 to 1, got {array.min():g} to {array.max():g}"
        )
    return _base.read_only(array)
