"""Snapshots of a state in its journal: what has changed since the last one, piece by piece.

A snapshot begins with the state as it is, which is kept while the agent goes on. Every commit takes
one piece of it along, so that nobody waits for the whole; with the last piece it counts, and
takes the place of the one before. Where it fails, or its process is killed, the one before counts,
and pieces that were written are deleted by the next. What an earlier one had beside it goes a few
parts with every commit, too.

Where decisions are forgotten, events go out that a snapshot stands for: all but those of decisions
that are held, and the last. They are listed with the snapshot, and deleted a few with every commit.
"""

import json
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from mogro._validation import IntArray
from mogro.agent.journal.tables import DRAFTS, LISTS, Journal, SnapshotIndex
from mogro.agent.state import snapshot
from mogro.agent.state.ledger import Ledger
from mogro.agent.state.state import State

_PIECE = 1 << 18  # bytes of the head
_DELETED = 256  # events with one commit, at most
_DRAFTED = 100_000  # events after which nobody writes a draft any more
_LISTED = 4096  # events to be deleted in one part


class Draft(NamedTuple):
    """Blocks of a state that is not yet that of the journal, to be written while others go on.

    Attributes
    ----------
    position
        Of the last event in it.
    key
        Below 0, and nobody else's: under which they are written, where others have a position. It
        says the position, too: see :meth:`mogro.agent.journal.tables.Journal.unused_parts`.
    """

    position: int
    key: int


def new_draft(position: int) -> Draft:
    """Return a draft of the state at a position, under a key of its own."""
    return Draft(position, -(position * DRAFTS + 1 + secrets.randbelow(DRAFTS - 1)))


class Snapshots:
    """Writes snapshots into a journal, always with its lock held.

    Parameters
    ----------
    journal
        Where to.
    every
        Events between snapshots.
    """

    def __init__(self, journal: Journal, every: int) -> None:
        self._journal = journal
        self._every = every
        self._index: SnapshotIndex | None = None  # of the one that is being written
        self._pieces: deque[tuple[int, Callable[[], bytes]]] = deque()
        self._unused: set[tuple[int, int]] = set()  # parts of earlier ones, to be deleted
        self.next = every  # the position from which on another one may be due
        self.under_way = False  # there is something to write or to delete

    def follow(self, position: int) -> None:
        """Know of a snapshot at a position, which somebody has left; some events may have to go."""
        self.next, self.under_way = position + self._every, True

    def is_due(self, position: int) -> bool:
        """Tell whether it is time for another one."""
        if self._index is not None or position < self.next:
            return False
        self.next = self._journal.last_started() + self._every  # somebody else may have taken one
        return position >= self.next

    def write_block(self, ledger: Ledger, number: int, draft: Draft) -> None:
        """Write a block for a snapshot that is begun later."""
        self._journal.write_part(number + 1, draft.key, snapshot.block(ledger, number))

    def begin(self, state: State, draft: Draft | None = None) -> None:
        """Begin a snapshot of a state; nothing is written yet.

        Blocks that have not changed are those of the last one, or of a draft, as far as nobody has
        deleted them.
        """
        last, frozen = self._journal.index(), state.freeze()
        position, ledger = frozen.position, frozen.ledger
        if draft is not None:
            there = self._journal.parts_at(draft.key)
            blocks = [draft.key * (part in there) for part in range(1, len(ledger.blocks) + 1)]
            last = replace(last, position=draft.position, blocks=blocks)
        content = snapshot.head(frozen)
        starts = range(0, len(content), _PIECE)
        blocks = [*last.blocks, *[0] * len(ledger.blocks)][: len(ledger.blocks)]
        self._pieces.clear()
        for n, start in enumerate(starts, 1):
            self._pieces.append((-n, partial(bytes, content[start : start + _PIECE])))
        for number, changed in enumerate(ledger.versions):
            if changed > last.position or not blocks[number]:
                blocks[number] = position
                self._pieces.append((number + 1, partial(snapshot.block, ledger, number)))
        self._index = SnapshotIndex(position, len(starts), blocks, last.deleted)
        self.next, self.under_way = position + self._every, True
        if state.ledger.released is not None:
            released = state.ledger.released  # what the last one stands for was in its lists
            state.ledger.released = [event for event in released if event[0] > last.position]
            unneeded = _unneeded(frozen, last.deleted)
            for n, start in enumerate(range(0, len(unneeded), _LISTED)):
                self._pieces.append((LISTS - n, partial(_list, unneeded[start : start + _LISTED])))
            self._index = replace(self._index, deleted=position - 1)

    def step(self, pieces: int = 1) -> None:
        """Write some pieces, or delete a few events: what a commit takes along."""
        if self._index is None:
            self._delete(pieces)
            return
        if self._journal.index().position >= self._index.position:  # a later one counts
            self.cancel()
            return
        for _ in range(min(pieces, len(self._pieces))):
            part, make = self._pieces.popleft()
            self._journal.write_part(part, self._index.position, make())
        if not self._pieces:
            self._journal.write_index(self._index)
            self._index = None
            self._unused = self._journal.unused_parts(kept=_DRAFTED)

    def cancel(self) -> None:
        """Leave it: the last one counts."""
        self._index = None
        self._pieces.clear()

    def _delete(self, pieces: int) -> None:
        """Delete some of what the last snapshot stands for: parts of earlier ones, or events."""
        if self._unused:
            some = [self._unused.pop() for _ in range(min(pieces, len(self._unused)))]
            self._journal.drop_parts(some)
            return
        listed, most = self._journal.listed(), pieces * _DELETED
        self.under_way = listed is not None
        if listed is not None:
            part, position, events = listed
            self._journal.remove(events[:most])
            if len(events) > most:
                self._journal.write_part(part, position, json.dumps(events[most:]).encode())
            else:
                self._journal.drop_parts([(part, position)])


def _list(events: IntArray) -> bytes:
    """Return positions of events as they are written."""
    return json.dumps(events.tolist()).encode()


def _unneeded(state: State, deleted: int) -> IntArray:
    """Return positions of events that a snapshot of a state can stand for, in order.

    Those of dropped decisions, and of all after a position but what held decisions refer to. The
    last event stays: it tells others that they are behind.
    """
    ledger, first = state.ledger, deleted + 1
    held = [block.position[block.number >= 0] for block in ledger.blocks]
    needed = np.concatenate([*held, np.array([*ledger.references, *state.changes], np.int64)])
    unneeded = np.ones(state.position - first, dtype=np.bool_)
    unneeded[needed[(needed >= first) & (needed < state.position)] - first] = False
    released = {position for _, position in ledger.released or () if position < first}
    return np.concatenate([np.array(sorted(released), np.int64), first + np.flatnonzero(unneeded)])
