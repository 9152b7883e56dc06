"""The tables of a journal, and what is asked of them in the same words everywhere.

Each table has rows for every agent in it::

    mogro_agents      number, name, version of this layout, settings (JSON)
    mogro_events      agent, position from 1 without gaps, event (JSON), checksum
    mogro_snapshots   agent, position of the last event in it, part, content

The checksum is CRC-32 of the event's bytes, started with its position.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from mogro.live.errors import JournalError
from mogro.live.events import Event
from mogro.live.journal.rows import PART, ROWS, event_from_row, read_settings


class Snapshot(NamedTuple):
    """The position of the last event in it, and its content."""

    position: int
    content: bytes


class Journal(ABC):
    """Events in one order, which everybody sees alike; positions count from 1.

    How tables are locked, and what a commit is, depends on the database.
    """

    path: str  # of the file, or the address of the database; said in errors
    connections: int  # so far: what was read by an earlier one may be lost, and not have happened
    settings: dict[str, Any]  # of the agent, as JSON can hold them
    _agent: int  # its number
    _VIEW: ClassVar[str]  # begins a transaction that sees what is there, and nothing later

    @abstractmethod
    def begin(self, after: int) -> None:
        """Keep others from appending until the end; what :meth:`read` gives is then complete.

        What comes ``after`` a position will be asked for first.
        """

    @abstractmethod
    def append(self, position: int, events: Iterable[Event]) -> None:
        """Write events at this position and the following ones."""

    @abstractmethod
    def commit(self, position: int = 0, events: Sequence[Event] = ()) -> None:
        """Append events, and return when all since :meth:`begin`, or read then, is on the disk."""

    @abstractmethod
    def append_behind(self, after: int, event: Event) -> int | None:
        """Append an event behind whatever others have appended ``after`` a position, and commit.

        All at once, without :meth:`begin`. Return its position; None where that cannot be done, or
        where it is not known whether it was.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything since :meth:`begin`."""

    @property
    @abstractmethod
    def committed(self) -> bool:
        """Whether a commit that was interrupted has happened all the same."""

    @abstractmethod
    def scrub(self) -> None:
        """Leave nothing on the disk of what was deleted, as far as that is in one's hands."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @property
    @abstractmethod
    def _is_idle(self) -> bool:
        """Whether no transaction has begun."""

    @abstractmethod
    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        """Execute a statement with ``?`` for each argument, and return its rows."""

    @abstractmethod
    def _query(self, statement: str, *arguments: object) -> list[Any]:
        """Do so with one that changes nothing, if need be by a new connection."""

    def _agent_named(self, name: str) -> tuple[int, dict[str, Any]]:
        """Return the number of an agent, and the settings it was created with."""
        agents = self._execute(
            "SELECT name, number, version, settings FROM mogro_agents ORDER BY number"
        )
        found = {own: rest for own, *rest in agents}
        if name not in found:
            raise JournalError(f"{self.path}: no agent {name!r} in it, only {list(found)[:12]}")
        number, version, text = found[name]
        return number, read_settings(self.path, version, text)

    def remove(self, first: int, last: int) -> None:
        """Delete events from a position to another."""
        self._execute(
            "DELETE FROM mogro_events WHERE agent = ? AND position BETWEEN ? AND ?",
            *(self._agent, first, last),
        )

    def read(self, after: int, *, evidence: bool = True) -> Iterator[tuple[int, Event]]:
        """Yield the events after a position, with their own, in order.

        Without ``evidence``, which a state does not look at, decisions take less time to read.
        """
        while True:
            rows = self._rows(after)
            for row in rows:
                yield row[0], event_from_row(self.path, *row, evidence=evidence)
            if len(rows) < ROWS:
                return
            after = rows[-1][0]

    def _rows(self, after: int) -> list[Any]:
        return self._query(
            "SELECT position, event, checksum FROM mogro_events"
            " WHERE agent = ? AND position > ? ORDER BY position LIMIT ?",
            *(self._agent, after, ROWS),
        )

    @contextmanager
    def view(self) -> Iterator[None]:
        """Let :meth:`read` see what is there now, whatever others do meanwhile."""
        if not self._is_idle:  # whoever appends is alone
            yield
            return
        self._query(self._VIEW)
        try:
            yield
        finally:
            self.rollback()

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot, if there is one."""
        rows = self._query(
            "SELECT position, content FROM mogro_snapshots WHERE agent = ? AND position ="
            " (SELECT max(position) FROM mogro_snapshots WHERE agent = ?) ORDER BY part",
            *(self._agent, self._agent),
        )
        if not rows:
            return None
        return Snapshot(rows[0][0], b"".join(content for _, content in rows))

    def snapshot_position(self) -> int:
        """Return the position of the last snapshot; 0 if there is none."""
        ((position,),) = self._query(
            "SELECT max(position) FROM mogro_snapshots WHERE agent = ?", self._agent
        )
        return position or 0

    def replace_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of earlier ones."""
        position, content = snapshot.position, memoryview(snapshot.content)
        self._execute("DELETE FROM mogro_snapshots WHERE agent = ?", self._agent)
        for part, start in enumerate(range(0, len(content), PART)):
            self._execute(
                "INSERT INTO mogro_snapshots VALUES (?, ?, ?, ?)",
                *(self._agent, position, part, content[start : start + PART]),
            )
