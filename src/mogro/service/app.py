"""The routes: from a request to a call of an agent, and back."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mogro._codec import to_plain
from mogro._version import __version__
from mogro.agent import Agent, ImplausibleTime
from mogro.agent.state.counters import Reconfiguration
from mogro.service import pages, personalizer, schema
from mogro.service.config import Settings
from mogro.service.guard import App, Guard, answer, authenticate, read_body
from mogro.service.hosting import HostedAgent
from mogro.service.keys import Role
from mogro.service.openapi import Operation, describe
from mogro.service.problems import Refused, problem_of, status_of
from mogro.service.service import Caller, Service

Handler = Callable[[Request], Awaitable[Response]]
_CHUNK = 1 << 16
_AHEAD = 86_400.0  # seconds by which a client's time may be ahead: nobody can take one back


def make_app(service: Service) -> App:
    """Return the application, with all routes."""
    routes = Routes(service)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    listed = [*routes.listed(), *pages.routes(service, routes.answered)]
    handlers: Any = {HTTPException: _no_route}
    app = Starlette(routes=listed, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, service.config)


async def _no_route(_: Request, error: HTTPException) -> Response:
    words = "path: expected one of /openapi.json" if error.status_code == 404 else error.detail
    return answer(Refused(error.status_code, words))


def as_json(body: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(msgspec.json.encode(body), status, media_type="application/json")


class Routes:
    """The routes of the interface for programs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._batch = msgspec.json.Decoder(schema.Batch)

    def listed(self) -> list[Route]:
        """Return all of them."""
        routes = [self._route(*pair) for pair in self._operations()]
        described = describe(
            [operation for operation, _ in self._operations()], list(self._service.agents)
        )

        async def openapi(_: Request) -> Response:
            return as_json(described)

        return [*routes, Route("/openapi.json", self.answered(openapi, "get openapi.json"))]

    def _operations(self) -> list[tuple[Operation, Handler]]:
        """Return what there is, with what answers it."""
        here = "/v1/agents/{agent}"

        def one(method: str, name: str, words: str, handler: Handler, *types: Any) -> Any:
            return Operation(method, name, words, *types), handler

        calls = [
            one("POST", f"{here}/{kind.__struct_config__.tag}", kind.__doc__ or "",
                self._call(kind), kind, answers, kind.role)
            for kind, answers in schema.CALLS.items()
        ]  # fmt: skip
        read, admin = "read", "admin"
        s = schema
        return [
            *calls,
            one("POST", f"{here}/batch", "Make up to 100 calls with one commit.",
                self._carry_out_batch, s.Batch, s.BatchAnswers, "of each call"),
            one("POST", f"{here}/estimate", "Say what is believed of arms.",
                self._view(s.ArmsBody, _estimate), s.ArmsBody, s.ArmsAnswer, read),
            one("POST", f"{here}/front", "Return the estimated front of arms.",
                self._view(s.FrontBody, _front), s.FrontBody, s.FrontAnswer, read),
            one("POST", f"{here}/probabilities", "Say how likely each arm would be chosen.",
                self._view(s.ProbabilitiesBody, _probabilities), s.ProbabilitiesBody,
                s.ProbabilitiesAnswer, read),
            one("GET", f"{here}/decision", "Return a decision and what has become of it.",
                self._decision, None, s.RecordAnswer, read, ("id",)),
            one("GET", f"{here}/explanation", "Say what an arm was chosen over.",
                self._explanation, None, s.ExplanationAnswer, read, ("id",)),
            one("POST", f"{here}/what-if", "Estimate what other trade-offs would have been worth.",
                self._view(s.WhatIfBody, _what_if), s.WhatIfBody, s.WhatIfAnswer, read),
            one("GET", f"{here}/log", "Return all decisions with their rewards, as Parquet.",
                self._log, None, None, read),
            one("GET", f"{here}/alarms", "Say what should be looked at.",
                self._alarms, None, s.AlarmsAnswer, read),
            one("GET", f"{here}/weights", "Return the trade-off, and those before.",
                self._weights, None, s.WeightsAnswer, read),
            one("PUT", f"{here}/weights", "Set the trade-off.",
                self._set_weights, s.SetWeights, s.WeightsAnswer, admin),
            one("GET", f"{here}/config", "Return the settings, and who changed them.",
                self._config, None, s.ConfigAnswer, read),
            one("PATCH", f"{here}/config", "Go on with other settings; what is left out stays.",
                self._reconfigure, Settings, s.ConfigAnswer, admin),
            one("GET", f"{here}/budgets", "Say how the budgets stand.",
                self._budgets, None, s.BudgetsAnswer, read),
            one("PUT", f"{here}/budgets", "Set all budgets.",
                self._set_budgets, s.SetBudgets, s.BudgetsAnswer, admin),
            one("GET", f"{here}/arms", "Return the catalogue.",
                self._arms, None, s.CatalogueAnswer, read),
            one("PUT", f"{here}/arms", "Add arms, or give them other features.",
                self._put_arms, s.PutArms, s.NumberAnswer, admin),
            one("DELETE", f"{here}/arms", "Take arms off the catalogue.",
                self._drop_arms, s.DropArms, s.NumberAnswer, admin),
            one("POST", f"{here}/erase", "Remove what was recorded of decisions.",
                self._erase, s.Erase, s.NumberAnswer, admin),
            one("GET", here, "Return an agent as it is now.",
                self._agent, None, s.AgentAnswer, read),
            one("GET", "/v1/agents", "List the agents that a key may use.",
                self._agents, None, s.AgentsAnswer, "any"),
            one("GET", "/v1/audit", "List who changed what.",
                self._audit, None, s.AuditAnswer, admin),
            *self._personalizer(),
            one("GET", "/health", "Say how the service is.", self._health, None, s.HealthAnswer),
            one("GET", "/ready", "Say whether it answers.", self._ready, None, s.ReadyAnswer),
            one("GET", "/metrics", "Return metrics for Prometheus.",
                self._metrics, None, None, read),
        ]  # fmt: skip

    def _personalizer(self) -> list[tuple[Operation, Handler]]:
        """Return the calls in the shape of Azure Personalizer, if they are wanted."""
        wanted = self._service.config.personalizer
        if wanted is None:
            return []
        hosted, objective = self._service.agent(wanted.agent), wanted.objective
        here = "/personalizer/v1.1-preview.3"

        async def perform(request: Request, role: Role, work: Callable[[], Any]) -> Any:
            authenticate(request, self._service).require(role, hosted.name)
            return await self._change(hosted, work)

        async def rank(request: Request) -> Response:
            asked = await self._read(request, personalizer.RankRequest)
            work = partial(personalizer.rank, hosted.agent, asked)
            return as_json(await perform(request, "decide", work), 201)

        async def reward(request: Request) -> Response:
            asked: personalizer.RewardRequest = await self._read(
                request, personalizer.RewardRequest
            )
            id = request.path_params["event"]
            work = partial(hosted.agent.reward, id, {objective: asked.value})
            await perform(request, "reward", work)
            return Response(status_code=204)

        async def activate(request: Request) -> Response:
            work = partial(hosted.agent.activate, request.path_params["event"])
            await perform(request, "reward", work)
            return Response(status_code=204)

        p = personalizer
        return [
            (Operation("POST", f"{here}/rank", "Rank actions, as Personalizer did.",
                       p.RankRequest, p.RankResponse, "decide", good=201), rank),
            (Operation("POST", f"{here}/events/{{event}}/reward", "Reward an event.",
                       p.RewardRequest, None, "reward", good=204), reward),
            (Operation("POST", f"{here}/events/{{event}}/activate", "Activate an event.",
                       None, None, "reward", good=204), activate),
        ]  # fmt: skip

    def _route(self, operation: Operation, handler: Handler) -> Route:
        method, path = operation.method, operation.path
        name = f"{method.lower()} {path.removeprefix('/v1/').replace('{agent}/', '')}"
        path = path.replace("{event}", "{event:path}")  # an id may have slashes
        return Route(path, self.answered(handler, name), methods=[method], name=name)

    def answered(self, handler: Handler, name: str) -> Handler:
        """Return a handler whose errors are answers, and which is counted and logged."""
        service = self._service

        async def answered(request: Request) -> Response:
            start = time.perf_counter()
            try:
                response = await handler(request)
            except Exception as error:
                response = answer(error)
                if response.status_code == 500:
                    service.log({"event": "error", "call": name, "error": repr(error)})
            seconds = time.perf_counter() - start
            service.metrics.note(name, response.status_code, seconds)
            if service.config.log == "requests":
                line = {"event": "request", "call": name, "status": response.status_code}
                noted = request.scope.get("mogro", {})
                service.log({**line, "ms": round(1000 * seconds, 2), **noted})
            return response

        return answered

    def _enter(self, request: Request, *roles: Role) -> tuple[Caller, HostedAgent]:
        caller = authenticate(request, self._service)
        name = request.path_params["agent"]
        for role in roles:
            caller.require(role, name)
        request.scope["mogro"] = {"by": caller.name, "agent": name}
        return caller, self._service.agent(name)

    async def _read(self, request: Request, kind: type[Any]) -> Any:
        return msgspec.json.decode(await self._body(request), type=kind)

    async def _body(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind.strip().lower() != "application/json":
            raise Refused(415, "content-type: expected application/json")
        limits = self._service.config.limits
        return await read_body(request, most=limits.body, seconds=limits.seconds)

    def _check(self, call: Any) -> None:
        arms, most = getattr(call, "arms", None), self._service.config.limits.arms
        if arms is not None and len(arms) > most:
            raise Refused(413, f"arms: expected at most {most}, got {len(arms)}")
        now, here = getattr(call, "now", None), time.time()
        if now is not None and now > here + _AHEAD:
            raise ImplausibleTime(f"now: expected at most a day after {here:.0f}, got {now}")

    def _call(self, kind: type[Any]) -> Handler:
        """Return the handler of one kind of call."""
        decoder = msgspec.json.Decoder(kind)

        async def handle(request: Request) -> Response:
            _, hosted = self._enter(request, kind.role)
            call = decoder.decode(await self._body(request))
            (result,) = await self._perform(hosted, [call])
            request.scope["mogro"]["id"] = getattr(result, "id", getattr(call, "id", None))
            if isinstance(result, Exception):
                raise result
            return as_json(result)

        return handle

    async def _perform(self, hosted: HostedAgent, calls: list[Any]) -> list[Any]:
        catalogue, agent = hosted.arms.catalogue, hosted.agent
        for call in calls:
            self._check(call)
        works = [partial(call.carry_out, agent, catalogue) for call in calls]
        results = await hosted.writer.perform(works)
        for call, result in zip(calls, results, strict=True):
            if isinstance(call, schema.ChoiceBody) and not isinstance(result, Exception):
                hosted.recent.append((call.arms, call.context))
        return results

    async def _carry_out_batch(self, request: Request) -> Response:
        caller, hosted = self._enter(request)
        batch: schema.Batch = self._batch.decode(await self._body(request))
        most = self._service.config.limits.batch
        if len(batch.calls) > most:
            raise Refused(413, f"calls: expected at most {most}, got {len(batch.calls)}")
        for call in batch.calls:
            caller.require(call.role, hosted.name)
        results = await self._perform(hosted, list(batch.calls))
        return as_json({"answers": [_single(result) for result in results]})

    def _view(self, kind: type[Any], look: Callable[[Agent, Any, Any], Any]) -> Handler:
        """Return the handler of a question that changes nothing."""
        decoder = msgspec.json.Decoder(kind)

        async def handle(request: Request) -> Response:
            _, hosted = self._enter(request, "read")
            asked = decoder.decode(await self._body(request))
            self._check(asked)
            work = partial(look, hosted.agent, asked, hosted.arms.catalogue)
            return as_json(await self._service.readers.perform(work))

        return handle

    async def _decision(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        id = _query(request, "id")
        look = lambda: schema.recorded(hosted.agent.decision(id))  # noqa: E731
        return as_json(await self._service.readers.perform(look))

    async def _explanation(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        id = _query(request, "id")

        def look() -> schema.ExplanationAnswer:
            return schema.explained(hosted.agent.explain(hosted.agent.decision(id).decision))

        return as_json(await self._service.readers.perform(look))

    async def _log(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        file = await self._service.readers.perform(partial(pages.write_parquet, hosted.agent))
        headers = {
            "content-disposition": f'attachment; filename="{hosted.name}.parquet"',
            "content-length": str(os.fstat(file.fileno()).st_size),
        }
        return StreamingResponse(
            pages.stream_file(file, _CHUNK),
            headers=headers,
            media_type="application/vnd.apache.parquet",
        )

    async def _alarms(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        look = lambda: schema.alarmed(hosted.agent.alarms())  # noqa: E731
        return as_json(await self._service.readers.perform(look))

    async def _weights(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        return as_json(self._weights_now(hosted))

    def _weights_now(self, hosted: HostedAgent) -> schema.WeightsAnswer:
        history = self._service.audit.list(hosted.name, "weights")
        return schema.WeightsAnswer(hosted.agent.weights, history)

    async def _set_weights(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        asked: schema.SetWeights = await self._read(request, schema.SetWeights)
        self._check(asked)
        await self._change(hosted, partial(hosted.agent.set_weights, asked.weights, now=asked.now))
        self._service.change(caller, hosted.name, "weights", asked.weights)
        return as_json(self._weights_now(hosted))

    async def _config(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        return as_json(self._config_now(hosted, Reconfiguration()))

    def _config_now(self, hosted: HostedAgent, done: Reconfiguration) -> schema.ConfigAnswer:
        history = self._service.audit.list(hosted.name, "config")
        settings = to_plain(hosted.agent.config)
        return schema.ConfigAnswer(
            settings, list(done.changes), done.relearned, done.unsure, history
        )

    async def _reconfigure(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        body = await self._body(request)
        asked = msgspec.json.decode(body, type=Settings)
        work = partial(hosted.agent.reconfigure, **asked.options())
        done: Reconfiguration = await self._service.readers.perform(work)
        if done.changes:
            self._service.change(caller, hosted.name, "config", msgspec.json.decode(body))
        return as_json(self._config_now(hosted, done))

    async def _budgets(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        return as_json(self._budgets_now(hosted))

    def _budgets_now(self, hosted: HostedAgent) -> schema.BudgetsAnswer:
        history = self._service.audit.list(hosted.name, "budgets")
        return schema.BudgetsAnswer(schema.balanced(hosted.agent.budgets), history)

    async def _set_budgets(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        asked: schema.SetBudgets = await self._read(request, schema.SetBudgets)
        work = partial(hosted.agent.reconfigure, budgets=asked.budgets)
        await self._service.readers.perform(work)
        self._service.change(caller, hosted.name, "budgets", msgspec.to_builtins(asked.budgets))
        return as_json(self._budgets_now(hosted))

    async def _change(self, hosted: HostedAgent, work: Callable[[], Any]) -> Any:
        """Return what a change of an agent gives, once it is committed."""
        (result,) = await hosted.writer.perform([work])
        if isinstance(result, Exception):
            raise result
        return result

    async def _arms(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        return as_json(schema.CatalogueAnswer(dict(hosted.arms.given)))

    async def _put_arms(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        asked: schema.PutArms = await self._read(request, schema.PutArms)
        await self._service.readers.perform(partial(hosted.arms.put, asked.arms))
        self._service.change(caller, hosted.name, "arms", {"put": list(asked.arms)[:100]})
        return as_json(schema.NumberAnswer(len(hosted.arms.given)))

    async def _drop_arms(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        asked: schema.DropArms = await self._read(request, schema.DropArms)
        await self._service.readers.perform(partial(hosted.arms.drop, asked.arms))
        self._service.change(caller, hosted.name, "arms", {"drop": asked.arms[:100]})
        return as_json(schema.NumberAnswer(len(hosted.arms.given)))

    async def _erase(self, request: Request) -> Response:
        caller, hosted = self._enter(request, "admin")
        asked: schema.Erase = await self._read(request, schema.Erase)
        erased = await self._service.readers.perform(partial(hosted.agent.erase, *asked.ids))
        self._service.change(caller, hosted.name, "erase", {"decisions": erased})
        return as_json(schema.NumberAnswer(erased))

    async def _agent(self, request: Request) -> Response:
        _, hosted = self._enter(request, "read")
        return as_json(await self._service.readers.perform(partial(_describe, hosted)))

    async def _agents(self, request: Request) -> Response:
        caller = authenticate(request, self._service)
        key = caller.key
        names = [
            n for n in self._service.agents if key is None or not key.agents or n in key.agents
        ]
        return as_json(schema.AgentsAnswer(names, __version__))

    async def _audit(self, request: Request) -> Response:
        authenticate(request, self._service).require("admin", None)
        return as_json(schema.AuditAnswer(self._service.audit.list()))

    async def _health(self, request: Request) -> Response:
        health = await self._service.readers.perform(partial(_health, self._service))
        return as_json(health, 503 if health.status == "failing" else 200)

    async def _ready(self, request: Request) -> Response:
        if not self._service.ready:
            raise Refused(503, "ready: not yet, or no longer", retry=1)
        return as_json(schema.ReadyAnswer(ready=True))

    async def _metrics(self, request: Request) -> Response:
        if not self._service.config.open_metrics:
            authenticate(request, self._service).require("read", None)
        text = await self._service.readers.perform(self._service.metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4")


def _single(result: Any) -> dict[str, Any]:
    """Return the answer to a call of a batch."""
    if isinstance(result, Exception):
        return {"status": status_of(result), "body": problem_of(result)}
    return {"status": 200, "body": result}


def _query(request: Request, name: str) -> str:
    value = request.query_params.get(name)
    if not value:
        raise ValueError(f"{name}: expected it in the address, as ?{name}=..., got none")
    return value


def _estimate(agent: Agent, asked: schema.ArmsBody, catalogue: Any) -> schema.ArmsAnswer:
    return schema.estimated(agent.estimate(asked.given(catalogue), context=asked.context))


def _front(agent: Agent, asked: schema.FrontBody, catalogue: Any) -> schema.FrontAnswer:
    front = agent.front(
        asked.given(catalogue),
        context=asked.context,
        confidence=asked.confidence,
        noise=asked.noise,
    )
    return schema.drawn_front(front)


def _probabilities(agent: Agent, asked: schema.ProbabilitiesBody, catalogue: Any) -> Any:
    known = agent.probabilities(
        asked.given(catalogue),
        context=asked.context,
        weights=asked.weights,
        eligible=asked.eligible_mask(catalogue, asked.eligible),
        at_least=asked.at_least,
        at_most=asked.at_most,
        now=asked.now,
    )
    return schema.ProbabilitiesAnswer(
        list(known.arms), known.values.tolist(), known.errors.tolist()
    )


def _what_if(agent: Agent, asked: schema.WhatIfBody, _: Any) -> schema.WhatIfAnswer:
    from mogro.evaluation import what_if

    return schema.judged(what_if(agent, asked.trade_offs))


def _describe(hosted: HostedAgent) -> schema.AgentAnswer:
    agent = hosted.agent
    return schema.AgentAnswer(
        hosted.name,
        [asdict(objective) for objective in agent.objectives],
        list(agent.feature_names),
        agent.theta.tolist(),
        agent.intercept.tolist(),
        agent.weights,
        agent.counters,
        agent.observations,
        len(hosted.arms.given),
    )


def _health(service: Service) -> schema.HealthAnswer:
    """Say how the agents are; one whose journal failed last fails until a commit succeeds."""
    states = {}
    for name, hosted in service.agents.items():
        if hosted.writer.fault is not None:
            states[name] = "failing"
        else:
            states[name] = "degraded" if hosted.alarms() else "ok"
    worst = [s for s in ("failing", "degraded") if s in states.values()]
    return schema.HealthAnswer(worst[0] if worst else "ok", states)
