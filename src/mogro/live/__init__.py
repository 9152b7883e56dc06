"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.live.agent import Agent
from mogro.live.bilinear import Bilinear
from mogro.live.catalogue import Catalogue, ExactIndex, Index
from mogro.live.decisions import Decision, Propensities
from mogro.live.draws import draws
from mogro.live.encoding import Category, Encoder, Number, Tags, Vector
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
    "Category",
    "ConflictingReward",
    "DamagedSnapshot",
    "Decision",
    "Encoder",
    "ExactIndex",
    "Explanation",
    "Front",
    "HalfLife",
    "Index",
    "NoArmClears",
    "Number",
    "Objective",
    "Outcome",
    "Propensities",
    "Rival",
    "Scaling",
    "Tags",
    "UnknownDecision",
    "UnknownObjective",
    "Vector",
    "draws",
]
