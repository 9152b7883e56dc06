"""What a browser is shown: a page for every agent, a login, and the files they load."""

import time
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, quote

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from mogro import _page
from mogro.service.access import COOKIE, Caller, read_body
from mogro.service.operations import Operation, ServiceRequest, make_operation
from mogro.service.page_parts import compare_trade_off, make_parts, show_front
from mogro.service.service import Service

_FOLDER = Path(__file__).parent / "page"
_STATIC = {
    "page.css": (_FOLDER / "page.css", "text/css"),
    "common.css": (_page.STYLE, "text/css"),
    "icon.svg": (_FOLDER / "icon.svg", "image/svg+xml"),
    "page.js": (_FOLDER / "page.js", "text/javascript"),
}
_CACHE_SECONDS = 2.0  # seconds for which the parts of a page are kept
_MAX_FORM_BYTES = 10_000  # bytes of a form


def operations() -> list[Operation]:
    """Return what browsers ask for: pages, and what a page asks for once it is open."""
    return [
        make_operation("GET", "/", None, _home),
        make_operation("GET", "/login", None, _login_form),
        make_operation("POST", "/login", None, _log_in),
        make_operation("POST", "/logout", "any", _log_out),
        make_operation("GET", "/static/{name}", None, _static),
        make_operation("GET", "/page/{agent}", None, _show_page),
        make_operation("GET", "/page/{agent}/parts", "read", _show_parts),
        make_operation("GET", "/page/{agent}/front", "read", show_front),
        make_operation("POST", "/page/{agent}/compare", "read", compare_trade_off),
    ]


async def _home(request: ServiceRequest, _: None) -> Response:
    """Go to the page of the first agent that the caller may see."""
    caller = request.service.access.find_caller(request.http)
    if caller is None:
        return RedirectResponse("/login", 303)
    for name in _visible_agents(request.service, caller):
        return RedirectResponse(f"/page/{name}", 303)
    raise HTTPException(403, "key: expected one with the role read")


def _visible_agents(service: Service, caller: Caller) -> list[str]:
    return [name for name in service.agents if caller.key.allows("read", name)]


async def _login_form(request: ServiceRequest, _: None) -> Response:
    """Ask for a key."""
    return _html(_page.fill_template(_FOLDER / "login.html", message=""))


async def _log_in(request: ServiceRequest, _: None) -> Response:
    """Begin a session, by a key."""
    config = request.service.config
    seconds = config.limits.seconds
    body = await read_body(request.http, max_bytes=_MAX_FORM_BYTES, max_seconds=seconds)
    secret = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
    cookie = request.service.access.log_in(request.http, secret.strip())
    if cookie is None:
        message = '<p class="warning" role="alert">That is no key of this service.</p>'
        return _html(_page.fill_template(_FOLDER / "login.html", message=message), 401)
    response = RedirectResponse("/", 303)
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=config.uses_tls)
    return response


async def _log_out(request: ServiceRequest, _: None) -> Response:
    """End a session."""
    request.service.access.log_out(request.http)
    response = Response(b"{}", media_type="application/json")
    response.delete_cookie(COOKIE)
    return response


async def _static(request: ServiceRequest, _: None) -> Response:
    """Return a file that pages load."""
    name = request.http.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, f"name: expected one of {sorted(_STATIC)}")
    path, media_type = _STATIC[name]
    return Response(path.read_bytes(), media_type=media_type)


async def _show_page(request: ServiceRequest, _: None) -> Response:
    """Show an agent; ask for a key where there is none."""
    service, name = request.service, request.http.path_params["agent"]
    if service.access.find_caller(request.http) is None:
        return RedirectResponse("/login", 303)
    caller = service.access.authenticate(request.http)
    caller.require("read", name)
    service.agent(name)  # or 404
    parts = await service.readers.perform(partial(_show_parts, request, None))
    names = _visible_agents(service, caller)
    links = "".join(
        f'<a href="/page/{quote(other_name)}"{" aria-current=page" * (other_name == name)}>'
        f"{_page.escape(other_name)}</a>"
        for other_name in names
        if len(names) > 1
    )
    logout = '<button id="logout" type="button">Log out</button>'
    page = _page.fill_template(
        _FOLDER / "page.html",
        name=_page.escape(name),
        token=_page.escape(caller.token or ""),
        admin="yes" if caller.key.allows("admin", name) else "no",
        links=links,
        logout=logout * service.access.keys.required,
        **parts,
    )
    return _html(page)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


def _show_parts(request: ServiceRequest, _: None) -> dict[str, str]:
    """Return the parts of the page that change, as HTML."""
    hosted_agent, (made_at, parts) = request.hosted_agent, request.hosted_agent.page
    if time.monotonic() - made_at > _CACHE_SECONDS:
        parts = make_parts(hosted_agent, request.service.audit.changes(hosted_agent.name))
        hosted_agent.page = time.monotonic(), parts
    return parts
