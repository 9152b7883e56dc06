"""Threads that carry out what requests ask for, so that the event loop never waits."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from mogro.agent import Agent

_MAX_CALLS = 256  # calls with one commit, at most about
Answers = list[Any]  # what calls returned, or the exceptions of those that were refused


class _PendingCalls(NamedTuple):
    calls: Sequence[Callable[[], Any]]
    since: float
    answers: "asyncio.Future[Answers]"


class Writer:
    """Carries out the calls that change an agent, in one thread.

    All calls that wait when it is free are carried out one after the other and committed together:
    under load a commit is shared by as many requests as come while the one before is on its way to
    the disk.

    Parameters
    ----------
    agent
        Which one.
    max_waiting
        Calls that may wait; more are refused, so that those who wait are served in time.
    max_seconds
        For which a call may wait; it is refused then, and has not happened.
    """

    def __init__(self, agent: Agent, *, max_waiting: int, max_seconds: float) -> None:
        self.commits = 0
        self.last_error: Exception | None = None  # why the last commit failed, if it did
        self.size = 0  # calls that wait or are being carried out
        self._agent, self._max_waiting, self._max_seconds = agent, max_waiting, max_seconds
        self._waiting: deque[_PendingCalls] = deque()
        self._busy = False  # whether the thread is at work
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._thread.submit(int)  # it starts now: later on, what it cannot begin would wait in it

    async def perform(self, calls: Sequence[Callable[[], Any]]) -> Answers:
        """Return the answers to calls, once they are committed."""
        if self.size + len(calls) > self._max_waiting:
            raise HTTPException(503, f"busy: {self.size} calls wait; try again")
        loop = asyncio.get_running_loop()
        answers: asyncio.Future[Answers] = loop.create_future()
        self._waiting.append(_PendingCalls(calls, time.monotonic(), answers))
        self.size += len(calls)
        if not self._busy:
            self._begin(loop)
        try:
            return await answers
        finally:
            self.size -= len(calls)

    def close(self) -> None:
        """Finish what has begun, and stop."""
        self._thread.shutdown()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the thread carry out what waits, if anything does; once it is closed, refuse that."""
        self._busy = False
        while self._waiting and not self._busy:
            pending = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MAX_CALLS))]
            try:
                self._thread.submit(self._carry_out, pending, loop)
                self._busy = True
            except RuntimeError:
                error = HTTPException(503, "closed: the service has stopped; try again")
                _answer(pending, [[error] * len(request.calls) for request in pending])

    def _carry_out(self, pending: list[_PendingCalls], loop: asyncio.AbstractEventLoop) -> None:
        oldest = time.monotonic() - self._max_seconds
        calls = [call for request in pending if request.since >= oldest for call in request.calls]
        results = iter(self._commit(calls))
        error = HTTPException(503, f"busy: not begun within {self._max_seconds:g} s; try again")
        answers = [
            [next(results) if request.since >= oldest else error for _ in request.calls]
            for request in pending
        ]
        loop.call_soon_threadsafe(self._deliver, pending, answers, loop)

    def _deliver(
        self, pending: list[_PendingCalls], answers: list[Answers], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._begin(loop)  # the disk first
        _answer(pending, answers)

    def _commit(self, calls: list[Callable[[], Any]]) -> Answers:
        if not calls:
            return []
        try:
            answers = self._agent.batch(calls)
        except Exception as error:  # of the commit: none has happened
            self.last_error = error
            return [error] * len(calls)
        self.commits, self.last_error = self.commits + 1, None
        return answers


def _answer(pending: list[_PendingCalls], answers: list[Answers]) -> None:
    for request, results in zip(pending, answers, strict=True):
        if not request.answers.done():
            request.answers.set_result(results)


class ReaderPool:
    """A few threads for what takes long and changes nothing; what does not fit is refused."""

    def __init__(self, *, threads: int = 2, waiting: int = 16) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reader")
        self._max_size = threads + waiting
        self.size = 0

    async def perform(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns."""
        if self.size >= self._max_size:
            message = f"busy: {self.size} requests wait; try again"
            raise HTTPException(503, message, {"retry-after": "2"})
        self.size += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self.size -= 1

    def close(self) -> None:
        """Finish what waits, and stop."""
        self._pool.shutdown()
