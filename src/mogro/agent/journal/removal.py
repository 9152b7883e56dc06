"""What takes back what a journal says: decisions are erased, events voided, while others go on."""

import math
import sys
import time
from collections.abc import Callable, Collection

from mogro.agent.events import Activated, Decided, Event, Expired, Rewarded, Voided, Withdrawn
from mogro.agent.journal.queue import PAUSE_SECONDS, CommitQueue
from mogro.agent.journal.replay import find_voids, last_state, replay_all
from mogro.agent.journal.tables import SnapshotIndex, find_mentions

_VOIDABLE = Decided, Rewarded, Activated, Withdrawn, Expired


def erase_decisions(
    queue: CommitQueue, ids: Collection[str], make_event: Callable[[Collection[str]], Event]
) -> Event:
    """Apply an event that erases decisions, and delete all events about them.

    The event is made from those of the ids that there are events about. All events are searched
    while others go on; with the lock held only those that have come since. They go once a snapshot
    stands for them; if it fails before, it can be repeated.
    """
    queue.check_not_nested()
    journal, last_position, mentions = queue.journal, 0, dict[int, str]()
    for _ in range(2):  # so that little is left to search with the lock held
        with queue.view() as (state, reader):
            mentions.update(find_mentions(reader.rows(last_position), ids))
            last_position = state.position
    with queue.transaction() as state:
        mentions.update(find_mentions(journal.rows(last_position), ids))
        event = make_event(set(mentions.values()))
        offers_before = set(state.ledger.references)
        queue.apply(event)
        unused_offers, position = offers_before - state.ledger.references.keys(), state.position
    while not _is_in_snapshot(queue, position):
        queue.write_snapshot()
    with queue.transaction():
        journal.delete_events({*mentions, *unused_offers})
        journal.delete_parts(journal.unused_parts())
    time.sleep(PAUSE_SECONDS)
    with queue.current():
        journal.overwrite_deleted()
    return event


def _is_in_snapshot(queue: CommitQueue, position: int) -> bool:
    with queue.current():
        return queue.journal.read_index().position >= position


def void_event(queue: CommitQueue, position: int) -> None:
    """Restore the state that all other events give, from the snapshot before this one.

    All events since are applied again, and the result is written, while others go on; with the
    lock held only what has come meanwhile. Its snapshot is where everybody else goes on.
    """
    queue.check_not_nested()
    while not _try_to_void(queue, position):
        pass


def _try_to_void(queue: CommitQueue, position: int) -> bool:
    """Void an event; return False if somebody has voided another one meanwhile."""
    with queue.view() as (_, reader):
        event = reader.event(position)
        if not isinstance(event, _VOIDABLE):
            kinds = ", ".join(kind.__name__ for kind in _VOIDABLE)
            raise ValueError(
                f"position: expected that of one of {kinds} in the journal, got {position}"
                + ("" if event is None else f", {type(event).__name__}")
            )
        state = last_state(reader, queue.config, before=position)
        voids = find_voids(reader, state.position)
        if position in voids:
            raise ValueError(f"position: expected an event that is not void, got {position}")
        voids[position] = math.inf
        replay_all(state, reader, voids, position)
    draft = SnapshotIndex(state.position)
    for number in range(len(state.ledger.blocks)):
        with queue.transaction():
            part = queue.snapshots.write_draft(state.ledger, number, draft.position)
        draft.blocks.append(part)
        time.sleep(PAUSE_SECONDS)
    with queue.transaction():
        if find_voids(queue.journal, state.position):
            return False
        replay_all(state, queue.journal, voids, position)
        queue.restart_from(state, Voided(position))
        queue.snapshots.begin(state, draft)
        queue.snapshots.step(sys.maxsize)
    return True
