"""The policies as the reproductions run them (what the paper leaves open is settled here)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mogro._streams import Rng
from mogro._validation import IntArray
from mogro.environments import Environment, FixedArms
from mogro.exploration import (
    BasisRoundRobin,
    Exploration,
    ExplorationContext,
    Uniform,
    WeakestDirection,
)
from mogro.policies import (
    MOGRO,
    UCB,
    EffectiveFront,
    EpsilonGreedy,
    ExploreThenCommit,
    Oracle,
    Policy,
    RandomArm,
    ThompsonSampling,
)
from mogro.scalarization import FixedWeights, RandomWeights, RoundRobin, Scalarization


class Contender(Protocol):
    """Makes a policy for given instances; a frozen data class of plain values."""

    @property
    def label(self) -> str:
        """The name in tables and figures."""
        ...

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> Policy:
        """Return a new policy for these instances: ``batch`` is (I, R), or () for one learner."""
        ...


@dataclass(frozen=True, eq=False)
class Counted:
    """An exploration that counts its rounds, in ``explored`` of the shape of the batch."""

    rule: Exploration
    batch: tuple[int, ...]
    explored: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "explored", np.zeros(self.batch, dtype=np.int64))

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the learners that explore."""
        self.explored.reshape(-1)[context.learners] += 1
        return self.rule.choose(context, rng=rng)


@dataclass(frozen=True)
class Greedy:
    """MOGRO: without ``exploration``, the paper's; without ``threshold``, mogro's own."""

    label: str
    scalarization: Scalarization = RandomWeights()  # noqa: RUF009
    threshold: float | None = 1.0
    exploration: Exploration | None = None

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
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
class Commit:
    """Explore like MOGRO, then learn nothing more."""

    label: str = "explore-then-commit"
    threshold: float = 1.0

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> ExploreThenCommit:
        """Return a new policy for these instances."""
        return ExploreThenCommit(
            environments[0].dim,
            environments[0].objectives,
            threshold=self.threshold,
            exploration=_paper_exploration(environments, batch),
            batch=batch,
        )


@dataclass(frozen=True)
class EpsGreedy:
    """MOLB-epsilon-greedy."""

    label: str = "MOLB-eps-greedy"
    epsilon: float = 0.1

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> EpsilonGreedy:
        """Return a new policy for these instances."""
        world = environments[0]
        return EpsilonGreedy(world.dim, world.objectives, epsilon=self.epsilon, batch=batch)


@dataclass(frozen=True)
class Optimist:
    """MOLB-UCB, its radius times ``factor``."""

    label: str = "MOLB-UCB"
    factor: float = 1.0

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> UCB:
        """Return a new policy for these instances."""
        world = environments[0]
        return UCB(
            world.dim,
            world.objectives,
            noise=self.factor * world.noise,
            norm=self.factor,
            delta=1 / rounds,
            batch=batch,
        )


@dataclass(frozen=True)
class Thompson:
    """MOL-TS, its radius times ``factor``; selection as in the paper's experiments."""

    label: str = "MOL-TS"
    factor: float = 1.0
    selection: RandomWeights | EffectiveFront = RandomWeights()  # noqa: RUF009

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> ThompsonSampling:
        """Return a new policy for these instances."""
        world = environments[0]
        return ThompsonSampling(
            world.dim,
            world.objectives,
            noise=self.factor * world.noise,
            norm=self.factor,
            delta=1 / rounds,
            selection=self.selection,
            batch=batch,
        )


@dataclass(frozen=True)
class Knowing:
    """Random weights with the true parameters."""

    label: str = "oracle"

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> Oracle:
        """Return a new policy for these instances."""
        truth = np.stack([world.theta for world in environments])
        return Oracle(truth[:, None] if batch else truth[0], batch=batch)


@dataclass(frozen=True)
class Anything:
    """A uniformly random arm."""

    label: str = "random arm"

    def policy(
        self, environments: Sequence[Environment], *, rounds: int, batch: tuple[int, ...]
    ) -> RandomArm:
        """Return a new policy for these instances."""
        return RandomArm(environments[0].dim, environments[0].objectives, batch=batch)


def _paper_exploration(
    environments: Sequence[Environment], batch: tuple[int, ...]
) -> BasisRoundRobin | Uniform:
    """Return the paper's exploration: a basis where arms stay, otherwise anything."""
    fixed = [world.features for world in environments if isinstance(world, FixedArms)]
    if len(fixed) < len(environments):
        return Uniform()
    return BasisRoundRobin(np.stack(fixed)[:, None] if batch else fixed[0])


RW = Greedy("MOGRO-RW")
RR = Greedy("MOGRO-RR", scalarization=RoundRobin())
EPS = EpsGreedy()
OPTIMIST = Optimist()
THOMPSON = Thompson()
PAPER: tuple[Contender, ...] = (RW, RR, EPS, OPTIMIST, THOMPSON)
OWN = tuple(
    Greedy(label, scalarization=how, threshold=None, exploration=WeakestDirection())
    for label, how in (("MOGRO-RW default", RandomWeights()), ("MOGRO-RR default", RoundRobin()))
)
SINGLE_LABEL = "one objective only"


def single(objectives: int) -> Greedy:
    """Return a greedy policy that cares for the first objective only."""
    first = tuple(float(m == 0) for m in range(objectives))
    return Greedy(SINGLE_LABEL, scalarization=FixedWeights(first))
