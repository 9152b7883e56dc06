"""Events applied again, for the tests."""

from collections.abc import Iterable
from pathlib import Path

import mogro
from mogro.agent.events import Event
from mogro.agent.state.snapshot import read_snapshot, write_snapshot
from mogro.agent.state.state import State


def replayed(like: mogro.Agent, events: Iterable[Event], path: Path) -> None:
    """Apply events to the state of a new agent of the same settings, and save it."""
    like.save(path)
    config = read_snapshot(path, ()).config
    state = State(config)
    for event in events:
        assert not isinstance(state.apply(event), Exception)
    write_snapshot(path, state)
