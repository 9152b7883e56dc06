"""What a service holds while it runs: agents, keys, sessions, limits, and a record of changes."""

import hmac
import json
import os
import secrets
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from mogro.service.arms import ArmStore
from mogro.service.config import ServiceConfig
from mogro.service.hosted_agent import HostedAgent
from mogro.service.keys import Key, KeyRing, Role
from mogro.service.metrics import Metrics
from mogro.service.problems import Refused
from mogro.service.wire import ChangeAnswer
from mogro.service.worker import Readers, Writer

_SESSION = 12 * 3600.0  # seconds
_SESSIONS = 1000
_TRIES, _PAUSE = 5, 60.0  # logins that may fail within so many seconds, by address
_ADDRESSES = 10_000

Log = Callable[[Mapping[str, Any]], None]


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


class Buckets:
    """So many requests a second for each key, and as many at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}  # tokens left, and when

    def take(self, name: str) -> None:
        """Count a request, or refuse it."""
        if not self._rate:
            return
        now, most = time.monotonic(), max(self._rate, 1.0)
        level, then = self._levels.get(name, (most, now))
        level = min(most, level + (now - then) * self._rate)
        if level < 1:
            self._levels[name] = level, now
            raise Refused(429, f"rate: expected at most {self._rate:g} a second", retry=1)
        self._levels[name] = level - 1, now


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


class Audit:
    """Who changed what, a line each, in a file that only grows."""

    def __init__(self, path: str) -> None:
        self._path, self._lock = path, threading.Lock()
        self._kept: deque[ChangeAnswer] = deque(maxlen=1000)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    try:
                        self._kept.append(msgspec.json.decode(line, type=ChangeAnswer))
                    except msgspec.DecodeError:  # the last line, of a process that was killed
                        continue

    def write(self, by: str, agent: str, what: str, detail: Any = None) -> None:
        """Write a line, and return when it is on the disk."""
        change = ChangeAnswer(time.time(), by, agent, what, detail)
        with self._lock, open(self._path, "ab") as file:
            file.write(msgspec.json.encode(change) + b"\n")
            file.flush()
            os.fsync(file.fileno())
            self._kept.append(change)

    def list(self, agent: str | None = None, what: str | None = None) -> list[ChangeAnswer]:
        """Return the last changes, the latest first."""
        return [
            change
            for change in reversed(self._kept)
            if (agent is None or change.agent == agent) and (what is None or change.what == what)
        ]


class Service:
    """Everything that requests share."""

    def __init__(self, config: ServiceConfig, *, log: Log | None = None) -> None:
        self.keys = KeyRing(config.key_file)
        config.check(keys=self.keys.required)
        self.config = config
        self.sessions = Sessions()
        self.buckets = Buckets(config.limits.rate)
        self.audit = Audit(os.fspath(config.beside(f"{config.path.stem}.audit.jsonl")))
        self.readers = Readers()
        self.log: Log = log or write_line
        self.token = secrets.token_urlsafe(32)  # of forms, where there are no keys
        self.ready = False
        self.agents: dict[str, HostedAgent] = {}
        try:
            for name in config.agents:
                self.agents[name] = self._open(name)
        except BaseException:
            self.close()
            raise
        self.metrics = Metrics(self.agents)
        self.ready = True

    def _open(self, name: str) -> HostedAgent:
        config, section = self.config, self.config.agents[name]
        agent, limits = section.open(config.journal(name), name), config.limits
        try:
            path = config.beside(f"{config.path.stem}.{name}.arms.json")
            arms = ArmStore(agent, path, section.catalogue, most=limits.arms)
        except BaseException:
            agent.close()
            raise
        writer = Writer(agent, waiting=limits.waiting, seconds=limits.seconds)
        hosted = HostedAgent(name, agent, arms, writer, section.noise)
        hosted.recall()
        return hosted

    def close(self) -> None:
        """Answer what waits, write snapshots, and let go of the journals."""
        self.ready = False
        self.readers.close()
        for hosted in self.agents.values():
            hosted.writer.close()
            hosted.agent.close()

    def agent(self, name: str) -> HostedAgent:
        """Return an agent by its name."""
        hosted = self.agents.get(name)
        if hosted is None:
            raise Refused(404, f"agent: expected one of {sorted(self.agents)}, got {name!r}")
        return hosted

    def change(self, caller: Caller, agent: str, what: str, detail: Any = None) -> None:
        """Note who has changed what."""
        self.audit.write(caller.name, agent, what, detail)
        self.log({"event": "change", "by": caller.name, "agent": agent, "what": what})


def write_line(fields: Mapping[str, Any]) -> None:
    """Write one line of the log: JSON, in which nothing from outside breaks a line."""
    line = json.dumps({"time": round(time.time(), 3), **fields}, default=str)
    sys.stderr.write(line + "\n")
