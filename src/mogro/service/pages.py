"""What a browser is shown: a page for every agent, a login, and the files they load."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mogro import _page
from mogro.service import steering, summary
from mogro.service.guard import COOKIE, authenticate, find_caller, read_body
from mogro.service.hosted_agent import HostedAgent
from mogro.service.problems import Refused
from mogro.service.service import Service
from mogro.service.sessions import Caller

Handler = Callable[[Request], Awaitable[Response]]
_HERE = Path(__file__).parent / "page"
_STATIC = {
    "page.css": (_HERE / "page.css", "text/css"),
    "common.css": (_page.STYLE, "text/css"),
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
        ("GET", "/page/{agent}/parts", pages.parts),
        ("GET", "/page/{agent}/front", pages.front),
        ("POST", "/page/{agent}/compare", pages.compare),
        ("GET", "/page/{agent}/decision", pages.decision),
        ("GET", "/static/{name}", pages.static),
    ]
    return [
        Route(path, answered(handler, f"{method.lower()} {path}"), methods=[method])
        for method, path, handler in listed
    ]


class Pages:
    """The pages of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: dict[str, tuple[float, dict[str, str]]] = {}

    def _enter(self, request: Request) -> tuple[Caller, HostedAgent]:
        caller = authenticate(request, self._service)
        name = request.path_params["agent"]
        caller.require("read", name)
        return caller, self._service.agent(name)

    async def home(self, request: Request) -> Response:
        """Go to the page of the first agent that the caller may see."""
        caller = find_caller(request, self._service)
        if caller is None:
            return RedirectResponse("/login", 303)
        for name in self._service.agents:
            if caller.key is None or caller.key.allows("read", name):
                return RedirectResponse(f"/page/{name}", 303)
        raise Refused(403, "key: expected one with the role read")

    async def login_form(self, request: Request) -> Response:
        """Ask for a key."""
        return _html(_page.fill(_HERE / "login.html", message=""))

    async def login(self, request: Request) -> Response:
        """Begin a session, by a key."""
        address = request.client.host if request.client else ""
        self._service.sessions.check_tries(address)
        body = await read_body(request, most=_SMALL, seconds=self._service.config.limits.seconds)
        given = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
        match = self._service.keys.find(given.strip())
        if match is None:
            self._service.sessions.note_failure(address)
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
        caller, hosted = self._enter(request)
        parts = await self._parts(hosted)
        may = caller.key is None or caller.key.allows("admin", hosted.name)
        names = [
            n for n in self._service.agents if caller.key is None or caller.key.allows("read", n)
        ]
        others = "".join(
            f'<a href="/page/{quote(name)}"{" aria-current=page" * (name == hosted.name)}>'
            f"{_page.text(name)}</a>"
            for name in names
            if len(names) > 1
        )
        logout = "" if caller.key is None else '<button id="logout" type="button">Log out</button>'
        filled = _page.fill(
            _HERE / "page.html",
            name=_page.text(hosted.name),
            token=_page.text(caller.token or ""),
            may="yes" if may else "no",
            others=others,
            logout=logout,
            **parts,
        )
        return _html(filled)

    async def _parts(self, hosted: HostedAgent) -> dict[str, str]:
        kept = self._kept.get(hosted.name)
        if kept is None or time.monotonic() - kept[0] > _FRESH:
            changes = self._service.audit.list(hosted.name)
            work = partial(summary.make_parts, hosted, changes)
            parts = await self._service.readers.perform(work)
            self._kept[hosted.name] = kept = time.monotonic(), parts
        return kept[1]

    async def parts(self, request: Request) -> Response:
        """Return the parts of the page that change, as HTML."""
        _, hosted = self._enter(request)
        return _json(await self._parts(hosted))

    async def front(self, request: Request) -> Response:
        """Return trade-offs and what they are believed to give."""
        _, hosted = self._enter(request)
        return _json(await self._service.readers.perform(partial(steering.draw_front, hosted)))

    async def compare(self, request: Request) -> Response:
        """Say what another trade-off would change."""
        _, hosted = self._enter(request)
        body = await read_body(request, most=_SMALL, seconds=self._service.config.limits.seconds)
        weights = msgspec.json.decode(body, type=dict[str, float])
        known = await self._service.readers.perform(partial(steering.compare, hosted, weights))
        heads = [
            "objective",
            "believed now",
            "believed then",
            "by the log, as now",
            "by the log, then",
        ]
        return _json({"table": _page.table(heads, known.rows), "words": known.words})

    async def decision(self, request: Request) -> Response:
        """Show a decision by its id."""
        _, hosted = self._enter(request)
        id = request.query_params.get("id", "")
        work = partial(summary.show_decision, hosted, id)
        return _json({"html": await self._service.readers.perform(work)})

    async def static(self, request: Request) -> Response:
        """Return a file that pages load."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise Refused(404, f"name: expected one of {sorted(_STATIC)}")
        path, kind = _STATIC[name]
        return Response(path.read_bytes(), media_type=kind)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


def _json(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json")
