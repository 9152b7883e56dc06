"""A journal in a PostgreSQL database, for agents on more than one machine.

The tables are those of :mod:`mogro.live.journal.tables`. Whoever appends holds an advisory lock of
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

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.generators import execute
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from mogro.live.errors import DamagedJournal, JournalError, JournalUnavailable
from mogro.live.events import Event
from mogro.live.journal.rows import ROWS, VERSION, checksum, event_bytes, event_rows
from mogro.live.journal.tables import Journal

T = TypeVar("T")
Row = tuple[int, bytes, int]  # position, event, checksum

_LOCK = 0x6D6F6772  # class of the advisory locks: of the tables (0), and of every agent
_PAUSE = 0.05  # seconds between tries to connect again
_LARGE = 1 << 20  # bytes of events that are no longer part of a statement
_BEHIND = 16  # events of others that may come between, for one that is appended behind them
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# What every call asks for is prepared once by each connection, for one agent: planning a statement
# takes the server longer than executing it. The last waits for the disk: it is a transaction that
# has nothing of its own but a mark in the server's log.
_PREPARED = """
PREPARE mogro_lock AS SELECT
    set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock({lock}, {agent});
PREPARE mogro_read (bigint) AS SELECT position, event, checksum FROM mogro_events
    WHERE agent = {agent} AND position > $1 ORDER BY position LIMIT {rows};
PREPARE mogro_append (bigint, bytea, bigint) AS
    INSERT INTO mogro_events VALUES ({agent}, $1, $2, $3);
PREPARE mogro_append_behind (bigint, bytea, bigint[]) AS
    INSERT INTO mogro_events SELECT {agent}, last + 1, $2, $3[last - $1 + 1] FROM
    (SELECT position AS last FROM mogro_events WHERE agent = {agent} ORDER BY position DESC LIMIT 1)
    AS events WHERE last - $1 BETWEEN 0 AND {behind} - 1 RETURNING position;
