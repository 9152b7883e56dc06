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
from typing import Any

import numpy as np

from mogro._validation import IntArray
from mogro.agent.journal.tables import Journal, SnapshotIndex
from mogro.agent.state import snapshot
from mogro.agent.state.ledger import Ledger
from mogro.agent.state.state import State

_PIECE_BYTES = 1 << 18  # bytes of the head
_MAX_DELETIONS = 256  # events with one commit, at most
_DRAFT_AGE = 100_000  # events after which nobody writes a draft any more
_MAX_LISTED_EVENTS = 4096  # events to be deleted in one part


class SnapshotWriter:
    """Writes snapshots into a journal, step by step, always with its lock held.

    Parameters
    ----------
    journal
        Where to.
    interval
        Events between snapshots.
    """

    def __init__(self, journal: Journal, interval: int) -> None:
        self._journal = journal
        self._interval = interval
        self._next_position = interval  # the position from which on another one may be due
        self._position = 0  # of the one that is being written, if there is one
        self._steps: deque[Callable[[], None]] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether there is something to write or to delete."""
        return bool(self._steps)

    def restart_from(self, position: int) -> None:
        """Go on from a snapshot at a position; events that it stands for may have to be deleted."""
        self._next_position = position + self._interval
        self.cancel()

    def cancel(self) -> None:
        """Give up the snapshot that is being written; the last complete one counts."""
        self._position = 0
        self._steps = deque([self._delete_events])

    def advance(self, state: State) -> None:
        """Do what a commit takes along: begin a snapshot if one is due, and take a step."""
        if not self._position and state.position >= self._next_position:
            positions = [
                position for part, position in self._journal.part_positions().items() if part > 0
            ]
            last_start = max(positions, default=0)  # somebody else may be writing one
            self._next_position = last_start + self._interval
            if state.position >= self._next_position:
                self.begin(state)
        self.step()

    def step(self, count: int = 1) -> None:
        """Write some pieces of a snapshot, or delete what the last one stands for."""
        if self._position and self._journal.read_index().position >= self._position:
            self.cancel()  # a later one counts
        for _ in range(min(count, len(self._steps))):
            self._steps.popleft()()

    def write_draft(self, ledger: Ledger, number: int, position: int) -> int:
        """Write a block of a state that is not yet that of the journal, and return its part."""
        part = -_new_part()
        self._journal.write_part(part, position, snapshot.encode_block(ledger, number))
        return part

    def begin(self, state: State, draft: SnapshotIndex | None = None) -> None:
        """Begin a snapshot of a state; nothing is written yet.

        Blocks that have not changed are those of the last one, or of a draft, as far as nobody has
        deleted them.
        """
        last_index, stored_parts = self._journal.read_index(), self._journal.part_positions()
        frozen_state, base_index = state.freeze(), draft or last_index
        position, ledger = frozen_state.position, frozen_state.ledger
        self._next_position = position + self._interval
        self._position, self._steps = position, deque()
        head = snapshot.encode_head(frozen_state)
        pieces = (head[start : start + _PIECE_BYTES] for start in range(0, len(head), _PIECE_BYTES))
        head_parts = [self._write_later(bytes, piece) for piece in pieces]
        blocks = []
        for number, last_change in enumerate(ledger.versions):
            part = base_index.blocks[number] if number < len(base_index.blocks) else 0
            if last_change > base_index.position or part not in stored_parts:
                part = self._write_later(snapshot.encode_block, ledger, number)
            blocks.append(part)
        deletions: list[int] = []
        deleted_until, released = last_index.deleted_until, state.ledger.released
        if released is not None:  # what the last one stands for was in its lists
            state.ledger.released = [event for event in released if event[0] > last_index.position]
            events = _unneeded_events(frozen_state, deleted_until).tolist()
            deleted_until = position - 1
            for start in range(0, len(events), _MAX_LISTED_EVENTS):
                content = json.dumps(events[start : start + _MAX_LISTED_EVENTS]).encode()
                deletions.append(self._write_later(bytes, content))
        index = SnapshotIndex(position, head_parts, blocks, deletions, deleted_until)
        self._steps.append(partial(self._finish, index))

    def _write_later(self, encode: Callable[..., bytes], *arguments: Any) -> int:
        """Let a step write a new part of the snapshot, and return its number."""
        part, position = _new_part(), self._position
        self._steps.append(lambda: self._journal.write_part(part, position, encode(*arguments)))
        return part

    def _finish(self, index: SnapshotIndex) -> None:
        """Make the snapshot the current one, and begin to delete what it replaces."""
        deletions = self._journal.read_index().deletions + index.deletions
        self._journal.write_index(replace(index, deletions=deletions))
        self.cancel()
        for part in self._journal.unused_parts(draft_age=_DRAFT_AGE):
            self._steps.appendleft(partial(self._journal.delete_parts, [part]))

    def _delete_events(self) -> None:
        """Delete some events that the last snapshot stands for."""
        index = self._journal.read_index()
        for part in index.deletions[:1]:
            events, deletions = json.loads(self._journal.read_part(part)), index.deletions[1:]
            self._journal.delete_events(events[:_MAX_DELETIONS])
            self._journal.delete_parts([part])
            if remaining_events := events[_MAX_DELETIONS:]:
                deletions.append(_new_part())
                content = json.dumps(remaining_events).encode()
                self._journal.write_part(deletions[-1], index.position, content)
            self._journal.write_index(replace(index, deletions=deletions))
            self._steps.append(self._delete_events)


def _new_part() -> int:
    """Return a number that no part has."""
    return 1 + secrets.randbits(62)


def _unneeded_events(state: State, deleted_until: int) -> IntArray:
    """Return positions of events that a snapshot of a state can stand for, in order.

    Those of dropped decisions, and of all after a position but what held decisions refer to. The
    last event stays: it tells others that they are behind.
    """
    ledger, start = state.ledger, deleted_until + 1
    held_positions = [block.position[block.number >= 0] for block in ledger.blocks]
    referenced_positions = np.array([*ledger.references, *state.changes], np.int64)
    positions = np.concatenate([*held_positions, referenced_positions])
    is_unneeded = np.ones(state.position - start, dtype=np.bool_)
    is_unneeded[positions[(positions >= start) & (positions < state.position)] - start] = False
    released = sorted({position for _, position in ledger.released or () if position < start})
    return np.concatenate([np.array(released, np.int64), start + np.flatnonzero(is_unneeded)])
