"""Running time as a task: policies take turns, one learner at a time or many in lockstep."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mogro import Rng, Streams
from mogro.environments import LinearEnvironment
from mogro.pareto import front
from mogro.policies import UCB, EpsilonGreedy, Policy
from paper.lab.arrays import FloatArray
from paper.lab.contenders import (
    EPS,
    OPTIMIST,
    RR,
    RR_AT_1,
    RW,
    RW_AT_1,
    THOMPSON,
    Contender,
    Player,
)
from paper.lab.worlds import Fixed

if TYPE_CHECKING:
    from paper.lab.parallel import Arrays

_TURNS = 20


@dataclass(frozen=True)
class WholeFront:
    """A baseline as the paper built it: the whole Pareto front every round, then a choice."""

    inner: Player

    @property
    def label(self) -> str:
        """The name in tables and figures."""
        return self.inner.label

    def policy(
        self, environments: Sequence[LinearEnvironment], *, rounds: int, batch: tuple[int, ...]
    ) -> Policy:
        """Return a new policy of one learner."""
        return _FrontFirst(self.inner.policy(environments, rounds=rounds, batch=batch))


class _FrontFirst:
    def __init__(self, inner: EpsilonGreedy | UCB) -> None:
        self._inner = inner

    def select(self, features: FloatArray, *, rng: Any) -> int:
        inner = self._inner
        values = features @ inner.theta.T
        if isinstance(inner, UCB):
            values = values + (inner.radius * np.sqrt(inner.beliefs().variances(features)))
        members = np.flatnonzero(front(values))
        if isinstance(inner, EpsilonGreedy) and rng.random() < inner.epsilon:
            return int(rng.integers(len(features)))
        return int(rng.choice(members))

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        self._inner.update(features, reward)


WITH_WHOLE_FRONTS: tuple[Contender, ...] = (
    RW,
    RR,
    RW_AT_1,
    RR_AT_1,
    WholeFront(EPS),
    WholeFront(OPTIMIST),
    THOMPSON,
)


@dataclass(frozen=True)
class Stopwatch:
    """The times that policies take for their rounds in one instance: choosing and learning.

    They take turns, a few rounds each, so that what else the machine does meets all alike.
    """

    world: Fixed
    contenders: tuple[Contender, ...]
    rounds: int
    seed: int
    instance: int
    learners: int = 1

    exclusive: ClassVar[bool] = True

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        dim, arms, objectives = self.world.sizes
        each = 4e-5 + 2e-9 * arms * dim * objectives if self.learners == 1 else 4e-5
        return self.rounds * each * self.learners * len(self.contenders)

    def run(self) -> "Arrays":
        """Play, and return seconds per learner, one number for each contender."""
        players = [_Player(self, contender) for contender in self.contenders]
        for turn in np.array_split(np.arange(self.rounds), _TURNS):
            for player in players:
                player.play(len(turn))
        return {"seconds": np.array([player.spent for player in players]) / self.learners}


class _Player:
    """A policy at its game, with the time it has spent so far."""

    def __init__(self, watch: Stopwatch, contender: Contender) -> None:
        self._world = watch.world.instance(watch.instance, watch.seed)
        single = watch.learners == 1
        batch = () if single else (1, watch.learners)
        self._policy = contender.policy([self._world], rounds=watch.rounds, batch=batch)
        generators = [np.random.default_rng([watch.seed, n]) for n in range(watch.learners)]
        self._rng: Rng = generators[0] if single else Streams([generators], ahead=True)
        self._noise = np.random.default_rng(watch.seed)
        self.spent = 0.0

    def play(self, rounds: int) -> None:
        world, policy = self._world, self._policy
        for _ in range(rounds):
            start = time.process_time()
            arm = policy.select(world.features, rng=self._rng)
            self.spent += time.process_time() - start
            reward = world.reward(arm, rng=self._noise)
            x = world.features[arm]
            start = time.process_time()
            policy.update(x, reward)
            self.spent += time.process_time() - start
