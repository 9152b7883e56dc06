"""HTTP by uvicorn, with limits on the time and size of request heads, and answers in one packet."""

import asyncio
from itertools import chain
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MAX_HEAD_BYTES = 1 << 16  # that may come before a head is complete


class JoinedWrites:
    """A transport that sends the head of an answer together with what follows it.

    Two packets would wake a client up twice, and cost the server a call of the kernel more.
    """

    def __init__(self, transport: Any) -> None:
        self._transport, self._head = transport, b""

    def write(self, data: bytes) -> None:
        """Send, after the head that waits; a new head waits (not that of 100 Continue)."""
        if not self._head and data.startswith(b"HTTP/1.1 ") and data[9:10] != b"1":
            self._head = data
        else:
            self._transport.write(self._head + data)
            self._head = b""

    def flush(self) -> None:
        """Send a head that waits."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Send what waits, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def make_protocol(max_seconds: float) -> type[asyncio.Protocol]:
    """Return a protocol that gives up on a client whose head is not there in time, or too long.

    Otherwise a client that sends a byte now and then would hold a connection for ever.
    """

    class TimedProtocol(HttpToolsProtocol):
        """Closes the connection of a client that stalls before its request has begun."""

        _timer: asyncio.TimerHandle | None = None
        _size, _in_head = 0, False

        def connection_made(self, transport: Any) -> None:
            joined_transport: Any = JoinedWrites(transport)
            super().connection_made(joined_transport)
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            was_in_head = self._in_head  # else the end of a body may stand before the head
            super().data_received(data)
            if self._in_head:
                self._size += len(data) * was_in_head
                if self._size > _MAX_HEAD_BYTES:
                    self.transport.abort()
                elif self._timer is None:
                    self._start_timer()

        def on_message_begin(self) -> None:
            self._size, self._in_head = 0, True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._stop_timer()
            if len(self.url) + sum(map(len, chain(*self.headers))) > _MAX_HEAD_BYTES:
                # The answer is 400.
                raise ValueError(f"head: expected at most {_MAX_HEAD_BYTES} bytes")
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            joined_transport: Any = self.transport
            joined_transport.flush()  # an answer without a body, as to HEAD
            super().on_response_complete()

        def _start_timer(self) -> None:
            self._timer = self.loop.call_later(max_seconds, self.transport.abort)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return TimedProtocol
