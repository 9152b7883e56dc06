"""Rounds of arms from a distribution or a sample, and the worst direction in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats

_DIRECTIONS = 200  # tried in a search for the worst one, besides the axes
_REFINEMENTS = 60
_SEARCHED = 2000  # rounds in which a worst direction is looked for, at most
_CHUNK = 2_000_000  # numbers drawn at a time
FEWEST = 100  # rounds of a sample


class Contexts(Protocol):
    """Draws the arms of a round."""

    def __call__(self, *, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        """Return features, (*batch, K, d) or broadcastable."""


@dataclass(frozen=True)
class ShareEstimate:
    """A probability estimated by counting, with a 95% interval (Clopper and Pearson).

    Attributes
    ----------
    value
        The share counted.
    low
        Lower end of the interval.
    high
        Upper end of the interval.
    direction
        The direction for which it was counted, (d,).
    """

    value: float
    low: float
    high: float
    direction: FloatArray


class ContextSource:
    """Rounds of arms to search in, and others to count in, from a function or from a sample."""

    def __init__(
        self,
        contexts: Contexts | ArrayLike,
        rng: np.random.Generator,
        *,
        basis: FloatArray | None = None,
        name: str = "contexts",
    ) -> None:
        """Take contexts, in coordinates of a ``basis`` (d, r); refusals call them ``name``."""
        self._name = name
        self._rng = rng
        self._basis = basis
        self._sample: FloatArray | None = None
        if callable(contexts):
            self._draw: Contexts = contexts
            shape = self._checked(1).shape
        else:
            array = floats(contexts, name, shape=("rounds", "K", "d")).astype(np.float64)
            sample = self._coordinates(array)
            if len(sample) < FEWEST:
                raise ValueError(
                    f"{name}: expected the arms of at least {FEWEST} rounds, got {len(sample)}"
                )
            # In another order: a log may change with time.
            self._sample = sample[rng.permutation(len(sample))]
            shape = sample.shape
        self.arms, self.dim = shape[1:]

    def searched(self, most: int = _SEARCHED) -> FloatArray:
        """Return rounds (n, K, d) to search in, of moderate size."""
        numbers = self.arms * self.dim
        size = max(FEWEST, min(most, _SEARCHED, _CHUNK // numbers))
        if self._sample is None:
            return self._checked(size)
        return self._sample[: min(size, len(self._sample) // 2)]

    def rounds(self, most: int, *, searched: bool = False) -> Iterator[FloatArray]:
        """Yield rounds, at most so many, in parts (n, K, d); others than were ``searched``."""
        part = max(1, _CHUNK // (self.arms * self.dim))
        if self._sample is not None:
            rest = self._sample[len(self._sample) // 2 if searched else 0 :][:most]
            yield from (rest[start : start + part] for start in range(0, len(rest), part))
            return
        for start in range(0, most, part):
            yield self._checked(min(part, most - start))

    def share_above(self, direction: FloatArray, level: float, most: int) -> ShareEstimate:
        """Count how often some arm has x . direction >= level, in other rounds."""
        from scipy.special import betaincinv

        hits = size = 0
        for draws in self.rounds(most, searched=True):
            size += len(draws)
            hits += int(((draws @ direction).max(axis=-1) >= level).sum())
        low = float(betaincinv(hits, size - hits + 1, 0.025)) if hits else 0.0
        high = float(betaincinv(hits + 1, size - hits, 0.975)) if hits < size else 1.0
        return ShareEstimate(hits / size, low, high, direction)

    def _checked(self, size: int) -> FloatArray:
        drawn = np.asarray(self._draw(rng=self._rng, batch=(size,)))
        if drawn.ndim not in (2, 3) or drawn.dtype.kind not in "fiu" or not drawn.size:
            came = f"{drawn.dtype} of shape {drawn.shape}"
            raise ValueError(f"{self._name}: expected features (n, K, d), got {came}")
        if not np.isfinite(drawn).all():
            raise ValueError(f"{self._name}: expected finite features, got others")
        rounds = np.broadcast_to(drawn, (size, *drawn.shape[-2:])).astype(np.float64)
        return self._coordinates(rounds)

    def _coordinates(self, rounds: FloatArray) -> FloatArray:
        return rounds if self._basis is None else np.asarray(rounds @ self._basis)


def worst_direction(draws: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    """Look for the unit vector along which rounds (n, K, d) reach a level least often."""

    def score(direction: FloatArray) -> tuple[float, float]:
        best = (draws @ direction).max(axis=-1)
        return float((best >= level).mean()), float(best.mean())  # the mean where shares are equal

    worst = min(directions(draws.shape[-1], rng), key=score)
    lowest = score(worst)
    for width in np.geomspace(0.5, 0.01, _REFINEMENTS if draws.shape[-1] > 1 else 0):
        trial = _unit(worst + width * rng.standard_normal(worst.size))
        if (there := score(trial)) < lowest:
            worst, lowest = trial, there
    return np.asarray(worst)


def directions(dim: int, rng: np.random.Generator) -> FloatArray:
    """Return the axes, both ways, and random unit vectors."""
    axes = np.concatenate([np.eye(dim), -np.eye(dim)])
    if dim == 1:
        return axes
    return np.concatenate([axes, _unit(rng.standard_normal((_DIRECTIONS, dim)))])


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
