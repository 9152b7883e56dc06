"""One connection to a service: as much of HTTP as its answers need, and no more.

A client that asks for a decision should cost little beside the agent that makes it; the HTTP client
of the standard library takes longer to read the head of an answer than a service to write it.
"""

import socket
import ssl

_PIECE = 1 << 16
_HEAD = 1 << 16  # bytes at most


class Connection:
    """A connection that stays open between requests.

    Parameters
    ----------
    host, port
        Of the service.
    tls
        Whether it speaks TLS.
    timeout
        Seconds to wait for anything.
    """

    def __init__(self, host: str, port: int, *, tls: bool, timeout: float) -> None:
        self._socket = socket.create_connection((host, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def ask(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of its answer.

        ``head`` is the request line with all headers but the length of the body.
        """
        self._socket.sendall(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        data = self._receive()
        while (end := data.find(b"\r\n\r\n")) < 0:
            if len(data) > _HEAD:
                raise OSError(f"no head of an answer in {_HEAD} bytes")
            data += self._receive()
        fields, parts = data[:end].lower(), [data[end + 4 :]]
        start = fields.find(b"\r\ncontent-length:")
        if start < 0 or not fields.startswith(b"http/1."):
            raise OSError(f"no answer in HTTP whose length is announced: {data[:60]!r}")
        missing = int(fields[start + 17 :].split(b"\r\n", 1)[0]) - len(parts[0])
        while missing > 0:
            parts.append(self._receive())
            missing -= len(parts[-1])
        if missing < 0:
            raise OSError(f"{-missing} bytes more than announced")
        return int(fields[9:12]), b"".join(parts)

    def _receive(self) -> bytes:
        data = self._socket.recv(_PIECE)
        if not data:
            raise ConnectionError("the service has closed the connection")
        return data

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()
