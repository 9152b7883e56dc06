"""Live use: decisions with ids, late and partial rewards, arms that come and go."""

from mogro.agent.agent import Agent
from mogro.agent.alarms import Alarm
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.decision import Decision, DecisionRecord, Propensities, decision_generator
from mogro.agent.errors import (
    BadReward,
    ClosedAgent,
    ConflictingReward,
    DamagedJournal,
    DamagedSnapshot,
    DifferentConfig,
    ImplausibleTime,
    InfeasibleConstraints,
    JournalError,
    JournalUnavailable,
    NewerJournal,
    UnknownDecision,
    UnknownObjective,
)
from mogro.agent.explanation import Explanation, Rival
from mogro.agent.features.catalogue import Catalogue, ExactIndex, Index
from mogro.agent.features.columns import Category, Number, Tags, Vector
from mogro.agent.features.encoder import Encoder
from mogro.agent.objective import HalfLife, Objective, Retention
from mogro.agent.state.counters import Outcome, Reconfiguration
from mogro.agent.views import Estimates, Front

__all__ = [
    "Agent",
    "Alarm",
    "BadReward",
    "Budget",
    "BudgetStatus",
    "Catalogue",
    "Category",
    "ClosedAgent",
    "ConflictingReward",
    "DamagedJournal",
    "DamagedSnapshot",
    "Decision",
    "DecisionRecord",
    "DifferentConfig",
    "Encoder",
    "Estimates",
    "ExactIndex",
    "Explanation",
    "Front",
    "HalfLife",
    "ImplausibleTime",
    "Index",
    "InfeasibleConstraints",
    "JournalError",
    "JournalUnavailable",
    "NewerJournal",
    "Number",
    "Objective",
    "Outcome",
    "Propensities",
    "Reconfiguration",
    "Retention",
    "Rival",
    "Tags",
    "UnknownDecision",
    "UnknownObjective",
    "Vector",
    "decision_generator",
]
