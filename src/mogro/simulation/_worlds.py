"""The instances of a run: what they offer and pay, and the true means by which regret is judged."""

import inspect
import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Rng, Streams
from mogro._validation import FloatArray, IntArray
from mogro.environments import Environment, FixedArms, VaryingContexts

_LINEAR = {FixedArms, VaryingContexts}  # not what is derived from them, which may do as it likes
_ROUNDS_AHEAD = 64  # rounds whose noise is drawn together
_Source = Streams | list[np.random.Generator]


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


class Instance:
    """An :class:`~mogro.environments.Environment` whose methods are given what they name.

    ``unbatched``: it has to be asked for each learner by itself. ``changing``: its means depend on
    the round. ``ragged``: it offers different numbers of arms; where learners are asked together,
    rows of NaN fill up what it offers, and copies of the first arm its means.
    """

    def __init__(self, world: Environment) -> None:
        self.world = world
        self._contexts = _parameters(world.contexts)
        self._observe = _parameters(world.observe)
        self.unbatched = "batch" not in self._contexts
        self.ragged = hasattr(world, "fewest_arms")
        self.truth: Any = getattr(world, "means", None)
        if self.truth is None and getattr(world, "theta", None) is None:
            raise ValueError(
                "environment: expected one that can be judged, by theta (linear means) or means "
                f"(an array, or a method of features and maybe step), got {world!r} without either"
            )
        stays = self.truth is not None and not callable(self.truth)
        if self.ragged and (stays or not self.unbatched):
            raise ValueError(
                "environment: expected one with fewest_arms to have contexts without batch, and "
                f"theta or a method means(features), got {world!r}"
            )
        self.changing = callable(self.truth) and "step" in _parameters(self.truth)
        self.stated = np.array(self._stated())
        if self.truth is None and self.stated.shape != (world.objectives, world.dim):
            raise ValueError(
                f"environment: expected theta of shape {(world.objectives, world.dim)}, "
                f"got {self.stated.shape}"
            )

    def source(self, generators: Sequence[np.random.Generator]) -> _Source:
        """Return generators, one for each learner, as this environment takes them."""
        return list(generators) if self.unbatched else Streams(generators, ahead=True)

    def contexts(self, *, rng: Rng | _Source, batch: tuple[int, ...], step: int) -> FloatArray:
        """Return features (*batch, K, d), or (K, d) for all."""
        if isinstance(rng, list):
            parts = [self.contexts(rng=each, batch=(), step=step) for each in rng]
            if self.ragged:
                return np.stack([self._filled(part) for part in parts])
            same = all(part is parts[0] or np.array_equal(part, parts[0]) for part in parts[1:])
            return parts[0] if same else np.stack(parts)
        given = _named(self._contexts, batch=batch, step=step)
        return np.asarray(self.world.contexts(rng=rng, **given))

    def observe(self, x: FloatArray, *, rng: Rng | _Source, arm: Any, step: int) -> FloatArray:
        """Return rewards (*batch, M)."""
        if isinstance(rng, list):
            each = zip(x, arm, rng, strict=True)
            return np.stack([self.observe(a, rng=g, arm=int(k), step=step) for a, k, g in each])
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
        if self.unbatched and features.ndim > 2:
            return np.stack([self.truth(arms, **given) for arms in features])
        return np.asarray(self.truth(features, **given))

    def padded_means(self, features: FloatArray, *, step: int) -> FloatArray:
        """Return the true means (R, K, M) of offers (R, K, d) that rows of NaN fill up."""
        every = np.arange(features.shape[1])
        parts = [self.means(without_padding(arms), step=step) for arms in features]
        return np.stack([part[np.where(every < len(part), every, 0)] for part in parts])

    def _filled(self, part: FloatArray) -> FloatArray:
        fewest, most, dim = self.world.fewest_arms, self.world.arms, self.world.dim  # type: ignore[attr-defined]
        if part.ndim != 2 or not fewest <= len(part) <= most or part.shape[1] != dim:
            raise ValueError(
                f"environment: expected contexts of {fewest} to {most} arms with {dim} features, "
                f"got shape {part.shape}"
            )
        return np.concatenate([part, np.full((most - len(part), dim), np.nan)])

    def check_unchanged(self) -> None:
        """Refuse a world that became another one during the run: its regret would be wrong."""
        if not np.array_equal(np.array(self._stated()), self.stated):
            name = "theta" if self.truth is None else "means"
            raise ValueError(
                f"environment: expected {name} to stay during a run, got other values after "
                "it; means that change are a method means(features, step)"
            )

    def _stated(self) -> object:
        """Return what the world states about its means once and for all."""
        if self.truth is None:
            return self.world.theta  # type: ignore[attr-defined]
        return () if callable(self.truth) else getattr(self.world, "means", ())


