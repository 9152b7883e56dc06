"""Instances of a run, and the random streams of the learners in them."""

import math
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from mogro._streams import Streams
from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment
from mogro.simulation._asking import Asked
from mogro.simulation._rewards import make_rewards


class Purpose(IntEnum):
    """What a random stream is for; one never disturbs another."""

    CONTEXTS = 0
    NOISE = 1
    POLICY = 2
    WORLD = 3


def stream(
    seed: int | Sequence[int], instance: int, repeat: int, purpose: Purpose
) -> np.random.Generator:
    """Return the generator of one learner for one purpose, the same whoever else draws.

    Examples
    --------
    >>> one, same = (stream(0, 3, 1, Purpose.NOISE).random() for _ in range(2))
    >>> one == same
    True
    """
    key = (instance, repeat, int(purpose))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class Worlds:
    """Some instances of equal sizes, and the random streams of the learners in them."""

    def __init__(
        self,
        environments: list[Environment],
        repeats: int,
        seed: Sequence[int],
        start: tuple[int, int],
    ) -> None:
        self.environments = environments
        self.repeats = repeats
        self.generators = {
            purpose: np.array(
                [
                    [stream(seed, start[0] + i, start[1] + r, purpose) for r in range(repeats)]
                    for i in range(len(environments))
                ],
                dtype=object,
            )
            for purpose in (Purpose.CONTEXTS, Purpose.NOISE, Purpose.POLICY)
        }
        rows = self.generators[Purpose.CONTEXTS]
        self._contexts = [
            (world, list(row) if world.alone else Streams(row, ahead=True))
            for world, row in zip(map(Asked, environments), rows, strict=True)
        ]
        self._rewards = make_rewards(environments, self.generators[Purpose.NOISE])
        self._parts: list[FloatArray] = []
        self._features: FloatArray = np.empty(0)

    def offer(self, step: int) -> FloatArray:
        """Return what is on offer this round: (I, R, K, d), or (I, 1, K, d) if repeats share it.

        Arms that stay come as the very same array.
        """
        parts = [
            _one_by_one(world, rng, step)
            if isinstance(rng, list)
            else world.contexts(rng=rng, batch=(self.repeats,), step=step)
            for world, rng in self._contexts
        ]
        if len(self._parts) == len(parts) and all(map(_same, parts, self._parts)):
            return self._features
        shared = all(part.ndim == 2 for part in parts)
        world = self.environments[0]
        arms = (world.arms, world.dim)
        if any(part.shape not in (arms, (self.repeats, *arms)) for part in parts):
            raise ValueError(
                f"environment: expected contexts of shape {arms} or {(self.repeats, *arms)}, "
                f"got {[part.shape for part in parts]}"
            )
        shape = (1 if shared else self.repeats, *arms)
        self._parts = parts if shared else []
        self._features = np.stack([np.broadcast_to(part, shape) for part in parts])
        self._features.setflags(write=False)
        return self._features

    def observe(self, x: FloatArray, arms: IntArray, step: int) -> FloatArray:
        """Return rewards (I, R, M) of arms (I, R) with features (I, R, d) in a round."""
        rewards = self._rewards.observe(x, arms, step)
        shape = (*x.shape[:-1], self.environments[0].objectives)
        if rewards.shape != shape or not math.isfinite(np.vdot(rewards, rewards)):
            raise ValueError(
                f"environment: expected finite rewards of shape {shape[1:]} for each instance, got "
                f"shape {rewards.shape[1:]}, {np.count_nonzero(~np.isfinite(rewards))} not finite"
            )
        return rewards


def _one_by_one(world: Asked, rngs: list[np.random.Generator], step: int) -> FloatArray:
    """Return the features of learners that are asked for by themselves; once if they are equal."""
    parts = [world.contexts(rng=rng, batch=(), step=step) for rng in rngs]
    same = all(part is parts[0] or np.array_equal(part, parts[0]) for part in parts[1:])
    return parts[0] if same else np.stack(parts)


def _same(part: FloatArray, before: FloatArray) -> bool:
    return part is before or (part.ndim == 2 and np.array_equal(part, before))
