"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them."""

from mogro import environments, live, pareto
from mogro._streams import Rng, Streams
from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.live import Agent, Catalogue, Decision, HalfLife, Objective, Outcome, Scaling
from mogro.policies import (
    MOGRO,
    UCB,
    EffectiveFront,
    EpsilonGreedy,
    ExploreThenCommit,
    Oracle,
    RandomArm,
    ThompsonSampling,
    single_objective_greedy,
)
from mogro.scalarization import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
)

__all__ = [
    "MOGRO",
    "UCB",
    "Agent",
    "BasisRoundRobin",
    "Catalogue",
    "Decision",
    "EffectiveFront",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FixedWeights",
    "HalfLife",
    "Objective",
    "Oracle",
    "Outcome",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Rng",
    "RoundRobin",
    "Scaling",
    "Streams",
    "ThompsonSampling",
    "Uniform",
    "WeakestDirection",
    "environments",
    "live",
    "pareto",
    "single_objective_greedy",
]
