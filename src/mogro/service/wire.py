"""What goes over the wire: a type for every answer, and for the bodies that are no calls.

Routes, the description (:mod:`mogro.service.openapi`) and the client are made from these and from
:mod:`mogro.service.calls`. Decoding checks types, and the agent all else. What an agent returns
goes as it is, where that is a data class. A number that is not finite goes as null.
"""

import math
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct

from mogro._validation import FloatArray
from mogro.agent import Alarm, BudgetStatus, Decision, DecisionRecord, Objective, Outcome, Rival

T = TypeVar("T")
Id = Annotated[str, Meta(min_length=1, max_length=200)]
Name = Annotated[str, Meta(max_length=200)]
Value = float | str | bool | None | list[float | str]
Features = list[float] | dict[Name, Value]  # numbers, or a record
Arms = dict[Name, Features]
Weights = dict[Name, float] | list[float]


def to_lists(value: Any) -> Any:
    """Return an array as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"expected plain values and arrays, got {type(value).__name__}")


def _to_array(_: Any, value: Any) -> Any:
    return np.array(value)


encode = msgspec.json.Encoder(enc_hook=to_lists).encode


def decoder(body_type: type[T]) -> msgspec.json.Decoder[T]:
    """Return what reads one kind of body."""
    return msgspec.json.Decoder(body_type, dec_hook=_to_array)


def _struct_like(tuple_type: Any, **overrides: Any) -> Any:
    """Return a struct with the fields of a named tuple, which would go as a bare list."""
    fields = list((get_type_hints(tuple_type) | overrides).items())
    return msgspec.defstruct(f"{tuple_type.__name__}Answer", fields)


BudgetAnswer: Any = _struct_like(BudgetStatus, forecast=float | None)  # null: no decision yet
OutcomeAnswer: Any = _struct_like(Outcome)


class DecisionAnswer(Struct, frozen=True):
    """A decision: see :class:`mogro.agent.Decision`."""

    id: str
    arm: str
    exploring: bool
    uniform: bool
    holdout: bool
    time: float
    weights: dict[str, float] | None
    estimates: dict[str, float]


class DecisionsAnswer(Struct):
    """Several decisions, chosen together."""

    decisions: tuple[DecisionAnswer, ...]


class CountAnswer(Struct):
    """How many: of objectives withdrawn, windows closed, arms there are, decisions erased."""

    count: int


class ActivateAnswer(Struct):
    """Whether a decision was waiting to be activated."""

    waited: bool


class RecordAnswer(Struct, frozen=True):
    """A decision and what has become of it: see :class:`mogro.agent.DecisionRecord`.

    ``propensity`` is that of the chosen arm, with its standard error; null if nobody knows it.
    """

    decision: DecisionAnswer
    rewards: dict[str, float]
    status: dict[str, str]
    propensity: float | None
    propensity_error: float | None

    @property
    def pending(self) -> bool:
        """Whether something may still come."""
        return "pending" in self.status.values()


class ExplanationAnswer(Struct, frozen=True):
    """Why an arm was chosen: see :class:`mogro.agent.Explanation`."""

    decision: DecisionAnswer
    reason: str
    rivals: tuple[Rival, ...]


class TradeOffAnswer(Struct):
    """What a trade-off would have been worth, with intervals of 95 % for all together."""

    weights: dict[str, float]
    values: dict[str, float | None]
    low: dict[str, float | None]
    high: dict[str, float | None]
    trusted: bool


class WhatIfAnswer(Struct):
    """What trade-offs would have been worth."""

    rows: int
    trade_offs: list[TradeOffAnswer]
    warnings: list[str]


class Body(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A body of a request."""


class ErrorAnswer(Struct, omit_defaults=True):
    """What went wrong: the kind of error, the argument it is about, and words."""

    error: str
    message: str
    argument: str | None = None


class BatchAnswer(Struct):
    """The answer to one call of a batch: what it alone would have got."""

    status: int
    body: dict[str, Any]


class BatchAnswers(Struct):
    """Answers, in the order of the calls."""

    answers: list[BatchAnswer]


class DecisionId(Body):
    """A decision, by its id."""

    id: Id


class AlarmsAnswer(Struct):
    """What should be looked at."""

    alarms: tuple[Alarm, ...]


class ChangeAnswer(Struct, omit_defaults=True):
    """One change: when, by whose key, and what."""

    time: float
    by: str
    agent: str
    what: str
    detail: Any = None


class ConfigAnswer(Struct):
    """The settings of an agent as they are now, and who changed them before."""

    settings: dict[str, Any]
    changes: tuple[str, ...]  # of this request
    relearned: int
    unsure: int
    history: list[ChangeAnswer]


class PutArms(Body):
    """Arms of the catalogue: new ones, or other features for those that are there."""

    arms: Arms


class DropArms(Body):
    """Arms to take off the catalogue."""

    arms: list[Name]


class CatalogueAnswer(Struct):
    """The arms of the catalogue, as they were sent."""

    arms: dict[str, list[float] | dict[str, Any]]


class Erase(Body):
    """Decisions to remove from the record."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)]


class AgentAnswer(Struct):
    """An agent as it is now."""

    name: str
    objectives: tuple[Objective, ...]
    features: tuple[str, ...]
    theta: FloatArray
    intercept: FloatArray
    weights: dict[str, float] | None  # of decisions that are given none
    budgets: list[BudgetAnswer]  # how they stand
    counters: dict[str, int]
    observations: dict[str, float]
    catalogue: int


class AgentsAnswer(Struct):
    """The agents that a key may use."""

    agents: list[str]
    version: str


class HealthAnswer(Struct):
    """How the service is: ok, degraded (see the alarms) or failing, where it cannot write."""

    status: str
    agents: dict[str, str]


class AuditAnswer(Struct):
    """The last changes, the latest first."""

    changes: list[ChangeAnswer]


def decision_answer(decision: Decision) -> DecisionAnswer:
    """Return a decision as it goes over the wire."""
    return DecisionAnswer(*(getattr(decision, name) for name in DecisionAnswer.__struct_fields__))


def record_answer(record: DecisionRecord) -> RecordAnswer:
    """Return a decision with what has become of it."""
    decision = record.decision
    try:
        propensity = decision.propensity, decision.propensity_error
    except ValueError:  # nobody knows any more what it was based on
        propensity = math.nan, math.nan
    return RecordAnswer(decision_answer(decision), record.rewards, record.status, *propensity)
