"""What can be asked of a service: for each a method and path, a role, types, and the work."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from starlette.background import BackgroundTask
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
from mogro.service.config import AgentChanges
from mogro.service.error_responses import error_answer
from mogro.service.hosted_agent import HostedAgent
from mogro.service.keys import Role
from mogro.service.service import Service

_AGENT_PATH = "/v1/agents/{agent}"
_CHUNK_BYTES = 1 << 16
# Seconds by which a client's time may differ from the clock. What is ahead counts as now: nobody
# can move the time of an agent beyond the clock. What is far behind could not be gone on from.
_MAX_SECONDS_AHEAD, _MAX_SECONDS_BEHIND = 60.0, 30 * 86_400.0


class ServiceRequest(NamedTuple):
    """A request: who asks, and for which agent, if it is for one."""

    service: Service
    http: Request
    caller: Caller
    name: str | None

    @property
    def hosted_agent(self) -> HostedAgent:
        """The agent, with what belongs to it."""
        return self.service.agents[self.name or ""]

    @property
    def agent(self) -> Agent:
        """The agent itself."""
        return self.hosted_agent.agent

    def check(self, body: Any) -> None:
        """Refuse what the key or the limits do not allow."""
        for role in getattr(body, "roles", ()):
            self.caller.require(role, self.name)
        arms, limit = getattr(body, "arms", None), self.service.config.limits.arms
        if isinstance(arms, dict) and len(arms) > limit:
            raise HTTPException(413, f"arms: expected at most {limit}, got {len(arms)}")
        now, clock = getattr(body, "now", None), time.time()
        if now is not None:
            if not clock - _MAX_SECONDS_BEHIND <= now <= clock + _MAX_SECONDS_AHEAD:
                raise ImplausibleTime(
                    f"now: expected at most a minute after {clock:.0f}, the clock of the service, "
                    f"and 30 days before, got {now}; it may be left out"
                )
            body.now = min(now, clock)

    def record_change(self, what: str, detail: Any) -> None:
        """Write down who has changed what."""
        by, agent = self.caller.name, self.hosted_agent.name
        self.service.audit.write(by, agent, what, msgspec.to_builtins(detail))
        self.service.log({"event": "change", "by": by, "agent": agent, "what": what})


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
    request_type, response_type
        Types of the body (in a GET, of the query) and of the answer; None where there is none, or
        no JSON.
    handler
        What to do, with the request and its body. A coroutine runs in the event loop, all else in
        a thread.
    is_write
        Whether the thread does it that shares commits.
    agent
        Whose call it is, where the path does not say.
    status
        The status of a successful answer.
    """

    method: str
    path: str
    role: Role | Literal["any"] | None
    summary: str
    request_type: Any
    response_type: Any
    handler: Callable[[ServiceRequest, Any], Any]
    is_write: bool = False
    agent: str | None = None
    status: int = 200


