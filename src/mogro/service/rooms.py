"""An agent of the service with what belongs to it."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from mogro.agent import Agent
from mogro.service.arms import ArmStore
from mogro.service.worker import Writer

_RECENT = 200  # choices that the page looks back on


@dataclass
class Room:
    """One agent with what belongs to it."""

    name: str
    agent: Agent
    arms: ArmStore
    writer: Writer
    recent: deque[tuple[Any, Any]] = field(default_factory=lambda: deque(maxlen=_RECENT))
