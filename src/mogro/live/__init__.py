"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.live.agent import Agent
from mogro.live.bilinear import Bilinear
from mogro.live.catalogue import Catalogue, ExactIndex, Index
from mogro.live.decisions import Decision, Propensities
from mogro.live.draws import draws
from mogro.live.errors import (
    BadReward,
    ConflictingReward,
    DamagedSnapshot,
    NoArmClears,
    UnknownDecision,
    UnknownObjective,
)
from mogro.live.features import Scaling
from mogro.live.learner import HalfLife
from mogro.live.objective import Objective
from mogro.live.state import Outcome
from mogro.live.views import Explanation, Front, Rival

__all__ = [
    "Agent",
    "BadReward",
    "Bilinear",
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
    "draws",
]
