"""Threads that carry out what requests ask for, so that the event loop never waits."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from mogro.agent import Agent

_MAX_CALLS = 256  # calls with one commit, at most about
Calls = Sequence[Callable[[], Any]]
Answers = list[Any]  # what calls returned, or the exceptions of those that were refused


class _WaitingRequest(NamedTuple):
    calls: Calls
    start: float
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
        self._queue: deque[_WaitingRequest] = deque()
        # Hands on what waits, while anything does.
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._thread.submit(int)  # it starts now: later on, what it cannot begin would wait in it

    async def perform(self, calls: Calls) -> Answers:
        """Return the answers to calls, once they are committed."""
        if self.size + len(calls) > self._max_waiting:
            raise HTTPException(503, f"busy: {self.size} calls wait; try again")
        answers: asyncio.Future[Answers] = asyncio.get_running_loop().create_future()
        self._queue.append(_WaitingRequest(calls, time.monotonic(), answers))
        self.size += len(calls)
        if self._task is None:
            self._task = asyncio.create_task(self._execute_queue())
        try:
            return await answers
        finally:
            self.size -= len(calls)

    def close(self) -> None:
        """Finish what has begun, and stop."""
        self._thread.shutdown()

    async def _execute_queue(self) -> None:
        """Let the thread carry out what waits, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._queue:
            requests = [self._queue.popleft() for _ in range(min(len(self._queue), _MAX_CALLS))]
            try:
                answers = await loop.run_in_executor(self._thread, self._execute, requests)
            except RuntimeError:  # it is closed
                error = HTTPException(503, "closed: the service has stopped; try again")
                answers = [[error] * len(request.calls) for request in requests]
            for request, results in zip(requests, answers, strict=True):
                if not request.answers.done():  # its client may be gone
                    request.answers.set_result(results)
        self._task = None

    def _execute(self, requests: list[_WaitingRequest]) -> list[Answers]:
        """Return the answers to all calls; where the commit fails, none of them has happened."""
        earliest_start = time.monotonic() - self._max_seconds
        results: Iterator[Any]
        try:
            calls = [
                call if request.start >= earliest_start else self._refuse
                for request in requests
                for call in request.calls
            ]
            results = iter(self._agent.batch(calls))
            self.commits, self.last_error = self.commits + 1, None
        except Exception as error:
            self.last_error = error
            results = repeat(error)
        return [[next(results) for _ in request.calls] for request in requests]

    def _refuse(self) -> None:
        raise HTTPException(503, f"busy: not begun within {self._max_seconds:g} s; try again")


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
