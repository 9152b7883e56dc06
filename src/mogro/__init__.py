"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them.

The exceptions of live use are in ``mogro.errors``; the protocols that parts of your own have to
meet are ``Policy``, ``Environment``, ``Scalarization`` and ``Exploration``, and ``mogro.testing``
checks whether they do.
"""

from mogro import environments, live, offpolicy, pareto, simulation, testing, theory
from mogro._streams import Rng, Streams
from mogro._version import __version__
from mogro.choice import Beliefs
from mogro.compare import Comparison, compare
from mogro.environments import Environment
from mogro.exploration import BasisRoundRobin, Exploration, Uniform, WeakestDirection
from mogro.live import Agent, Catalogue, Decision, HalfLife, Objective, Outcome, Scaling, errors
from mogro.policies import (
    MOGRO,
    UCB,
    EpsilonGreedy,
    ExploreThenCommit,
    LinearPolicy,
    Oracle,
    Policy,
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
    Scalarization,
)
from mogro.selection import EffectiveFront, ParetoFront
from mogro.simulation import Trace, simulate
from mogro.theory import Diagnosis, diagnose

__all__ = [
    "MOGRO",
    "UCB",
    "Agent",
    "BasisRoundRobin",
    "Beliefs",
    "Catalogue",
    "Comparison",
    "Decision",
    "Diagnosis",
    "EffectiveFront",
    "Environment",
    "EpsilonGreedy",
    "Exploration",
    "ExploreThenCommit",
    "FixedWeights",
    "HalfLife",
    "LinearPolicy",
    "Objective",
    "Oracle",
    "Outcome",
    "ParetoFront",
    "Policy",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Rng",
    "RoundRobin",
    "Scalarization",
    "Scaling",
    "Streams",
    "ThompsonSampling",
    "Trace",
    "Uniform",
    "WeakestDirection",
    "__version__",
    "compare",
    "diagnose",
    "environments",
    "errors",
    "live",
    "offpolicy",
    "pareto",
    "simulate",
    "simulation",
    "single_objective_greedy",
    "testing",
    "theory",
]
