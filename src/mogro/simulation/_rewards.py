"""The rewards of a round: asked of every instance, or of all at once where that is the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Streams
from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment, FixedArms, LinearEnvironment, VaryingContexts
from mogro.simulation._asking import Asked


def make_rewards(
    environments: Sequence[Environment], generators: NDArray[Any]
) -> "OneByOne | LinearTogether":
    """Return what observes rewards in instances, with one generator for each learner (I, R)."""
    linear = [w for w in environments if isinstance(w, FixedArms | VaryingContexts)]
    if len(linear) == len(environments) and {type(w) for w in linear} <= _LINEAR:
        return LinearTogether(linear, generators)
    return OneByOne(environments, generators)


_LINEAR = {FixedArms, VaryingContexts}  # not what is derived from them, which may do as it likes


class OneByOne:
    """Every environment is asked for the rewards of its learners."""

    def __init__(self, environments: Sequence[Environment], generators: NDArray[Any]) -> None:
        self._each = [
            (world, list(row) if world.alone else Streams(row, ahead=True))
            for world, row in zip(map(Asked, environments), generators, strict=True)
        ]

    def observe(self, x: FloatArray, arms: IntArray, step: int) -> FloatArray:
        """Return rewards (I, R, M) of arms (I, R) with features (I, R, d) in a round."""
        return np.stack(
            [
                world.one_by_one(part, arm, step, rng)
                if isinstance(rng, list)
                else world.observe(part, rng=rng, arm=arm, step=step)
                for (world, rng), part, arm in zip(self._each, x, arms, strict=True)
            ]
        )


class LinearTogether:
    """Linear rewards with normal noise, of all instances at once: the same bits, many times faster.

    With one learner in each of many instances, asking each of them took most of the time.
    """

    def __init__(self, environments: Sequence[LinearEnvironment], generators: NDArray[Any]) -> None:
        self._theta = np.stack([world.theta for world in environments])
        self._scale = np.array([world.noise for world in environments])[:, None, None]
        self._noise = Streams(generators, ahead=True)

    def observe(self, x: FloatArray, arms: IntArray, step: int) -> FloatArray:
        """Return rewards (I, R, M) of arms with features (I, R, d)."""
        means = np.einsum("ird,imd->irm", np.ascontiguousarray(x), self._theta)
        return np.asarray(means + self._scale * self._noise.standard_normal(means.shape))
