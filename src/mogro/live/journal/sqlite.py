"""A journal in an SQLite file: events in one order, snapshots of what they led to.

The tables are those of :mod:`mogro.live.journal.tables`. Whoever appends holds the file's write
lock from before it has read the last event until its own are committed, so positions
say in which order events happened. A commit returns when the disk has it: WAL, synchronous FULL.
"""

import json
import random
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mogro.live.errors import DamagedJournal, JournalError, JournalUnavailable
from mogro.live.events import Event
from mogro.live.journal.rows import VERSION, event_rows
from mogro.live.journal.tables import Journal
from mogro.live.journal.turnstile import Turnstile

# Seconds between tries for a lock, at most. Left to itself SQLite would soon wait 0.1 s, during
# which others commit many times. Few try at once, thanks to the turnstile.
_PAUSE = 0.0005

_TABLES = """
CREATE TABLE IF NOT EXISTS mogro_agents (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
    settings TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mogro_events (
    agent INTEGER NOT NULL, position INTEGER NOT NULL, event BLOB NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (agent, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mogro_snapshots (
    agent INTEGER NOT NULL, position INTEGER NOT NULL, part INTEGER NOT NULL,
    content BLOB NOT NULL, PRIMARY KEY (agent, position, part));
"""


class SQLiteJournal(Journal):
    """The events of one agent in a file.

    Parameters
    ----------
    path
        The file.
    name
        Of the agent.
    settings
        Of the agent, as JSON can hold them. None: as the file has them.
    timeout
        Seconds to wait for the file's lock.
    """

    _VIEW = "BEGIN"
    connections = 1

    def __init__(
        self, path: str, name: str, settings: dict[str, Any] | None, *, timeout: float
    ) -> None:
        self.path = path
        self._timeout = timeout
        if settings is None and not Path(path).is_file():
            raise JournalError(f"{path}: no such file; with objectives and so on it is created")
        with self._naming():
            self._connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
        self._turnstile = Turnstile(f"{path}-turn")
        try:
            self._prepare()
            self._agent, self.settings = self._find(name, settings)
        except BaseException:
            self.close()
            raise

    def begin(self, after: int = 0) -> None:
        """Take the write lock; what :meth:`read` gives is then complete."""
        self.rollback()  # if the last one could not be undone
        with self._turnstile:
            self._execute("BEGIN IMMEDIATE")

    def commit(self, position: int = 0, events: Sequence[Event] = ()) -> None:
        """Append events, and let everything since :meth:`begin` reach the disk."""
        if events:
            self.append(position, events)
        self._execute("COMMIT")

    def append_behind(self, after: int, event: Event) -> None:
        """Leave it: there is no way to a server that could be spared."""

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`; SQLite may have done so already."""
        if not self._is_idle:
            self._execute("ROLLBACK")

    @property
    def committed(self) -> bool:
        """Whether a commit that was interrupted has happened all the same."""
        return self._is_idle

    @property
    def _is_idle(self) -> bool:
        return not self._connection.in_transaction

    def append(self, position: int, events: Iterable[Event]) -> None:
        """Write events at this position and the following ones."""
        rows = [(self._agent, *row) for row in event_rows(position, events)]
        with self._naming():
            self._connection.executemany("INSERT INTO mogro_events VALUES (?, ?, ?, ?)", rows)

    def scrub(self) -> None:
        """Let the log before the file be empty; what was deleted in the file is overwritten."""
        deadline = time.monotonic() + self._timeout
        while self._execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:  # somebody is reading it
            if time.monotonic() >= deadline:
                return
            time.sleep(_PAUSE)

    def close(self) -> None:
        """Let go of the file."""
        self._turnstile.close()
        with self._naming():
            self._connection.close()

    def _prepare(self) -> None:
        # Only WAL lets readers go on beside a writer; FULL is what makes a commit durable in it.
        ((mode,),) = self._execute("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise JournalUnavailable(f"{self.path}: expected a file that allows WAL, got {mode!r}")
        for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            self._execute(f"PRAGMA {pragma}")
        self._execute("PRAGMA secure_delete = ON")  # what is erased is gone

    def _find(self, name: str, settings: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """Return the agent's number and settings; make it if it is new."""
        self.begin()
        try:
            for statement in _TABLES.split(";")[:-1]:
                self._execute(statement)
            if settings is not None:
                self._execute(
                    "INSERT OR IGNORE INTO mogro_agents (name, version, settings) VALUES (?, ?, ?)",
                    *(name, VERSION, json.dumps(settings)),
                )
            number, kept = self._agent_named(name)
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return number, kept

    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        """Execute a statement once the lock is free, and return its rows."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                with self._naming():
                    return self._connection.execute(statement, arguments).fetchall()
            except JournalUnavailable as error:
                if not _is_busy(error.__cause__) or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE * random.random())

    def _query(self, statement: str, *arguments: object) -> list[Any]:
        return self._execute(statement, *arguments)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Let errors name the file."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise JournalError(f"{self.path}: {error}") from error
        except (sqlite3.OperationalError, OSError) as error:
            raise JournalUnavailable(f"{self.path}: {error}") from error
        except sqlite3.Error as error:
            raise DamagedJournal(f"{self.path}: {error}") from error


def _is_busy(error: BaseException | None) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its details
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
