"""The state that a journal leads to: its last snapshot, and the events since applied to it."""

import math
from functools import partial

from mogro.agent.config import AgentConfig
from mogro.agent.errors import DamagedSnapshot, JournalError
from mogro.agent.events import Event, PriorLearned, Voided
from mogro.agent.journal.tables import Journal
from mogro.agent.state.snapshot import decode_state
from mogro.agent.state.state import State

Voids = dict[int, float]  # positions of void events, and of the events that voided them


def last_state(journal: Journal, config: AgentConfig, before: float = math.inf) -> State:
    """Return the state of the last snapshot, if that is from before a position, or a new one.

    The journal began with a configuration. A damaged snapshot counts as none: the events may still
    be complete.
    """
    position, head, blocks = journal.read_snapshot()
    if not 0 < position < before:
        return State(config)
    try:
        state = decode_state(
            head, blocks, partial(config.restored, types=journal.types), where=journal.path
        )
    except DamagedSnapshot:
        if journal.read_index().position == position:
            return State(config)
        return last_state(journal, config, before)  # another one took its place meanwhile
    if state.config.retention is not None:
        state.ledger.released = []  # by events since: nobody else may have listed them
    return state


def find_voids(journal: Journal, after: int) -> Voids:
    """Return the events that were voided after a position."""
    events = journal.read(after, lambda _, kind: kind == Voided.__name__)
    return {event.position: at for at, event in events if isinstance(event, Voided)}


def replay(state: State, position: int, event: Event, voids: Voids, path: str) -> None:
    """Apply an event of a journal; where some are void, those that are refused without them are.

    Priors that were learned between an event and its void are learned again, without it.
    """
    after_void = any(start < position < end for start, end in voids.items())
    is_void = position in voids or (after_void and isinstance(event, PriorLearned))
    result = None if is_void else state.apply(event)
    if isinstance(result, Exception) and not voids:
        raise JournalError(f"{path}: event {position} is refused: {result}")
    if is_void or isinstance(result, Exception):
        state.skip(event)
    if after_void:
        state.learn_prior()


def replay_all(state: State, journal: Journal, voids: Voids, voided_position: int) -> None:
    """Apply all events after those in a state, so that the one at a position can be void."""
    for position, event in journal.read(state.position, evidence=False):
        if position != state.position + 1:
            raise JournalError(
                f"{journal.path}: event {state.position + 1} was deleted, so that "
                f"{voided_position} cannot be voided"
            )
        replay(state, position, event, voids, journal.path)
