"""What the requests of a service share while it runs."""

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from mogro.service.arms import ArmStore
from mogro.service.audit import Audit
from mogro.service.config import ServiceConfig
from mogro.service.error_responses import RequestRefused
from mogro.service.hosted_agent import HostedAgent
from mogro.service.keys import KeyRing
from mogro.service.metrics import Metrics
from mogro.service.rate_limit import RateLimit
from mogro.service.sessions import Sessions
from mogro.service.threads import ReaderPool, WriterThread

Log = Callable[[Mapping[str, Any]], None]


class Service:
    """Everything that requests share."""

    def __init__(self, config: ServiceConfig, *, log: Log | None = None) -> None:
        self.keys = KeyRing(config.key_file)
        config.check(keys=self.keys.required)
        self.config = config
        self.sessions = Sessions()
        rate = config.limits.rate
        self.requests = RateLimit(rate, rate, f"rate: expected at most {rate:g} a second")
        self.logins = RateLimit(5 / 60, 5, "key: too many that are wrong")  # by address
        self.audit = Audit(os.fspath(config.beside(f"{config.path.stem}.audit.jsonl")))
        self.readers = ReaderPool()
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
        writer = WriterThread(agent, waiting=limits.waiting, seconds=limits.seconds)
        hosted = HostedAgent(name, agent, arms, writer, section.noise)
        hosted.restore_recent()
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
            raise RequestRefused(404, f"agent: expected one of {sorted(self.agents)}, got {name!r}")
        return hosted


def write_line(fields: Mapping[str, Any]) -> None:
    """Write one line of the log: JSON, in which nothing from outside breaks a line."""
    line = json.dumps({"time": round(time.time(), 3), **fields}, default=str)
    sys.stderr.write(line + "\n")
