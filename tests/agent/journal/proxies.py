"""A wire between an agent and its server that can be cut."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class Wire:
    """Passes bytes on between a socket of its own and the server's.

    ``sent`` sees what a client sends before it is passed on, and says what to do with it: "pass",
    "cut" the wire, or "swallow" the answer and cut it then.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.sent: Callable[[bytes], str] = lambda _: "pass"
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            swallowing = threading.Event()
            for work in (self._forward, self._backward):
                threading.Thread(
                    target=work, args=(client, server, swallowing), daemon=True
                ).start()

    def _forward(
        self, client: socket.socket, server: socket.socket, swallowing: threading.Event
    ) -> None:
        while content := _received(client):
            order = self.sent(content)
            if order == "cut":
                break
            if order == "swallow":
                swallowing.set()
            server.sendall(content)
        _cut(client, server)

    def _backward(
        self, client: socket.socket, server: socket.socket, swallowing: threading.Event
    ) -> None:
        while (content := _received(server)) and not swallowing.is_set():
            client.sendall(content)
        _cut(client, server)


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 16)
    except OSError:
        return b""


def _cut(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
