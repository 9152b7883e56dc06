"""Who asks: callers with a key, and browsers that have logged in with one."""

import secrets
import time
from collections import OrderedDict
from typing import NamedTuple

from mogro.service.error_responses import RequestRefused
from mogro.service.keys import Key, KeyRing, Role, hash_secret

_SESSION = 12 * 3600.0  # seconds
_SESSIONS = 1000


class Caller(NamedTuple):
    """Who asks: the name of a key, what it may do, and the token of the session if it has one."""

    name: str
    key: Key
    token: str | None = None

    def require(self, role: Role, agent: str | None) -> None:
        """Refuse what the key does not allow."""
        if not self.key.allows(role, agent):
            where = "this service" if agent is None else agent
            raise RequestRefused(403, f"key: expected one with the role {role} for {where}")


class Sessions:
    """Browsers that have logged in with a key, by the hashes of their cookies."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    def begin(self, name: str, key: Key) -> str:
        """Return the cookie of a new session."""
        cookie, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._open[hash_secret(cookie)] = Caller(name, key, token), time.monotonic() + _SESSION
        if len(self._open) > _SESSIONS:
            self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str, keys: KeyRing) -> Caller | None:
        """Return who a session is of, if it is open and its key is still the one of that name."""
        caller, until = self._open.get(hash_secret(cookie), (None, 0.0))
        if caller is None or time.monotonic() > until:
            return None
        now = keys.named(caller.name)
        if now is None or now.hash != caller.key.hash:
            return None
        return caller._replace(key=now)

    def end(self, cookie: str) -> None:
        """Log out."""
        self._open.pop(hash_secret(cookie), None)
