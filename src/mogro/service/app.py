"""The routes: from a request to a call of an agent, and back."""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, BinaryIO

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mogro._version import __version__
from mogro.agent import Agent, ImplausibleTime
from mogro.service import pages, wire
from mogro.service.access_control import AccessControl, App, authenticate, find_caller, read_body
from mogro.service.error_responses import RequestRefused, batch_answer, error_response
from mogro.service.openapi import openapi_document
from mogro.service.operations import CallContext, Operation, agent_operations
from mogro.service.service import Service

Handler = Callable[[Request], Awaitable[Response]]
_CHUNK = 1 << 16
# Seconds by which a client's time may differ from the clock. What is ahead counts as now: nobody
# can move the time of an agent beyond the clock. What is far behind could not be gone on from.
_AHEAD, _BEHIND = 60.0, 30 * 86_400.0


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
    return AccessControl(app, service.config)


async def _no_route(_: Request, error: HTTPException) -> Response:
    words = "path: expected one of /openapi.json" if error.status_code == 404 else error.detail
    return error_response(RequestRefused(error.status_code, words))


def as_json(body: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(wire.encode(body), status, media_type="application/json")


class Routes:
    """The routes of the interface for programs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._batch_decoder = wire.decoder(wire.Batch)

    def listed(self) -> list[Route]:
        """Return all of them, the description among them."""
        here, w = "/v1/agents/{agent}", wire
        others: list[tuple[Operation, Handler]] = [
            (Operation("POST", f"{here}/batch", "Make up to 100 calls with one commit.",
                       "of each call", w.Batch, w.BatchAnswers), self._batch),
            (Operation("GET", f"{here}/log", "Return all decisions with their rewards, as Parquet.",
                       "read"), self._log),
            (Operation("GET", "/v1/agents", "List the agents that a key may use.",
                       "any", None, w.AgentsAnswer), self._agents),
            (Operation("GET", "/v1/audit", "List who changed what.",
                       "admin", None, w.AuditAnswer), self._audit),
            (Operation("GET", "/health", "Say how the service is.",
                       None, None, w.HealthAnswer), self._health),
            (Operation("GET", "/ready", "Say whether it answers.",
                       None, None, w.ReadyAnswer), self._ready),
            (Operation("GET", "/metrics", "Return metrics for Prometheus.", "read"), self._metrics),
        ]  # fmt: skip
        calls = [(each, self._handler(each)) for each in agent_operations(self._service)]
        pairs = calls + others
        agents = list(self._service.agents)
        document = openapi_document([operation for operation, _ in pairs], agents)

        async def openapi(request: Request) -> Response:
            authenticate(request, self._service)
            return as_json(document)

        live = [(each, self._handler(each)) for each in pages.operations()]
        routes = [self._route(*pair) for pair in pairs + live]
        return [*routes, Route("/openapi.json", self.answered(openapi, "get openapi.json"))]

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
                response = error_response(error)
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

    def _handler(self, operation: Operation) -> Handler:
        """Return what carries out a call of an agent."""
        asks, role, work = operation.asks, operation.role, operation.work
        decoder, readers = wire.decoder(asks), self._service.readers

        async def handle(request: Request) -> Response:
            here = self._enter(request, role, operation.agent)
            asked = None
            if asks is not None and operation.method == "GET":
                asked = msgspec.convert(dict(request.query_params), asks)
            elif asks is not None:
                asked = decoder.decode(await self._body(request))
                self._check(here, asked)
            call = partial(work, here, asked)
            if operation.writes:
                (result,) = await here.hosted.writer.perform([call])
            else:
                result = await readers.perform(call)
            request.scope["mogro"]["id"] = getattr(result, "id", getattr(asked, "id", None))
            if isinstance(result, Exception):
                raise result
            if operation.answers is None:
                return Response(status_code=operation.good)
            return as_json(result, operation.good)

        return handle

    def _enter(self, request: Request, role: Any, agent: str | None = None) -> CallContext:
        """Return who asks which agent, if they may."""
        caller = authenticate(request, self._service)
        name = agent or request.path_params["agent"]
        if role is not None:
            caller.require(role, name)
        request.scope["mogro"] = {"by": caller.name, "agent": name}
        hosted = self._service.agent(name)
        return CallContext(self._service, hosted, caller, request.path_params.get("event", ""))

    async def _body(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind.strip().lower() != "application/json":
            raise RequestRefused(415, "content-type: expected application/json")
        limits = self._service.config.limits
        return await read_body(request, most=limits.body, seconds=limits.seconds)

    def _check(self, here: CallContext, call: Any) -> None:
        """Refuse what the key or the limits do not allow."""
        for role in getattr(call, "roles", ()):
            here.caller.require(role, here.hosted.name)
        arms, most = getattr(call, "arms", None), self._service.config.limits.arms
        if isinstance(arms, dict) and len(arms) > most:
            raise RequestRefused(413, f"arms: expected at most {most}, got {len(arms)}")
        now, clock = getattr(call, "now", None), time.time()
        if now is not None:
            if not clock - _BEHIND <= now <= clock + _AHEAD:
                raise ImplausibleTime(
                    f"now: expected at most a minute after {clock:.0f}, the clock of the service, "
                    f"and 30 days before, got {now}; it may be left out"
                )
            call.now = min(now, clock)

    async def _batch(self, request: Request) -> Response:
        here = self._enter(request, None)
        calls = self._batch_decoder.decode(await self._body(request)).calls
        most = self._service.config.limits.batch
        if len(calls) > most:
            raise RequestRefused(413, f"calls: expected at most {most}, got {len(calls)}")
        for call in calls:
            self._check(here, call)
        works = [partial(here.hosted.carry_out, call) for call in calls]
        results = await here.hosted.writer.perform(works)
        return as_json({"answers": [batch_answer(result) for result in results]})

    async def _log(self, request: Request) -> Response:
        hosted = self._enter(request, "read").hosted
        file = await self._service.readers.perform(partial(_write_parquet, hosted.agent))
        headers = {
            "content-disposition": f'attachment; filename="{hosted.name}.parquet"',
            "content-length": str(os.fstat(file.fileno()).st_size),
        }
        kind = "application/vnd.apache.parquet"
        return StreamingResponse(_pieces(file), headers=headers, media_type=kind)

    async def _agents(self, request: Request) -> Response:
        caller = authenticate(request, self._service)
        names = [name for name in self._service.agents if caller.key.covers(name)]
        return as_json(wire.AgentsAnswer(names, __version__))

    async def _audit(self, request: Request) -> Response:
        authenticate(request, self._service).require("admin", None)
        return as_json(wire.AuditAnswer(self._service.audit.list()))

    async def _health(self, request: Request) -> Response:
        health = await asyncio.to_thread(_health, self._service)
        caller = find_caller(request, self._service)
        known = health.agents.items() if caller is not None else ()  # names are not for everybody
        health.agents = {name: state for name, state in known if caller and caller.key.covers(name)}
        return as_json(health, 503 if health.status == "failing" else 200)

    async def _ready(self, request: Request) -> Response:
        if not self._service.ready:
            raise RequestRefused(503, "ready: not yet, or no longer", retry=1)
        return as_json(wire.ReadyAnswer(ready=True))

    async def _metrics(self, request: Request) -> Response:
        if not self._service.config.public_metrics:
            authenticate(request, self._service).require("read", None)
        text = await self._service.readers.perform(self._service.metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4")


def _write_parquet(agent: Agent) -> BinaryIO:
    """Write the log of an agent to a file, and return it open; nothing else holds on to it."""
    with tempfile.TemporaryDirectory(prefix="mogro-log-") as folder:
        return agent.export(folder).open("rb")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def _health(service: Service) -> wire.HealthAnswer:
    """Say how the agents are; one whose journal failed last fails until a commit succeeds."""
    states = {}
    for name, hosted in service.agents.items():
        if hosted.writer.fault is not None:
            states[name] = "failing"
        else:
            states[name] = "degraded" if hosted.alarms() else "ok"
    worst = [s for s in ("failing", "degraded") if s in states.values()]
    return wire.HealthAnswer(worst[0] if worst else "ok", states)
