"""What an agent asks of a journal."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from mogro.live.events import Event


class Snapshot(NamedTuple):
    """The position of the last event in it, and its content."""

    position: int
    content: bytes


class Journal(Protocol):
    """Events in one order, which everybody sees alike; positions count from 1."""

    path: str  # of the file, or the address of the database; said in errors
    connections: int  # so far: what was read by an earlier one may be lost, and not have happened
    settings: dict[str, Any]  # of the agent, as JSON can hold them

    def begin(self, after: int) -> None:
        """Keep others from appending until the end; what :meth:`read` gives is then complete.

        What comes ``after`` a position will be asked for first.
        """

    def append(self, position: int, events: Iterable[Event]) -> None:
        """Write events at this position and the following ones."""

    def commit(self, position: int = 0, events: Sequence[Event] = ()) -> None:
        """Append events, and return when all since :meth:`begin`, or read then, is on the disk."""

    def append_behind(self, after: int, event: Event) -> int | None:
        """Append an event behind whatever others have appended ``after`` a position, and commit.

        All at once, without :meth:`begin`. Return its position; None where that cannot be done, or
        where it is not known whether it was.
        """

    def rollback(self) -> None:
        """Undo everything since :meth:`begin`."""

    @property
    def committed(self) -> bool:
        """Whether a commit that was interrupted has happened all the same."""

    def read(self, after: int, *, evidence: bool = True) -> Iterator[tuple[int, Event]]:
        """Yield the events after a position, with their own, in order.

        Without ``evidence``, which a state does not look at, decisions take less time to read.
        """

    def view(self) -> AbstractContextManager[None]:
        """Let :meth:`read` see what is there now, whatever others do meanwhile."""

    def remove(self, first: int, last: int) -> None:
        """Delete events from a position to another."""

    def snapshot(self) -> Snapshot | None:
        """Return the last snapshot, if there is one."""

    def snapshot_position(self) -> int:
        """Return the position of the last snapshot; 0 if there is none."""

    def replace_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of earlier ones."""

    def scrub(self) -> None:
        """Leave nothing on the disk of what was deleted, as far as that is in one's hands."""

    def close(self) -> None:
        """Let go of it."""
