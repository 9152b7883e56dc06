"""The policies as the reproductions run them (what the paper leaves open is settled here)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from mogro import Rng
from mogro.environments import Environment, FixedArms, LinearEnvironment
from mogro.exploration import (
    BasisRoundRobin,
    Exploration,
    ExplorationContext,
    Uniform,
    WeakestDirection,
)
from mogro.policies import MOGRO, UCB, EpsilonGreedy, Policy, ThompsonSampling
from mogro.scalarization import FixedWeights, RandomWeights, RoundRobin, Scalarization
from paper.lab.arrays import IntArray

_BOUNDED = 0.5  # sub-Gaussian bound of rewards within a range of 1, where a world names no noise


class Contender(Protocol):
    """Makes a policy for given instances; a frozen data class of plain values."""

    @property
    def label(self) -> str:
        """The name in tables and figures."""

    def policy(
        self, environments: Sequence[LinearEnvironment], *, rounds: int, batch: tuple[int, ...]
    ) -> Policy:
        """Return a new policy for these instances: ``batch`` is (I, R), or () for one learner."""


@dataclass(frozen=True, eq=False)
class Counted:
    """An exploration that counts its rounds, in ``explored`` of the shape of the batch."""

    exploration: Exploration
    batch: tuple[int, ...]
    explored: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "explored", np.zeros(self.batch, dtype=np.int64))

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the learners that explore."""
        self.explored.reshape(-1)[context.learners] += 1
        return self.exploration.choose(context, rng=rng)


@dataclass(frozen=True)
class Greedy:
    """MOGRO; without ``threshold`` mogro's default, without ``exploration`` the paper's."""

    label: str
    scalarization: Scalarization = RandomWeights()  # noqa: RUF009
    threshold: float | None = None
    exploration: Exploration | None = WeakestDirection()  # noqa: RUF009

    def policy(
        self, environments: Sequence[LinearEnvironment], *, rounds: int, batch: tuple[int, ...]
    ) -> MOGRO:
        """Return a new policy for these instances."""
        return MOGRO(
            environments[0].dim,
            environments[0].objectives,
            threshold=self.threshold,
            scalarization=self.scalarization,
            exploration=Counted(self.exploration or _paper_exploration(environments, batch), batch),
            batch=batch,
        )


@dataclass(frozen=True)
class Player:
    """A policy and its settings.

    Attributes
    ----------
    label
        As in tables.
    kind
        The class or function that makes it.
    settings
        Its settings, by name.
    confident
        Whether it has to be told ``noise`` and ``delta``; it gets that of the world, and 1 / T.
    factor
        Of its confidence radius.
    """

    label: str
    kind: Callable[..., Any] = field(repr=False)
    settings: tuple[tuple[str, object], ...] = ()
    confident: bool = False
    factor: float = 1.0

    def make(self, world: Environment, rounds: int) -> Callable[..., Any]:
        """Return what makes the policy for a world."""
        constants = {}
        if self.confident:
            noise = self.factor * getattr(world, "noise", _BOUNDED)
            constants = {"noise": noise, "norm": self.factor, "delta": 1 / rounds}
        return partial(self.kind, **dict(self.settings), **constants)

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> Any:
        """Return a new policy for these instances."""
        world = environments[0]
        return self.make(world, rounds)(world.dim, world.objectives, batch=batch)


def _paper_exploration(
    environments: Sequence[LinearEnvironment], batch: tuple[int, ...]
) -> BasisRoundRobin | Uniform:
    """Return the paper's exploration: a basis where arms stay, otherwise anything."""
    fixed = [world.features for world in environments if isinstance(world, FixedArms)]
    if len(fixed) < len(environments):
        return Uniform()
    return BasisRoundRobin(np.stack(fixed)[:, None] if batch else fixed[0])


def optimist(label: str, factor: float = 1.0) -> Player:
    """Return MOLB-UCB, its radius times a factor."""
    return Player(label, UCB, confident=True, factor=factor)


def thompson(label: str, factor: float = 1.0) -> Player:
    """Return MOL-TS, its radius times a factor; selection as in the paper's experiments."""
    selection = ("selection", RandomWeights())
    return Player(label, ThompsonSampling, (selection,), confident=True, factor=factor)


EPS = Player("MOLB-eps-greedy", EpsilonGreedy, (("epsilon", 0.1),))
OPTIMIST = optimist("MOLB-UCB")
THOMPSON = thompson("MOL-TS")
BASELINES: tuple[Contender, ...] = (EPS, OPTIMIST, THOMPSON)

# The paper does not say which threshold B it explored with: mogro's default, and 1 beside it.
RW = Greedy("MOGRO-RW")
RR = Greedy("MOGRO-RR", scalarization=RoundRobin())
RW_AT_1 = Greedy("MOGRO-RW, B = 1", threshold=1.0, exploration=None)
RR_AT_1 = Greedy("MOGRO-RR, B = 1", scalarization=RoundRobin(), threshold=1.0, exploration=None)
BY_SETTING = {
    "at mogro's default": (RW, RR),
    "at B = 1 with the paper's exploration": (RW_AT_1, RR_AT_1),
}

FIVE: tuple[Contender, ...] = (RW, RR, *BASELINES)
ALL: tuple[Contender, ...] = (RW, RR, RW_AT_1, RR_AT_1, *BASELINES)


def single(objectives: int) -> Greedy:
    """Return a greedy policy that cares for the first objective only."""
    first = tuple(float(m == 0) for m in range(objectives))
    return Greedy("one objective only", scalarization=FixedWeights(first))
