"""HTTP as uvicorn speaks it, with a time and a size within which the head of a request comes."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD = 1 << 16  # bytes


def make_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return a protocol that gives up on a client whose head is not there in time.

    Otherwise a client that sends a byte now and then would hold a connection for ever.
    """

    class PatientProtocol(HttpToolsProtocol):
        """Closes the connection of a client that stalls before its request has begun."""

        _timer: asyncio.TimerHandle | None = None
        _size = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            self._size = 0
            self._wait()
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._grow(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._grow(len(name) + len(value))
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._stop()
            super().on_headers_complete()

        def _grow(self, size: int) -> None:
            self._size += size
            if self._size > _HEAD:
                raise ValueError(f"head: expected at most {_HEAD} bytes")  # the answer is 400

        def _wait(self) -> None:
            self._stop()
            self._timer = self.loop.call_later(seconds, self.transport.abort)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return PatientProtocol
