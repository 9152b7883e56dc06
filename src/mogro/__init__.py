"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them.

These are the names to type; the types that they return are in the modules. ``mogro.errors`` has the
exceptions of agents. ``Policy``, ``Environment``, ``Scalarization`` and ``Exploration`` are the
protocols for parts of your own, and ``mogro.testing`` checks such parts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mogro import environments, pareto, priors, simulation
from mogro._streams import Rng, Streams
from mogro._version import __version__
from mogro.compare import compare
from mogro.environments import Environment
from mogro.exploration import BasisRoundRobin, Exploration, Uniform, WeakestDirection
from mogro.policies import (
    MOGRO,
    UCB,
    EpsilonGreedy,
    LinearPolicy,
    Policy,
    RandomArm,
    ThompsonSampling,
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

if TYPE_CHECKING:
    from mogro import agent, offpolicy, testing, theory
    from mogro.agent import (
        Agent,
        Catalogue,
        Category,
        Decision,
        Encoder,
        HalfLife,
        Number,
        Objective,
        Retention,
        Tags,
        Vector,
        errors,
    )
    from mogro.evaluation import evaluate, replay, what_if
    from mogro.theory import diagnose
else:
    _ROOMS = {
        "mogro.agent": (
            *("Agent", "Catalogue", "Category", "Decision", "Encoder", "HalfLife", "Number"),
            *("Objective", "Retention", "Tags", "Vector", "errors"),
        ),
        "mogro.evaluation": ("evaluate", "replay", "what_if"),
        "mogro.theory": ("diagnose",),
    }
    _HOMES = {name: room for room, names in _ROOMS.items() for name in names}

    def __getattr__(name: str) -> Any:
        """Load what many programs never use when it is first asked for."""
        if name in ("agent", "offpolicy", "testing", "theory"):
            return import_module(f"mogro.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'mogro' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*globals(), *__all__]


__all__ = [
    "MOGRO",
    "UCB",
    "Agent",
    "BasisRoundRobin",
    "Catalogue",
    "Category",
    "Decision",
    "EffectiveFront",
    "Encoder",
    "Environment",
    "EpsilonGreedy",
    "Exploration",
    "FixedWeights",
    "HalfLife",
    "LinearPolicy",
    "Number",
    "Objective",
    "ParetoFront",
    "Policy",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Retention",
    "Rng",
    "RoundRobin",
    "Scalarization",
    "Streams",
    "Tags",
    "ThompsonSampling",
    "Trace",
    "Uniform",
    "Vector",
    "WeakestDirection",
    "__version__",
    "agent",
    "compare",
    "diagnose",
    "environments",
    "errors",
    "evaluate",
    "offpolicy",
    "pareto",
    "priors",
    "replay",
    "simulate",
    "simulation",
    "testing",
    "theory",
    "what_if",
]
