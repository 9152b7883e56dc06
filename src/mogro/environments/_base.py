"""What worlds share: how they show themselves and, the linear ones, their reward model."""

from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray


def read_only(array: ArrayLike) -> FloatArray:
    """Return a float64 copy that nobody can change."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def mean_rewards(x: FloatArray, theta: FloatArray) -> FloatArray:
    """Return x . theta_m for all objectives, (..., M), for features ``x`` of shape (..., d)."""
    # On contiguous arrays einsum rounds alike with and without batch axes; a matrix product
    # over the batch does not.
    return np.asarray(np.einsum("...d,md->...m", np.ascontiguousarray(x), theta))


def with_noise(means: FloatArray, noise: float, rng: Rng) -> FloatArray:
    """Add independent normal noise; its numbers do not depend on the means."""
    return np.asarray(means + noise * rng.standard_normal(means.shape))


def zero_or_one(means: FloatArray, rng: Rng) -> FloatArray:
    """Draw rewards of 0 and 1 with given means; the random numbers do not depend on them."""
    return np.asarray(rng.random(means.shape) < means, dtype=np.float64)


class World:
    """How a world shows itself: its sizes, and its noise if that has one size.

    A subclass is a data class. Copies are made anew of what it was given, and so read-only, too.
    """

    def __reduce__(self) -> tuple[object, ...]:
        world: Any = self
        arguments = {field.name: getattr(self, field.name) for field in fields(world) if field.init}
        return partial(type(self), **arguments), ()

    def __repr__(self) -> str:
        attributes = {name: str(getattr(self, name)) for name in ("dim", "arms", "objectives")}
        if (noise := getattr(self, "noise", None)) is not None:
            attributes["noise"] = f"{noise:g}"
        settings = ", ".join(f"{name}={value}" for name, value in attributes.items())
        return f"{type(self).__name__}({settings})"


class LinearWorld(World):
    """A world with rewards ``theta_m . x`` and normal noise; a subclass has ``theta`` and arms."""

    theta: FloatArray
    noise: float

    def _check(self) -> None:
        """Check parameters and noise, and keep copies that nobody can change."""
        theta = read_only(check.floats(self.theta, "theta", shape=("M", "d")))
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "noise", check.real(self.noise, "noise", minimum=0.0))

    @property
    def dim(self) -> int:
        """The number of features, d."""
        return int(self.theta.shape[1])

    @property
    def objectives(self) -> int:
        """The number of objectives, M."""
        return int(self.theta.shape[0])

    def observe(self, x: ArrayLike, *, rng: Rng) -> FloatArray:
        """Return noisy reward vectors (*batch, M) for the features ``x`` of shape (*batch, d)."""
        chosen = check.floats(x, "x", shape=(..., self.dim))
        return with_noise(mean_rewards(chosen, self.theta), self.noise, rng)


class FixedFeatures(World):
    """A world whose K arms have the same features in every round; a subclass has ``features``."""

    features: FloatArray

    @property
    def dim(self) -> int:
        """The number of features, d."""
        return int(self.features.shape[1])

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.features.shape[0])

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features, (K, d), the same in every round; nothing is drawn."""
        return self.features


class ChangingFeatures(LinearWorld):
    """A world whose arms have other features in every round."""

    def means(self, features: ArrayLike) -> FloatArray:
        """Return the mean rewards (*batch, K, M) of ``features`` (*batch, K, d)."""
        values = check.floats(features, "features", shape=(..., "K", self.dim))
        return np.ascontiguousarray(values) @ self.theta.T
