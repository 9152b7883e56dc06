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
from mogro.live.views import Explanation, Front, Rival

__all__ = [
    "Agent",
    "BadReward",
    "CannotMerge",
    "Catalogue",
    "ConflictingReward",
    "DamagedSnapshot",
    "Decision",
    "ExactIndex",
    "Explanation",
    "Front",
    "HalfLife",
    "Index",
    "NoArmClears",
    "Objective",
    "Outcome",
    "Propensities",
    "Rival",
    "Scaling",
    "UnknownDecision",
    "UnknownObjective",
]
