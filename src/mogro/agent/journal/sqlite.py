"""A journal in an SQLite file: events in one order, snapshots of what they led to.

The tables are those of :mod:`mogro.agent.journal.tables`. Whoever appends holds the file's write
lock from before it has read the last event until its own are committed, so positions
say in which order events happened. A commit returns when the disk has it: WAL, synchronous FULL.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mogro.agent.errors import DamagedJournal, JournalError, JournalUnavailable
from mogro.agent.journal.tables import Journal

# Between tries for a lock, at most. Left to itself SQLite would soon wait 0.1 s, during
# which others commit many times.
_RETRY_SECONDS = 0.0005
_PAGE = 1 << 14  # bytes: what is longer than a quarter of it takes a page of its own
_CHECKPOINT = 1 << 20  # bytes of the write-ahead log that go into the file, while a commit waits
_STALL_SECONDS = 1.9  # without a commit, after which who holds the lock is taken to stand still
_WRITE_LOCK = 120  # the byte of the -shm file that whoever writes has locked


class SQLiteJournal(Journal):
    """The events of one agent in a file.

    Parameters
    ----------
    path
        The file.
    name
        Of the agent.
    config
        Of the agent, as JSON can hold it. None: as the file has it.
    timeout
        Seconds to wait for the file's lock.
    """

    connections = 1
    _COLUMN_TYPES = {"serial": "INTEGER", "bytes": "BLOB", "clustered": "WITHOUT ROWID"}  # noqa: RUF012
    _BEGIN_READ = "BEGIN"
    _ERRORS = {  # noqa: RUF012
        sqlite3.ProgrammingError: JournalError,
        sqlite3.OperationalError: JournalUnavailable,
        OSError: JournalUnavailable,
        sqlite3.Error: DamagedJournal,
        UnicodeDecodeError: DamagedJournal,  # SQLite quotes a damaged schema in its error
    }

    def __init__(
        self, path: str, name: str, config: dict[str, Any] | None, *, timeout: float
    ) -> None:
        if Path(path).is_dir():
            raise JournalError(f"{path}: expected a file, got a folder")
        if config is None and not Path(path).is_file():
            raise JournalError(f"{path}: no such file; to create it, give the objectives")
        super().__init__(path, name, config, timeout=timeout)

    def _find_agent(self, name: str, config: dict[str, Any] | None) -> None:
        self._execute(f"PRAGMA page_size = {_PAGE}")  # of a new file
        # Only WAL lets readers go on beside a writer; FULL makes a commit durable in it.
        ((mode,),) = self._execute("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise JournalUnavailable(f"{self.path}: expected a file that allows WAL, got {mode!r}")
        self._execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT // _PAGE}")
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            self._execute(f"PRAGMA {setting}")
        self._execute("PRAGMA secure_delete = ON")  # what is erased is gone
        super()._find_agent(name, config)

    def begin(self) -> None:
        """Take the write lock; what :meth:`read` gives is then complete."""
        self.rollback()  # if the last one could not be undone
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Let everything since :meth:`begin` reach the disk."""
        self._execute("COMMIT")

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`; SQLite may have done so already."""
        if self._connection.in_transaction:
            self._execute("ROLLBACK")

    @property
    def has_committed(self) -> bool:
        """Whether a commit that was interrupted has happened all the same."""
        return not self._connection.in_transaction

    def overwrite_deleted(self) -> None:
        """Empty the write-ahead log; what was deleted in the file is overwritten."""
        deadline = time.monotonic() + self._timeout
        self._execute("PRAGMA wal_checkpoint(PASSIVE)")  # most of it, beside those who write
        while self._execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:  # somebody is reading it
            if time.monotonic() >= deadline:
                return
            time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        """Close the file."""
        with self._translated_errors():
            self._connection.close()

    def _connect(self) -> None:
        with self._translated_errors():
            self._connection = sqlite3.connect(
                self.path, timeout=0, isolation_level=None, check_same_thread=False
            )

    def _has_tables(self) -> bool:
        return bool(self._execute("SELECT 1 FROM sqlite_master WHERE name = 'mogro_snapshots'"))

    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        """Execute a statement once the lock is free, and return its rows.

        As long as others commit it may take up to the timeout; else not longer than somebody needs
        who does not stand still.
        """
        start = last_change = time.monotonic()
        last_look = 0.0
        data_version: list[Any] | None = None
        while True:
            try:
                with self._translated_errors():
                    return self._connection.execute(statement, arguments).fetchall()
            except JournalUnavailable as error:
                if not _is_busy(error.__cause__):
                    raise
            now = time.monotonic()
            if now - last_look > _STALL_SECONDS / 20:
                last_look, last_version = now, data_version
                with suppress(sqlite3.OperationalError):  # after a crash even that may be locked
                    data_version = self._connection.execute("PRAGMA data_version").fetchall()
                if last_version not in (data_version, None):  # another after each commit
                    last_change = now
            is_stalled = now - last_change > min(_STALL_SECONDS, self._timeout)
            if is_stalled or now - start > self._timeout:
                raise JournalUnavailable(
                    f"{self.path}: locked for {now - start:.1f} s by {self._lock_holder()}"
                )
            time.sleep(_RETRY_SECONDS * random.random())

    def _lock_holder(self) -> str:
        """Say who holds the write lock, as far as the system tells."""
        try:
            inode = os.stat(f"{self.path}-shm").st_ino
            for line in Path("/proc/locks").read_text().splitlines():
                _, _, _, kind, process, file, start, *_ = line.split()
                if kind == "WRITE" and file.endswith(f":{inode}") and start == str(_WRITE_LOCK):
                    return f"process {process}, which may be stopped"
        except (OSError, ValueError):  # another system
            pass
        return "another process, which may be stopped"

    def _execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._translated_errors():
            self._connection.executemany(statement, rows)


def _is_busy(error: BaseException | None) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its details
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
