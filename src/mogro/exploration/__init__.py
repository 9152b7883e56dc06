"""The first rounds: which arm to pull while some direction has been seen too little.

A direction u of norm 1 is known once ``u^T V^+ u``, the variance of an estimate along it, is at
most ``1 / threshold``. A policy explores until that holds for all of the span of the arms on offer.
With arms that stay the same this is the paper's test, the smallest eigenvalue of V restricted to
the span of the features; with arms that change it also lets a learner go on when nothing on offer
could teach it anything.

All is computed from ``V^+`` and the projector on the directions never seen, within the span of the
arms: an eigenvalue problem of size K for few arms, of size d for many. Answers depend on
eigenspaces, never on the eigenvectors by which LAPACK happens to describe them.
"""

from mogro.exploration.needs import (
    DEFAULT_SHARE,
    SATISFIED,
    default_threshold,
    explores,
    gains,
    needs,
    single_threshold,
)
from mogro.exploration.settled import Settled
from mogro.exploration.strategies import (
    BasisRoundRobin,
    Exploration,
    ExplorationContext,
    Uniform,
    WeakestDirection,
    check_exploration,
)

__all__ = [
    "DEFAULT_SHARE",
    "SATISFIED",
    "BasisRoundRobin",
    "Exploration",
    "ExplorationContext",
    "Settled",
    "Uniform",
    "WeakestDirection",
    "check_exploration",
    "default_threshold",
    "explores",
    "gains",
    "needs",
    "single_threshold",
]
