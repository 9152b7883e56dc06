"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them."""

from mogro import environments, live, offpolicy, pareto, simulation, theory
from mogro._streams import Rng, Streams
from mogro.experiments.compare import Comparison, compare
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
from mogro.simulation import Trace, simulate
from mogro.theory import Diagnosis, diagnose

__all__ = [
    "MOGRO",
    "UCB",
    "Agent",
    "BasisRoundRobin",
    "Catalogue",
    "Comparison",
    "Decision",
    "Diagnosis",
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
    "Trace",
    "Uniform",
    "WeakestDirection",
    "compare",
    "diagnose",
    "environments",
    "live",
    "offpolicy",
    "pareto",
    "simulate",
    "simulation",
    "single_objective_greedy",
    "theory",
]
