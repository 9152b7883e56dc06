"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them.

These are the names to type. Types that they return, and the protocols for parts of your own, are in
the modules: ``mogro.policies``, ``mogro.environments``, ``mogro.scalarization``,
``mogro.exploration``, ``mogro.simulation``, ``mogro.evaluation`` and ``mogro.agent``.
``mogro.testing`` checks parts of your own, and ``mogro.errors`` has the exceptions of agents.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mogro import environments, pareto, priors
from mogro._streams import Rng, Streams
from mogro._version import __version__
from mogro.compare import compare
from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.policies import MOGRO, UCB, EpsilonGreedy, RandomArm, ThompsonSampling
from mogro.scalarization import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
)
from mogro.selection import EffectiveFront, ParetoFront
from mogro.simulation import simulate

if TYPE_CHECKING:
    from mogro import offpolicy, testing, theory
    from mogro.agent import (
        Agent,
        Budget,
        Catalogue,
        Category,
        Encoder,
        HalfLife,
        Number,
        Objective,
        Retention,
        Tags,
        Vector,
        errors,
    )
    from mogro.evaluation import evaluate, what_if
    from mogro.service.client import connect
    from mogro.theory import diagnose
else:
    # What many programs never use is loaded when it is first asked for.
    _MODULES = ("agent", "evaluation", "offpolicy", "testing", "theory")
    _HOMES = {
        "connect": "service.client",
        "diagnose": "theory",
        "evaluate": "evaluation",
        "what_if": "evaluation",
    }

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"mogro.{name}")
        if name not in __all__:
            raise AttributeError(f"module 'mogro' has no attribute {name!r}")
        value = getattr(import_module(f"mogro.{_HOMES.get(name, 'agent')}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*globals(), *_MODULES, *__all__]


__all__ = [
    "MOGRO",
    "UCB",
    "Agent",
    "BasisRoundRobin",
    "Budget",
    "Catalogue",
    "Category",
    "EffectiveFront",
    "Encoder",
    "EpsilonGreedy",
    "FixedWeights",
    "HalfLife",
    "Number",
    "Objective",
    "ParetoFront",
    "RandomArm",
    "RandomChebyshev",
    "RandomHypervolume",
    "RandomWeights",
    "Retention",
    "Rng",
    "RoundRobin",
    "Streams",
    "Tags",
    "ThompsonSampling",
    "Uniform",
    "Vector",
    "WeakestDirection",
    "__version__",
    "compare",
    "connect",
    "diagnose",
    "environments",
    "errors",
    "evaluate",
    "offpolicy",
    "pareto",
    "priors",
    "simulate",
    "testing",
    "theory",
    "what_if",
]
