"""One run: a policy in environments, all learners in lockstep."""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Streams
from mogro._validation import FloatArray, IntArray, count
from mogro.environments import Environment
from mogro.simulation._learners import MakePolicy, Probe, make_learners
from mogro.simulation._ledger import Ledger
from mogro.simulation._rewards import make_rewards
from mogro.simulation.trace import Trace

_CHECKPOINTS = 100


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


def simulate(
    make_policy: MakePolicy,
    environment: Environment | Sequence[Environment],
    *,
    rounds: int,
    repeats: int = 1,
    seed: int | Sequence[int] = 0,
    checkpoints: Sequence[int] | None = None,
    probe: Probe | None = None,
    start: tuple[int, int] = (0, 0),
) -> Trace:
    """Let a policy play, and record what it did.

    Every learner has random streams of its own, derived from the seed, the number of its instance
    and the number of its repeat: one for contexts, one for noise, one for the policy. So every
    policy meets the same contexts and noise, and results do not depend on how a run is cut into
    parts, to the bit, as long as the same kind of processor computes them and BLAS has one thread.

    Parameters
    ----------
    make_policy
        Makes the policy. It is called as ``make_policy(dim, objectives, batch=(I, R))``, and the
        policy steps for all learners together; any policy of mogro will do, as it is or with
        settings by ``functools.partial``. If it has no parameter ``batch``, it is called as
        ``make_policy(dim, objectives)`` for each learner, and they step one after the other; each
        then gets a plain ``numpy.random.Generator``. If its ``update`` has a parameter ``arm``, it
        also gets the place of the arm that was pulled; see :class:`mogro.Policy`.
    environment
        One instance, or several of equal sizes.
    rounds
        Rounds to play, T.
    repeats
        Learners in each instance, R.
    seed
        Where all randomness comes from: an integer, or several.
    checkpoints
        Rounds, from 1 to T and increasing, after which sums are noted; T is added if need be.
        Without it: 100 evenly spread, or every round if there are fewer.
    probe
        Called with the policy at every checkpoint; returns numbers to keep, (I, R, ...), for
        single learners (...).
    start
        Numbers of the first instance and the first repeat, for a run in parts; see
        :func:`mogro.simulation.join`.

    Returns
    -------
    Trace
        Arms, regrets and rewards, with axes for rounds, instances and repeats.

    Examples
    --------
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> worlds = [
    ...     mogro.environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng) for _ in range(3)
    ... ]
    >>> mogro.simulate(mogro.MOGRO, worlds, rounds=200, repeats=4, seed=1).effective_regret.shape
    (100, 3, 4)

    A policy of one's own needs two methods:

    >>> class Anything:
    ...     def __init__(self, dim, objectives): ...
    ...     def select(self, features, *, rng):
    ...         return rng.integers(len(features))
    ...     def update(self, features, reward): ...
    >>> mogro.simulate(Anything, worlds[0], rounds=200, repeats=4, seed=1).repeats
    4
    """
    T = count(rounds, "rounds")
    R = count(repeats, "repeats")
    seeds = _seeds(seed)
    worlds = _Worlds(_instances(environment), R, seeds, start)
    own = worlds.generators[Purpose.POLICY]
    learners = make_learners(make_policy, worlds.environments[0], own, probe)
    ledger = Ledger(worlds.environments, T, R, checkpoints=_rounds_noted(checkpoints, T))
    notes: list[NDArray[Any]] = []
    for t in range(T):
        features = worlds.offer()
        arms = learners.select(features)
        x = _chosen_features(features, arms)
        rewards = worlds.observe(x)
        checkpoint = ledger.note(t, features, arms, rewards)
        learners.update(x, rewards, arms)
        if checkpoint:
            notes.append(learners.probe())
            if notes[-1].shape != notes[0].shape:
                shapes = f"{notes[0].shape} and {notes[-1].shape}"
                raise ValueError(f"probe: expected numbers of one shape, got {shapes}")
    return ledger.trace(np.stack(notes), seeds)


class _Worlds:
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
        self._contexts = self._streams(Purpose.CONTEXTS)
        self._rewards = make_rewards(environments, self.generators[Purpose.NOISE])
        self._parts: list[FloatArray] = []
        self._features: FloatArray = np.empty(0)

    def _streams(self, purpose: Purpose) -> list[Streams]:
        return [Streams(row, ahead=True) for row in self.generators[purpose]]

    def offer(self) -> FloatArray:
        """Return what is on offer this round: (I, R, K, d), or (I, 1, K, d) if repeats share it.

        Arms that stay come as the very same array.
        """
        batch = (self.repeats,)
        parts = [
            np.asarray(world.contexts(rng=rng, batch=batch))
            for world, rng in zip(self.environments, self._contexts, strict=True)
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

    def observe(self, x: FloatArray) -> FloatArray:
        """Return rewards (I, R, M) of arms with features (I, R, d)."""
        rewards = self._rewards.observe(x)
        shape = (*x.shape[:-1], self.environments[0].objectives)
        if rewards.shape != shape or not math.isfinite(np.vdot(rewards, rewards)):
            raise ValueError(
                f"environment: expected finite rewards of shape {shape[1:]} for each instance, got "
                f"shape {rewards.shape[1:]}, {np.count_nonzero(~np.isfinite(rewards))} not finite"
            )
        return rewards


def _same(part: FloatArray, before: FloatArray) -> bool:
    return part is before or (part.ndim == 2 and np.array_equal(part, before))


def _chosen_features(features: FloatArray, arms: IntArray) -> FloatArray:
    instance = np.arange(arms.shape[0])[:, None]
    repeat = np.arange(arms.shape[1]) if features.shape[1] > 1 else 0
    return np.asarray(features[instance, repeat, arms])


def _instances(environment: Environment | Sequence[Environment]) -> list[Environment]:
    worlds = list(environment) if isinstance(environment, Sequence) else [environment]
    if not worlds or not all(isinstance(world, Environment) for world in worlds):
        raise ValueError(
            f"environment: expected an environment or a sequence of them, got {environment!r}"
        )
    sizes = {(world.dim, world.arms, world.objectives) for world in worlds}
    if len(sizes) > 1:
        raise ValueError(
            f"environment: expected instances of equal sizes, got (d, K, M) = {sorted(sizes)}"
        )
    return worlds


def _seeds(seed: int | Sequence[int]) -> tuple[int, ...]:
    many = seed if isinstance(seed, Sequence) else (seed,)
    return tuple(count(number, "seed", minimum=0) for number in many)


def _rounds_noted(given: Sequence[int] | None, rounds: int) -> IntArray:
    """Return the checkpoints, increasing, the last being the last round."""
    if given is None:
        share = np.arange(1, min(rounds, _CHECKPOINTS) + 1) / min(rounds, _CHECKPOINTS)
        return np.round(share * rounds).astype(np.int64)
    noted = np.array([count(number, "checkpoints") for number in given] or [rounds], dtype=np.int64)
    if noted[-1] > rounds or (np.diff(noted) <= 0).any():
        raise ValueError(f"checkpoints: expected increasing rounds up to {rounds}, got {given!r}")
    return noted if noted[-1] == rounds else np.append(noted, rounds)
