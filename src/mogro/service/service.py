"""What the requests of a service share while it runs."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException

from mogro.service.access import Access
from mogro.service.config import ServiceConfig
from mogro.service.hosted_agent import HostedAgent
from mogro.service.metrics import Metrics
from mogro.service.threads import ReaderPool
from mogro.service.wire import ChangeAnswer

Log = Callable[[Mapping[str, Any]], None]
_MAX_CHANGES = 1000
_MAX_BYTES = 1 << 20  # of the record, that are read for the last changes


class Audit:
    """Who changed what, a line each, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        path.touch()

    def write(self, by: str, agent: str, what: str, detail: Any = None) -> None:
        """Write a line, and return when it is on the disk."""
        change = ChangeAnswer(time.time(), by, agent, what, detail)
        with self._lock, self._path.open("a+b") as file:
            if file.tell():  # a process that was killed may have left part of a line
                file.seek(-1, os.SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")
            file.write(msgspec.json.encode(change) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def changes(self, agent: str | None = None, what: str | None = None) -> list[ChangeAnswer]:
        """Return the last changes, the latest first."""
        changes = []
        with self._path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_BYTES))
            lines = file.read().splitlines()
        for line in reversed(lines[-_MAX_CHANGES:]):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # part of a line
                change = msgspec.json.decode(line, type=ChangeAnswer)
                if agent in (None, change.agent) and what in (None, change.what):
                    changes.append(change)
        return changes


class Service:
    """Everything that requests share."""

    def __init__(self, config: ServiceConfig, *, log: Log | None = None) -> None:
        self.config, self.access = config, Access(config)
        config.check(has_keys=self.access.keys.required)
        self.audit = Audit(config.resolve(f"{config.path.stem}.audit.jsonl"))
        self.readers = ReaderPool()
        self.log: Log = log or write_line
        self.ready = False
        self.agents: dict[str, HostedAgent] = {}
        try:
            for name in config.agents:
                self.agents[name] = HostedAgent(name, config)
        except BaseException:
            self.close()
            raise
        self.metrics = Metrics(self.agents)
        self.ready = True

    def close(self) -> None:
        """Answer what waits, write snapshots, and close the journals."""
        self.ready = False
        self.readers.close()
        for hosted_agent in self.agents.values():
            hosted_agent.close()

    def agent(self, name: str) -> HostedAgent:
        """Return an agent by its name."""
        hosted_agent = self.agents.get(name)
        if hosted_agent is None:
            raise HTTPException(404, f"agent: expected one of {sorted(self.agents)}, got {name!r}")
        return hosted_agent


def write_line(fields: Mapping[str, Any]) -> None:
    """Write one line of the log, as JSON, in which line breaks are escaped."""
    line = json.dumps({"time": round(time.time(), 3), **fields}, default=str)
    sys.stderr.write(line + "\n")
