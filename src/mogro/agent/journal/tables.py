"""The tables of a journal, and what is asked of them in the same words everywhere.

Each table has rows for every agent in it::

    mogro_agents      number, name, version of this layout, configuration (JSON)
    mogro_events      agent, position from 1, event, checksum
    mogro_snapshots   agent, part, position of the last event in it, content

An event is written by :func:`mogro._codec.encode`; behind a decision comes what only a log needs of
it. Positions have no gaps, but for events that have gone out; then a snapshot stands for them. The
checksum is CRC-32 of the event's bytes, started with its position. Part 0 of the snapshots is the
:class:`SnapshotIndex`, which says what counts. All other parts have numbers of their own that are
never used again, those of drafts below 0.
"""

import copy
import json
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

from mogro._codec import TAG, decode, encode
from mogro.agent.errors import DamagedJournal, JournalError, NewerJournal
from mogro.agent.events import KINDS, Decided, Event

Row = tuple[int, bytes, int]  # position, event, checksum

VERSION = 7  # of the tables, and of events and snapshots in them
ROWS = 4096  # events read at a time

_TABLES = (
    "CREATE TABLE mogro_agents (number {serial} PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " version INTEGER NOT NULL, config TEXT NOT NULL)",
    "CREATE TABLE mogro_events (agent INTEGER NOT NULL, position BIGINT NOT NULL,"
    " event {bytes} NOT NULL, checksum BIGINT NOT NULL, PRIMARY KEY (agent, position)) {clustered}",
    "CREATE TABLE mogro_snapshots (agent INTEGER NOT NULL, part BIGINT NOT NULL,"
    " position BIGINT NOT NULL, content {bytes} NOT NULL, PRIMARY KEY (agent, part, position))",
)


@dataclass(frozen=True)
class SnapshotIndex:
    """The last snapshot that is whole.

    Attributes
    ----------
    position
        Of the last event in it; 0 if there is none yet.
    head
        Parts that it was cut into.
    blocks
        The part of each block of decisions; it may be that of an earlier snapshot, or of a draft.
    deletions
        Parts that list events which it stands for, and which are still to be deleted.
    deleted_until
        The position up to which all events that could go have gone, or are listed.
    """

    position: int = 0
    head: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    deletions: list[int] = field(default_factory=list)
    deleted_until: int = 0


