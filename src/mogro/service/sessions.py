"""Who asks: callers with a key, and browsers that have logged in with one."""

import hmac
import secrets
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from mogro.service.keys import Key, KeyRing, Role
from mogro.service.problems import Refused

_SESSION = 12 * 3600.0  # seconds
_SESSIONS = 1000
_TRIES, _PAUSE = 5, 60.0  # logins that may fail within so many seconds, by address
_ADDRESSES = 10_000


@dataclass(frozen=True)
class Caller:
    """Who asks: the name of a key, what it may do, and the token of the session if it has one."""

    name: str
    key: Key | None
    token: str | None = None

    def knows(self, agent: str) -> bool:
        """Tell whether the key is one for an agent."""
        return self.key is None or not self.key.agents or agent in self.key.agents

    def require(self, role: Role, agent: str | None) -> None:
        """Refuse what the key does not allow."""
        if self.key is not None and not self.key.allows(role, agent):
            where = "this service" if agent is None else agent
            raise Refused(403, f"key: expected one with the role {role} for {where}")


class Sessions:
    """Browsers that have logged in with a key."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[str, Key, str, float]] = OrderedDict()
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

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

    def check_tries(self, address: str) -> None:
        """Refuse an address that has failed too often."""
        failures = self._failures.get(address, deque())
        recent = sum(time.monotonic() - then < _PAUSE for then in failures)
        if recent >= _TRIES:
            raise Refused(429, "key: too many that are wrong; wait a minute", retry=int(_PAUSE))

    def note_failure(self, address: str) -> None:
        """Remember that a login has failed."""
        self._failures.setdefault(address, deque(maxlen=_TRIES)).append(time.monotonic())
        self._failures.move_to_end(address)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)
