"""Whose turn it is among threads: one leads, and carries out all calls that wait."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from mogro.live.events import Rewarded


class Call:
    """What one caller asks for, and what became of it."""

    def __init__(self, work: Callable[[], Any], event: Rewarded | None) -> None:
        self.work = work
        self.event = event  # all that the work would apply, if that is known
        self.leads = False  # it carries out all that wait
        self.done = False
        self.told = threading.Lock()  # released when one of these is true
        self.told.acquire()
        self.result: Any = None
        self.error: BaseException | None = None


class Turns:
    """The calls that wait. Who leads takes them, and lets the next one lead in the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the next two
        self._waiting: deque[Call] = deque()
        self._leader: int | None = None  # a thread

    def join(self, call: Call) -> bool:
        """Wait until a call is carried out, or has to lead; False if its thread leads already."""
        with self._lock:
            if self._leader == threading.get_ident():
                return False
            self._waiting.append(call)
            if self._leader is None:
                self._leader = threading.get_ident()
                call.leads = True
                return True
        call.told.acquire()
        with self._lock:
            if call.leads:
                self._leader = threading.get_ident()
        return True

    def take(self) -> list[Call]:
        """Take all that wait."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def take_single(self, accepted: Callable[[Call], bool]) -> Call | None:
        """Take the one call that waits, if there is no other and it is accepted."""
        with self._lock:
            if len(self._waiting) != 1 or not accepted(self._waiting[0]):
                return None
            return self._waiting.popleft()

    def put_back(self, calls: list[Call]) -> None:
        """Let calls wait again, before all others."""
        with self._lock:
            self._waiting.extendleft(reversed(calls))

    def tell(self, calls: list[Call], own: Call) -> None:
        """Let those go on whose calls are done."""
        for call in calls:
            if call.done and call is not own and call.told.locked():
                call.told.release()

    def hand_over(self, own: Call) -> None:
        """Let the next one lead."""
        with self._lock:
            own.leads = False
            self._leader = None
            if self._waiting:
                self._waiting[0].leads = True
                self._leader = 0  # whichever thread that is
                self._waiting[0].told.release()

    def withdraw(self, call: Call) -> None:
        """Take back a call that was interrupted."""
        with self._lock:
            if call in self._waiting:
                self._waiting.remove(call)
        if call.leads:
            self.hand_over(call)