class Worlds:
    """Some instances of equal sizes, and the random streams of the learners in them.

    Linear worlds of the house are asked all at once, which gives the same bits: with one learner in
    each of many instances, asking each of them would take most of the time. ``fixed_arms``: all are
    :class:`~mogro.environments.FixedArms`, whose arms, means and rewards are looked up.
    """

    def __init__(
        self,
        environments: list[Environment],
        repeats: int,
        seed: Sequence[int],
        start: tuple[int, int],
    ) -> None:
        self._instances = [Instance(world) for world in environments]
        self.batch = len(environments), repeats
        self._seed, self._start = seed, start
        world = environments[0]
        self.arms, self.dim, self.objectives = world.arms, world.dim, world.objectives
        self.changing = any(instance.changing for instance in self._instances)
        self.ragged = any(instance.ragged for instance in self._instances)
        linear: list[Any] = [world for world in environments if type(world) in _LINEAR]
        self._linear = len(linear) == len(environments)
        self.fixed_arms = all(type(world) is FixedArms for world in environments)
        self._parts: list[FloatArray] = []
        self._features: FloatArray = np.empty(0)
        self._means: FloatArray = self._features
        if self._linear:
            self._theta = np.stack([world.theta for world in linear])
            self._scale = np.array([world.noise for world in linear])[:, None, None]
            self._normal = self.generators(Purpose.NOISE)
        else:
            self._noise = self._sources(Purpose.NOISE)
        if self.fixed_arms:
            self._features = _read_only([world.features for world in linear])
            self._means = _read_only([world.means for world in linear])
        else:
            self._contexts = self._sources(Purpose.CONTEXTS)

    def generators(self, purpose: Purpose) -> NDArray[Any]:
        """Return the generators of all learners, (I, R)."""
        first, repeat = self._start
        rows = [
            [stream(self._seed, first + i, repeat + r, purpose) for r in range(self.batch[1])]
            for i in range(self.batch[0])
        ]
        return np.array(rows, dtype=object)

    def offer(self, step: int) -> tuple[FloatArray, FloatArray]:
        """Return what is on offer this round, (I, R, K, d), and its true means, (I, R, K, M).

        They are (I, 1, ...) where repeats share them, and the very same arrays where they stay.
        """
        if not self.fixed_arms and (self._draw_features(step) or self.changing):
            self._means = self._ask_means(self._features, step)
        return self._features, self._means

    def _draw_features(self, step: int) -> bool:
        """Ask for the features of a round; tell whether they are others than before."""
        repeats = self.batch[1]
        parts = [
            instance.contexts(rng=rng, batch=(repeats,), step=step)
            for instance, rng in zip(self._instances, self._contexts, strict=True)
        ]
        if len(self._parts) == len(parts) and all(map(_same, parts, self._parts)):
            return False
        size = (self.arms, self.dim)
        if any(part.shape not in (size, (repeats, *size)) for part in parts):
            raise ValueError(
                f"environment: expected contexts of shape {size} or {(repeats, *size)}, "
                f"got {[part.shape for part in parts]}"
            )
        self._features, shared = _stacked(parts, repeats)
        self._features.setflags(write=False)
        self._parts = parts if shared else []
        return True

    def observe(
        self, features: FloatArray, arms: IntArray, step: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return features (I, R, d) and rewards (I, R, M) of the arms (I, R) of a round."""
        listed = features.reshape(-1, self.dim)  # the arms of all learners, one after the other
        places = arms + np.arange(0, len(listed), self.arms).reshape(features.shape[:2])
        x = listed.take(places, axis=0)
        if self._linear:
            rewards = self.noise(step)
            if self.fixed_arms:
                rewards += self._means.reshape(-1, self.objectives).take(places, axis=0)
            else:
                rewards += np.einsum("ird,imd->irm", x, self._theta)
            return x, rewards
        parts = zip(self._instances, self._noise, x, arms, strict=True)
        rewards = np.stack(
            [instance.observe(a, rng=rng, arm=arm, step=step) for instance, rng, a, arm in parts]
        )
        shape = (*self.batch, self.objectives)
        fits = rewards.shape == shape and rewards.dtype.kind in "biuf"
        if not fits or not math.isfinite(np.vdot(rewards, rewards)):
            bad = f", {np.count_nonzero(~np.isfinite(rewards))} not finite" if fits else ""
            raise ValueError(
                f"environment: expected finite rewards of shape {shape[1:]} for each instance, got "
                f"shape {rewards.shape[1:]} of {rewards.dtype}{bad}"
            )
        return x, rewards

    def noise(self, step: int) -> FloatArray:
        """Return the noise (I, R, M) of a round of linear worlds, one round after the other."""
        if step % _ROUNDS_AHEAD == 0:
            normal = np.empty((*self.batch, _ROUNDS_AHEAD, self.objectives))
            for learner, generator in np.ndenumerate(self._normal):
                generator.standard_normal(out=normal[learner])
            self._drawn = np.multiply(np.moveaxis(normal, 2, 0), self._scale, order="C")
        return np.asarray(self._drawn[step % _ROUNDS_AHEAD])

    def check_unchanged(self) -> None:
        """Refuse worlds that became other ones during the run."""
        for instance in self._instances:
            instance.check_unchanged()

    def _ask_means(self, features: FloatArray, step: int) -> FloatArray:
        if self._linear:
            return np.asarray(features @ np.swapaxes(self._theta, -1, -2)[:, None])
        offers = features[:, 0] if features.shape[1] == 1 and not self.ragged else features
        parts = [
            (instance.padded_means if instance.ragged else instance.means)(part, step=step)
            for instance, part in zip(self._instances, offers, strict=True)
        ]
        size, repeats = (self.arms, self.objectives), features.shape[1]
        for part in parts:
            fits = part.shape in (size, (repeats, *size))
            if not fits or part.dtype.kind not in "biuf" or not np.isfinite(part).all():
                raise ValueError(
                    f"environment: expected finite means of shape {size} or {(repeats, *size)}, "
                    f"got shape {part.shape}"
                )
        return _stacked(parts, repeats)[0].astype(np.float64)

    def _sources(self, purpose: Purpose) -> list[_Source]:
        rows = self.generators(purpose)
        return [world.source(row) for world, row in zip(self._instances, rows, strict=True)]


def without_padding(arms: FloatArray) -> FloatArray:
    """Return the arms (k, d) on offer, without what fills them up."""
    return arms[~np.isnan(arms[:, 0])]


def _stacked(parts: list[FloatArray], repeats: int) -> tuple[FloatArray, bool]:
    """Stack what repeats share, (I, 1, ...), or not, (I, R, ...); tell whether they do."""
    shared = all(part.ndim == 2 for part in parts)
    shape = (1 if shared else repeats, *parts[0].shape[-2:])
    return np.stack([np.broadcast_to(part, shape) for part in parts]), shared


def _read_only(parts: list[FloatArray]) -> FloatArray:
    array = np.stack(parts)[:, None]
    array.setflags(write=False)
    return array


def _named(names: frozenset[str], **given: Any) -> dict[str, Any]:
    """Return what is asked for by name."""
    return {name: value for name, value in given.items() if name in names}


def _parameters(method: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(method).parameters)


def _same(part: FloatArray, before: FloatArray) -> bool:
    return part is before or (part.ndim == 2 and np.array_equal(part, before))
