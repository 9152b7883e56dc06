"""An agent that lives in a service: the methods of :class:`mogro.Agent`, from anywhere.

It needs the standard library alone, so that whoever has mogro can ask a service. Bodies are small
where arms are in the catalogue of the service, and there a faster JSON would gain little.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import numpy as np

from mogro._files import write_atomically
from mogro._validation import FloatArray
from mogro.agent import Alarm, Estimates, Front, Objective, Outcome, Propensities, Rival, errors
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.state.counters import Reconfiguration
from mogro.service.connection import Connection

Arms = Mapping[str, Any] | Sequence[str]
_KINDS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
}
_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class ServiceError(ConnectionError):
    """The service did not answer, or not as expected; nothing is known of the call.

    Attributes
    ----------
    status
        Of the answer, if there was one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RemoteDecision:
    """A decision that a service has made: see :class:`mogro.agent.Decision`."""

    id: str
    arm: str
    exploring: bool
    uniform: bool
    time: float
    weights: dict[str, float] | None
    estimates: dict[str, float]


@dataclass(frozen=True)
class RemoteRecord:
    """A decision and what has become of it: see :class:`mogro.agent.DecisionRecord`.

    ``propensity`` is that of the chosen arm, with its standard error; None if nobody knows it.
    """

    decision: RemoteDecision
    rewards: dict[str, float]
    status: dict[str, str]
    propensity: float | None
    propensity_error: float | None

    @property
    def pending(self) -> bool:
        """Whether something may still come."""
        return "pending" in self.status.values()


@dataclass(frozen=True)
class RemoteExplanation:
    """Why an arm was chosen: see :class:`mogro.agent.Explanation`."""

    decision: RemoteDecision
    reason: str
    rivals: tuple[Rival, ...]


class _PerThread(threading.local):
    """The connection of a thread, kept open between calls."""

    current: Connection | None = None


