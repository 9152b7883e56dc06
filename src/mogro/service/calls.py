"""Calls of an agent: what each takes, who may make it, which method carries it out."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
from msgspec import Meta

from mogro._validation import BoolArray
from mogro.agent import Agent, Catalogue, Decision, Estimates, Front, Outcome, Propensities
from mogro.service import wire
from mogro.service.keys import Role


class Call(wire.Body, tag_field="call"):
    """A call of an agent's method: its fields are the arguments."""

    method: ClassVar[Any]
    response_type: ClassVar[Any]  # type of the answer
    role: ClassVar[Role]  # that a key needs

    @property
    def roles(self) -> tuple[Role, ...]:
        """All roles that a key needs for what this call asks."""
        return (self.role,)

    def execute(self, agent: Agent, catalogue: Catalogue) -> Any:
        """Ask the agent; arms are those sent along, or else those of the catalogue."""
        arguments = {name: getattr(self, name) for name in self.__struct_fields__}
        if "arms" in arguments and arguments["arms"] is None:
            arguments["arms"] = catalogue
        if arguments.get("eligible") is not None:
            arguments["eligible"] = _mask(arguments["arms"], set(arguments["eligible"]))
        result = type(self).method(agent, **arguments)
        convert = _CONVERSIONS.get(type(result))
        return result if convert is None else convert(result)


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {  # of what methods return, for the wire
    Decision: wire.decision_answer,
    tuple: lambda decisions: wire.DecisionsAnswer(tuple(map(wire.decision_answer, decisions))),
    Outcome: lambda outcome: wire.OutcomeAnswer(*outcome),
    bool: wire.ActivateAnswer,
    int: wire.CountAnswer,
}


def _mask(arms: Any, eligible: set[str]) -> BoolArray:
    """Return which arms on offer are eligible, by their ids."""
    offered_ids = arms.version().ids if isinstance(arms, Catalogue) else tuple(arms)
    unknown_ids = eligible.difference(offered_ids)
    if unknown_ids:
        raise ValueError(f"eligible: expected arms on offer, got {sorted(unknown_ids)[:3]}")
    return np.array([arm in eligible for arm in offered_ids], dtype=np.bool_)


class ArmsCall(Call):
    """A call with arms on offer."""

    arms: wire.Arms | None = None
    context: wire.Features | None = None


class ChoiceCall(ArmsCall):
    """A choice among arms: see :meth:`mogro.Agent.decide`."""

    weights: wire.Weights | None = None
    eligible: list[wire.Name] | None = None
    at_least: dict[wire.Name, float] | None = None
    at_most: dict[wire.Name, float] | None = None
    certainty: float = 0.5
    now: float | None = None


class DecideCall(ChoiceCall):
    """A choice that is made: it has an id."""

    role: ClassVar[Role] = "decide"
    id: wire.Id | None = None
    activate: bool = True
    subject: wire.Id | None = None


class Decide(DecideCall, tag="decide"):
    """Choose an arm."""

    method, response_type = Agent.decide, wire.DecisionAnswer
    sticky: bool = False


class DecideTop(DecideCall, tag="decide-top", kw_only=True):
    """Choose several arms."""

    method, response_type = Agent.decide_top, wire.DecisionsAnswer
    top: Annotated[int, Meta(ge=1, le=1000)]


class Observe(ArmsCall, tag="observe", kw_only=True):
    """Take over a decision that somebody else has made."""

    method, response_type = Agent.observe, wire.DecisionAnswer
    role: ClassVar[Role] = "decide"
    arm: wire.Name
    rewards: dict[wire.Name, float] | None = None
    propensity: float | None = None
    id: wire.Id | None = None
    eligible: list[wire.Name] | None = None
    now: float | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        """Who says what came of it gives rewards."""
        return ("decide",) if self.rewards is None else ("decide", "reward")


class DecisionCall(Call, kw_only=True):
    """A call about a decision that was made."""

    role: ClassVar[Role] = "reward"
    id: wire.Id
    now: float | None = None


class Reward(DecisionCall, tag="reward", kw_only=True):
    """Give rewards to a decision."""

    method, response_type = Agent.reward, wire.OutcomeAnswer
    values: dict[wire.Name, float]


class Activate(DecisionCall, tag="activate"):
    """Say that the arm of a decision is really shown."""

    method, response_type = Agent.activate, wire.ActivateAnswer


class Withdraw(DecisionCall, tag="withdraw"):
    """Say that the arm of a decision was not shown after all."""

    method, response_type = Agent.withdraw, wire.CountAnswer


class Expire(Call, tag="expire"):
    """Close all windows that end by a time."""

    method, response_type = Agent.expire, wire.CountAnswer
    role: ClassVar[Role] = "reward"
    now: float | None = None


WriteCall = Decide | DecideTop | Observe | Reward | Activate | Withdraw | Expire
RESPONSE_TYPES = {kind.__struct_config__.tag: kind.response_type for kind in get_args(WriteCall)}


class FindEstimates(ArmsCall, tag="estimate"):
    """Say what is believed of arms: see :meth:`mogro.Agent.estimate`."""

    method, response_type = Agent.estimate, Estimates
    role: ClassVar[Role] = "read"


class FindFront(ArmsCall, tag="front"):
    """Return the estimated front of arms, and with a confidence what is certain of it."""

    method, response_type = Agent.front, Front
    role: ClassVar[Role] = "read"
    confidence: float | None = None
    noise: float | dict[wire.Name, float] | None = None


class FindProbabilities(ChoiceCall, tag="probabilities"):
    """Say how likely each arm would be chosen; nothing happens."""

    method, response_type = Agent.probabilities, Propensities
    role: ClassVar[Role] = "read"


def _what_if(agent: Agent, trade_offs: list[dict[str, float]] | None) -> wire.WhatIfAnswer:
    from mogro.evaluation import what_if

    result = what_if(agent, trade_offs)
    columns = [
        [dict(zip(result.objective_set.names, row, strict=True)) for row in column.tolist()]
        for column in (result.value, *np.moveaxis(result.interval(), -1, 0))
    ]
    weights, is_trusted = map(dict, result.trade_offs), result.trusted.tolist()
    rows = list(map(wire.TradeOffAnswer, weights, *columns, is_trusted))
    return wire.WhatIfAnswer(result.evaluations[0].rows, rows, list(result.warnings))


class CompareTradeOffs(Call, tag="what-if"):
    """Estimate by the log what trade-offs would have been worth; without any, a grid of them."""

    method, response_type = _what_if, wire.WhatIfAnswer
    role: ClassVar[Role] = "read"
    trade_offs: (
        Annotated[list[dict[wire.Name, float]], Meta(min_length=1, max_length=50)] | None
    ) = None


READ_CALLS = (FindEstimates, FindFront, FindProbabilities, CompareTradeOffs)


class Batch(wire.Body):
    """Calls to carry out one after the other, with one commit."""

    calls: Annotated[list[WriteCall], Meta(min_length=1)]
