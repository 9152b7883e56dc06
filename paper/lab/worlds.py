"""The problems of the experiments: what draws instance number i."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np

from mogro import Rng
from mogro.environments import FixedArms, LinearEnvironment, VaryingContexts
from mogro.simulation import Purpose, stream
from paper.lab import wine
from paper.lab.appendix import DrawnArms
from paper.lab.arrays import FloatArray
from paper.lab.lower_bound import lower_bound_instance


class World(Protocol):
    """A family of instances of equal sizes; a frozen data class of plain values."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""

    def instance(self, number: int, seed: int) -> LinearEnvironment:
        """Return an instance, the same for equal arguments."""


@dataclass(frozen=True)
class _Sampled:
    """Sizes and noise of instances that are drawn."""

    dim: int
    arms: int
    objectives: int
    noise: float = 0.1

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""
        return self.dim, self.arms, self.objectives


class Fixed(_Sampled):
    """The paper's instances with fixed arms."""

    def instance(self, number: int, seed: int) -> FixedArms:
        """Return an instance, the same for equal arguments."""
        return FixedArms.sample(*self.sizes, noise=self.noise, rng=_drawn(self, number, seed))


class Varying(_Sampled):
    """The paper's instances with fresh arms in each round."""

    def instance(self, number: int, seed: int) -> VaryingContexts:
        """Return an instance, the same for equal arguments."""
        rng = _drawn(self, number, seed)
        return VaryingContexts.sample(*self.sizes, noise=self.noise, rng=rng)


@dataclass(frozen=True)
class Wines:
    """Episodes of the wine data: other wines in every instance."""

    arms: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""
        return 10, self.arms, 3

    def instance(self, number: int, seed: int) -> FixedArms:
        """Return an episode, the same for equal arguments."""
        return _wine().sample(self.arms, rng=_drawn(self, number, seed))


def _drawn(world: World, number: int, seed: int) -> np.random.Generator:
    return stream((seed, *world.sizes), number, 0, Purpose.WORLD)


@cache
def _wine() -> wine.Wine:
    return wine.load()


@dataclass(frozen=True)
class Hard:
    """The d instances of the lower bound, made for a number of rounds."""

    dim: int
    rounds: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""
        return self.dim, self.dim**2, self.dim

    def instance(self, number: int, seed: int) -> FixedArms:
        """Return one of the d instances; nothing is drawn."""
        return lower_bound_instance(self.dim, rounds=self.rounds, instance=number)


@dataclass(frozen=True)
class Circle:
    """Arms all around the unit circle; objectives spread so evenly that lambda is 1/2."""

    objectives: int
    noise: float
    arms: int = 100

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""
        return 2, self.arms, self.objectives

    def instance(self, number: int, seed: int) -> FixedArms:
        """Return the only instance; nothing is drawn."""
        spacing = 2 * np.pi / self.arms
        # No objective points at an arm; and a hair shorter from one arm to the next, or else
        # rounding would choose the basis to explore. It costs: arm 0 is best for no weights.
        turned = np.pi / 4 + spacing / 3
        theta = _directions(np.arange(self.objectives) * np.pi / self.objectives + turned)
        lengths = 1 - 1e-6 * np.linspace(0, 1, self.arms)
        arms = lengths[:, None] * _directions(np.arange(self.arms) * spacing)
        return FixedArms(arms, theta, noise=self.noise)


@dataclass(frozen=True)
class FreshCircle:
    """Arms anywhere on the unit circle, anew in each round; one objective along each axis."""

    noise: float
    arms: int = 60

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(d, K, M)."""
        return 2, self.arms, 2

    def instance(self, number: int, seed: int) -> DrawnArms:
        """Return the only instance; nothing is drawn but the arms of each round."""
        draw = partial(_anywhere, self.arms)
        return DrawnArms(np.eye(2), draw, arms=self.arms, noise=self.noise)


def _anywhere(arms: int, rng: Rng, batch: tuple[int, ...]) -> FloatArray:
    return _directions(2 * np.pi * rng.random((*batch, arms)))


def _directions(angles: FloatArray) -> FloatArray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
