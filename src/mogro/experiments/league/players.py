"""The policies of the league, with the settings of their defaults or papers."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mogro.environments import Environment
from mogro.policies import (
    MOGLMUCB,
    MOGRO,
    UCB,
    EpsilonGreedy,
    ExploreThenCommit,
    FrankWolfe,
    GiniOGDE,
    ParetoThompsonSampling,
    ParetoUCB1,
    RandomArm,
    ThompsonSampling,
)
from mogro.scalarization import RandomChebyshev, RandomHypervolume, RoundRobin
from mogro.simulation import MakePolicy
from mogro.simulation._learners import takes_arm

_BOUNDED = 0.5  # sub-Gaussian bound of rewards within a range of 1, where a world names no noise


@dataclass(frozen=True)
class Player:
    """A policy and its settings.

    Attributes
    ----------
    name
        As in tables.
    policy
        The class or function that makes it.
    settings
        Its settings, by name.
    confident
        Whether it has to be told ``noise`` and ``delta``; it gets that of the world, and 1 / T.
    """

    name: str
    policy: Callable[..., Any] = field(repr=False)
    settings: tuple[tuple[str, object], ...] = ()
    confident: bool = False

    def make(self, world: Environment, rounds: int) -> MakePolicy:
        """Return what makes the policy for a world."""
        own = {"noise": getattr(world, "noise", _BOUNDED), "delta": 1 / rounds}
        return partial(self.policy, **dict(self.settings), **(own if self.confident else {}))

    def by_place(self, world: Environment) -> bool:
        """Tell whether the policy knows arms by their place only."""
        return takes_arm(self.make(world, 1)(world.dim, world.objectives))


PLAYERS = (
    Player("MOGRO", MOGRO),
    Player("MOGRO, round robin", MOGRO, (("scalarization", RoundRobin()),)),
    Player("MOGRO, hypervolume", MOGRO, (("scalarization", RandomHypervolume()),)),
    Player("MOGRO, Chebyshev", MOGRO, (("scalarization", RandomChebyshev()),)),
    Player("epsilon-greedy", EpsilonGreedy),
    Player("explore, then commit", ExploreThenCommit),
    Player("UCB", UCB, confident=True),
    Player("Thompson sampling", ThompsonSampling, confident=True),
    Player("hypervolume UCB", UCB, (("selection", RandomHypervolume()),), confident=True),
    Player(
        "hypervolume Thompson sampling",
        ThompsonSampling,
        (("selection", RandomHypervolume()),),
        confident=True,
    ),
    Player("MOGLM-UCB", MOGLMUCB),
    Player("Pareto UCB1", ParetoUCB1),
    Player("Pareto Thompson sampling", ParetoThompsonSampling),
    Player("generalised Gini", GiniOGDE),
    Player("Frank-Wolfe", FrankWolfe, confident=True),
    Player("random arm", RandomArm),
)


def own_player(text: str) -> Player:
    """Return the policy that ``my_module:MyPolicy`` names.

    Examples
    --------
    >>> own_player("mogro.policies:RandomArm")
    Player(name='mogro.policies:RandomArm', settings=(), confident=False)
    """
    module, _, name = text.partition(":")
    try:
        policy = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"policy: expected module:Class that can be imported here, got {text!r}: {error}"
        ) from error
    if not callable(policy):
        raise ValueError(f"policy: expected a class or function, got {policy!r} from {text!r}")
    try:
        made = policy(2, 2)
    except Exception as error:
        raise ValueError(
            f"policy: expected one that is made with (dim, objectives) alone, got {text!r}: {error}"
        ) from error
    for method in ("select", "update"):
        if not callable(getattr(made, method, None)):
            raise ValueError(f"policy: expected a method {method}, got {text!r} without it")
    return Player(text, policy)
