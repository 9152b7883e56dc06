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
from mogro.evaluation import Recommendation, Replay, WhatIf, evaluate, replay, what_if
from mogro.exploration import BasisRoundRobin, Exploration, Uniform, WeakestDirection
from mogro.live import (
    Agent,
    Bilinear,
    Catalogue,
    Category,
    Decision,
    Encoder,
    HalfLife,
    Number,
    Objective,
    Outcome,
    Scaling,
    Tags,
    Vector,
    errors,
)
from mogro.policies import (
    MOGLMUCB,
    MOGRO,
    UCB,
    AlphaFairness,
    EpsilonGreedy,
    ExploreThenCommit,
    FrankWolfe,
    GiniOGDE,
    LinearPolicy,
    Oracle,
    ParetoThompsonSampling,
    ParetoUCB1,
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
    "MOGLMUCB",
    "MOGRO",
    "UCB",
    "Agent",
    "AlphaFairness",
    "BasisRoundRobin",
    "Beliefs",
    "Bilinear",
    "Catalogue",
    "Category",
    "Comparison",
    "Decision",
    "Diagnosis",
    "EffectiveFront",
    "Encoder",
    "Environment",
    "EpsilonGreedy",
    "Exploration",
    "ExploreThenCommit",
    "FixedWeights",
    "FrankWolfe",
    "GiniOGDE",
    "HalfLife",
    "LinearPolicy",
    "Number",
    "Objective",
    "Oracle",
    "Outcome",
    "ParetoFront",
    "ParetoThompsonSampling",
    "ParetoUCB1",
    "Policy",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Recommendation",
    "Replay",
    "Rng",
    "RoundRobin",
    "Scalarization",
    "Scaling",
    "Streams",
    "Tags",
    "ThompsonSampling",
    "Trace",
    "Uniform",
    "Vector",
    "WeakestDirection",
    "WhatIf",
    "__version__",
    "compare",
    "diagnose",
    "environments",
    "errors",
    "evaluate",
    "live",
    "offpolicy",
    "pareto",
    "replay",
    "simulate",
    "simulation",
    "single_objective_greedy",
    "testing",
    "theory",
    "what_if",
]
