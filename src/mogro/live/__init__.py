"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.live.agent import Agent
from mogro.live.deciding.decisions import Decision, DecisionRecord, Propensities
from mogro.live.deciding.draws import draws
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
from mogro.live.memory.counters import Outcome
from mogro.live.objective import HalfLife, Objective
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.catalogue import Catalogue, ExactIndex, Index
from mogro.live.offers.columns import Category, Number, Tags, Vector
from mogro.live.offers.encoding import Encoder
from mogro.live.offers.features import Scaling
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
