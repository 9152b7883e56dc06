"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.live.agent import Agent
from mogro.live.catalogue import Catalogue, ExactIndex, Index
from mogro.live.decision import Decision, Outcome, Propensities
from mogro.live.errors import (
    BadReward,
    CannotMerge,
    ConflictingReward,
    DamagedSnapshot,
    NoArmClears,
    UnknownDecision,
    UnknownObjective,
)
from mogro.live.features import Scaling
from mogro.live.learning import HalfLife
from mogro.live.objective import Objective

__all__ = [
    "Agent",
    "BadReward",
    "CannotMerge",
    "Catalogue",
    "ConflictingReward",
    "DamagedSnapshot",
    "Decision",
    "ExactIndex",
    "HalfLife",
    "Index",
    "NoArmClears",
    "Objective",
    "Outcome",
    "Propensities",
    "Scaling",
    "UnknownDecision",
    "UnknownObjective",
]
