"""Who asks: callers with a key, and browsers that have logged in with one."""

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

from mogro.service.error_responses import RequestRefused
from mogro.service.keys import Key, KeyRing, Role

_SESSION = 12 * 3600.0  # seconds
_SESSIONS = 1000


@dataclass(frozen=True)
class Caller:
    """Who asks: the name of a key, what it may do, and the token of the session if it has one."""

    name: str
    key: Key | None
    token: str | None = None

    def allows(self, role: Role, agent: str | None) -> bool:
        """Tell whether the key may do something; without keys everybody may do everything."""
        return self.key is None or self.key.allows(role, agent)

    def knows(self, agent: str) -> bool:
        """Tell whether the key is one for an agent."""
        return self.key is None or not self.key.agents or agent in self.key.agents

    def require(self, role: Role, agent: str | None) -> None:
        """Refuse what the key does not allow."""
        if not self.allows(role, agent):
            where = "this service" if agent is None else agent
            raise RequestRefused(403, f"key: expected one with the role {role} for {where}")


class Sessions:
    """Browsers that have logged in with a key."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[str, Key, str, float]] = OrderedDict()

    def begin(self, name: str, key: Key) -> str:
        """Return the cookie of a new session."""
        cookie = secrets.token_urlsafe(32)
        self._open[cookie] = name, key, secrets.token_urlsafe(32), time.monotonic() + _SESSION
        while len(self._open) > _SESSIONS:
            self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str, keys: KeyRing) -> Caller | None:
        """Return who a session is of, if it is open and its key is still the one of that name."""
        for known, (name, key, token, until) in self._open.items():
            if hmac.compare_digest(known.encode(), cookie.encode("utf-8", "surrogatepass")):
                now = keys.named(name)
                if now is not None and now.hash == key.hash and time.monotonic() < until:
                    return Caller(name, now, token)
        return None

    def end(self, cookie: str) -> None:
        """Log out."""
        self._open.pop(cookie, None)
