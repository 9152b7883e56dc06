"""The routes: from a request to an operation, and back."""

import inspect
import time
from collections.abc import AsyncIterator
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
from mogro.service.operations import (
    Operation,
    ServiceRequest,
    json_response,
    make_operation,
    operations,
)
from mogro.service.service import Service


def make_app(service: Service) -> ASGIApp:
    """Return the application, with all routes."""
    api_operations = operations(service) + personalizer.operations(service.config.personalizer)
    document = openapi_document(api_operations, list(service.agents))

    async def openapi(_: ServiceRequest, __: None) -> Response:
        return json_response(document)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    page_operations = [make_operation("GET", "/openapi.json", "any", openapi), *pages.operations()]
    routes = [_route(operation, service) for operation in api_operations + page_operations]
    handlers: Any = {HTTPException: _answer_error}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return HostCheck(app, service.config)


async def _answer_error(_: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        error.detail = "path: expected one that /openapi.json lists"
    return error_response(error)


def _route(operation: Operation, service: Service) -> Route:
    """Return the route of an operation: its errors are answers, and it is counted and logged."""
    method, path = operation.method, operation.path.replace("{event}", "{event:path}")
    name = f"{method.lower()} {operation.path.removeprefix('/v1/').replace('{agent}/', '')}"
    decoder = wire.decoder(operation.request_type)
    is_coroutine = inspect.iscoroutinefunction(operation.handler)

    async def respond(request: Request) -> Response:
        start = time.perf_counter()
        try:
            response = await execute(request)
        except Exception as error:
            response = error_response(error)
            if response.status_code == 500:
                service.log({"event": "error", "call": name, "error": repr(error)})
        seconds = time.perf_counter() - start
        service.metrics.count_request(name, response.status_code, seconds)
        if service.config.log == "requests":
            entry = {"event": "request", "call": name, "status": response.status_code}
            identity = request.scope.get("mogro", {})
            service.log({**entry, "ms": round(1000 * seconds, 2), **identity})
        return response

    async def execute(request: Request) -> Response:
        service_request, body = _authorise(operation, service, request), None
        if operation.request_type is not None and method == "GET":
            body = msgspec.convert(dict(request.query_params), operation.request_type)
        elif operation.request_type is not None:
            body = decoder.decode(await _json_body(request, service))
            service_request.check(body)
        work = partial(operation.handler, service_request, body)
        if operation.is_write:
            (result,) = await service_request.hosted_agent.writer.perform([work])
        else:
            result = await (work() if is_coroutine else service.readers.perform(work))
        request.scope["mogro"]["id"] = getattr(result, "id", getattr(body, "id", None))
        if isinstance(result, Exception):
            raise result
        if isinstance(result, Response):
            return result
        if operation.response_type is None:
            return Response(status_code=operation.status)
        return json_response(result, operation.status)

    return Route(path, respond, methods=[method], name=name)


def _authorise(operation: Operation, service: Service, request: Request) -> ServiceRequest:
    """Return who asks, and for what, if they may."""
    identity: dict[str, str | None] = {}
    request.scope["mogro"] = identity
    name = operation.agent or request.path_params.get("agent")
    if operation.role is None:
        return ServiceRequest(service, request, NOBODY, name)
    caller = service.access.authenticate(request)
    if operation.role != "any":
        caller.require(operation.role, name)
    identity |= {"by": caller.name, "agent": name}
    if name is not None:
        service.agent(name)  # or 404
    return ServiceRequest(service, request, caller, name)


async def _json_body(request: Request, service: Service) -> bytes:
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != "application/json":
        raise HTTPException(415, "content-type: expected application/json")
    limits = service.config.limits
    return await read_body(request, max_bytes=limits.body, max_seconds=limits.seconds)
