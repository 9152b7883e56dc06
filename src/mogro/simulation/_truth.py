"""The true means of a round, by which regret is judged."""

from collections.abc import Sequence

import numpy as np

from mogro._validation import FloatArray
from mogro.environments import Environment, LinearEnvironment
from mogro.environments._base import LinearWorld
from mogro.simulation._asking import Asked


class Truth:
    """What some instances of equal sizes say about their means.

    ``changing``: they depend on the round itself, not only on what is on offer.
    """

    def __init__(self, environments: Sequence[Environment]) -> None:
        self._worlds = [Asked(world) for world in environments]
        self._size = environments[0].arms, environments[0].objectives
        linear = [world for world in environments if _is_linear(world)]
        # (I, 1, d, M), contiguous: products over it are stacked, one for each learner.
        self._theta = (
            np.stack([np.ascontiguousarray(world.theta.T) for world in linear])[:, None]  # type: ignore[attr-defined]
            if len(linear) == len(environments)
            else None
        )
        self._stated = [np.array(_stated(world)) for world in self._worlds]
        self.changing = any(world.changing for world in self._worlds)
        self._features: FloatArray | None = None
        self._means: FloatArray = np.empty(0)

    def means(self, features: FloatArray, step: int) -> FloatArray:
        """Return means (I, R, K, M), or (I, 1, K, M) if repeats share them.

        Means that stay come as the very same array.
        """
        if features is not self._features or self.changing:
            self._means = self._ask(features, step)
            self._features = features
        return self._means

    def check_kept(self) -> None:
        """Refuse worlds that became other ones during the run: their regret would be wrong."""
        for world, before in zip(self._worlds, self._stated, strict=True):
            if not np.array_equal(np.array(_stated(world)), before):
                name = "theta" if world.truth is None else "means"
                raise ValueError(
                    f"environment: expected {name} to stay during a run, got other values after "
                    "it; means that change are a method means(features, step)"
                )

    def _ask(self, features: FloatArray, step: int) -> FloatArray:
        if self._theta is not None:
            return np.asarray(features @ self._theta)
        offers = features[:, 0] if features.shape[1] == 1 else features
        parts = [
            world.means(part, step=step) for world, part in zip(self._worlds, offers, strict=True)
        ]
        learners = features.shape[1]
        for part in parts:
            fits = part.shape in (self._size, (learners, *self._size))
            if not fits or part.dtype.kind not in "biuf" or not np.isfinite(part).all():
                raise ValueError(
                    f"environment: expected finite means of shape {self._size} or "
                    f"{(learners, *self._size)}, got shape {part.shape}"
                )
        shared = all(part.ndim == 2 for part in parts)
        shape = (1 if shared else learners, *self._size)
        return np.stack([np.broadcast_to(part, shape) for part in parts]).astype(np.float64)


def _is_linear(world: Environment) -> bool:
    """Tell whether theta is all there is to know; what is not of the house may say otherwise."""
    linear = isinstance(world, LinearEnvironment)
    return linear and (isinstance(world, LinearWorld) or getattr(world, "means", None) is None)


def _stated(world: Asked) -> object:
    """Return what a world states about its means once and for all."""
    if world.truth is None:
        return world.world.theta  # type: ignore[attr-defined]
    return () if callable(world.truth) else getattr(world.world, "means", ())
