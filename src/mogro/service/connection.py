"""Requests to a service: as much of HTTP as its answers need, and no more.

A client that asks for a decision should cost little beside the agent that makes it; the HTTP client
of the standard library takes longer to read the head of an answer than a service to write it.
"""

import re
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mogro.agent import errors
from mogro.service.wire import ErrorAnswer

_CHUNK_BYTES = 1 << 16
_MAX_HEAD_BYTES = 1 << 16
_HEAD = re.compile(
    rb"HTTP/1\.\d (\d{3})(?s:.*?)\r\n(?i:content-length):[ \t]*(\d{1,15})[ \t]*(?=\r\n|$)"
)


class ServiceError(ConnectionError):
    """The service did not answer, or not as expected; nothing is known of the call.

    Attributes
    ----------
    status
        Of the answer, if there was one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _PerThread(threading.local):
    connection: socket.socket | None = None  # kept open between requests


class HTTPClient:
    """Sends requests to a service, by a connection for each thread; parameters as of connect."""

    def __init__(self, url: str, *, key: str | None, timeout: float, retries: int) -> None:
        self.url, self._timeout, self._retries = url, timeout, retries
        try:
            self._url = urlsplit(url)
            valid = self._url.scheme in ("http", "https") and bool(self._url.hostname)
            self._url.port  # noqa: B018  it checks the port
        except (ValueError, AttributeError):
            valid = False
        if not valid:
            raise ValueError(f"url: expected http://host:port or https://host, got {url!r}")
        self._root = self._url.path.rstrip("/")
        host = self._url.netloc
        self._headers = f"HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        if key is not None:
            if not key.isascii() or not key.isprintable():
                raise ValueError("key: expected letters, digits, - and _")
            self._headers += f"authorization: Bearer {key}\r\n"
        self._thread = _PerThread()

    def send(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Return the body of an answer; try again where there was none, or 503."""
        head = f"{method} {self._root}{path} {self._headers}content-length: {len(body)}\r\n\r\n"
        request = head.encode("latin-1") + body
        attempt = 0
        while True:
            open_connection = self._thread.connection
            try:
                status, content = _exchange(open_connection or self._connect(), request)
            except OSError as error:
                self.close()
                if open_connection is not None and isinstance(error, ConnectionError):
                    continue  # it was closed since the last call: a new one may do
                if attempt == self._retries:
                    raise ServiceError(f"{self.url}: {error!r}") from error
            else:
                if status == 200:
                    return content
                if status != 503 or attempt == self._retries:
                    raise _parse_error(status, content)
            time.sleep(min(0.05 * 2**attempt, 1.0))
            attempt += 1

    def close(self) -> None:
        """Close the connection of this thread; the next request makes a new one."""
        if self._thread.connection is not None:
            self._thread.connection.close()
            self._thread.connection = None

    def _connect(self) -> socket.socket:
        tls = self._url.scheme == "https"
        host, port = self._url.hostname or "", self._url.port or (443 if tls else 80)
        connection = socket.create_connection((host, port), self._timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.create_default_context()
            connection = context.wrap_socket(connection, server_hostname=host)
        self._thread.connection = connection
        return connection


def _exchange(connection: socket.socket, request: bytes) -> tuple[int, bytes]:
    """Send a request, and return the status and the body of its answer."""
    connection.sendall(request)
    data = _receive(connection)
    while (end := data.find(b"\r\n\r\n")) < 0 and len(data) < _MAX_HEAD_BYTES:
        data += _receive(connection)
    match = _HEAD.match(data, 0, end)
    if match is None:
        raise OSError(f"expected an HTTP answer with its length, got {data[:60]!r}")
    chunks = [data[end + 4 :]]
    missing_bytes = int(match[2]) - len(chunks[0])
    while missing_bytes > 0:
        chunks.append(_receive(connection))
        missing_bytes -= len(chunks[-1])
    if missing_bytes < 0:
        raise OSError(f"got {-missing_bytes} bytes more than announced")
    return int(match[1]), b"".join(chunks)


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(_CHUNK_BYTES)
    if not data:
        raise ConnectionError("the service has closed the connection")
    return data


def _parse_error(status: int, content: bytes) -> Exception:
    """Return the exception that an answer stands for; a proxy may have words of its own."""
    try:
        return to_exception(status, msgspec.json.decode(content, type=ErrorAnswer))
    except ValueError:
        return ServiceError(f"{status}: {content[:100]!r}", status)


def to_exception(status: int, answer: ErrorAnswer) -> Exception:
    """Return the exception that an agent in this process would have raised."""
    if status >= 500 or status in (401, 403, 408, 421, 429):
        return ServiceError(f"{status}: {answer.message}", status)
    error_type: Any = vars(errors).get(answer.error)
    takes_message = isinstance(error_type, type) and error_type is not errors.InfeasibleConstraints
    return error_type(answer.message) if takes_message else ValueError(answer.message)
