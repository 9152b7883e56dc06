"""Events applied again, for the tests."""

from collections.abc import Iterable
from pathlib import Path

import mogro
from mogro.live.events import Event
from mogro.live.memory.snapshot import read, write
from mogro.live.memory.state import State
from mogro.live.memory.state_arrays import save_state


def replayed(like: mogro.Agent, events: Iterable[Event], path: Path) -> None:
    """Apply events to the state of a new agent of the same settings, and save it."""
    like.save(path)
    settings = read(path, ()).settings
    state = State(settings)
    for event in events:
        assert not isinstance(state.apply(event), Exception)
    write(path, state.settings, *save_state(state, placed=False))
