"""An agent that lives in a service: the methods of :class:`mogro.Agent`, from anywhere."""

import functools
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Required, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote

try:
    import msgspec
    from msgspec.structs import astuple
except ModuleNotFoundError:
    raise ImportError("mogro.connect needs msgspec: pip install msgspec") from None

from mogro._files import write_atomically
from mogro._validation import FloatArray, unique_strings
from mogro.agent import Alarm, Estimates, Front, Objective, Outcome, Propensities
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.state.counters import Reconfiguration
from mogro.service import calls, wire
from mogro.service.connection import HTTPClient, ServiceError, to_exception

Arms = Mapping[str, Any] | Sequence[str] | None
T = TypeVar("T")
__all__ = ["RemoteAgent", "ServiceError", "connect"]
_decoder: Any = functools.cache(wire.decoder)


class ArmOptions(TypedDict, total=False):
    """Keywords of calls with arms on offer; ``eligible`` may be their ids, too."""

    context: Any
    eligible: Any
    now: float | None


class ChoiceOptions(ArmOptions, total=False):
    """Keywords of :meth:`mogro.Agent.probabilities`."""

    weights: Any
    at_least: Mapping[str, float] | None
    at_most: Mapping[str, float] | None
    certainty: float


class _NewDecision(ChoiceOptions, total=False):
    id: str | None
    activate: bool
    subject: str | None


class DecideOptions(_NewDecision, total=False):
    """Keywords of :meth:`mogro.Agent.decide`."""

    sticky: bool


class DecideTopOptions(_NewDecision, total=False):
    """Keywords of :meth:`mogro.Agent.decide_top`."""

    top: Required[int]


class ObserveOptions(ArmOptions, total=False):
    """Keywords of :meth:`mogro.Agent.observe`."""

    arm: Required[str]
    rewards: Mapping[str, float] | None
    propensity: float | None
    id: str | None