class RemoteAgent:
    """An agent behind an address; made by :func:`mogro.connect`.

    Methods, arguments and exceptions are those of :class:`mogro.Agent`; ``arms`` may be left out
    where the service has a catalogue. Threads may share it. A call that found no answer is made
    again, which is safe: ids say what was asked before.
    """

    def __init__(
        self, url: str, agent: str | None, *, key: str | None, timeout: float, retries: int
    ) -> None:
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ValueError(f"url: expected http://host:port or https://host, got {url!r}")
        self._place, self._timeout, self._retries = place, timeout, retries
        self._headers = f"host: {place.netloc}\r\ncontent-type: application/json\r\n"
        if key is not None:
            if not key.isascii() or not key.isprintable():
                raise ValueError("key: expected letters, digits, - and _")
            self._headers += f"authorization: Bearer {key}\r\n"
        self._thread = _PerThread()
        self._root = f"{place.path.rstrip('/')}/v1/agents"
        try:
            self.name = self._find(agent)
        except BaseException:
            self.close()
            raise

    def _find(self, agent: str | None) -> str:
        names: list[str] = self._ask("GET", self._root)["agents"]
        if agent is None and len(names) == 1:
            return names[0]
        if agent is None or agent not in names:
            raise ValueError(f"agent: expected one of {names}, got {agent!r}")
        return agent

    def decide(
        self,
        arms: Arms | None = None,
        features: Any = None,
        *,
        context: Any = None,
        id: str | None = None,
        weights: Any = None,
        eligible: Any = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        activate: bool = True,
        now: float | None = None,
        subject: str | None = None,
        sticky: bool = False,
    ) -> RemoteDecision:
        """Choose an arm."""
        body = _offer(arms, features, context, eligible)
        body |= _given(id=id or uuid.uuid4().hex, weights=_plain(weights), at_least=at_least)
        body |= _given(at_most=at_most, now=now, activate=None if activate else False)
        body |= _given(subject=subject, sticky=sticky or None)
        return RemoteDecision(**self._call("decide", body))

    def decide_top(
        self,
        arms: Arms | None = None,
        features: Any = None,
        *,
        context: Any = None,
        top: int,
        id: str | None = None,
        weights: Any = None,
        eligible: Any = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        activate: bool = True,
        now: float | None = None,
        subject: str | None = None,
    ) -> tuple[RemoteDecision, ...]:
        """Choose several distinct arms."""
        body = {**_offer(arms, features, context, eligible), "top": top}
        body |= _given(id=id or uuid.uuid4().hex, weights=_plain(weights), at_least=at_least)
        body |= _given(at_most=at_most, now=now, activate=None if activate else False)
        body |= _given(subject=subject)
        made = self._call("decide-top", body)["decisions"]
        return tuple(RemoteDecision(**each) for each in made)

    def observe(
        self,
        arms: Arms | None = None,
        features: Any = None,
        *,
        arm: str,
        context: Any = None,
        rewards: Mapping[str, float] | None = None,
        propensity: float | None = None,
        id: str | None = None,
        eligible: Any = None,
        now: float | None = None,
    ) -> RemoteDecision:
        """Take over a decision that somebody else has made."""
        body = {**_offer(arms, features, context, eligible), "arm": arm}
        body |= _given(id=id or uuid.uuid4().hex, rewards=rewards, propensity=propensity, now=now)
        return RemoteDecision(**self._call("observe", body))

    def reward(self, id: str, values: Mapping[str, float], *, now: float | None = None) -> Outcome:
        """Give rewards to a decision."""
        body = {"id": id, "values": _plain(values), **_given(now=now)}
        return Outcome(**self._call("reward", body))

    def activate(self, id: str, *, now: float | None = None) -> bool:
        """Say that the arm of a decision is really shown."""
        waited: bool = self._call("activate", {"id": id, **_given(now=now)})["waited"]
        return waited

    def withdraw(self, id: str, *, now: float | None = None) -> int:
        """Say that the arm of a decision was not shown after all."""
        count: int = self._call("withdraw", {"id": id, **_given(now=now)})["count"]
        return count

    def expire(self, now: float | None = None) -> int:
        """Close all windows that end by a time."""
        count: int = self._call("expire", _given(now=now))["count"]
        return count

    def batch(self, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Make up to 100 calls with one request and one commit, and return an answer each.

        A call is a mapping as the service takes it, with its name under ``call``:
        ``{"call": "reward", "id": "visit 1", "values": {"click": 1}}``. The answer to one that was
        refused is its exception.
        """
        answers = self._call("batch", {"calls": [_plain(call) for call in calls]})["answers"]
        return [_read_answer(call["call"], each) for call, each in zip(calls, answers, strict=True)]

    def estimate(
        self, arms: Arms | None = None, features: Any = None, *, context: Any = None
    ) -> Estimates:
        """Return what is believed of arms, with standard errors."""
        known = self._call("estimate", _offer(arms, features, context, None))
        values, deviations = np.array(known["values"]), np.array(known["errors"])
        names, bounds = tuple(known["objectives"]), np.array(known["intervals"])
        return Estimates(tuple(known["arms"]), values, deviations, names, bounds)

    def front(
        self,
        arms: Arms | None = None,
        features: Any = None,
        *,
        context: Any = None,
        confidence: float | None = None,
        noise: float | Mapping[str, float] | None = None,
    ) -> Front:
        """Return the estimated front of some arms, and with a confidence what is certain of it."""
        body = _offer(arms, features, context, None)
        known = self._call("front", body | _given(confidence=confidence, noise=_plain(noise)))
        values, shares = np.array(known["values"]), np.array(known["shares"])
        names, certain = tuple(known["objectives"]), (known["certain"], known["confidence"])
        return Front(tuple(known["arms"]), values, shares, names, *certain)

    def probabilities(
        self,
        arms: Arms | None = None,
        features: Any = None,
        *,
        context: Any = None,
        weights: Any = None,
        eligible: Any = None,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        now: float | None = None,
    ) -> Propensities:
        """Return with what probability each arm would be chosen."""
        body = _offer(arms, features, context, eligible)
        body |= _given(weights=_plain(weights), at_least=at_least, at_most=at_most, now=now)
        known = self._call("probabilities", body)
        values, deviations = np.array(known["values"]), np.array(known["errors"])
        return Propensities(tuple(known["arms"]), values, deviations)

    def decision(self, id: str) -> RemoteRecord:
        """Return a decision and what has become of it."""
        known = self._get(f"decision?id={quote(id, safe='')}")
        return RemoteRecord(RemoteDecision(**known.pop("decision")), **known)

    def explain(self, decision: RemoteDecision | str) -> RemoteExplanation:
        """Say what an arm was chosen over, by a decision or its id."""
        id = decision if isinstance(decision, str) else decision.id
        known = self._get(f"explanation?id={quote(id, safe='')}")
        rivals = tuple(Rival(**rival) for rival in known["rivals"])
        return RemoteExplanation(RemoteDecision(**known["decision"]), known["reason"], rivals)

    def what_if(self, trade_offs: Sequence[Mapping[str, float]] | None = None) -> dict[str, Any]:
        """Estimate what trade-offs would have been worth, from the log of the service."""
        return self._call("what-if", _given(trade_offs=_plain(trade_offs)))

    def alarms(self) -> tuple[Alarm, ...]:
        """Say what should be looked at."""
        return tuple(Alarm(**alarm) for alarm in self._get("alarms")["alarms"])

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of decisions that are given none; None: the policy's own."""
        weights: dict[str, float] | None = self._get("weights")["weights"]
        return weights

    def set_weights(self, weights: Any, *, now: float | None = None) -> None:
        """Set the trade-off of decisions that are given none."""
        body = {"weights": _plain(weights), **_given(now=now)}
        self._ask("PUT", f"{self._root}/{self.name}/weights", body)

    @property
    def budgets(self) -> tuple[BudgetStatus, ...]:
        """How the budgets stand."""
        answers = self._get("budgets")["budgets"]
        for answer in answers:
            answer["budget"] = Budget(**answer["budget"])
            answer["forecast"] = float("nan") if answer["forecast"] is None else answer["forecast"]
        return tuple(BudgetStatus(**answer) for answer in answers)

    def set_budgets(self, budgets: Sequence[Budget]) -> None:
        """Have these budgets from now on, and no others."""
        path = f"{self._root}/{self.name}/budgets"
        self._ask("PUT", path, {"budgets": [asdict(budget) for budget in budgets]})

    def reconfigure(self, settings: Mapping[str, Any]) -> Reconfiguration:
        """Go on with another configuration, as in the file of the service; what is left out stays.

        Return what has changed.
        """
        path = f"{self._root}/{self.name}/config"
        known = self._ask("PATCH", path, _plain(settings))
        return Reconfiguration(tuple(known["changes"]), known["relearned"], known["unsure"])

    @property
    def arms(self) -> dict[str, Any]:
        """The arms of the catalogue, as they were sent."""
        arms: dict[str, Any] = self._get("arms")["arms"]
        return arms

    def put_arms(self, arms: Mapping[str, Any]) -> None:
        """Add arms to the catalogue, or give those that are there other features."""
        self._ask("PUT", f"{self._root}/{self.name}/arms", {"arms": _plain(arms)})

    def drop_arms(self, ids: Sequence[str]) -> None:
        """Take arms off the catalogue."""
        self._ask("DELETE", f"{self._root}/{self.name}/arms", {"arms": list(ids)})

    def erase(self, *ids: str) -> int:
        """Remove what was recorded of decisions."""
        count: int = self._call("erase", {"ids": list(ids)})["count"]
        return count

    def export(self, folder: str | os.PathLike[str]) -> Path:
        """Write the log to ``decisions.parquet`` in a folder, and return the file's path."""
        target = Path(folder) / "decisions.parquet"
        _, content = self._send("GET", f"{self._root}/{self.name}/log", b"")
        with write_atomically(target, parents=True) as file:
            file.write(content)
        return target

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        return tuple(Objective(**each) for each in self._get("")["objectives"])

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        counters: dict[str, int] = self._get("")["counters"]
        return counters

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective."""
        observations: dict[str, float] = self._get("")["observations"]
        return observations

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature, (M, p - 1)."""
        return np.array(self._get("")["theta"])

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,)."""
        return np.array(self._get("")["intercept"])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the columns of :attr:`theta` are called."""
        return tuple(self._get("")["features"])

    def close(self) -> None:
        """Let go of the connection of this thread; the next call makes a new one."""
        if self._thread.current is not None:
            self._thread.current.close()
            self._thread.current = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteAgent {self.name!r} at {self._place.geturl()}>"

    def _call(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", f"{self._root}/{self.name}/{name}", body)

    def _get(self, name: str) -> dict[str, Any]:
        return self._ask("GET", f"{self._root}/{self.name}/{name}".rstrip("/"))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        sent = b"" if body is None else _encode(body)
        status, content = self._send(method, path, sent)
        try:
            answer: dict[str, Any] = json.loads(content)
        except ValueError:
            raise ServiceError(f"{self._place.geturl()}: no JSON, {content[:100]!r}") from None
        if status != 200:
            raise _error(status, answer)
        return answer

    def _send(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and body of an answer; try again where there was none, or 503."""
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                status, content = self._send_once(method, path, body)
            except OSError as error:
                self.close()
                if last:
                    raise ServiceError(f"{self._place.geturl()}: {error!r}") from error
            else:
                if status != 503 or last:
                    return status, content
            time.sleep(min(0.05 * 2**attempt, 1.0))
        raise AssertionError

    def _send_once(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = self._thread.current
        if connection is None:
            tls = self._place.scheme == "https"
            host, port = self._place.hostname or "", self._place.port or (443 if tls else 80)
            connection = Connection(host, port, tls=tls, timeout=self._timeout)
            self._thread.current = connection
        head = f"{method} {path} HTTP/1.1\r\n{self._headers}"
        return connection.ask(head.encode("latin-1"), body)


def connect(
    url: str,
    agent: str | None = None,
    *,
    key: str | None = None,
    timeout: float = 30.0,
    retries: int = 5,
) -> RemoteAgent:
    """Return an agent that lives in a service: the methods of :class:`mogro.Agent`, from anywhere.

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
    return RemoteAgent(url, agent, key=key, timeout=timeout, retries=retries)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _offer(arms: Arms | None, features: Any, context: Any, eligible: Any) -> dict[str, Any]:
    """Return the part of a body that says what is on offer."""
    body: dict[str, Any] = {}
    if arms is not None:
        named = arms if isinstance(arms, Mapping) else dict(zip(arms, features, strict=True))
        body["arms"] = {arm: _plain(x) for arm, x in named.items()}
    if context is not None:
        body["context"] = _plain(context)
    if eligible is not None:
        chosen = list(eligible)
        if chosen and not isinstance(chosen[0], str):
            if arms is None:
                raise ValueError("eligible: expected ids, because the arms are in the catalogue")
            chosen = [arm for arm, may in zip(arms, chosen, strict=True) if may]
        body["eligible"] = chosen
    return body


def _plain(value: Any) -> Any:
    """Return arrays and sets as lists, wherever they stand."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, tuple | list) and value and not isinstance(value[0], float):
        return [_plain(part) for part in value]
    return value


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return _JSON.encode(body).encode()
    except ValueError:
        raise ValueError("numbers: expected finite ones, got NaN or infinity") from None


def _error(status: int, problem: Mapping[str, Any]) -> Exception:
    """Return the exception that an agent in this process would have raised."""
    kind, message = problem.get("error", ""), problem.get("message", "")
    if status >= 500 or status in (401, 403, 408, 421, 429):
        return ServiceError(f"{status}: {message}", status)
    if kind in _KINDS and kind != "InfeasibleConstraints":
        return _KINDS[kind](message)
    return ValueError(message)


def _read_answer(call: str, answer: Mapping[str, Any]) -> Any:
    body = answer["body"]
    if answer["status"] != 200:
        return _error(answer["status"], body)
    if call in ("decide", "observe"):
        return RemoteDecision(**body)
    if call == "decide-top":
        return tuple(RemoteDecision(**each) for each in body["decisions"])
    if call == "reward":
        return Outcome(**body)
    return next(iter(body.values()))
