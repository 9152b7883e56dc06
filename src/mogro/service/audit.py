"""Who changed what: a record that only grows."""

import os
import threading
import time
from collections import deque
from typing import Any

import msgspec

from mogro.service.wire import ChangeAnswer


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
