"""The rewards of a round: asked of every instance, or of all at once where that is the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Streams
from mogro._validation import FloatArray
from mogro.environments import Environment, FixedArms, VaryingContexts


def make_rewards(
    environments: Sequence[Environment], generators: NDArray[Any]
) -> "OneByOne | LinearTogether":
    """Return what observes rewards in instances, with one generator for each learner (I, R)."""
    linear = all(type(world) in (FixedArms, VaryingContexts) for world in environments)
    return (LinearTogether if linear else OneByOne)(environments, generators)


class OneByOne:
    """Every environment is asked for the rewards of its learners."""

    def __init__(self, environments: Sequence[Environment], generators: NDArray[Any]) -> None:
        self._environments = environments
        self._noise = [Streams(row, ahead=True) for row in generators]

    def observe(self, x: FloatArray) -> FloatArray:
        """Return rewards (I, R, M) of arms with features (I, R, d)."""
        each = zip(self._environments, x, self._noise, strict=True)
        return np.stack([world.observe(part, rng=rng) for world, part, rng in each])


class LinearTogether:
    """Linear rewards with normal noise, of all instances at once: the same bits, many times faster.

    With one learner in each of many instances, asking each of them took most of the time.
    """

    def __init__(self, environments: Sequence[Environment], generators: NDArray[Any]) -> None:
        self._theta = np.stack([world.theta for world in environments])
        self._scale = np.array([world.noise for world in environments])[:, None, None]
        self._noise = Streams(generators, ahead=True)

    def observe(self, x: FloatArray) -> FloatArray:
        """Return rewards (I, R, M) of arms with features (I, R, d)."""
        means = np.einsum("ird,imd->irm", np.ascontiguousarray(x), self._theta)
        return np.asarray(means + self._scale * self._noise.standard_normal(means.shape))
