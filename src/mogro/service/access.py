"""Who may ask for what: hosts and origins, keys, sessions of browsers, and how often."""

import asyncio
import hmac
import math
import secrets
import time
from collections import OrderedDict
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mogro.service.config import ServiceConfig, is_loopback
from mogro.service.error_responses import error_response
from mogro.service.keys import Key, KeyRing, Role, hash_secret

COOKIE = "mogro_session"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_SESSION_SECONDS = 12 * 3600.0
_MAX_SESSIONS, _MAX_BUCKETS = 1000, 10_000  # that are remembered
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # without one, forms have no origin
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class HostCheck:
    """Refuses requests that were meant for another host, or come from another site's page.

    A page of another site can make a browser send requests to a service on loopback, by a name of
    its own that it lets point there. The host then is not one of ours, nor is the origin.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self._app = app
        self._names = {name.lower() for name in config.allowed_hosts}
        if not is_loopback(config.host):
            self._names.add(config.host.lower())
        self._headers = list(_HEADERS)
        if config.uses_tls:
            self._headers.append((b"strict-transport-security", b"max-age=31536000"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it; its answer has headers that protect browsers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        app: ASGIApp = self._app
        try:
            self._check(scope)
        except HTTPException as error:
            app = error_response(error)
        await app(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = _hostname(host)
        if not (is_loopback(name) or name in self._names):
            raise HTTPException(421, f"host: expected a name of this service, got {name[:100]!r}")
        origin = headers.get(b"origin", b"http://" + host.encode()).decode("latin-1").lower()
        if scope["method"] not in _SAFE_METHODS and origin.partition("://")[2] != host:
            raise HTTPException(403, "origin: expected a page of this service")


def _hostname(host: str) -> str:
    """Return a host without its port."""
    if host.startswith("["):
        return host.partition("]")[0].strip("[]")
    return host.partition(":")[0]


async def read_body(request: Request, *, max_bytes: int, max_seconds: float) -> bytes:
    """Return the body of a request, unless it is too long, or too slow."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise HTTPException(413, f"body: expected at most {max_bytes} bytes, got {length}")
    try:
        async with asyncio.timeout(max_seconds):
            chunks, size = [], 0
            async for chunk in request.stream():
                size += len(chunk)
                if size > max_bytes:
                    raise HTTPException(413, f"body: expected at most {max_bytes} bytes, got more")
                chunks.append(chunk)
            return b"".join(chunks)
    except TimeoutError:
        raise HTTPException(408, f"body: expected it within {max_seconds:g} s") from None


class Caller(NamedTuple):
    """Who asks: the name of a key, what it may do, and the token of the session if it has one."""

    name: str
    key: Key
    token: str | None = None

    def require(self, role: Role, agent: str | None) -> None:
        """Refuse what the key does not allow."""
        if not self.key.allows(role, agent):
            scope_name = "this service" if agent is None else agent
            raise HTTPException(403, f"key: expected one with the role {role} for {scope_name}")


NOBODY = Caller("nobody", Key("", []))  # where a request needs no key
_ANYONE = Caller("anyone", Key("", ["admin"]))  # where there are no keys


class RateLimit:
    """A token bucket for each name: so many a second, some at once; a rate of 0 is no limit."""

    def __init__(self, rate: float, burst: float, message: str) -> None:
        self._rate, self._burst, self._message = rate, max(burst, 1.0), message
        # By name: tokens left, and when.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, name: str) -> float:
        """Return how many more there may be now; refuse if there is none."""
        now = time.monotonic()
        tokens, last_time = self._buckets.get(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - last_time) * self._rate)
        if self._rate and tokens < 1:
            wait = math.ceil((1 - tokens) / self._rate)
            raise HTTPException(429, f"{self._message}; wait {wait} s", {"retry-after": str(wait)})
        return tokens

    def take(self, name: str) -> None:
        """Count one, or refuse it."""
        if self._rate:
            self._buckets[name] = self.check(name) - 1, time.monotonic()
            self._buckets.move_to_end(name)
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)


class Access:
    """Who asks: by a key, or by the session of a browser that has logged in with one."""

    def __init__(self, config: ServiceConfig) -> None:
        self.keys = KeyRing(config.key_file)
        rate = config.limits.rate
        self._requests = RateLimit(rate, rate, f"rate: expected at most {rate:g} a second")
        self._logins = RateLimit(5 / 60, 5, "key: too many wrong keys")  # by address
        # By the hashes of cookies: whose session, and until when.
        self._sessions: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    def find_caller(self, request: Request) -> Caller | None:
        """Return who asks; None if a key is needed and there is none."""
        if not self.keys.required:
            return _ANYONE
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            match = self.keys.find(secret.strip())
            return None if match is None else Caller(*match)
        caller, expiry = self._sessions.get(_session_hash(request), (None, 0.0))
        if caller is None or time.monotonic() > expiry:
            return None
        key = self.keys.get(caller.name)
        if key is None or key.hash != caller.key.hash:  # another one since
            return None
        return caller._replace(key=key)

    def authenticate(self, request: Request) -> Caller:
        """Return who asks; refuse those without a key, and forms that this service did not make.

        A browser sends a session's cookie by itself. So what changes anything has to bring the
        token of the session along, which other sites do not know.
        """
        caller = self.find_caller(request)
        if caller is None:
            raise HTTPException(401, "key: expected one, as Authorization: Bearer KEY")
        if caller.token is not None and request.method not in _SAFE_METHODS:
            token = request.headers.get("x-mogro-token", "").encode("utf-8", "surrogatepass")
            if not hmac.compare_digest(token, caller.token.encode()):
                raise HTTPException(403, "token: expected that of the session, as X-Mogro-Token")
        self._requests.take(caller.name)
        return caller

    def log_in(self, request: Request, secret: str) -> str | None:
        """Return the cookie of a new session; None if that is no key."""
        address = request.client.host if request.client else ""
        self._logins.check(address)
        match = self.keys.find(secret)
        if match is None:
            self._logins.take(address)
            return None
        cookie, caller = secrets.token_urlsafe(32), Caller(*match, secrets.token_urlsafe(32))
        self._sessions[hash_secret(cookie)] = caller, time.monotonic() + _SESSION_SECONDS
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, request: Request) -> None:
        """End a session."""
        self._sessions.pop(_session_hash(request), None)


def _session_hash(request: Request) -> str:
    return hash_secret(request.cookies.get(COOKIE, ""))
