"""What policies with a learner of their own share: for simulations, not for live use."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng, check_rng
from mogro._validation import FloatArray, IntArray, count, floats


class OwnLearner(ABC):
    """A policy that does not estimate by least squares; an :class:`mogro.Agent` refuses it.

    It is a frozen data class with at least the fields ``dim``, ``objectives`` and ``batch``; all
    that changes is in ``learned``.
    """

    dim: int
    objectives: int
    batch: tuple[int, ...]
    learned: Any

    def __post_init__(self) -> None:
        """Check the sizes."""
        object.__setattr__(self, "dim", count(self.dim, "dim"))
        object.__setattr__(self, "objectives", count(self.objectives, "objectives"))
        object.__setattr__(self, "batch", tuple(count(size, "batch") for size in self.batch))
        object.__setattr__(self, "learned", None)

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose among arms (*batch, K, d), up to broadcasting: an arm, or one for each learner."""
        check_rng(rng)
        arms = floats(features, "features", shape=(..., "K", self.dim)).astype(np.float64)
        try:
            arms = np.broadcast_to(arms, (*self.batch, *arms.shape[-2:]))
        except ValueError:
            raise ValueError(
                f"features: expected leading axes that broadcast to batch {self.batch}, "
                f"got shape {arms.shape}"
            ) from None
        arm = self._choose(arms, rng)
        return arm if self.batch else int(arm)

    @abstractmethod
    def _choose(self, arms: FloatArray, rng: Rng) -> IntArray:
        """Return an arm for each learner, (*batch)."""

    def _observed(self, features: ArrayLike, reward: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return features (*batch, d) and reward (*batch, M) after checks."""
        x = floats(features, "features", shape=(*self.batch, self.dim))
        y = floats(reward, "reward", shape=(*self.batch, self.objectives))
        return x.astype(np.float64), y.astype(np.float64)


@dataclass
class ArmMeans:
    """Pulls (*batch, K) of every arm, and sums (*batch, K, M) of its rewards."""

    pulls: FloatArray
    sums: FloatArray

    def begin(self, start: "ArmMeans") -> None:
        """Take over what is known before the first round, which tells how many arms there are."""
        for field in fields(self):
            setattr(self, field.name, getattr(start, field.name))

    @property
    def means(self) -> FloatArray:
        """Mean rewards (*batch, K, M); 0 for an arm that was never pulled."""
        return np.asarray(self.sums / np.maximum(self.pulls, 1)[..., None])

    def unpulled_first(self, arm: IntArray) -> IntArray:
        """Return the first arm that was never pulled, or where there is none this one."""
        new = self.pulls == 0
        return np.asarray(np.where(new.any(axis=-1), new.argmax(axis=-1), arm))


class ArmPolicy(OwnLearner, ABC):
    """A policy that learns about every arm by itself, and knows it by its place.

    Features decide nothing, and the number of arms has to stay.
    """

    def __post_init__(self) -> None:
        """Check the sizes, and start with no arms: the first round tells how many there are."""
        super().__post_init__()
        object.__setattr__(self, "learned", self._start(0))

    def select(self, features: ArrayLike, *, rng: Rng) -> int | IntArray:
        """Choose one of the K arms; their features decide nothing."""
        arms = np.shape(features)[-2] if np.ndim(features) > 1 else 0
        arms_seen = self.learned.pulls.shape[-1]
        if arms_seen not in (0, arms):
            raise ValueError(
                f"features: expected the {arms_seen} arms of the rounds before, "
                f"got shape {np.shape(features)}"
            )
        return super().select(features, rng=rng)

    def update(self, features: ArrayLike, reward: ArrayLike, *, arm: ArrayLike) -> None:
        """Learn the reward (*batch, M) of an arm, given by its place, (*batch)."""
        _, y = self._observed(features, reward)
        arms = self.learned.pulls.shape[-1]
        if not arms:
            raise ValueError("update: expected a call of select before, which tells how many arms")
        place = np.asarray(arm)
        if (
            place.shape != self.batch
            or place.dtype.kind not in "iu"
            or not ((place >= 0) & (place < arms)).all()
        ):
            raise ValueError(
                f"arm: expected places from 0 to {arms - 1} of shape {self.batch}, got {arm!r}"
            )
        pulled = place[..., None] == np.arange(arms)
        self.learned.pulls += pulled
        self.learned.sums += pulled[..., None] * y[..., None, :]

    def _choose(self, arms: FloatArray, rng: Rng) -> IntArray:
        if not self.learned.pulls.shape[-1]:
            self.learned.begin(self._start(arms.shape[-2]))
        return self._pick(rng)

    def _start(self, arms: int) -> ArmMeans:
        """Return what is known before the first round."""
        shape = (*self.batch, arms)
        return ArmMeans(np.zeros(shape), np.zeros((*shape, self.objectives)))

    @abstractmethod
    def _pick(self, rng: Rng) -> IntArray:
        """Return an arm for each learner, (*batch), by what was learned."""
