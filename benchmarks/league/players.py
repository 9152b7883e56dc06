"""The policies of the league, with the settings of their defaults or papers."""

import ast
import importlib

from benchmarks.league import policies as others
from mogro import policies
from mogro.environments import Environment
from mogro.scalarization import FixedWeights, RandomChebyshev, RandomHypervolume, RoundRobin
from mogro.simulation._learners import takes_arm
from paper.lab.contenders import Player


def mean_ucb(
    dim: int,
    objectives: int,
    *,
    noise: float,
    delta: float,
    norm: float,
    batch: tuple[int, ...] = (),
) -> policies.UCB:
    """Make LinUCB for the mean of all objectives: what one does who sees no conflict."""
    mean = FixedWeights([1 / objectives] * objectives)
    return policies.UCB(
        dim, objectives, noise=noise, delta=delta, norm=norm, selection=mean, batch=batch
    )


PLAYERS = (
    Player("MOGRO", policies.MOGRO),
    Player("MOGRO, round robin", policies.MOGRO, (("scalarization", RoundRobin()),)),
    Player("MOGRO, hypervolume", policies.MOGRO, (("scalarization", RandomHypervolume()),)),
    Player("MOGRO, Chebyshev", policies.MOGRO, (("scalarization", RandomChebyshev()),)),
    Player("epsilon-greedy", policies.EpsilonGreedy),
    Player("explore, then commit", others.ExploreThenCommit),
    Player("LinUCB, mean reward", mean_ucb, confident=True),
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
    """Return the policy of ``LABEL=my_module:MyPolicy?setting=1``; label and settings may miss.

    Examples
    --------
    >>> import_player("none=mogro.policies:RandomArm")
    Player(label='none', settings=(), confident=False, factor=1.0)
    >>> import_player("lazy=mogro:EpsilonGreedy?epsilon=0.01&ridge=2").settings
    (('epsilon', 0.01), ('ridge', 2))
    """
    label, is_labelled, location = text.partition("?")[0].rpartition("=")
    module, _, name = location.partition(":")
    try:
        policy = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"policy: expected module:Class that can be imported here, got {text!r}: {error}"
        ) from error
    if not callable(policy):
        raise ValueError(f"policy: expected a class or function, got {policy!r} from {text!r}")
    settings = tuple(map(_setting, filter(None, text.partition("?")[2].split("&"))))
    try:
        trial = policy(2, 2, **dict(settings))
    except Exception as error:
        raise ValueError(
            "policy: expected one that is made with (dim, objectives) and the settings given, "
            f"got {text!r}: {error}"
        ) from error
    for method in ("select", "update"):
        if not callable(getattr(trial, method, None)):
            raise ValueError(f"policy: expected a method {method}, got {text!r} without it")
    return Player(label if is_labelled else text, policy, settings)


def _setting(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value