class Journal(ABC):
    """Events in one order, which everybody sees alike; positions count from 1.

    How tables are locked, and what a commit is, depends on the database.
    """

    path: str  # of the file, or the address of the database; said in errors
    connections: int  # so far: what was read by an earlier one may be lost, and not have happened
    config: dict[str, Any]  # of the agent when it was created, as JSON can hold it
    types: Mapping[str, type[Any]]  # of which events are made, by their names
    _agent = 0  # its number; none yet
    _COLUMN_TYPES: ClassVar[dict[str, str]]  # of this kind of database, for the tables
    _BEGIN_READ: ClassVar[str]  # begins a transaction that sees nothing that comes later
    _ERRORS: ClassVar[dict[type[Exception], type[JournalError]]]  # its own, and what they are

    def __init__(
        self, path: str, name: str, config: dict[str, Any] | None, *, timeout: float
    ) -> None:
        self.path, self._timeout = path, timeout
        self._connect()
        try:
            self._find_agent(name, config)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def begin(self) -> None:
        """Keep others from appending until the end; what :meth:`read` gives is then complete."""

    @abstractmethod
    def commit(self) -> None:
        """Return when all since :meth:`begin`, or read then, is on the disk."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything since :meth:`begin`."""

    @property
    @abstractmethod
    def has_committed(self) -> bool:
        """Whether a commit that was interrupted has happened all the same."""

    def open_reader(self) -> Self:
        """Return the journal by another connection, to read it as it is now, and close it then."""
        reader = copy.copy(self)
        reader._connect()
        reader._execute(self._BEGIN_READ)
        reader.read_index()  # from here on it sees nothing that comes later
        return reader

    @abstractmethod
    def overwrite_deleted(self) -> None:
        """Overwrite what was deleted on the disk, as far as the database allows."""

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _has_tables(self) -> bool: ...

    @abstractmethod
    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        """Execute a statement with ``?`` for each argument, and return its rows."""

    @abstractmethod
    def _execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each of some rows of arguments."""

    def _query(self, statement: str, *arguments: object) -> list[Any]:
        """Execute one that changes nothing, if need be by a new connection."""
        return self._execute(statement, *arguments)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Let errors name the file or the database."""
        try:
            yield
        except tuple(self._ERRORS) as error:
            types = [self._ERRORS[kind] for kind in self._ERRORS if isinstance(error, kind)]
            raise types[0](f"{self.path}: {error}") from error

    def _find_agent(self, name: str, config: dict[str, Any] | None) -> None:
        """Find an agent, and make it if it is new and there is a configuration."""
        self.begin()
        try:
            if config is not None and not self._has_tables():
                for statement in _TABLES:
                    self._execute(statement.format(**self._COLUMN_TYPES))
            if config is not None:
                self._execute(
                    "INSERT INTO mogro_agents (name, version, config) VALUES (?, ?, ?)"
                    " ON CONFLICT (name) DO NOTHING",
                    *(name, VERSION, json.dumps(config)),
                )
            query = "SELECT name, number, version, config FROM mogro_agents ORDER BY 2"
            agents = {row[0]: row[1:] for row in self._execute(query)} if self._has_tables() else {}
            self.commit()
        except BaseException:
            self.rollback()
            raise
        if name not in agents:
            raise JournalError(
                f"{self.path}: no agent {name!r} in it, only {list(agents)[:12]}; to create one, "
                "give its objectives"
            )
        self._agent, version, text = agents[name]
        if version < VERSION:
            raise JournalError(
                f"{self.path}: its format is version {version}; this mogro reads {VERSION} only: "
                "export its log with the mogro that wrote it, and let a new agent learn it"
            )
        if version > VERSION:
            raise NewerJournal(
                f"{self.path}: its format is version {version}; this mogro reads {VERSION} only"
            )
        try:
            self.config = dict(json.loads(text))
        except (ValueError, TypeError) as error:
            raise DamagedJournal(f"{self.path}: its settings are damaged: {error}") from error

    def append(self, rows: Sequence[Row]) -> None:
        """Write events."""
        self._execute_many(
            "INSERT INTO mogro_events VALUES (?, ?, ?, ?)", [(self._agent, *row) for row in rows]
        )

    def rows(self, after: int) -> Iterator[Row]:
        """Yield the events after a position as they are written, in order."""
        rows = None
        while rows is None or len(rows) == ROWS:
            rows = self._rows(after, ROWS)
            yield from rows
            after = rows[-1][0] if rows else after

    def _rows(self, after: int, limit: int) -> list[Row]:
        return self._query(
            "SELECT position, event, checksum FROM mogro_events"
            " WHERE agent = ? AND position > ? ORDER BY position LIMIT ?",
            *(self._agent, after, limit),
        )

    def read(
        self,
        after: int,
        predicate: Callable[[int, str], bool] | None = None,
        *,
        evidence: bool = True,
    ) -> Iterator[tuple[int, Event]]:
        """Yield the events after a position, with their own, in order.

        Only those of which ``predicate`` is true, by position and kind. Without ``evidence``,
        which a state does not look at, decisions take less time to read.
        """
        for row in self.rows(after):
            if predicate is None or predicate(row[0], event_kind(row)):
                yield row[0], self.decode(row, evidence=evidence)

    def event(self, position: int) -> Event | None:
        """Return one event; None if it has gone out."""
        rows = self._rows(position - 1, 1)
        return self.decode(rows[0]) if rows and rows[0][0] == position else None

    def decode(self, row: Row, *, evidence: bool = True) -> Event:
        """Return the event of a row, with or without what only a log needs."""
        event: Event
        try:
            if checksum(row[0], row[1]) != row[2]:
                raise ValueError("its checksum does not match")
            event, end = decode(row[1], self.types)
            if evidence and end < len(row[1]) and isinstance(event, Decided):
                event = event._replace(evidence=decode(row[1], self.types, end)[0])
        except Exception as error:  # a damaged event can fail in any way
            raise self._unreadable(row, error) from error
        return event

    def _unreadable(self, row: Row, error: Exception) -> JournalError:
        name, is_intact = event_kind(row)[:40], checksum(row[0], row[1]) == row[2]
        if is_intact and name not in KINDS:
            return NewerJournal(f"{self.path}: event {row[0]} is {name!r}, not known here")
        return DamagedJournal(f"{self.path}: event {row[0]} is damaged: {error}")

    def delete_events(self, positions: Iterable[int]) -> None:
        """Delete events."""
        self._execute_many(
            "DELETE FROM mogro_events WHERE agent = ? AND position = ?",
            [(self._agent, position) for position in positions],
        )

    def read_index(self) -> SnapshotIndex:
        """Return what there is of the last snapshot that is whole."""
        content = self.read_part(0)
        try:
            return SnapshotIndex(**json.loads(content)) if content else SnapshotIndex()
        except (ValueError, TypeError) as error:
            raise DamagedJournal(f"{self.path}: its snapshots are damaged: {error}") from error

    def write_index(self, index: SnapshotIndex) -> None:
        """Make a snapshot the current one, in place of the last."""
        self.write_part(0, 0, json.dumps(asdict(index)).encode())

    def read_part(self, part: int) -> bytes:
        """Return a part of a snapshot; empty if there is none."""
        rows = self._query(
            "SELECT content FROM mogro_snapshots WHERE agent = ? AND part = ?", *(self._agent, part)
        )
        return rows[0][0] if rows else b""

    def part_positions(self) -> dict[int, int]:
        """Return the positions of all parts of snapshots, also of those that do not count."""
        query = "SELECT part, position FROM mogro_snapshots WHERE agent = ? AND part <> 0"
        return dict(self._query(query, self._agent))

    def write_part(self, part: int, position: int, content: bytes) -> None:
        """Write a part of a snapshot at a position; only the index is ever written again."""
        self._execute(
            "INSERT INTO mogro_snapshots VALUES (?, ?, ?, ?)"
            " ON CONFLICT (agent, part, position) DO UPDATE SET content = excluded.content",
            *(self._agent, part, position, content),
        )

    def delete_parts(self, parts: Iterable[int]) -> None:
        """Delete parts of snapshots."""
        self._execute_many(
            "DELETE FROM mogro_snapshots WHERE agent = ? AND part = ?",
            [(self._agent, part) for part in parts],
        )

    def unused_parts(self, draft_age: int = 0) -> set[int]:
        """Return parts that the last snapshot, or another to come, does not use.

        Drafts of the last ``draft_age`` events are not among them: somebody may be writing them.
        """
        index = self.read_index()
        parts = self.part_positions().items()
        ages = {part: index.position - position for part, position in parts}
        old_parts = {part for part in ages if ages[part] >= (draft_age if part < 0 else 0)}
        return old_parts.difference(index.head, index.blocks, index.deletions)

    def read_snapshot(self) -> tuple[int, bytes, Iterator[bytes]]:
        """Return the position of the last snapshot that is whole, its head, and its blocks.

        Position 0 if there is none. Blocks are read when they are asked for: if another snapshot
        counts by then, some may be empty.
        """
        index = self.read_index()
        head = b"".join(map(self.read_part, index.head))
        return index.position, head, map(self.read_part, index.blocks)


