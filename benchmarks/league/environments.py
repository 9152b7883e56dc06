"""Worlds of the league: a logistic link, arms that sleep, parameters that move."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import FixedArms, _base
from mogro.environments.synthetic import uniform_ball, unit_vectors


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogisticArms(_base.FixedFeatures):
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
        coefficients = check.floats(
            self.coefficients, "coefficients", shape=("M", features.shape[1])
        )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "coefficients", _base.read_only(coefficients))
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


@final
@dataclass(frozen=True, eq=False, repr=False)
class DriftingArms(_base.FixedFeatures):
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
