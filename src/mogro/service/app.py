"""The routes: from a request to an operation, and back."""

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mogro.service import pages, personalizer, wire
from mogro.service.access import NOBODY, HostCheck, read_body
from mogro.service.error_responses import error_response
from mogro.service.openapi import openapi_document
from mogro.service.operations import Operation, ServiceRequest, as_json, operation, operations
from mogro.service.service import Service

Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: Service) -> ASGIApp:
    """Return the application, with all routes."""
    described = [*operations(service), *personalizer.operations(service.config.personalizer)]
    document = openapi_document(described, list(service.agents))

    async def openapi(_: ServiceRequest, __: None) -> Response:
        return as_json(document)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    others = [operation("GET", "/openapi.json", "any", openapi), *pages.operations()]
    routes = [_route(each, service) for each in described + others]
    handlers: Any = {HTTPException: _no_route}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return HostCheck(app, service.config)


async def _no_route(_: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        error.detail = "path: expected one of /openapi.json"
    return error_response(error)


def _route(wanted: Operation, service: Service) -> Route:
    """Return the route of an operation: its errors are answers, and it is counted and logged."""
    method, path = wanted.method, wanted.path.replace("{event}", "{event:path}")  # with slashes
    name = f"{method.lower()} {wanted.path.removeprefix('/v1/').replace('{agent}/', '')}"
    handle = _handler(wanted, service)

    async def answered(request: Request) -> Response:
        start = time.perf_counter()
        try:
            response = await handle(request)
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

    return Route(path, answered, methods=[method], name=name)


def _handler(wanted: Operation, service: Service) -> Handler:
    """Return what carries out an operation."""
    decoder, in_loop = wire.decoder(wanted.asks), inspect.iscoroutinefunction(wanted.work)

    async def handle(request: Request) -> Response:
        admitted, asked = _admit(wanted, service, request), None
        if wanted.asks is not None and wanted.method == "GET":
            asked = msgspec.convert(dict(request.query_params), wanted.asks)
        elif wanted.asks is not None:
            asked = decoder.decode(await _json_body(request, service))
            admitted.check(asked)
        work = partial(wanted.work, admitted, asked)
        if wanted.writes:
            (result,) = await admitted.hosted.writer.perform([work])
        else:
            result = await (work() if in_loop else service.readers.perform(work))
        request.scope["mogro"]["id"] = getattr(result, "id", getattr(asked, "id", None))
        if isinstance(result, Exception):
            raise result
        if isinstance(result, Response):
            return result
        if wanted.answers is None:
            return Response(status_code=wanted.status)
        return as_json(result, wanted.status)

    return handle


def _admit(wanted: Operation, service: Service, request: Request) -> ServiceRequest:
    """Return who asks, and for what, if they may."""
    noted: dict[str, str | None] = {}
    request.scope["mogro"] = noted
    name = wanted.agent or request.path_params.get("agent")
    if wanted.role is None:
        return ServiceRequest(service, request, NOBODY, name)
    caller = service.access.authenticate(request)
    if wanted.role != "any":
        caller.require(wanted.role, name)
    noted |= {"by": caller.name, "agent": name}
    if name is not None:
        service.agent(name)  # or 404
    return ServiceRequest(service, request, caller, name)


async def _json_body(request: Request, service: Service) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().lower() != "application/json":
        raise HTTPException(415, "content-type: expected application/json")
    limits = service.config.limits
    return await read_body(request, max_bytes=limits.body, seconds=limits.seconds)
