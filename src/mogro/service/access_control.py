"""What stands before every request: its host and origin, its body, its key; and what follows."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from mogro.service.config import ServiceConfig, is_loopback
from mogro.service.error_responses import RequestRefused, error_response
from mogro.service.keys import Key
from mogro.service.service import Service
from mogro.service.sessions import Caller

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "mogro_session"
_ANY = Key("", ["admin"])  # where there are no keys
_SAFE = ("GET", "HEAD", "OPTIONS")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # without one, forms have no origin
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class AccessControl:
    """Refuses requests that were meant for another host, or come from another site's page.

    A page of another site can make a browser send requests to a service on loopback, by a name of
    its own that it lets point there. The host then is not one of ours, nor is the origin.
    """

    def __init__(self, app: App, config: ServiceConfig) -> None:
        self._app = app
        self._names = {name.lower() for name in config.allowed_hosts}
        if not is_loopback(config.host):
            self._names.add(config.host.lower())
        self._headers = list(_HEADERS)
        if config.secure:
            self._headers.append((b"strict-transport-security", b"max-age=31536000"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        try:
            self._check(scope)
        except RequestRefused as error:
            await error_response(error)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = _hostname(host)
        if not (is_loopback(name) or name in self._names):
            raise RequestRefused(421, f"host: expected a name of this service, got {name[:100]!r}")
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in _SAFE:
            given = urlsplit(origin.decode("latin-1").lower())
            if given.netloc != host:
                raise RequestRefused(403, "origin: expected a page of this service")


def _hostname(host: str) -> str:
    """Return a host without its port."""
    if host.startswith("["):
        return host.partition("]")[0].strip("[]")
    return host.partition(":")[0]


async def read_body(request: Request, *, most: int, seconds: float) -> bytes:
    """Return the body of a request, unless it is too long, or too slow."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise RequestRefused(413, f"body: expected at most {most} bytes, got {length}")
    try:
        async with asyncio.timeout(seconds):
            chunks, size = [], 0
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise RequestRefused(413, f"body: expected at most {most} bytes, got more")
                chunks.append(chunk)
            return b"".join(chunks)
    except TimeoutError:
        raise RequestRefused(408, f"body: expected it within {seconds:g} s") from None


def find_caller(request: Request, service: Service) -> Caller | None:
    """Return who asks, by a key or a session; None if a key is needed and there is none."""
    if not service.keys.required:
        return Caller("anyone", _ANY, service.token)
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        match = service.keys.find(given.strip())
        return None if match is None else Caller(*match)
    return service.sessions.find(request.cookies.get(COOKIE, ""), service.keys)


def authenticate(request: Request, service: Service) -> Caller:
    """Return who asks; refuse those without a key, and forms that this service did not make.

    A browser sends a session's cookie by itself. So what changes anything has to bring the token
    of the session along, which other sites do not know.
    """
    caller = find_caller(request, service)
    if caller is None:
        raise RequestRefused(401, "key: expected one, as Authorization: Bearer KEY")
    if caller.token is not None and service.keys.required and request.method not in _SAFE:
        given = request.headers.get("x-mogro-token", "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), caller.token.encode()):
            raise RequestRefused(403, "token: expected that of the session, as X-Mogro-Token")
    service.requests.take(caller.name)
    return caller
