"""A journal in a PostgreSQL database, for agents on more than one machine.

The tables are those of :mod:`mogro.agent.journal.tables`. Whoever appends holds an advisory lock of
the agent from before it has read the last event until its own are committed, so positions say in
which order events happened, and a reader that sees an event sees all before it. The lock goes to
those that wait in the order in which they came, and ends with its connection.

Nobody waits for the disk while holding the lock: the transaction ends without doing so
(asynchronous commit), which lets others go on, and a second one in the same message waits for it.
What reaches the disk does so in the order of commits, so whatever is acknowledged is there together
with all that it was based on, and several processes share a write. What a reader has seen can be
lost with the server before anybody was told of it; therefore a new connection reads all again.

A commit that is cut off with its connection may have happened: after connecting again, and waiting
for the lock, it is seen whether the first event is there.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from mogro.agent.errors import DamagedJournal, JournalError, JournalUnavailable
from mogro.agent.journal.tables import ROWS, Journal, Row

T = TypeVar("T")

_LOCK = 0x6D6F6772  # class of the advisory locks: of the tables (0), and of every agent
_STALL_SECONDS = 1.9  # in which a process that holds the lock has to say something
_RETRY_SECONDS = 0.05  # between tries to connect again
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = off"
# The second transaction waits for the disk; it has nothing but a mark in the server's log.
_COMMIT = "COMMIT; SELECT pg_logical_emit_message(true, 'mogro', '')"


class PostgresJournal(Journal):
    """The events of one agent in a database.

    Parameters
    ----------
    address
        ``postgresql://...``, as libpq reads it. No pooler that shares connections between
        transactions may stand in between, because a connection has settings of its own.
    name
        Of the agent.
    config
        Of the agent, as JSON can hold it. None: as the database has it.
    timeout
        Seconds to wait for a lock, or for a server that is starting again.
    """

    _COLUMN_TYPES = {  # noqa: RUF012
        "serial": "INTEGER GENERATED ALWAYS AS IDENTITY",
        "bytes": "BYTEA",
        "clustered": "",
    }
    _BEGIN_READ = (  # it is in nobody's way, however long it takes
        "SET idle_in_transaction_session_timeout = 0;"
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    )
    _ERRORS = {  # noqa: RUF012
        psycopg.OperationalError: JournalUnavailable,
        psycopg.InterfaceError: JournalUnavailable,
        errors.ReadOnlySqlTransaction: JournalUnavailable,
        errors.InsufficientPrivilege: JournalUnavailable,
        errors.IdleInTransactionSessionTimeout: JournalUnavailable,
        errors.DataCorrupted: DamagedJournal,
        errors.IndexCorrupted: DamagedJournal,
        psycopg.Error: JournalError,
    }

    def __init__(
        self, address: str, name: str, config: dict[str, Any] | None, *, timeout: float
    ) -> None:
        self._address = address
        self.connections = 0
        self._uncommitted_rows: list[Row] = []  # in this transaction; they go out with the commit
        self._last_position = 0  # position of the last event known here
        self._prefetched_rows: list[Row] | None = None  # the events after it, read with the lock
        try:
            address_parts = conninfo_to_dict(address)
        except psycopg.Error as error:
            raise JournalError(f"path: expected the address of a database, got {error}") from None
        path = f"postgresql://{address_parts.get('host', '')}/{address_parts.get('dbname', '')}"
        super().__init__(path, name, config, timeout=timeout)

    def _find_agent(self, name: str, config: dict[str, Any] | None) -> None:
        self._with_retry(lambda: super(PostgresJournal, self)._find_agent(name, config))

    def begin(self) -> None:
        """Take the agent's lock; what :meth:`read` gives is then complete."""
        self._uncommitted_rows = []
        self._with_retry(self._take_lock)

    def append(self, rows: Sequence[Row]) -> None:
        """Write events, with the commit."""
        self._uncommitted_rows += rows

    def commit(self) -> None:
        """Let everything since :meth:`begin` reach the disk."""
        insert, self._prefetched_rows = "", None
        if self._uncommitted_rows:  # one message for all: others wait for it
            values = ", ".join(
                f"({self._agent}, {position}, decode('{event.hex()}', 'hex'), {checksum})"
                for position, event, checksum in self._uncommitted_rows
            )
            insert = f"INSERT INTO mogro_events VALUES {values}; "
        try:
            self._execute(insert + _COMMIT)
            if self._uncommitted_rows:
                self._last_position = self._uncommitted_rows[-1][0]
        except JournalUnavailable:
            if not self._connection.closed or not self.has_committed:
                raise

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`; a server that was lost has done so."""
        self._prefetched_rows = None
        if not self._connection.closed and not self._is_idle:
            self._execute("ROLLBACK")

    @property
    def has_committed(self) -> bool:
        """Whether a commit that was interrupted, or cut off, has happened all the same."""
        if not self._uncommitted_rows or not (self._connection.closed or self._is_idle):
            return False
        self._with_retry(self._take_lock)  # whoever was cut off has ended
        stored_rows = self._rows(self._uncommitted_rows[0][0] - 1, 1)
        self._execute(_COMMIT)
        return stored_rows == self._uncommitted_rows[:1]

    def overwrite_deleted(self) -> None:
        """Do nothing: the server vacuums deleted rows by itself."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self) -> None:
        self.connections += 1
        lock_timeout, idle_timeout = (
            max(1, int(1000 * s)) for s in (self._timeout, min(_STALL_SECONDS, self._timeout))
        )
        with self._translated_errors():
            connection = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=max(2, int(self._timeout)),
                tcp_user_timeout=lock_timeout,
                application_name=f"mogro, process {os.getpid()} on {socket.gethostname()}",
            )
        try:
            with self._translated_errors():  # an acknowledged commit has to be on the disk
                connection.execute(
                    f"SET lock_timeout = {lock_timeout};"
                    f"SET idle_in_transaction_session_timeout = {idle_timeout};"
                    "SELECT set_config('synchronous_commit', 'on', false)"
                    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
                )
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _has_tables(self) -> bool:
        return bool(self._execute("SELECT to_regclass('mogro_snapshots') IS NOT NULL")[0][0])

    def _take_lock(self) -> None:
        """Begin a transaction with the lock of the agent; of the tables, if there is none yet.

        The same message asks for the events that are not known here: others wait meanwhile.
        """
        self.rollback()  # if the last one could not be undone
        message = f"{_BEGIN}; SELECT pg_advisory_xact_lock({_LOCK}, {self._agent})"
        if self._agent:
            message += (
                "; SELECT position, event, checksum FROM mogro_events WHERE agent = "
                f"{self._agent} AND position > {self._last_position} ORDER BY position LIMIT {ROWS}"
            )
        try:
            rows = self._execute(message)
            self._prefetched_rows = rows if self._agent else None
        except JournalUnavailable as error:
            self.rollback()
            if isinstance(error.__cause__, errors.LockNotAvailable):
                raise JournalUnavailable(f"{error}; {self._lock_holder()}") from error
            raise

    def _lock_holder(self) -> str:
        """Say who holds the lock."""
        rows = self._execute(
            "SELECT pid, application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE"
            " locktype = 'advisory' AND granted AND classid = ?::oid AND objid = ?::oid",
            *(_LOCK, self._agent),
        )
        holders = [f"it was held by server process {pid} for {name!r}" for pid, name in rows]
        return ", ".join(holders) or "it is free again"

    def _rows(self, after: int, limit: int) -> list[Row]:
        if limit < ROWS:
            return super()._rows(after, limit)
        rows, self._prefetched_rows = self._prefetched_rows, None
        if rows is None or after != self._last_position:
            rows = super()._rows(after, limit)
        self._last_position = rows[-1][0] if rows else after
        return rows

    def _query(self, statement: str, *arguments: object) -> list[Any]:
        if not self._connection.closed and not self._is_idle:
            return self._execute(statement, *arguments)
        return self._with_retry(lambda: self._execute(statement, *arguments))

    def _with_retry(self, work: Callable[[], T]) -> T:
        """Do something that can be done again, whenever the connection is lost, for a while."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                if self._connection.closed:
                    self._connect()
                return work()
            except JournalUnavailable:
                if not self._connection.closed or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._translated_errors():
            self._connection.cursor().executemany(statement.replace("?", "%s"), rows)

    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        with self._translated_errors():
            if not arguments:  # may be several statements: the rows are those of the last
                cursor = self._connection.execute(statement)
                while cursor.nextset():
                    pass
            else:
                text = statement.replace("?", "%s")
                cursor = self._connection.execute(text, arguments, binary=True)
            return cursor.fetchall() if cursor.description else []

    @property
    def _is_idle(self) -> bool:
        return bool(self._connection.pgconn.transaction_status == TransactionStatus.IDLE)