PREPARE mogro_flush AS SELECT pg_logical_emit_message(true, 'mogro', '');
SET plan_cache_mode = force_generic_plan
"""
_UNAVAILABLE = (
    *(psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction),
    *(errors.InsufficientPrivilege, errors.IdleInTransactionSessionTimeout),
)
_TABLES: tuple[LiteralString, ...] = (
    "CREATE TABLE IF NOT EXISTS mogro_agents ("
    " number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " version INTEGER NOT NULL, settings TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS mogro_events ("
    " agent INTEGER NOT NULL, position BIGINT NOT NULL, event BYTEA NOT NULL,"
    " checksum BIGINT NOT NULL, PRIMARY KEY (agent, position))",
    "CREATE TABLE IF NOT EXISTS mogro_snapshots ("
    " agent INTEGER NOT NULL, position BIGINT NOT NULL, part INTEGER NOT NULL,"
    " content BYTEA NOT NULL, PRIMARY KEY (agent, position, part))",
)


class PostgresJournal(Journal):
    """The events of one agent in a database.

    Parameters
    ----------
    address
        ``postgresql://...``, as libpq reads it. No pooler that shares connections between
        transactions may stand in between, because a connection has settings of its own.
    name
        Of the agent.
    settings
        Of the agent, as JSON can hold them. None: as the database has them.
    timeout
        Seconds to wait for a lock, or for a server that is starting again.
    """

    _VIEW = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(
        self, address: str, name: str, settings: dict[str, Any] | None, *, timeout: float
    ) -> None:
        self._address = address
        self._timeout = timeout
        self.connections = 0
        self._ahead: tuple[int, list[Any]] | None = None  # a position, and rows after it
        self._first: Row | None = None  # appended in this transaction
        self._agent = 0  # none yet
        try:
            parts = conninfo_to_dict(address)
        except psycopg.Error as error:
            raise JournalError(f"path: expected the address of a database, got {error}") from None
        self.path = f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"
        self._connect()
        try:
            agent, self.settings = self._surely(lambda: self._find(name, settings))
            self._prepare(agent)
            self._agent = agent
        except BaseException:
            self.close()
            raise

    def begin(self, after: int = 0) -> None:
        """Take the agent's lock; what :meth:`read` gives is then complete."""
        self._first = None
        self._ahead = after, self._begin(after)

    def commit(self, position: int = 0, events: Sequence[Event] = ()) -> None:
        """Append events, and let everything since :meth:`begin` reach the disk."""
        rows = event_rows(position, events)
        self._ahead, self._first = None, self._first or next(iter(rows), None)
        if sum(len(content) for _, content, _ in rows) > _LARGE:
            self._insert(rows)
            rows = []
        values = [f"{place}, '\\x{event.hex()}', {check}" for place, event, check in rows]
        appended = "".join(f"EXECUTE mogro_append({one}); " for one in values)
        try:
            self._send(f"{appended}COMMIT; EXECUTE mogro_flush")
        except JournalUnavailable:
            if not self._connection.closed or not self.committed:
                raise

    def append_behind(self, after: int, event: Event) -> int | None:
        """Append an event behind whatever others have appended ``after`` a position, and commit.

        One message does it all, so that nobody waits for this process. Where the event comes to
        stand is not known before, so there is a checksum for every position.
        """
        if self._connection.closed:
            return None  # what was read before may be lost
        content = event_bytes(event)
        sums = [checksum(after + 1 + n, content) for n in range(_BEHIND)]
        self.rollback()  # if the last one could not be undone
        try:
            _, _, place, rows, *_ = self._send(
                f"{_BEGIN}; EXECUTE mogro_lock;"
                f" EXECUTE mogro_append_behind({after}, '\\x{content.hex()}', ARRAY{sums});"
                f" EXECUTE mogro_read({after}); COMMIT; EXECUTE mogro_flush"
            )
        except JournalUnavailable:
            if self._connection.closed:
                return None  # whether it happened is seen by who asks again
            self.rollback()
            raise
        self._ahead = after, _event_rows(rows)
        found = place.get_value(0, 0)
        return None if found is None else int(found)

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`; a server that was lost has done so."""
        self._ahead = None
        if not self._connection.closed and not self._is_idle:
            self._execute("ROLLBACK")

    @property
    def committed(self) -> bool:
        """Whether a commit that was interrupted, or cut off, has happened all the same."""
        if self._first is None or not (self._connection.closed or self._is_idle):
            return False
        there = self._begin(self._first[0] - 1)  # whoever was cut off has ended
        self._send("COMMIT; EXECUTE mogro_flush")
        return self._first in there[:1]

    def append(self, position: int, events: Iterable[Event]) -> None:
        """Write events at this position and the following ones."""
        rows = event_rows(position, events)
        self._first = self._first or rows[0]
        self._insert(rows)

    def _insert(self, rows: list[Row]) -> None:
        positions, contents, checksums = zip(*rows, strict=True)
        self._execute(
            "INSERT INTO mogro_events SELECT ?, * FROM"
            " unnest(?::bigint[], ?::bytea[], ?::bigint[])",
            *(self._agent, list(positions), list(contents), list(checksums)),
        )

    def scrub(self) -> None:
        """Leave it to the server, which has its own ways."""

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def _connect(self) -> None:
        milliseconds = max(1, int(self._timeout * 1000))
        self.connections += 1
        with self._naming():
            connection = psycopg.connect(
                self._address,
                autocommit=True,
                connect_timeout=max(2, int(self._timeout)),
                tcp_user_timeout=milliseconds,
                prepare_threshold=None,  # it would give up ours with its own
            )
        try:
            with self._naming():
                # An acknowledged commit has to be on the disk. A process that stands still in the
                # middle must not keep the lock for ever.
                connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false)"
                    " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
                )
                for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
                    connection.execute(
                        "SELECT set_config(%s, %s, false)", (name, f"{milliseconds}ms")
                    )
            self._connection = connection
            if self._agent:
                self._prepare(self._agent)
        except BaseException:
            connection.close()
            raise

    def _prepare(self, agent: int) -> None:
        self._send(_PREPARED.format(lock=_LOCK, agent=agent, rows=ROWS, behind=_BEHIND))

    def _find(self, name: str, settings: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """Return the agent's number and settings; make it if it is new."""
        self._take_lock(f"SELECT pg_advisory_xact_lock({_LOCK}, 0)")
        try:
            ((there,),) = self._execute("SELECT to_regclass('mogro_snapshots') IS NOT NULL")
            if not there:
                if settings is None:
                    raise JournalError(
                        f"{self.path}: no agents in it; with objectives and so on one is created"
                    )
                for statement in _TABLES:
                    self._execute(statement)
            if settings is not None:
                self._execute(
                    "INSERT INTO mogro_agents (name, version, settings) SELECT ?, ?, ?"
                    " WHERE NOT EXISTS (SELECT FROM mogro_agents WHERE name = ?)",
                    *(name, VERSION, json.dumps(settings), name),
                )
            number, kept = self._agent_named(name)
            self._execute("COMMIT")
        except BaseException:
            self.rollback()
            raise
        return number, kept

    def _begin(self, after: int) -> list[Row]:
        """Take the agent's lock, in a new transaction, and return events after a position.

        All by one message. Each statement sees what was committed before it.
        """
        return _event_rows(self._take_lock(f"EXECUTE mogro_lock; EXECUTE mogro_read({after})"))

    def _take_lock(self, statements: str) -> PGresult:
        def begin() -> PGresult:
            self.rollback()  # if the last one could not be undone
            try:
                return self._send(f"{_BEGIN}; {statements}")[-1]
            except JournalUnavailable:
                self.rollback()
                raise

        return self._surely(begin)

    def _rows(self, after: int) -> list[Any]:
        ahead, self._ahead = self._ahead, None
        return ahead[1] if ahead is not None and ahead[0] == after else super()._rows(after)

    def _query(self, statement: str, *arguments: object) -> list[Any]:
        if not self._connection.closed and not self._is_idle:
            return self._execute(statement, *arguments)
        return self._surely(lambda: self._execute(statement, *arguments))

    def _surely(self, work: Callable[[], T]) -> T:
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
            time.sleep(_PAUSE)

    def _execute(self, statement: str, *arguments: object) -> list[Any]:
        text = statement.replace("?", "%s")
        with self._naming():
            cursor = self._connection.execute(text, arguments or None, binary=True)
            return cursor.fetchall() if cursor.description else []

    def _send(self, statements: str) -> list[PGresult]:
        """Execute statements by one message, and return their results.

        Without a cursor: that would take longer than all else that a call does here.
        """
        connection = self._connection
        with self._naming():
            connection.pgconn.send_query(statements.encode())
            results: list[PGresult] = connection.wait(execute(connection.pgconn))
            if results[-1].status == ExecStatus.FATAL_ERROR:
                raise errors.error_from_result(results[-1])
            return results

    @property
    def _is_idle(self) -> bool:
        return bool(self._connection.pgconn.transaction_status == TransactionStatus.IDLE)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Let errors name the database."""
        try:
            yield
        except _UNAVAILABLE as error:
            raise JournalUnavailable(f"{self.path}: {error}") from error
        except (errors.DataCorrupted, errors.IndexCorrupted) as error:
            raise DamagedJournal(f"{self.path}: {error}") from error
        except psycopg.Error as error:
            raise JournalError(f"{self.path}: {error}") from error


def _event_rows(result: PGresult) -> list[Row]:
    """Return position, event and checksum, from what a server writes as text."""
    value = result.get_value
    return [
        (
            int(value(n, 0) or 0),
            bytes.fromhex((value(n, 1) or b"")[2:].decode()),
            int(value(n, 2) or 0),
        )
        for n in range(result.ntuples)
    ]
