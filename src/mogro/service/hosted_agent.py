"""An agent of the service with what belongs to it."""

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from mogro.agent import Agent, Alarm
from mogro.service import wire
from mogro.service.arms import ArmStore
from mogro.service.threads import WriterThread

_RECENT = 200  # choices that the page looks back on
_RECALLED, _ARMS = 20, 1000  # of them from a journal, with so many arms each at most
_FRESH = 5.0  # seconds for which alarms are kept: they look at all decisions


@dataclass
class HostedAgent:
    """One agent, its catalogue, the thread that changes it, and what the page looks back on."""

    name: str
    agent: Agent
    arms: ArmStore
    writer: WriterThread
    noise: Any = None  # of rewards, if somebody knows: see Agent.front
    page: tuple[float, dict[str, str]] = (-math.inf, {})  # since when, and its parts
    recent: deque[tuple[Any, Any]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _alarms: tuple[float, tuple[Alarm, ...]] = (-math.inf, ())

    def carry_out(self, call: wire.Call) -> Any:
        """Return the answer to a call, and remember what was on offer."""
        answer = call.carry_out(self.agent, self.arms.catalogue)
        if isinstance(call, wire.DecideCall):
            self.recent.append((call.arms, call.context))
        return answer

    def alarms(self) -> tuple[Alarm, ...]:
        """Return what should be looked at, as of a few seconds ago."""
        with self._lock:
            if time.monotonic() - self._alarms[0] > _FRESH:
                self._alarms = time.monotonic(), self.agent.alarms()
            return self._alarms[1]

    def restore_recent(self) -> None:
        """Take the last choices from the journal, after a start."""
        ledger = self.agent.freeze().ledger
        for row in ledger.live()[-_RECALLED:].tolist():
            try:
                arms = self.agent.decision(ledger.ids[row]).decision.inputs.arms
            except ValueError:  # its inputs are not on record
                continue
            if len(arms) <= _ARMS:
                named = dict(zip(arms.ids, arms.raw.tolist(), strict=True))
                self.recent.append((named, arms.context))
