"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.live.agent import Agent
from mogro.live.bilinear import Bilinear
from mogro.live.catalogue import Catalogue, ExactIndex, Index
from mogro.live.columns import Category, Number, Tags, Vector
from mogro.live.counters import Outcome
from mogro.live.decisions import Decision, DecisionRecord, Propensities
from mogro.live.draws import draws
from mogro.live.encoding import Encoder
from mogro.live.errors import (
    BadReward,
    ClosedAgent,
    ConflictingReward,
    DamagedJournal,
    DamagedSnapshot,
    DifferentSettings,
    JournalError,
    JournalUnavailable,
    NewerJournal,
    NoArmClears,
    UnknownDecision,
    UnknownObjective,
)
from mogro.live.features import Scaling
from mogro.live.learner import HalfLife
from mogro.live.objective import Objective
from mogro.live.views import Estimates, Explanation, Front, Rival

__all__ = [
    "Agent",
    "BadReward",
    "Bilinear",
    "Catalogue",
    "Category",
    "ClosedAgent",
    "ConflictingReward",
    "DamagedJournal",
    "DamagedSnapshot",
    "Decision",
    "DecisionRecord",
    "DifferentSettings",
    "Encoder",
    "Estimates",
    "ExactIndex",
    "Explanation",
    "Front",
    "HalfLife",
    "Index",
    "JournalError",
    "JournalUnavailable",
    "NewerJournal",
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