class RemoteAgent:
    """An agent behind an address; made by :func:`mogro.connect`.

    Methods, arguments and exceptions are those of :class:`mogro.Agent`, whose documentation counts
    here, too; ``arms`` may be left out where the service has a catalogue. Threads may share it. A
    call that found no answer is made again, which is safe: ids say what was asked before.
    """

    def __init__(self, http: HTTPClient, name: str) -> None:
        self._http, self.name = http, name

    def decide(
        self, arms: Arms = None, features: Any = None, **options: Unpack[DecideOptions]
    ) -> wire.DecisionAnswer:
        """Choose an arm."""
        fields = _new_decision_fields(arms, features, options)
        return self._call(calls.Decide(**fields), wire.DecisionAnswer)

    def decide_top(
        self, arms: Arms = None, features: Any = None, **options: Unpack[DecideTopOptions]
    ) -> tuple[wire.DecisionAnswer, ...]:
        """Choose several distinct arms."""
        fields = _new_decision_fields(arms, features, options)
        return self._call(calls.DecideTop(**fields), wire.DecisionsAnswer).decisions

    def observe(
        self, arms: Arms = None, features: Any = None, **options: Unpack[ObserveOptions]
    ) -> wire.DecisionAnswer:
        """Take over a decision that somebody else has made."""
        fields = _new_decision_fields(arms, features, options)
        return self._call(calls.Observe(**fields), wire.DecisionAnswer)

    def reward(self, id: str, values: Mapping[str, float], *, now: float | None = None) -> Outcome:
        """Give rewards to a decision."""
        if not isinstance(values, Mapping):
            raise ValueError(
                f"values: expected a mapping of objective name to number, got {values!r}"
            )
        call = calls.Reward(id=id, values=dict(values), now=now)
        return Outcome(*astuple(self._call(call, wire.OutcomeAnswer)))

    def activate(self, id: str, *, now: float | None = None) -> bool:
        """Say that the arm of a decision is really shown."""
        return self._call(calls.Activate(id=id, now=now), wire.ActivateAnswer).waited

    def withdraw(self, id: str, *, now: float | None = None) -> int:
        """Say that the arm of a decision was not shown after all."""
        return self._call(calls.Withdraw(id=id, now=now), wire.CountAnswer).count

    def expire(self, now: float | None = None) -> int:
        """Close all windows that end by a time."""
        return self._call(calls.Expire(now=now), wire.CountAnswer).count

    def batch(self, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Make up to 100 calls with one request and one commit, and return an answer each.

        A call is a mapping as the service takes it, with its name under ``call``:
        ``{"call": "reward", "id": "visit 1", "values": {"click": 1}}``. The answer to one that was
        refused is its exception.
        """
        answers = self._ask("POST", "/batch", wire.BatchAnswers, {"calls": calls}).answers
        pairs = zip(calls, answers, strict=True)
        return [_read_answer(call["call"], answer) for call, answer in pairs]

    def estimate(
        self, arms: Arms = None, features: Any = None, *, context: Any = None
    ) -> Estimates:
        """Return what is believed of arms, with standard errors."""
        call = calls.FindEstimates(**_call_fields(arms, features, {"context": context}))
        return self._call(call, Estimates)

    def front(
        self,
        arms: Arms = None,
        features: Any = None,
        *,
        context: Any = None,
        confidence: float | None = None,
        noise: Any = None,
    ) -> Front:
        """Return the estimated front of some arms, and with a confidence what is certain of it."""
        fields = _call_fields(arms, features, {"context": context})
        return self._call(calls.FindFront(confidence=confidence, noise=noise, **fields), Front)

    def probabilities(
        self, arms: Arms = None, features: Any = None, **options: Unpack[ChoiceOptions]
    ) -> Propensities:
        """Return with what probability each arm would be chosen."""
        call = calls.FindProbabilities(**_call_fields(arms, features, options))
        return self._call(call, Propensities)

    def decision(self, id: str) -> wire.RecordAnswer:
        """Return a decision and what has become of it."""
        return self._ask("GET", f"/decision?id={quote(id, safe='')}", wire.RecordAnswer)

    def explain(self, decision: wire.DecisionAnswer | str) -> wire.ExplanationAnswer:
        """Say what an arm was chosen over, by a decision or its id."""
        id = decision if isinstance(decision, str) else decision.id
        return self._ask("GET", f"/explanation?id={quote(id, safe='')}", wire.ExplanationAnswer)

    def what_if(self, trade_offs: Sequence[Mapping[str, float]] | None = None) -> wire.WhatIfAnswer:
        """Estimate what trade-offs would have been worth, from the log of the service."""
        try:
            weight_sets = None if trade_offs is None else [dict(weights) for weights in trade_offs]
        except TypeError:
            raise ValueError(
                f"trade_offs: expected a list of weights by name, got {trade_offs!r}"
            ) from None
        return self._call(calls.CompareTradeOffs(trade_offs=weight_sets), wire.WhatIfAnswer)

    def alarms(self) -> tuple[Alarm, ...]:
        """Say what should be looked at."""
        return self._ask("GET", "/alarms", wire.AlarmsAnswer).alarms

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of decisions that are given none; None: the policy's own."""
        return self.describe().weights

    def set_weights(self, weights: Any) -> None:
        """Set the trade-off of decisions that are given none."""
        self.reconfigure({"weights": weights})

    @property
    def budgets(self) -> tuple[BudgetStatus, ...]:
        """How the budgets stand."""
        answers = self.describe().budgets
        for status in answers:
            status.forecast = float("nan") if status.forecast is None else status.forecast
        return tuple(BudgetStatus(*astuple(status)) for status in answers)

    def set_budgets(self, budgets: Sequence[Budget]) -> None:
        """Have these budgets from now on, and no others."""
        self.reconfigure({"budgets": list(budgets)})

    def reconfigure(self, settings: Mapping[str, Any]) -> Reconfiguration:
        """Go on with another configuration, as in the file of the service; what is left out stays.

        Return what has changed.
        """
        answer = self._ask("PATCH", "/config", wire.ConfigAnswer, settings)
        return Reconfiguration(answer.changes, answer.relearned, answer.unsure)

    @property
    def arms(self) -> dict[str, Any]:
        """The arms of the catalogue, as they were sent."""
        return dict(self._ask("GET", "/arms", wire.CatalogueAnswer).arms)

    def put_arms(self, arms: Mapping[str, Any]) -> None:
        """Add arms to the catalogue, or give those that are there other features."""
        self._ask("PUT", "/arms", wire.CountAnswer, {"arms": arms})

    def drop_arms(self, ids: Sequence[str]) -> None:
        """Take arms off the catalogue."""
        self._ask("DELETE", "/arms", wire.CountAnswer, wire.DropArms(arms=list(ids)))

    def erase(self, *ids: str) -> int:
        """Remove what was recorded of decisions."""
        return self._ask("POST", "/erase", wire.CountAnswer, wire.Erase(ids=list(ids))).count

    def export(self, folder: str | os.PathLike[str]) -> Path:
        """Write the log to ``decisions.parquet`` in a folder, and return the file's path."""
        target = Path(folder) / "decisions.parquet"
        parquet = self._http.send("GET", f"/v1/agents/{self.name}/log")
        with write_atomically(target, parents=True) as file:
            file.write(parquet)
        return target

    def describe(self) -> wire.AgentAnswer:
        """Return all that :attr:`objectives` and the attributes below say, in one answer."""
        return self._ask("GET", "", wire.AgentAnswer)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        return self.describe().objectives

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        return self.describe().counters

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective."""
        return self.describe().observations

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature, (M, p - 1)."""
        return self.describe().theta

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,)."""
        return self.describe().intercept

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the columns of :attr:`theta` are called."""
        return self.describe().features

    def close(self) -> None:
        """Close the connection of this thread; the next call makes a new one."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteAgent {self.name!r} at {self._http.url}>"

    def _call(self, call: calls.Call, answer_type: type[T]) -> T:
        """Return the answer of the agent to a call, of its kind."""
        return self._ask("POST", f"/{call.__struct_config__.tag}", answer_type, call)

    def _ask(self, method: str, path: str, answer_type: type[T], body: Any = None) -> T:
        """Return the answer to a request, of its kind."""
        return _ask(self._http, method, f"/v1/agents/{self.name}{path}", answer_type, body)


def connect(
    url: str,
    agent: str | None = None,
    *,
    key: str | None = None,
    timeout: float = 30.0,
    retries: int = 5,
) -> RemoteAgent:
    """Return an agent that lives in a service: the methods of :class:`mogro.Agent`, from anywhere.

    It needs msgspec (``pip install msgspec``).

    Parameters
    ----------
    url
        Of the service: ``"http://localhost:8080"``.
    agent
        Its name, where the service has several.
    key
        Where the service asks for one.
    timeout
        Seconds to wait for an answer.
    retries
        How often to try again where there was no answer, or the service was busy; then
        :class:`~mogro.service.client.ServiceError`.
    """
    http = HTTPClient(url, key=key, timeout=timeout, retries=retries)
    try:
        names = _ask(http, "GET", "/v1/agents", wire.AgentsAnswer).agents
        if agent is None and len(names) == 1:
            agent = names[0]
        if agent is None or agent not in names:
            raise ValueError(f"agent: expected one of {names}, got {agent!r}")
    except BaseException:
        http.close()
        raise
    return RemoteAgent(http, agent)


def _ask(http: HTTPClient, method: str, path: str, answer_type: type[T], body: Any = None) -> T:
    content = http.send(method, path, b"" if body is None else _encode(body))
    try:
        answer: T = _decoder(answer_type).decode(content)
    except ValueError:
        raise ServiceError(f"{http.url}: no answer: {content[:100]!r}") from None
    return answer


def _new_decision_fields(arms: Arms, features: Any, options: Any) -> dict[str, Any]:
    """Return the fields of a call for a new decision: it has an id, to be asked for again by."""
    fields = _call_fields(arms, features, options)
    if fields.get("id") is None:
        fields["id"] = uuid.uuid4().hex
    return fields


def _call_fields(arms: Arms, features: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a call; the arms as a mapping, those that may be chosen by their ids."""
    fields = dict(options)
    if arms is not None and not isinstance(arms, Mapping):
        ids = unique_strings(arms, "arms")
        if features is None or len(ids) != len(features):
            count = None if features is None else len(features)
            raise ValueError(
                f"features: expected one row for each of {len(ids)} arms, got {count}; arms of "
                "the catalogue are chosen by eligible"
            )
        arms = dict(zip(ids, features, strict=True))
    if arms is not None:
        fields["arms"] = arms
    if fields.get("eligible") is not None:
        eligible = list(fields["eligible"])
        if eligible and not isinstance(eligible[0], str):
            if arms is None:
                raise ValueError("eligible: expected ids, because the arms are in the catalogue")
            eligible = [arm for arm, is_eligible in zip(arms, eligible, strict=True) if is_eligible]
        fields["eligible"] = eligible
    return fields


def _encode(body: Any) -> bytes:
    content = wire.encode(body)
    if b"null" in content:  # somebody's None, or a number that is not finite
        try:
            json.dumps(msgspec.to_builtins(body, enc_hook=wire.to_lists), allow_nan=False)
        except ValueError:
            raise ValueError("numbers: expected finite ones, got NaN or infinity") from None
    return content


def _read_answer(call: str, answer: wire.BatchAnswer) -> Any:
    """Return the answer to a call of a batch as its method would."""
    if answer.status != 200:
        return to_exception(answer.status, msgspec.convert(answer.body, wire.ErrorAnswer))
    if call == "reward":
        return Outcome(**answer.body)
    result = msgspec.convert(answer.body, calls.RESPONSE_TYPES[call])
    return result if isinstance(result, wire.DecisionAnswer) else astuple(result)[0]