def event_rows(position: int, events: Iterable[Event]) -> list[Row]:
    """Return events from a position on as they are written."""
    numbered_events = enumerate(map(event_bytes, events), position)
    return [(number, content, checksum(number, content)) for number, content in numbered_events]


def event_bytes(event: Event) -> bytes:
    """Return an event as it is written, without its place."""
    if not isinstance(event, Decided) or event.evidence is None:
        return encode(event)
    return encode(event._replace(evidence=None)) + encode(event.evidence)


def checksum(position: int, content: bytes) -> int:
    """Return the checksum of an event at a position."""
    return zlib.crc32(content, position & 0xFFFFFFFF)


def find_mentions(rows: Iterable[Row], ids: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield positions of events about decisions of some ids, with the id of each."""
    pattern = re.compile(b"|".join(re.escape(json.dumps(id).encode()) for id in ids))
    for position, content, _ in rows:
        if pattern.search(content):
            fields = json.loads(content.partition(b"\n")[0])
            id = fields.get("decision", fields).get("id")
            if id in ids:
                yield position, id


def event_kind(row: Row) -> str:
    """Return the kind of an event, from what is written of it."""
    content, start = row[1], len(f'{{"{TAG}":"')
    return content[start : content.find(b'"', start)].decode("ascii", "replace")