def json_response(body: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(wire.encode(body), status, media_type="application/json")


def make_operation(
    method: str, path: str, role: Any, handler: Callable[..., Any], **options: Any
) -> Operation:
    """Return an operation, with the types and the words of a function."""
    hints, summary = get_type_hints(handler), (handler.__doc__ or "").partition("\n")[0]
    response_type = None if hints["return"] in (Response, type(None)) else hints["return"]
    return Operation(
        method, path, role, summary, hints.get("body"), response_type, handler, **options
    )


def operations(service: Service) -> list[Operation]:
    """Return all that can be asked of agents, and of the service."""
    metrics = None if service.config.public_metrics else "read"
    return [
        *(_call(kind, is_write=True) for kind in get_args(calls.WriteCall)),
        *(_call(kind) for kind in calls.READ_CALLS),
        make_operation("GET", f"{_AGENT_PATH}/decision", "read", _show_decision),
        make_operation("GET", f"{_AGENT_PATH}/explanation", "read", _explain),
        make_operation("GET", f"{_AGENT_PATH}/alarms", "read", _show_alarms),
        make_operation("GET", f"{_AGENT_PATH}/config", "read", _show_config),
        make_operation("PATCH", f"{_AGENT_PATH}/config", "admin", _reconfigure),
        make_operation("GET", f"{_AGENT_PATH}/arms", "read", _show_arms),
        make_operation("PUT", f"{_AGENT_PATH}/arms", "admin", _put_arms),
        make_operation("DELETE", f"{_AGENT_PATH}/arms", "admin", _drop_arms),
        make_operation("POST", f"{_AGENT_PATH}/erase", "admin", _erase),
        make_operation("POST", f"{_AGENT_PATH}/batch", "any", _batch),
        make_operation("GET", f"{_AGENT_PATH}/log", "read", _log),
        make_operation("GET", _AGENT_PATH, "read", _describe),
        make_operation("GET", "/v1/agents", "any", _list_agents),
        make_operation("GET", "/v1/audit", "admin", _list_changes),
        make_operation("GET", "/health", None, _health)._replace(response_type=wire.HealthAnswer),
        make_operation("GET", "/ready", None, _ready),
        make_operation("GET", "/metrics", metrics, _metrics),
    ]


def _call(call: type[calls.Call], *, is_write: bool = False) -> Operation:
    path = f"{_AGENT_PATH}/{call.__struct_config__.tag}"
    summary = (call.__doc__ or "").partition("\n")[0]
    return Operation("POST", path, call.role, summary, call, call.response_type, _execute, is_write)


def _execute(request: ServiceRequest, call: calls.Call) -> Any:
    """Return the answer of the agent."""
    return call.execute(request.agent, request.hosted_agent.arms.catalogue)


async def _batch(request: ServiceRequest, body: calls.Batch) -> wire.BatchAnswers:
    """Make up to 100 calls with one commit; each needs its role."""
    limit = request.service.config.limits.batch
    if len(body.calls) > limit:
        raise HTTPException(413, f"calls: expected at most {limit}, got {len(body.calls)}")
    for call in body.calls:
        request.check(call)
    work = [partial(_execute, request, call) for call in body.calls]
    results = await request.hosted_agent.writer.perform(work)
    return wire.BatchAnswers(
        [
            wire.BatchAnswer(*(error_answer(r) if isinstance(r, Exception) else (200, r)))
            for r in results
        ]
    )


def _show_decision(request: ServiceRequest, body: wire.DecisionId) -> wire.RecordAnswer:
    """Return a decision and what has become of it."""
    return wire.record_answer(request.agent.decision(body.id))


def _explain(request: ServiceRequest, body: wire.DecisionId) -> wire.ExplanationAnswer:
    """Say what an arm was chosen over."""
    explanation = request.agent.explain(request.agent.decision(body.id).decision)
    decision = wire.decision_answer(explanation.decision)
    return wire.ExplanationAnswer(decision, explanation.reason, explanation.rivals)


def _show_alarms(request: ServiceRequest, _: None) -> wire.AlarmsAnswer:
    """Say what should be looked at."""
    return wire.AlarmsAnswer(request.agent.alarms())


def _show_config(request: ServiceRequest, _: None) -> wire.ConfigAnswer:
    """Return the settings, and who changed them."""
    return _config_answer(request, Reconfiguration())


def _reconfigure(request: ServiceRequest, body: AgentChanges) -> wire.ConfigAnswer:
    """Go on with other settings; what is left out stays."""
    options, config = body.options(), request.agent.config
    names = ("arms", "context", "interactions")
    size = FeatureMap(*(options.get(name, getattr(config, name)) for name in names)).learner_dim
    limit = request.service.config.limits.features
    if size > limit:
        message = f"arms: expected at most {limit} features of the agent, got {size}"
        raise HTTPException(413, message)
    reconfiguration = request.agent.reconfigure(**options)
    if reconfiguration.changes:
        request.record_change("config", body)
    return _config_answer(request, reconfiguration)


def _config_answer(request: ServiceRequest, reconfiguration: Reconfiguration) -> wire.ConfigAnswer:
    history = request.service.audit.changes(request.hosted_agent.name, "config")
    return wire.ConfigAnswer(to_plain(request.agent.config), *reconfiguration, history)


def _show_arms(request: ServiceRequest, _: None) -> wire.CatalogueAnswer:
    """Return the catalogue."""
    return wire.CatalogueAnswer(dict(request.hosted_agent.arms.features_by_arm))


def _put_arms(request: ServiceRequest, body: wire.PutArms) -> wire.CountAnswer:
    """Add arms, or give them other features."""
    request.hosted_agent.arms.put(body.arms)
    request.record_change("arms", {"put": list(body.arms)[:100]})
    return wire.CountAnswer(len(request.hosted_agent.arms.features_by_arm))


def _drop_arms(request: ServiceRequest, body: wire.DropArms) -> wire.CountAnswer:
    """Take arms off the catalogue."""
    request.hosted_agent.arms.drop(body.arms)
    request.record_change("arms", {"drop": body.arms[:100]})
    return wire.CountAnswer(len(request.hosted_agent.arms.features_by_arm))


def _erase(request: ServiceRequest, body: wire.Erase) -> wire.CountAnswer:
    """Remove what was recorded of decisions."""
    count = request.agent.erase(*body.ids)
    request.record_change("erase", {"decisions": count})
    return wire.CountAnswer(count)


def _describe(request: ServiceRequest, _: None) -> wire.AgentAnswer:
    """Return an agent as it is now."""
    agent = request.agent
    return wire.AgentAnswer(
        request.hosted_agent.name,
        agent.objectives,
        agent.feature_names,
        agent.theta,
        agent.intercept,
        agent.weights,
        [wire.BudgetAnswer(*status) for status in agent.budgets],
        agent.counters,
        agent.observations,
        len(request.hosted_agent.arms.features_by_arm),
    )


def _log(request: ServiceRequest, _: None) -> Response:
    """Return all decisions with their rewards, as Parquet."""
    with tempfile.TemporaryDirectory(prefix="mogro-log-") as folder:
        file = request.agent.export(folder).open("rb")  # nothing else holds on to it
    headers = {
        "content-disposition": f'attachment; filename="{request.hosted_agent.name}.parquet"',
        "content-length": str(os.fstat(file.fileno()).st_size),
    }
    chunks = iter(partial(file.read, _CHUNK_BYTES), b"")
    media_type, background = "application/vnd.apache.parquet", BackgroundTask(file.close)
    return StreamingResponse(chunks, headers=headers, media_type=media_type, background=background)


async def _list_agents(request: ServiceRequest, _: None) -> wire.AgentsAnswer:
    """List the agents that a key may use."""
    names = [name for name in request.service.agents if request.caller.key.covers(name)]
    return wire.AgentsAnswer(names, __version__)


async def _list_changes(request: ServiceRequest, _: None) -> wire.AuditAnswer:
    """List who changed what."""
    return wire.AuditAnswer(request.service.audit.changes())


async def _health(request: ServiceRequest, _: None) -> Response:
    """Say how the service is; names of agents are for those with a key."""
    states = await asyncio.to_thread(_agent_states, request.service)  # however busy the readers are
    worst = next((state for state in ("failing", "degraded") if state in states.values()), "ok")
    caller = request.service.access.find_caller(request.http)
    visible = {name: states[name] for name in states if caller and caller.key.covers(name)}
    return json_response(wire.HealthAnswer(worst, visible), 503 if worst == "failing" else 200)


def _agent_states(service: Service) -> dict[str, str]:
    """Say how agents are; one whose journal failed last fails until a commit succeeds."""
    states = {}
    for name, hosted_agent in service.agents.items():
        if hosted_agent.writer.last_error is not None:
            states[name] = "failing"
        else:
            states[name] = "degraded" if hosted_agent.alarms() else "ok"
    return states


async def _ready(request: ServiceRequest, _: None) -> dict[str, bool]:
    """Say whether it answers."""
    if not request.service.ready:
        raise HTTPException(503, "ready: the service is starting or stopping")
    return {"ready": True}


def _metrics(request: ServiceRequest, _: None) -> Response:
    """Return metrics for Prometheus."""
    return Response(request.service.metrics.text(), media_type="text/plain; version=0.0.4")
