"""What goes over the wire: the bodies of requests and answers, and what they ask of an agent.

Every call is a data class that knows how to be carried out; decoding checks types, and the agent
checks all else. The description of the service (:mod:`mogro.service.openapi`) is made from these.
"""

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta, Struct

from mogro.agent import Agent, Catalogue, Decision, DecisionRecord, Estimates, Explanation, Front
from mogro.agent.alarms import Alarm
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.state.counters import Outcome
from mogro.service.keys import Role

Id = Annotated[str, Meta(min_length=1, max_length=200)]
Name = Annotated[str, Meta(max_length=200)]
Value = float | str | bool | None | list[float | str]
Features = list[float] | dict[Name, Value]  # numbers, or a record
Arms = dict[Name, Features]
Weights = dict[Name, float] | list[float]


class Body(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A body of a request."""


class OfferBody(Body):
    """Arms on offer: those sent along, or else those of the catalogue."""

    arms: Arms | None = None
    context: Features | None = None

    def given(self, catalogue: Catalogue) -> Any:
        """Return the arms as an agent takes them."""
        return catalogue if self.arms is None else self.arms

    def eligible_mask(self, catalogue: Catalogue, ids: list[str] | None) -> Any:
        """Return which arms are eligible, in order, by their ids."""
        if ids is None:
            return None
        known = catalogue.version().ids if self.arms is None else tuple(self.arms)
        wanted = set(ids)
        unknown = wanted.difference(known)
        if unknown:
            raise ValueError(f"eligible: expected arms on offer, got {sorted(unknown)[:3]}")
        return np.array([arm in wanted for arm in known], dtype=np.bool_)


class ChoiceBody(OfferBody):
    """A choice among arms: see :meth:`mogro.Agent.decide`."""

    id: Id | None = None
    weights: Weights | None = None
    eligible: list[Name] | None = None
    at_least: dict[Name, float] | None = None
    at_most: dict[Name, float] | None = None
    activate: bool = True
    now: float | None = None
    subject: Id | None = None

    def asked(self, catalogue: Catalogue) -> dict[str, Any]:
        """Return the arguments by name, but for the arms."""
        return {
            "context": self.context,
            "id": self.id,
            "weights": self.weights,
            "eligible": self.eligible_mask(catalogue, self.eligible),
            "at_least": self.at_least,
            "at_most": self.at_most,
            "activate": self.activate,
            "now": self.now,
            "subject": self.subject,
        }


class DecisionAnswer(Struct):
    """A decision."""

    id: str
    arm: str
    exploring: bool
    uniform: bool
    time: float
    weights: dict[str, float] | None
    estimates: dict[str, float]


class DecisionsAnswer(Struct):
    """Several decisions, chosen together."""

    decisions: list[DecisionAnswer]


class OutcomeAnswer(Struct):
    """What became of rewards, in numbers of objectives: see :class:`mogro.agent.Outcome`."""

    learned: int
    pending: int
    revised: int
    repeated: int
    late: int


class NumberAnswer(Struct):
    """How many: of objectives withdrawn, windows closed, decisions erased."""

    count: int


class WaitingAnswer(Struct):
    """Whether a decision was waiting to be activated."""

    waited: bool


class Decide(ChoiceBody, tag_field="call", tag="decide", kw_only=True):
    """Choose an arm."""

    role: ClassVar[Role] = "decide"
    sticky: bool = False

    def carry_out(self, agent: Agent, catalogue: Catalogue) -> DecisionAnswer:
        """Ask the agent."""
        arms = self.given(catalogue)
        return decided(agent.decide(arms, sticky=self.sticky, **self.asked(catalogue)))


class DecideTop(ChoiceBody, tag_field="call", tag="decide-top", kw_only=True):
    """Choose several arms."""

    role: ClassVar[Role] = "decide"
    top: Annotated[int, Meta(ge=1, le=1000)]

    def carry_out(self, agent: Agent, catalogue: Catalogue) -> DecisionsAnswer:
        """Ask the agent."""
        chosen = agent.decide_top(self.given(catalogue), top=self.top, **self.asked(catalogue))
        return DecisionsAnswer([decided(each) for each in chosen])


class Observe(OfferBody, tag_field="call", tag="observe", kw_only=True):
    """Take over a decision that somebody else has made."""

    role: ClassVar[Role] = "decide"
    arm: Name
    rewards: dict[Name, float] | None = None
    propensity: float | None = None
    id: Id | None = None
    eligible: list[Name] | None = None
    now: float | None = None

    def carry_out(self, agent: Agent, catalogue: Catalogue) -> DecisionAnswer:
        """Tell the agent."""
        made = agent.observe(
            self.given(catalogue),
            arm=self.arm,
            context=self.context,
            rewards=self.rewards,
            propensity=self.propensity,
            id=self.id,
            eligible=self.eligible_mask(catalogue, self.eligible),
            now=self.now,
        )
        return decided(made)


class Reward(Body, tag_field="call", tag="reward", kw_only=True):
    """Give rewards to a decision."""

    role: ClassVar[Role] = "reward"
    id: Id
    values: dict[Name, float]
    now: float | None = None

    def carry_out(self, agent: Agent, _: Catalogue) -> OutcomeAnswer:
        """Tell the agent."""
        outcome: Outcome = agent.reward(self.id, self.values, now=self.now)
        return OutcomeAnswer(*outcome)


class Activate(Body, tag_field="call", tag="activate", kw_only=True):
    """Say that the arm of a decision is really shown."""

    role: ClassVar[Role] = "reward"
    id: Id
    now: float | None = None

    def carry_out(self, agent: Agent, _: Catalogue) -> WaitingAnswer:
        """Tell the agent."""
        return WaitingAnswer(agent.activate(self.id, now=self.now))


class Withdraw(Body, tag_field="call", tag="withdraw", kw_only=True):
    """Say that the arm of a decision was not shown after all."""

    role: ClassVar[Role] = "reward"
    id: Id
    now: float | None = None

    def carry_out(self, agent: Agent, _: Catalogue) -> NumberAnswer:
        """Tell the agent."""
        return NumberAnswer(agent.withdraw(self.id, now=self.now))


class Expire(Body, tag_field="call", tag="expire", kw_only=True):
    """Close all windows that end by a time."""

    role: ClassVar[Role] = "reward"
    now: float | None = None

    def carry_out(self, agent: Agent, _: Catalogue) -> NumberAnswer:
        """Tell the agent."""
        return NumberAnswer(agent.expire(self.now))


Call = Decide | DecideTop | Observe | Reward | Activate | Withdraw | Expire
CALLS: dict[Any, Any] = {  # with their answers
    Decide: DecisionAnswer,
    DecideTop: DecisionsAnswer,
    Observe: DecisionAnswer,
    Reward: OutcomeAnswer,
    Activate: WaitingAnswer,
    Withdraw: NumberAnswer,
    Expire: NumberAnswer,
}


class Batch(Body):
    """Calls to carry out one after the other, with one commit."""

    calls: Annotated[list[Call], Meta(min_length=1)]


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


class ArmsBody(OfferBody):
    """Arms to look at: see :meth:`mogro.Agent.estimate`."""


class FrontBody(OfferBody):
    """Arms whose front is asked for, maybe what is certain of it: see :meth:`mogro.Agent.front`."""

    confidence: float | None = None
    noise: float | dict[Name, float] | None = None


class ArmsAnswer(Struct):
    """What is believed of arms; ``values[k][m]`` with standard errors and intervals of 95 %."""

    arms: list[str]
    objectives: list[str]
    values: list[list[float]]
    errors: list[list[float]]
    intervals: list[list[list[float]]]


class FrontAnswer(Struct):
    """The arms that are best under some weights, and for what share of all weights each is.

    With a confidence, also for every arm on offer whether it is "on" the true front, "off", "open".
    """

    arms: list[str]
    objectives: list[str]
    values: list[list[float]]
    shares: list[float]
    certain: dict[str, str]
    confidence: float | None


class ProbabilitiesBody(OfferBody):
    """A choice whose probabilities are asked for; nothing happens."""

    weights: Weights | None = None
    eligible: list[Name] | None = None
    at_least: dict[Name, float] | None = None
    at_most: dict[Name, float] | None = None
    now: float | None = None


class ProbabilitiesAnswer(Struct):
    """With what probability each eligible arm would be chosen."""

    arms: list[str]
    values: list[float]
    errors: list[float]


class RecordAnswer(Struct):
    """A decision and what has become of it."""

    decision: DecisionAnswer
    rewards: dict[str, float]
    status: dict[str, str]
    propensity: float | None
    propensity_error: float | None


class RivalAnswer(Struct):
    """An arm that was not chosen: see :class:`mogro.agent.Rival`."""

    arm: str
    estimates: dict[str, float]
    leads: dict[str, float]
    total: float | None
    reasons: dict[str, float]


class ExplanationAnswer(Struct):
    """Why an arm was chosen."""

    decision: DecisionAnswer
    reason: str
    rivals: list[RivalAnswer]


class AlarmAnswer(Struct):
    """One thing to look at."""

    name: str
    number: float
    words: str


class AlarmsAnswer(Struct):
    """What should be looked at."""

    alarms: list[AlarmAnswer]


class SetWeights(Body):
    """A trade-off; null goes back to the policy's."""

    weights: Weights | None
    now: float | None = None


class ChangeAnswer(Struct, omit_defaults=True):
    """One change: when, by whose key, and what."""

    time: float
    by: str
    agent: str
    what: str
    detail: Any = None


class WeightsAnswer(Struct):
    """The trade-off that decisions have where none is given, and the ones before."""

    weights: dict[str, float] | None
    history: list[ChangeAnswer]


class ConfigAnswer(Struct):
    """The settings of an agent as they are now, and who changed them before."""

    settings: dict[str, Any]
    changes: list[str]  # of this request
    relearned: int
    unsure: int
    history: list[ChangeAnswer]


class SetBudgets(Body):
    """All budgets that there are from now on."""

    budgets: list[Budget]


class BudgetAnswer(Struct):
    """How a budget stands: see :class:`mogro.agent.BudgetStatus`."""

    budget: Budget
    target: float
    decisions: int
    spent: float
    in_flight: float
    room: float
    price: float
    forecast: float | None
    feasible: bool


class BudgetsAnswer(Struct):
    """How all budgets stand, and who changed them before."""

    budgets: list[BudgetAnswer]
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


class WhatIfBody(Body):
    """Trade-offs to judge by the log; without any, a grid."""

    trade_offs: Annotated[list[dict[Name, float]], Meta(min_length=1, max_length=50)] | None = None


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


class AgentAnswer(Struct):
    """An agent as it is now."""

    name: str
    objectives: list[dict[str, Any]]
    features: list[str]
    theta: list[list[float]]
    intercept: list[float]
    weights: dict[str, float] | None
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


class ReadyAnswer(Struct):
    """That the service answers."""

    ready: bool


class AuditAnswer(Struct):
    """The last changes, the latest first."""

    changes: list[ChangeAnswer]


def decided(decision: Decision) -> DecisionAnswer:
    """Return a decision as it goes over the wire."""
    return DecisionAnswer(
        decision.id,
        decision.arm,
        decision.exploring,
        decision.uniform,
        decision.time,
        decision.weights,
        decision.estimates,
    )


def recorded(record: DecisionRecord) -> RecordAnswer:
    """Return a decision with what has become of it."""
    propensity: tuple[float | None, float | None]
    try:
        propensity = record.decision.propensity, record.decision.propensity_error
    except ValueError:  # nobody knows any more what it was based on
        propensity = None, None
    numbers = [None if p is None or p != p else p for p in propensity]
    return RecordAnswer(decided(record.decision), record.rewards, record.status, *numbers)


def explained(explanation: Explanation) -> ExplanationAnswer:
    """Return an explanation as it goes over the wire."""
    rivals = [
        RivalAnswer(rival.arm, rival.estimates, rival.leads, rival.total, rival.reasons)
        for rival in explanation.rivals
    ]
    return ExplanationAnswer(decided(explanation.decision), explanation.reason, rivals)


def estimated(estimates: Estimates) -> ArmsAnswer:
    """Return estimates as they go over the wire."""
    numbers = (each.tolist() for each in (estimates.values, estimates.errors, estimates.intervals))
    return ArmsAnswer(list(estimates.arms), list(estimates.objectives), *numbers)


def drawn_front(front: Front) -> FrontAnswer:
    """Return a front as it goes over the wire."""
    numbers = front.values.tolist(), front.shares.tolist()
    certain = dict(front.certain), front.confidence
    return FrontAnswer(list(front.arms), list(front.objectives), *numbers, *certain)


def alarmed(alarms: tuple[Alarm, ...]) -> AlarmsAnswer:
    """Return alarms as they go over the wire."""
    return AlarmsAnswer([AlarmAnswer(a.name, float(a.number), a.words) for a in alarms])


def balanced(budgets: tuple[BudgetStatus, ...]) -> list[BudgetAnswer]:
    """Return how budgets stand as it goes over the wire."""
    answers = [BudgetAnswer(**status._asdict()) for status in budgets]
    for answer in answers:
        if answer.forecast != answer.forecast:  # no decision yet
            answer.forecast = None
    return answers


def judged(result: Any) -> WhatIfAnswer:
    """Return what trade-offs would have been worth as it goes over the wire."""
    names, bounds = result.units.names, result.interval()
    rows = [
        TradeOffAnswer(
            dict(weights),
            _known(names, values),
            _known(names, low),
            _known(names, high),
            bool(trusted),
        )
        for weights, values, low, high, trusted in zip(
            result.trade_offs,
            result.value,
            bounds[..., 0],
            bounds[..., 1],
            result.trusted,
            strict=True,
        )
    ]
    return WhatIfAnswer(result.evaluations[0].rows, rows, list(result.warnings))


def _known(names: tuple[str, ...], values: Any) -> dict[str, float | None]:
    return {
        name: float(v) if np.isfinite(v) else None for name, v in zip(names, values, strict=True)
    }
