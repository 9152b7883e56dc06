"""What can be asked of a service: for each a method and path, a role, types, and the work."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mogro._codec import to_plain
from mogro._version import __version__
from mogro.agent import Agent, ImplausibleTime
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.state.counters import Reconfiguration
from mogro.service import calls, wire
from mogro.service.access import Caller
from mogro.service.config import AgentSettings
from mogro.service.error_responses import error_answer
from mogro.service.hosted_agent import HostedAgent
from mogro.service.keys import Role
from mogro.service.service import Service

_HERE = "/v1/agents/{agent}"
_CHUNK = 1 << 16
# Seconds by which a client's time may differ from the clock. What is ahead counts as now: nobody
# can move the time of an agent beyond the clock. What is far behind could not be gone on from.
_AHEAD, _BEHIND = 60.0, 30 * 86_400.0


class ServiceRequest(NamedTuple):
    """A request: who asks, and for which agent, if it is for one."""

    service: Service
    http: Request
    caller: Caller
    name: str | None

    @property
    def hosted(self) -> HostedAgent:
        """The agent, with what belongs to it."""
        return self.service.agents[self.name or ""]

    @property
    def agent(self) -> Agent:
        """The agent itself."""
        return self.hosted.agent

    def check(self, asked: Any) -> None:
        """Refuse what the key or the limits do not allow."""
        for role in getattr(asked, "roles", ()):
            self.caller.require(role, self.name)
        arms, most = getattr(asked, "arms", None), self.service.config.limits.arms
        if isinstance(arms, dict) and len(arms) > most:
            raise HTTPException(413, f"arms: expected at most {most}, got {len(arms)}")
        now, clock = getattr(asked, "now", None), time.time()
        if now is not None:
            if not clock - _BEHIND <= now <= clock + _AHEAD:
                raise ImplausibleTime(
                    f"now: expected at most a minute after {clock:.0f}, the clock of the service, "
                    f"and 30 days before, got {now}; it may be left out"
                )
            asked.now = min(now, clock)

    def note(self, what: str, detail: Any) -> None:
        """Write down who has changed what."""
        by, agent = self.caller.name, self.hosted.name
        self.service.audit.write(by, agent, what, msgspec.to_builtins(detail))
        self.service.log({"event": "change", "by": by, "agent": agent, "what": what})

    def history(self, what: str) -> list[wire.ChangeAnswer]:
        """Return who has changed it before."""
        return self.service.audit.list(self.hosted.name, what)


class Operation(NamedTuple):
    """One call of the service.

    Attributes
    ----------
    method, path
        By which it is called; ``{agent}`` stands for a name.
    role
        That a key needs; None if it needs no key.
    summary
        What it does.
    asks, answers
        Types of what is asked (in a GET, in the address) and of the answer; None where there is
        none, or no JSON.
    work
        What to do, with the request and what is asked. A coroutine runs in the event loop, all
        else in a thread.
    writes
        Whether the thread does it that shares commits.
    agent
        Whose call it is, where the path does not say.
    status
        The status of an answer as asked.
    """

    method: str
    path: str
    role: Role | Literal["any"] | None
    summary: str
    asks: Any
    answers: Any
    work: Callable[[ServiceRequest, Any], Any]
    writes: bool = False
    agent: str | None = None
    status: int = 200


def as_json(body: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(wire.encode(body), status, media_type="application/json")


def operation(
    method: str, path: str, role: Any, work: Callable[..., Any], **more: Any
) -> Operation:
    """Return an operation, with the types and the words of a function."""
    hints, words = get_type_hints(work), (work.__doc__ or "").partition("\n")[0]
    answers = None if hints["return"] in (Response, type(None)) else hints["return"]
    return Operation(method, path, role, words, hints.get("asked"), answers, work, **more)


def operations(service: Service) -> list[Operation]:
    """Return all that can be asked of agents, and of the service."""
    metrics = None if service.config.public_metrics else "read"
    return [
        *(_call(kind, writes=True) for kind in get_args(calls.WriteCall)),
        *(_call(kind) for kind in calls.READ_CALLS),
        operation("GET", f"{_HERE}/decision", "read", _show_decision),
        operation("GET", f"{_HERE}/explanation", "read", _explain),
        operation("GET", f"{_HERE}/alarms", "read", _show_alarms),
        operation("GET", f"{_HERE}/weights", "read", _show_weights),
        operation("PUT", f"{_HERE}/weights", "admin", _set_weights),
        operation("GET", f"{_HERE}/config", "read", _show_config),
        operation("PATCH", f"{_HERE}/config", "admin", _reconfigure),
        operation("GET", f"{_HERE}/budgets", "read", _show_budgets),
        operation("PUT", f"{_HERE}/budgets", "admin", _set_budgets),
        operation("GET", f"{_HERE}/arms", "read", _show_arms),
        operation("PUT", f"{_HERE}/arms", "admin", _put_arms),
        operation("DELETE", f"{_HERE}/arms", "admin", _drop_arms),
        operation("POST", f"{_HERE}/erase", "admin", _erase),
        operation("POST", f"{_HERE}/batch", "any", _batch),
        operation("GET", f"{_HERE}/log", "read", _log),
        operation("GET", _HERE, "read", _describe),
        operation("GET", "/v1/agents", "any", _list_agents),
        operation("GET", "/v1/audit", "admin", _list_changes),
        operation("GET", "/health", None, _health)._replace(answers=wire.HealthAnswer),
        operation("GET", "/ready", None, _ready),
        operation("GET", "/metrics", metrics, _metrics),
    ]


def _call(kind: type[calls.Call], *, writes: bool = False) -> Operation:
    path, words = f"{_HERE}/{kind.__struct_config__.tag}", (kind.__doc__ or "").partition("\n")[0]
    return Operation("POST", path, kind.role, words, kind, kind.answers, _carry_out, writes)


def _carry_out(request: ServiceRequest, asked: calls.Call) -> Any:
    """Return the answer of the agent, and remember what was on offer."""
    answer = asked.carry_out(request.agent, request.hosted.arms.catalogue)
    if isinstance(asked, calls.DecideCall):
        request.hosted.recent.append((asked.arms, asked.context))
    return answer


async def _batch(request: ServiceRequest, asked: calls.Batch) -> wire.BatchAnswers:
    """Make up to 100 calls with one commit; each needs its role."""
    most = request.service.config.limits.batch
    if len(asked.calls) > most:
        raise HTTPException(413, f"calls: expected at most {most}, got {len(asked.calls)}")
    for call in asked.calls:
        request.check(call)
    works = [partial(_carry_out, request, call) for call in asked.calls]
    results = await request.hosted.writer.perform(works)
    return wire.BatchAnswers(
        [
            wire.BatchAnswer(*(error_answer(each) if isinstance(each, Exception) else (200, each)))
            for each in results
        ]
    )


def _show_decision(request: ServiceRequest, asked: wire.DecisionId) -> wire.RecordAnswer:
    """Return a decision and what has become of it."""
    return wire.record_answer(request.agent.decision(asked.id))


def _explain(request: ServiceRequest, asked: wire.DecisionId) -> wire.ExplanationAnswer:
    """Say what an arm was chosen over."""
    known = request.agent.explain(request.agent.decision(asked.id).decision)
    return wire.ExplanationAnswer(wire.decision_answer(known.decision), known.reason, known.rivals)


def _show_alarms(request: ServiceRequest, _: None) -> wire.AlarmsAnswer:
    """Say what should be looked at."""
    return wire.AlarmsAnswer([wire.AlarmAnswer(*alarm) for alarm in request.agent.alarms()])


def _show_weights(request: ServiceRequest, _: None) -> wire.WeightsAnswer:
    """Return the trade-off, and those before."""
    return wire.WeightsAnswer(request.agent.weights, request.history("weights"))


def _set_weights(request: ServiceRequest, asked: wire.SetWeights) -> wire.WeightsAnswer:
    """Set the trade-off."""
    request.agent.set_weights(asked.weights, now=asked.now)
    request.note("weights", asked.weights)
    return _show_weights(request, None)


def _show_config(request: ServiceRequest, _: None) -> wire.ConfigAnswer:
    """Return the settings, and who changed them."""
    return _config_after(request, Reconfiguration())


def _reconfigure(request: ServiceRequest, asked: AgentSettings) -> wire.ConfigAnswer:
    """Go on with other settings; what is left out stays."""
    options, config = asked.options(), request.agent.config
    names = ("arms", "context", "interactions")
    size = FeatureMap(*(options.get(name, getattr(config, name)) for name in names)).size
    most = request.service.config.limits.features
    if size > most:
        words = f"arms: expected at most {most} features of the agent, got {size}"
        raise HTTPException(413, words)
    done = request.agent.reconfigure(**options)
    if done.changes:
        request.note("config", asked)
    return _config_after(request, done)


def _config_after(request: ServiceRequest, done: Reconfiguration) -> wire.ConfigAnswer:
    settings, changes = to_plain(request.agent.config), list(done.changes)
    history = request.history("config")
    return wire.ConfigAnswer(settings, changes, done.relearned, done.unsure, history)


def _show_budgets(request: ServiceRequest, _: None) -> wire.BudgetsAnswer:
    """Say how the budgets stand."""
    budgets = [wire.BudgetAnswer(*status) for status in request.agent.budgets]
    return wire.BudgetsAnswer(budgets, request.history("budgets"))


def _set_budgets(request: ServiceRequest, asked: wire.SetBudgets) -> wire.BudgetsAnswer:
    """Set all budgets."""
    request.agent.reconfigure(budgets=asked.budgets)
    request.note("budgets", asked.budgets)
    return _show_budgets(request, None)


def _show_arms(request: ServiceRequest, _: None) -> wire.CatalogueAnswer:
    """Return the catalogue."""
    return wire.CatalogueAnswer(dict(request.hosted.arms.features_by_arm))


def _put_arms(request: ServiceRequest, asked: wire.PutArms) -> wire.CountAnswer:
    """Add arms, or give them other features."""
    request.hosted.arms.put(asked.arms)
    request.note("arms", {"put": list(asked.arms)[:100]})
    return wire.CountAnswer(len(request.hosted.arms.features_by_arm))


def _drop_arms(request: ServiceRequest, asked: wire.DropArms) -> wire.CountAnswer:
    """Take arms off the catalogue."""
    request.hosted.arms.drop(asked.arms)
    request.note("arms", {"drop": asked.arms[:100]})
    return wire.CountAnswer(len(request.hosted.arms.features_by_arm))


def _erase(request: ServiceRequest, asked: wire.Erase) -> wire.CountAnswer:
    """Remove what was recorded of decisions."""
    erased = request.agent.erase(*asked.ids)
    request.note("erase", {"decisions": erased})
    return wire.CountAnswer(erased)


def _describe(request: ServiceRequest, _: None) -> wire.AgentAnswer:
    """Return an agent as it is now."""
    agent = request.agent
    return wire.AgentAnswer(
        request.hosted.name,
        agent.objectives,
        agent.feature_names,
        agent.theta,
        agent.intercept,
        agent.weights,
        agent.counters,
        agent.observations,
        len(request.hosted.arms.features_by_arm),
    )


def _log(request: ServiceRequest, _: None) -> Response:
    """Return all decisions with their rewards, as Parquet."""
    with tempfile.TemporaryDirectory(prefix="mogro-log-") as folder:
        file = request.agent.export(folder).open("rb")  # nothing else holds on to it
    headers = {
        "content-disposition": f'attachment; filename="{request.hosted.name}.parquet"',
        "content-length": str(os.fstat(file.fileno()).st_size),
    }
    kind = "application/vnd.apache.parquet"
    return StreamingResponse(_pieces(file), headers=headers, media_type=kind)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(partial(file.read, _CHUNK), b"")


async def _list_agents(request: ServiceRequest, _: None) -> wire.AgentsAnswer:
    """List the agents that a key may use."""
    names = [name for name in request.service.agents if request.caller.key.covers(name)]
    return wire.AgentsAnswer(names, __version__)


async def _list_changes(request: ServiceRequest, _: None) -> wire.AuditAnswer:
    """List who changed what."""
    return wire.AuditAnswer(request.service.audit.list())


async def _health(request: ServiceRequest, _: None) -> Response:
    """Say how the service is; names of agents are for those with a key."""
    states = await asyncio.to_thread(_states, request.service)  # however busy the readers are
    worst = next((s for s in ("failing", "degraded") if s in states.values()), "ok")
    caller = request.service.access.find_caller(request.http)
    known = {name: s for name, s in states.items() if caller and caller.key.covers(name)}
    return as_json(wire.HealthAnswer(worst, known), 503 if worst == "failing" else 200)


def _states(service: Service) -> dict[str, str]:
    """Say how agents are; one whose journal failed last fails until a commit succeeds."""
    states = {}
    for name, hosted in service.agents.items():
        if hosted.writer.fault is not None:
            states[name] = "failing"
        else:
            states[name] = "degraded" if hosted.alarms() else "ok"
    return states


async def _ready(request: ServiceRequest, _: None) -> wire.ReadyAnswer:
    """Say whether it answers."""
    if not request.service.ready:
        raise HTTPException(503, "ready: not yet, or no longer")
    return wire.ReadyAnswer(ready=True)


def _metrics(request: ServiceRequest, _: None) -> Response:
    """Return metrics for Prometheus."""
    return Response(request.service.metrics.text(), media_type="text/plain; version=0.0.4")
