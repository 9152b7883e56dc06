"""Threads that carry out what requests ask for, so that the event loop never waits.

A :class:`WriterThread` is the one thread that changes an agent. All calls that wait when it is free
are carried out one after the other and committed together: under load a commit is shared by as many
requests as come while the one before is on its way to the disk.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

from mogro.agent import Agent
from mogro.service.error_responses import RequestRefused

_MAX_CALLS = 256  # calls with one commit, at most about
Answers = list[Any]  # what calls returned, or the exceptions of those that were refused


class _PendingCalls(NamedTuple):
    calls: Sequence[Callable[[], Any]]
    since: float
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Answers]"


class WriterThread:
    """Carries out the calls that change an agent.

    Parameters
    ----------
    agent
        Which one.
    waiting
        Calls that may wait; more are refused, so that those who wait are served in time.
    seconds
        For which a call may wait; it is refused then, and has not happened.
    """

    def __init__(self, agent: Agent, *, waiting: int, seconds: float) -> None:
        self.agent = agent
        self.commits = 0
        self.fault: Exception | None = None  # why the last commit failed, if it did
        self.size = 0  # calls that wait or are being carried out
        self._most, self._seconds = waiting, seconds
        self._queue: SimpleQueue[_PendingCalls | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    async def perform(self, calls: Sequence[Callable[[], Any]]) -> Answers:
        """Return the answers to calls, once they are committed."""
        if self.size + len(calls) > self._most:
            raise RequestRefused(503, f"busy: {self.size} calls wait; try again", retry=1)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answers] = loop.create_future()
        self.size += len(calls)
        self._queue.put(_PendingCalls(calls, time.monotonic(), loop, future))
        try:
            return await future
        finally:
            self.size -= len(calls)

    def close(self) -> None:
        """Carry out what waits, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            some, last = self._take()
            until = time.monotonic() - self._seconds
            due = [call for each in some if each.since >= until for call in each.calls]
            answers = iter(self._carry_out(due))
            words = f"busy: not begun within {self._seconds:g} s; try again"
            late = RequestRefused(503, words, retry=1)
            _deliver(
                [
                    (each, [next(answers) if each.since >= until else late for _ in each.calls])
                    for each in some
                ]
            )

    def _take(self) -> tuple[list[_PendingCalls], bool]:
        """Wait for calls, and take all that are there; tell whether they are the last ones."""
        some: list[_PendingCalls] = []
        while not some or (len(some) < _MAX_CALLS and not self._queue.empty()):
            following = self._queue.get()
            if following is None:
                return some, True
            some.append(following)
        return some, False

    def _carry_out(self, calls: list[Callable[[], Any]]) -> Answers:
        if not calls:
            return []
        try:
            answers = self.agent.batch(calls)
        except Exception as error:  # of the commit: none has happened
            self.fault = error
            return [error] * len(calls)
        self.commits, self.fault = self.commits + 1, None
        return answers


def _deliver(pairs: list[tuple[_PendingCalls, Answers]]) -> None:
    """Hand answers to those who wait, with one message to their loop."""

    def hand_over() -> None:
        for each, answers in pairs:
            if not each.future.done():
                each.future.set_result(answers)

    if pairs and not pairs[0][0].loop.is_closed():
        pairs[0][0].loop.call_soon_threadsafe(hand_over)


class ReaderPool:
    """A few threads for what takes long and changes nothing; what does not fit is refused."""

    def __init__(self, *, threads: int = 2, waiting: int = 16) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reader")
        self._most = threads + waiting
        self.size = 0

    async def perform(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns."""
        if self.size >= self._most:
            raise RequestRefused(503, f"busy: {self.size} requests wait; try again", retry=2)
        self.size += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self.size -= 1

    def close(self) -> None:
        """Finish what waits, and stop."""
        self._pool.shutdown()
