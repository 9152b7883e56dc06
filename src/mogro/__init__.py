"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them."""

from mogro import environments, pareto, simulation, theory
from mogro._streams import Rng, Streams
from mogro.experiments.compare import Comparison, compare
from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.policies import (
    MOGRO,
    UCB,
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
from mogro.selection import EffectiveFront, ParetoFront
from mogro.simulation import Trace, simulate
from mogro.theory import Diagnosis, diagnose

__all__ = [
    "MOGRO",
    "UCB",
    "BasisRoundRobin",
    "Comparison",
    "Diagnosis",
    "EffectiveFront",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FixedWeights",
    "Oracle",
    "ParetoFront",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Rng",
    "RoundRobin",
    "Streams",
    "ThompsonSampling",
    "Trace",
    "Uniform",
    "WeakestDirection",
    "compare",
    "diagnose",
    "environments",
    "pareto",
    "simulate",
    "simulation",
    "single_objective_greedy",
    "theory",
]
