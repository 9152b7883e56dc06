"""How an environment wants to be asked: its methods are given what they name."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment


class Asked:
    """An environment, asked in its own way; see :class:`mogro.Environment`.

    ``alone``: it has to be asked for each learner by itself. ``changing``: its means depend on the
    round.
    """

    def __init__(self, world: Environment) -> None:
        self.world = world
        self._contexts = _parameters(world.contexts)
        self._observe = _parameters(world.observe)
        self.alone = "batch" not in self._contexts
        self.truth: Any = getattr(world, "means", None)
        if self.truth is None and getattr(world, "theta", None) is None:
            raise ValueError(
                "environment: expected one that can be judged, by theta (linear means) or means "
                f"(an array, or a method of features and maybe step), got {world!r} without either"
            )
        own = _parameters(self.truth) if callable(self.truth) else frozenset()
        self.changing = "step" in own

    def contexts(self, *, rng: Rng, batch: tuple[int, ...], step: int) -> FloatArray:
        """Return features (*batch, K, d), or (K, d) for all."""
        given = _named(self._contexts, batch=batch, step=step)
        return np.asarray(self.world.contexts(rng=rng, **given))

    def observe(self, x: FloatArray, *, rng: Rng, arm: Any, step: int) -> FloatArray:
        """Return rewards (*batch, M)."""
        given = _named(self._observe, arm=arm, step=step)
        return np.asarray(self.world.observe(x, rng=rng, **given))

    def means(self, features: FloatArray, *, step: int) -> FloatArray:
        """Return the true means (*batch, K, M), or (K, M) for all, of features (*batch, K, d)."""
        if self.truth is None:
            theta: FloatArray = self.world.theta  # type: ignore[attr-defined]
            return np.asarray(np.ascontiguousarray(features) @ theta.T)
        if not callable(self.truth):
            return np.asarray(self.truth)
        given = {"step": step} if self.changing else {}
        if self.alone and features.ndim > 2:
            return np.stack([self.truth(one, **given) for one in features])
        return np.asarray(self.truth(features, **given))

    def one_by_one(
        self, x: FloatArray, arms: IntArray, step: int, rngs: list[np.random.Generator]
    ) -> FloatArray:
        """Return the rewards (R, M) of learners that are asked for by themselves."""
        each = zip(x, arms, rngs, strict=True)
        return np.stack([self.observe(a, rng=g, arm=int(arm), step=step) for a, arm, g in each])


def _named(names: frozenset[str], **given: Any) -> dict[str, Any]:
    """Return what is asked for by name."""
    return {name: value for name, value in given.items() if name in names}


def _parameters(method: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(method).parameters)
