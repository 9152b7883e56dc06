"""A state that follows a journal: what threads ask for at once is committed at once.

One thread leads at a time: it takes the journal's write lock, applies what other processes have
appended, carries out all calls that wait, one after the other, appends their events and commits.
Threads that come meanwhile wait for the next round, which one of them leads. So every event is
proposed on a state that contains all events before it, by whichever process, and a commit is shared
by as many threads as wait for it.

The state is ahead of the journal only between the first event of a round and its commit, while the
lock is held. Where a round fails, the state is thrown away and read again from the journal, which
alone says what happened.
"""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from mogro.agent.config import AgentConfig
from mogro.agent.errors import ClosedAgent, DamagedJournal, JournalError
from mogro.agent.events import Event, Reconfigured, Voided
from mogro.agent.journal.replay import Voids, find_voids, last_state, replay
from mogro.agent.journal.snapshots import SnapshotWriter
from mogro.agent.journal.tables import Journal, event_rows
from mogro.agent.state.state import State

T = TypeVar("T")

PAUSE_SECONDS = 0.002  # between commits of housekeeping: others wait for the lock


class PendingCall:
    """What one caller asks for, and what became of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.done = False
        self.result: Any = None
        self.error: Exception | None = None
        self.notifications: list[Callable[[], object]] = []  # for a listener, once it is committed


class CommitQueue:
    """Follows a journal, and appends to it.

    Parameters
    ----------
    journal
        The events.
    config
        Of the agent, before its first event.
    snapshot_every
        Events between snapshots.

    Attributes
    ----------
    state
        That of the last event that this process has seen; another object after a failure.
    journal, snapshots
        The events, and what writes snapshots among them; to be changed within :meth:`transaction`.
    """

    journaled = True

    def __init__(self, journal: Journal, config: AgentConfig, *, snapshot_every: int) -> None:
        self.journal = journal
        self.config = config
        self.snapshots = SnapshotWriter(journal, snapshot_every)
        self._process_id = os.getpid()
        self._closed = False
        self._lock = threading.RLock()  # of the state and the journal
        self._condition = threading.Condition()  # of the next two
        self._waiting_calls: deque[PendingCall] = deque()
        self._leading_thread: int | None = None  # the thread that carries out all that wait
        self._batching_thread: int | None = None  # the thread that carries out several calls as one
        self.state = State(config)
        self._state_is_valid = False  # else the state is to be read from the journal
        self._connection_number = 0  # the number of the one that the state was read by
        self._voids: Voids = {}
        self._uncommitted_events: list[Event] = []  # applied in this round
        self._notifications: list[Callable[[], object]] = []  # of the call that is carried out
        self._versions: dict[int, AgentConfig] = {}  # by the events that they begin with
        try:
            self._catch_up()
        except BaseException:
            journal.close()
            raise

    def perform(self, work: Callable[..., T], *arguments: Any) -> T:
        """Carry out what a caller asks for, and return its result when that is committed.

        ``work`` may call :meth:`apply`; if the round it is part of fails it happened not at all.
        """
        if self._batching_thread == threading.get_ident():
            return work(*arguments)
        self._check_open()
        self.check_not_nested()
        call, thread = PendingCall(partial(work, *arguments)), threading.get_ident()
        try:
            with self._condition:
                self._waiting_calls.append(call)
                self._condition.wait_for(lambda: call.done or self._leading_thread is None)
                if not call.done:
                    self._leading_thread = thread
            if self._leading_thread == thread:
                self._execute_waiting_calls(call)
        except BaseException:  # an interrupt: others go on
            with self._condition, suppress(ValueError):
                self._waiting_calls.remove(call)
            raise
        finally:
            if self._leading_thread == thread:
                with self._condition:
                    self._leading_thread = None
                    self._condition.notify_all()
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def batch(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Carry out calls that each :meth:`perform`, all with one commit; an answer each."""

        def work() -> list[T | Exception]:
            pending_calls = [PendingCall(call) for call in calls]
            self._batching_thread = threading.get_ident()
            try:
                for call in pending_calls:
                    self._execute(call)
            finally:
                self._batching_thread = None
            return [call.result if call.error is None else call.error for call in pending_calls]

        return self.perform(work)

    def apply(self, event: Event) -> Any:
        """Apply an event to the state, for ``work``, and return its result."""
        self._state_is_valid = False  # if it fails in the middle
        result = self.state.apply(event)
        if not isinstance(result, Exception):
            self._uncommitted_events.append(event)
        self._state_is_valid = True
        return result

    def notify_later(self, listener: Callable[[Event], object], event: Event) -> None:
        """Tell a listener of an event, for ``work``, once it is committed."""
        self._notifications.append(partial(listener, event))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Hold the lock, with all that is committed in the state."""
        self._check_open()
        with self._lock:
            self._check_open()
            self._catch_up()
            yield

    @contextmanager
    def view(self) -> Iterator[tuple[State, Journal]]:
        """Give the state and the journal as they are now, to read while others go on."""
        with self.current():
            frozen_state, reader = self.state.freeze(), self.journal.open_reader()
        try:
            yield frozen_state, reader
        finally:
            reader.close()

    def event(self, position: int) -> Event | None:
        """Return one event, within :meth:`current`; None if it is no longer there."""
        return self.journal.event(position)

    def restart_from(self, state: State, event: Event) -> None:
        """Go on from another state, with an event applied to it, within :meth:`transaction`."""
        self.state, self._state_is_valid = state, False  # until the event is applied
        self.apply(event)

    def add_types(self, types: Iterable[type[Any]]) -> None:
        """Know classes that are not mogro's own, of which events are made from now on."""
        new_types = {new_type.__name__: new_type for new_type in types}
        self.journal.types = {**self.journal.types, **new_types}

    def versions(self, before: float = math.inf) -> list[AgentConfig]:
        """Return the configurations that the agent had until an event, within :meth:`current`."""
        versions = [self.config]
        for position in self.state.changes:
            if position > before:
                break
            if position not in self._versions:
                event = self.journal.event(position)
                assert isinstance(event, Reconfigured)
                self._versions[position] = versions[-1].reconfigured(event.changes)
            versions.append(self._versions[position])
        return versions

    def close(self) -> None:
        """Close the journal; everything acknowledged is in it."""
        if self._closed or self._process_id != os.getpid():
            return
        with self._lock:
            with suppress(JournalError):  # opening it takes longer then
                self.write_snapshot()
            self._closed = True
            self.journal.close()

    def check_not_nested(self) -> None:
        """Refuse a call that this thread makes while it carries out another."""
        if self._leading_thread == threading.get_ident():
            raise JournalError(f"{self.journal.path}: called again from within a call")

    def _check_open(self) -> None:
        path = self.journal.path
        if self._process_id != os.getpid():
            raise ClosedAgent(
                f"{path}: opened before this process was forked; open it again in this process"
            )
        if self._closed:
            raise ClosedAgent(f"{path}: the agent was closed; open it again")

    def _execute_waiting_calls(self, leading_call: PendingCall) -> None:
        """Carry out all calls that wait, this thread's too."""
        calls: list[PendingCall] = []
        try:
            with self.transaction(calls) as state:
                calls += self._take_waiting()
                for call in calls:
                    self._notifications = call.notifications = []
                    self._execute(call)
                self.snapshots.advance(state)
        except Exception as error:
            for call in calls or self._take_waiting():
                call.error, call.done = error, True
        except BaseException:  # an interrupt is for this thread only
            with self._condition:
                others = [call for call in calls if not call.done and call is not leading_call]
                self._waiting_calls.extendleft(reversed(others))
            _send_notifications(call for call in calls if call.done)
            raise
        else:
            _send_notifications(calls)

    def _take_waiting(self) -> list[PendingCall]:
        """Take all calls that wait."""
        with self._condition:
            calls = list(self._waiting_calls)
            self._waiting_calls.clear()
        return calls

    @contextmanager
    def transaction(self, calls: Sequence[PendingCall] = ()) -> Iterator[State]:
        """Hold all locks, with all that is committed in the state; then commit, for some calls."""
        with self._lock:
            in_commit = False
            self._check_open()
            self._uncommitted_events = []
            try:
                self._take_lock()
                state = self.state
                if state.config.retention is not None and state.ledger.released is None:
                    state.ledger.released = []
                yield state
                if self._uncommitted_events:
                    first_position = self.state.position - len(self._uncommitted_events) + 1
                    self.journal.append(event_rows(first_position, self._uncommitted_events))
                in_commit = True
                self.journal.commit()
            except BaseException as error:
                if isinstance(error, Exception) or not (in_commit and self.journal.has_committed):
                    self._roll_back()
                else:
                    self._mark_done(calls)
                raise
            self._mark_done(calls)

    def _take_lock(self) -> None:
        """Take the lock of all, and bring the state to the last event committed.

        If that takes a snapshot, the lock is taken again once it is read: others would wait.
        """
        self.journal.begin()
        if not self._catch_up(without_snapshot=True):
            self.journal.rollback()
            self._catch_up()
            self.journal.begin()
            self._catch_up()

    def _mark_done(self, calls: Sequence[PendingCall]) -> None:
        for call in calls:
            call.done = True
        self._uncommitted_events = []

    def _roll_back(self) -> None:
        if self._uncommitted_events:
            self._state_is_valid = False
            self._uncommitted_events = []
        self.snapshots.cancel()
        self.journal.rollback()

    def _execute(self, call: PendingCall) -> None:
        call.result = call.error = None
        event_count = len(self._uncommitted_events)
        try:
            call.result = call.function()
        except Exception as error:
            if not self._state_is_valid or len(self._uncommitted_events) > event_count:
                raise  # it happened in part: the whole round is off
            call.error = error

    def _catch_up(self, *, without_snapshot: bool = False) -> bool:
        """Bring the state to the last event committed; tell whether that was done."""
        while (missing_position := self._apply_new_events()) is not None:
            if without_snapshot:
                return False
            connection = self._connection_number
            self._reload()
            if self.state.position < missing_position and connection == self.journal.connections:
                raise DamagedJournal(f"{self.journal.path}: event {missing_position} is missing")
        return True

    def _apply_new_events(self) -> int | None:
        """Apply the events after those in the state.

        Return None, unless the state cannot be brought up to date so: then the position of an event
        that has gone out, for which a snapshot stands; 0 if one is void that was applied, or if the
        connection is another one, because what was read by the last may be lost with the server it
        came from, where it was not on the disk yet.
        """
        state, journal = self.state, self.journal
        if not self._state_is_valid:
            return 0
        for position, event in journal.read(state.position, evidence=False):
            if self._connection_number != journal.connections:
                return 0
            if position != state.position + 1:
                return state.position + 1
            if isinstance(event, Voided) and event.position not in self._voids:
                return 0
            self._state_is_valid = False  # if it fails in the middle
            replay(state, position, event, self._voids, journal.path)
            self._state_is_valid = True
        return None if self._connection_number == journal.connections else 0

    def _reload(self) -> None:
        """Begin with the last snapshot, or with nothing."""
        journal = self.journal
        self._connection_number = journal.connections
        while True:
            state = last_state(journal, self.config)
            self._voids = find_voids(journal, state.position)
            if not self._voids or not 0 < state.position < journal.read_index().position:
                break  # else others have gone on: there is one without the event
        self.snapshots.restart_from(state.position)
        self.state, self._state_is_valid = state, True

    def write_snapshot(self) -> None:
        """Write a snapshot now, if something has happened since the last."""
        with self.transaction() as state:
            if state.position > self.journal.read_index().position:
                self.snapshots.begin(state)
        while self.snapshots.is_busy:
            time.sleep(PAUSE_SECONDS)
            with self.transaction():
                self.snapshots.step()
        time.sleep(PAUSE_SECONDS)


def _send_notifications(calls: Iterable[PendingCall]) -> None:
    """Tell listeners what has happened, all of it and in order; what they raise is the caller's."""
    interrupt: BaseException | None = None
    for call in calls:
        for notify in call.notifications:
            try:
                notify()
            except Exception as error:
                call.error = error
            except BaseException as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt
