"""What a browser is shown: a page for every agent, a login, and the files they load."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mogro import _page
from mogro.service.access_control import COOKIE, authenticate, find_caller, read_body
from mogro.service.error_responses import RequestRefused
from mogro.service.hosted_agent import HostedAgent
from mogro.service.operations import CallContext, Operation
from mogro.service.page_parts import make_parts, show_decision
from mogro.service.service import Service
from mogro.service.sessions import Caller
from mogro.service.trade_off import compare, draw_front
from mogro.service.wire import DecisionId

Handler = Callable[[Request], Awaitable[Response]]
_HERE = Path(__file__).parent / "page"
_STATIC = {
    "page.css": (_HERE / "page.css", "text/css"),
    "common.css": (_page.STYLE, "text/css"),
    "icon.svg": (_HERE / "icon.svg", "image/svg+xml"),
    "page.js": (_HERE / "page.js", "text/javascript"),
}
_FRESH = 2.0  # seconds for which the parts of a page are kept
_SMALL = 10_000  # bytes of a form


def routes(service: Service, answered: Callable[[Handler, str], Handler]) -> list[Route]:
    """Return the routes of the page."""
    pages = Pages(service)
    listed: list[tuple[str, str, Handler]] = [
        ("GET", "/", pages.home),
        ("GET", "/login", pages.login_form),
        ("POST", "/login", pages.login),
        ("POST", "/logout", pages.logout),
        ("GET", "/page/{agent}", pages.page),
        ("GET", "/static/{name}", pages.static),
    ]
    return [
        Route(path, answered(handler, f"{method.lower()} {path}"), methods=[method])
        for method, path, handler in listed
    ]


def operations() -> list[Operation]:
    """Return what a page asks for once it is open."""
    html = dict[str, str]
    asked: list[tuple[str, str, Any, Any, Callable[[CallContext, Any], Any]]] = [
        ("GET", "parts", None, html, lambda call, _: _parts(call.service, call.hosted)),
        ("GET", "front", None, dict[str, Any], lambda call, _: draw_front(call.hosted)),
        ("POST", "compare", dict[str, float], html, lambda call, w: compare(call.hosted, w)),
        ("GET", "decision", DecisionId, html, lambda call, d: show_decision(call.hosted, d.id)),
    ]
    return [
        Operation(method, f"/page/{{agent}}/{name}", "", "read", asks, answers, work)
        for method, name, asks, answers, work in asked
    ]


def _parts(service: Service, hosted: HostedAgent) -> dict[str, str]:
    """Return the parts of the page that change, as HTML."""
    since, parts = hosted.page
    if time.monotonic() - since > _FRESH:
        parts = make_parts(hosted, service.audit.list(hosted.name))
        hosted.page = time.monotonic(), parts
    return parts


class Pages:
    """The pages of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def home(self, request: Request) -> Response:
        """Go to the page of the first agent that the caller may see."""
        caller = find_caller(request, self._service)
        if caller is None:
            return RedirectResponse("/login", 303)
        for name in self._visible(caller):
            return RedirectResponse(f"/page/{name}", 303)
        raise RequestRefused(403, "key: expected one with the role read")

    def _visible(self, caller: Caller) -> list[str]:
        return [name for name in self._service.agents if caller.key.allows("read", name)]

    async def login_form(self, request: Request) -> Response:
        """Ask for a key."""
        return _html(_page.fill(_HERE / "login.html", message=""))

    async def login(self, request: Request) -> Response:
        """Begin a session, by a key."""
        address = request.client.host if request.client else ""
        self._service.logins.check(address)
        body = await read_body(request, most=_SMALL, seconds=self._service.config.limits.seconds)
        given = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
        match = self._service.keys.find(given.strip())
        if match is None:
            self._service.logins.take(address)
            words = '<p class="warning" role="alert">That is no key of this service.</p>'
            return _html(_page.fill(_HERE / "login.html", message=words), 401)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            self._service.sessions.begin(*match),
            httponly=True,
            samesite="strict",
            secure=self._service.config.secure,
            path="/",
        )
        return response

    async def logout(self, request: Request) -> Response:
        """End a session."""
        authenticate(request, self._service)
        self._service.sessions.end(request.cookies.get(COOKIE, ""))
        response = Response(b"{}", media_type="application/json")
        response.delete_cookie(COOKIE, path="/")
        return response

    async def page(self, request: Request) -> Response:
        """Show an agent."""
        if find_caller(request, self._service) is None:
            return RedirectResponse("/login", 303)
        caller = authenticate(request, self._service)
        name = request.path_params["agent"]
        caller.require("read", name)
        hosted = self._service.agent(name)
        parts = await self._service.readers.perform(partial(_parts, self._service, hosted))
        names = self._visible(caller)
        others = "".join(
            f'<a href="/page/{quote(other)}"{" aria-current=page" * (other == name)}>'
            f"{_page.text(other)}</a>"
            for other in names
            if len(names) > 1
        )
        logout = '<button id="logout" type="button">Log out</button>'
        filled = _page.fill(
            _HERE / "page.html",
            name=_page.text(name),
            token=_page.text(caller.token or ""),
            may="yes" if caller.key.allows("admin", name) else "no",
            others=others,
            logout=logout * self._service.keys.required,
            **parts,
        )
        return _html(filled)

    async def static(self, request: Request) -> Response:
        """Return a file that pages load."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise RequestRefused(404, f"name: expected one of {sorted(_STATIC)}")
        path, kind = _STATIC[name]
        return Response(path.read_bytes(), media_type=kind)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")
