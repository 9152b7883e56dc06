"""The policies of the league, with the settings of their defaults or papers."""

import importlib

from benchmarks.league import policies as others
from mogro import policies
from mogro.environments import Environment
from mogro.scalarization import RandomChebyshev, RandomHypervolume, RoundRobin
from mogro.simulation.run import takes_arm
from paper.lab.contenders import Player

PLAYERS = (
    Player("MOGRO", policies.MOGRO),
    Player("MOGRO, round robin", policies.MOGRO, (("scalarization", RoundRobin()),)),
    Player("MOGRO, hypervolume", policies.MOGRO, (("scalarization", RandomHypervolume()),)),
    Player("MOGRO, Chebyshev", policies.MOGRO, (("scalarization", RandomChebyshev()),)),
    Player("epsilon-greedy", policies.EpsilonGreedy),
    Player("explore, then commit", others.ExploreThenCommit),
    Player("UCB", policies.UCB, confident=True),
    Player("Thompson sampling", policies.ThompsonSampling, confident=True),
    Player("hypervolume UCB", policies.UCB, (("selection", RandomHypervolume()),), confident=True),
    Player(
        "hypervolume Thompson sampling",
        policies.ThompsonSampling,
        (("selection", RandomHypervolume()),),
        confident=True,
    ),
    Player("MOGLM-UCB", others.MOGLMUCB),
    Player("Pareto UCB1", others.ParetoUCB1),
    Player("Pareto Thompson sampling", others.ParetoThompsonSampling),
    Player("generalised Gini", others.GiniOGDE),
    Player("Frank-Wolfe", others.FrankWolfe, confident=True),
    Player("random arm", policies.RandomArm),
)


def by_index(player: Player, world: Environment) -> bool:
    """Tell whether a policy knows arms by their place only."""
    return takes_arm(player.make(world, 1)(world.dim, world.objectives))


def import_player(text: str) -> Player:
    """Return the policy that ``my_module:MyPolicy`` names.

    Examples
    --------
    >>> import_player("mogro.policies:RandomArm")
    Player(label='mogro.policies:RandomArm', settings=(), confident=False, factor=1.0)
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
