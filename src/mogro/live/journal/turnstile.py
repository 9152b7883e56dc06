"""Waiting in turn: SQLite's write lock goes to whoever tries at the right moment.

A process that has just committed would take it again at once while others sleep between two tries,
for a second and more. So only one of those that wait tries for the lock, the one in the turnstile,
and whoever has just had it has to pass through there too. It is about fairness only: nothing goes
wrong without it, and nobody waits for it for long.
"""

import os
import random
import sys
import time
import weakref

if sys.platform != "win32":
    import fcntl

_PAUSE = 0.001  # seconds between tries, at most
_PATIENCE = 1.0  # seconds after which one goes on without


class Turnstile:
    """A file that one process at a time holds locked.

    Parameters
    ----------
    path
        The file; where it cannot be made, everybody passes.
    """

    def __init__(self, path: str) -> None:
        self._handle: int | None = None
        if sys.platform != "win32":
            try:
                self._handle = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
            except OSError:  # a folder that is not writable
                return
            self._closing = weakref.finalize(self, os.close, self._handle)

    def __enter__(self) -> None:
        end = time.monotonic() + _PATIENCE
        while not self._try() and time.monotonic() < end:
            time.sleep(_PAUSE * random.random())

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32" and self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            self._handle = None
            self._closing()

    def _try(self) -> bool:
        if sys.platform == "win32" or self._handle is None:
            return True
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without such locks
            return True
        return True
