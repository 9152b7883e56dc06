"""A state that follows a journal: what threads ask for at once is committed at once.

One thread leads at a time: it takes the journal's write lock, applies what other processes have
appended, carries out all calls that wait, one after the other, appends their events and commits.
Threads that came meanwhile wait for the next round, which the first of them leads. So every event
is proposed on a state that contains all events before it, by whichever process, and a commit is
shared by as many threads as wait for it.

The state is ahead of the journal only between the first event of a round and its commit, while the
lock is held. Where a round fails, the state is thrown away and read again from the journal, which
alone says what happened.
"""

import copy
import math
import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mogro.live.errors import ClosedAgent, DamagedJournal, DamagedSnapshot, JournalError
from mogro.live.events import Event, Hollow, Rewarded
from mogro.live.journal.clearing import runs
from mogro.live.journal.tables import Journal, Snapshot
from mogro.live.journal.turns import Call, Turns
from mogro.live.memory.snapshot import pack, unpack
from mogro.live.memory.state import State
from mogro.live.memory.state_arrays import save_state
from mogro.live.settings import Settings

T = TypeVar("T")

_SHARE = 50  # decisions held for each event between snapshots, at most: a snapshot holds them all


class GroupCommit:
    """Follows a journal, and appends to it.

    Parameters
    ----------
    journal
        The events.
    settings
        Of the agent, before its first event.
    snapshot_every
        Events between snapshots.
    replace
        Called with the state whenever it is another object: at first, and after a failure.
    """

    def __init__(
        self,
        journal: Journal,
        settings: Settings,
        *,
        snapshot_every: int,
        replace: Callable[[State], None],
    ) -> None:
        self._journal = journal
        self.settings = settings
        self._replace = replace
        self._every = snapshot_every
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.RLock()  # of the state and the journal
        self._turns = Turns()
        self._state: State | None = None  # None: to be read from the journal
        self._position = 0  # of the last event in the state
        self._snapshot_position = 0  # of the last snapshot known of
        self._connection = 0  # the number of the one that the state was read by
        self._fresh: list[Event] = []  # applied in this round, not yet committed
        self._awaited: int | None = None  # position of an event whose result is wanted
        self._result: Any = None  # of that one
        try:
            self._catch_up()
        except BaseException:
            journal.close()
            raise

    def perform(self, work: Callable[[], T], event: Rewarded | None = None) -> T:
        """Carry out what a caller asks for, and return its result when that is committed.

        ``work`` may call :meth:`apply`; if the round it is part of fails it happened not at all.
        If it does nothing but apply an ``event``, that may be appended unseen: see
        :meth:`_append_behind`.
        """
        self._check_open()
        call = Call(work, event)
        try:
            if not self._turns.join(call):
                raise JournalError(f"{self._journal.path}: called again from within a call")
            if call.leads:
                self._lead(call)
        except BaseException:  # an interrupt: others go on
            self._turns.withdraw(call)
            raise
        assert call.done
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def apply(self, event: Event) -> Any:
        """Let an event happen to the state, for ``work``; return what the state says of it."""
        state = self._state
        assert state is not None
        self._state = None  # if it fails in the middle
        result = state.apply(event)
        if not isinstance(result, Exception):
            self._fresh.append(event)
        self._state = state
        return result

    @contextmanager
    def current(self) -> Iterator[None]:
        """Hold the lock, with all that is committed in the state."""
        self._check_open()
        with self._lock:
            self._check_open()
            self._catch_up()
            yield

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield all events, with their positions, within :meth:`current`: as they are at once."""
        with self._journal.view():
            yield from self._journal.read(0)

    def event(self, position: int) -> Event | None:
        """Return one event, within :meth:`current`; None if it is no longer there."""
        try:
            place, event = next(self._journal.read(position - 1), (0, None))
        except DamagedJournal:
            return None
        return event if place == position else None

    def clear(
        self,
        make: Callable[[], Event],
        *,
        erased: Collection[str] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> Any:
        """Let an event happen, and let events go out: see :func:`runs`.

        The event is made, and ``before`` others go out something is called, with the lock held and
        all that is committed in the state; if either fails nothing happens.
        """
        with self.current():
            self._fresh = []
            try:
                self._journal.begin(self._position)
                self._catch_up()
                result = self.apply(make())
                self._journal.append(self._position + 1, self._fresh)
                before()
                self._clear(self._position + 1, erased)
                self._journal.commit()
            except BaseException:
                self._undo()
                raise
            self._finish([])
            self._journal.scrub()
        return result

    def _clear(self, position: int, erased: Collection[str] | None = None) -> None:
        """Put a snapshot at a position, that of the state, in the place of events."""
        assert self._state is not None
        for run in runs(self._journal.read(0), self._state, erased):
            self._journal.remove(run.first, run.last)
            self._journal.append(run.last, [run.rest])
        self._journal.replace_snapshot(self._snapshot(position))
        self._snapshot_position = position

    def _snapshot(self, position: int) -> Snapshot:
        assert self._state is not None
        return Snapshot(position, b"".join(pack(self._state.settings, *save_state(self._state))))

    def close(self) -> None:
        """Let go of the journal; everything acknowledged is in it."""
        if self._closed or self._process != os.getpid():
            return
        with self._lock:
            self._closed = True
            self._journal.close()

    def _check_open(self) -> None:
        path = self._journal.path
        if self._process != os.getpid():
            raise ClosedAgent(
                f"{path}: opened before this process was forked; open it again in this process"
            )
        if self._closed:
            raise ClosedAgent(f"{path}: the agent was closed; open it again")

    def _lead(self, own: Call) -> None:
        """Carry out all calls that wait, one's own among them, and let the next one lead."""
        calls: list[Call] = []
        with self._lock:
            try:
                self._check_open()
                self._round(calls)
            except Exception as error:
                calls = calls or self._turns.take()
                for call in calls:
                    call.error = error if call is own else _copy(error)
                    call.done = True
            except BaseException:  # an interrupt is for this thread only
                others = [call for call in calls if not call.done and call is not own]
                self._turns.put_back(others)
                raise
            else:
                self._turns.tell(calls, own)
                self._take_snapshot_if_due()
            finally:
                self._turns.tell(calls, own)
        self._turns.hand_over(own)

    def _append_behind(self, calls: list[Call]) -> bool:
        """Append the event of the one call that waits, if there is no more to it.

        The place of a reward matters to nobody who waits for it. It goes behind what others have
        appended by one message, which no process has to answer while it holds the lock. Should
        it be refused there, because of what this process did not know yet, everybody
        refuses it, the caller is told, and it is taken back. Return whether that was done.
        """
        call = self._turns.take_single(self._is_accepted)
        if call is None or call.event is None:
            return False
        calls.append(call)
        event = call.event
        try:
            self._awaited = self._journal.append_behind(self._position, event)
        except BaseException:
            self._undo()
            raise
        if self._awaited is None:
            return False
        self._result = None
        self._catch_up()
        if self._result is None:  # a snapshot had it; asked again, it is seen what became of it
            return False
        if isinstance(self._result, Exception):
            call.error = self._result
            self._take_back(event, self._awaited)
        else:
            call.result = self._result
        self._finish(calls)
        return True

    def _is_accepted(self, call: Call) -> bool:
        """Tell whether a call is an event and nothing else, which the state would not refuse."""
        state, event = self._state, call.event
        return event is not None and state is not None and state.refusal(event) is None

    def _take_back(self, event: Rewarded, position: int) -> None:
        """Put a reward of nothing in the place of one that was refused: of what was erased, say.

        Everybody refuses that as well, so nobody has to know which of them was read.
        """
        self._journal.begin(self._position)
        try:
            if self.event(position) == event:  # else it has gone out
                self._journal.remove(position, position)
                self._journal.append(position, [Rewarded("", {}, None)])
            self._journal.commit()
        except BaseException:
            self._journal.rollback()
            raise

    def _round(self, calls: list[Call]) -> None:
        journal = self._journal
        ending = False
        self._fresh = []
        if self._append_behind(calls):
            return
        try:
            journal.begin(self._position)
            self._catch_up()
            calls += self._turns.take()
            for call in calls:
                self._carry_out(call)
            ending = True
            journal.commit(self._position + 1, self._fresh)
        except BaseException as error:
            if isinstance(error, Exception) or not (ending and journal.committed):
                self._undo()
                raise
            self._finish(calls)
            raise
        self._finish(calls)

    def _finish(self, calls: list[Call]) -> None:
        for call in calls:
            call.done = True
        state, self._state = self._state, None  # if an interrupt comes in between
        self._position += len(self._fresh)
        self._fresh = []
        self._state = state

    def _undo(self) -> None:
        if self._fresh:
            self._state = None
            self._fresh = []
        self._journal.rollback()

    def _carry_out(self, call: Call) -> None:
        call.result = call.error = None
        before = len(self._fresh)
        try:
            call.result = call.work()
        except Exception as error:
            if self._state is None or len(self._fresh) > before:
                raise  # it happened in part: the whole round is off
            call.error = error

    def _catch_up(self) -> None:
        """Bring the state to the last event committed."""
        if self._state is None:
            self._restart()
        while not self._follow():
            missing, connection = self._position + 1, self._connection
            self._restart()
            if connection == self._journal.connections and self._position < missing:
                raise DamagedJournal(f"{self._journal.path}: event {missing} is missing")

    def _follow(self) -> bool:
        """Apply the events after those in the state.

        Return False if the state cannot be brought up to date so: because what comes next has gone
        out, and a snapshot is in its place; or because the connection is another one, and what was
        read by the last may be lost with the server it came from, where it was not on the disk yet.
        """
        state, journal = self._state, self._journal
        assert state is not None
        for position, event in journal.read(self._position, evidence=False):
            if self._connection != journal.connections:
                return False
            if position != self._position + 1 or isinstance(event, Hollow):
                return False
            self._state = None  # if it fails in the middle
            result = state.apply(event)
            if position == self._awaited:
                self._result = result
            if isinstance(result, Exception):
                if not isinstance(event, Rewarded):  # see _append_behind
                    raise JournalError(f"{journal.path}: event {position} is refused: {result}")
                state.position = position
            self._position += 1
            self._state = state
        return self._connection == journal.connections

    def _restart(self) -> None:
        """Begin with the last snapshot, or with nothing."""
        self._connection = self._journal.connections
        state, position = State(self.settings), 0
        snapshot = self._journal.snapshot()
        if snapshot is not None:
            try:
                state = unpack(snapshot.content, self.settings.restored, where=self._journal.path)
                position = snapshot.position
            except DamagedSnapshot:  # the events have it all
                state = State(self.settings)
        self._replace(state)
        self._state, self._position, self._snapshot_position = state, position, position

    def _take_snapshot_if_due(self) -> None:
        assert self._state is not None
        every = snapshot_interval(len(self._state.ledger), self._every)
        if self._position - self._snapshot_position < every:
            return
        try:
            self._snapshot_position = self._journal.snapshot_position()
            if self._position - self._snapshot_position >= every:
                self._snapshot_position = self._position  # if it fails, the next is tried later
                self._write_snapshot()
        except JournalError:
            pass  # restarting takes longer; what was acknowledged is in the events

    def _write_snapshot(self) -> None:
        journal, clears = self._journal, self.settings.retention < math.inf
        made = None if clears else self._snapshot(self._position)
        journal.begin(self._position)
        try:
            if made is None:
                self._catch_up()
                self._clear(self._position)
            elif (
                self._connection == journal.connections
                and journal.snapshot_position() < made.position
            ):
                journal.replace_snapshot(made)
            journal.commit()
        except BaseException:
            journal.rollback()
            raise


def snapshot_interval(held: int, every: int) -> int:
    """Return after how many events a snapshot is due, by the number of decisions held."""
    return max(every, held // _SHARE)


def _copy(error: Exception) -> Exception:
    """Return an error that another thread can raise, with a traceback of its own."""
    try:
        return copy.copy(error)
    except Exception:  # not every class can be copied
        return JournalError(str(error))
