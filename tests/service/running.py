"""A service in this process, on a free port, for the tests."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import mogro
from mogro.service.client import RemoteAgent
from mogro.service.command import make_server
from mogro.service.config import parse_config
from mogro.service.service import Service

SHOP: dict[str, Any] = {
    "seed": 7,
    "epsilon": 0.1,
    "arms": 2,
    "objectives": [{"name": "click"}, {"name": "cost", "direction": "min", "unit": 0.5}],
    "catalogue": {"news": [1.0, 0.0], "film": [0.0, 1.0], "quiz": [0.5, 0.7]},
}


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A service that runs."""

    def __init__(self, service: Service, port: int) -> None:
        self.service = service
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.lines: list[Mapping[str, Any]] = []

    def connect(self, agent: str | None = None, **options: Any) -> RemoteAgent:
        return mogro.connect(self.url, agent, **options)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request, as anybody could."""
        sent = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        given = {"content-type": "application/json"} if body is not None else {}
        given |= {} if key is None else {"authorization": f"Bearer {key}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, sent, given | dict(headers or {}))
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def decisions_made(self) -> int:
        """Return how many decisions the agent "shop" has made."""
        return self.service.agents["shop"].agent.counters["decisions"]

    def post(self, name: str, body: Any, **options: Any) -> Answer:
        """Call something of the agent "shop"."""
        return self.ask("POST", f"/v1/agents/shop/{name}", body, **options)


@contextmanager
def running(folder: Path, plain: Mapping[str, Any] | None = None) -> Iterator[Running]:
    """Run a service; without a word about agents, with the agent "shop"."""
    # With the protocol named asyncio sends small answers at once.
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.bind(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    settings = {"agents": {"shop": SHOP}, "port": port, **(plain or {})}
    config = parse_config(settings, folder / "shop.toml")
    lines: list[Mapping[str, Any]] = []
    service = Service(config, log=lines.append)
    server = make_server(service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    try:
        until = time.monotonic() + 10
        while not server.started and time.monotonic() < until:
            time.sleep(0.005)
        assert server.started
        here = Running(service, port)
        here.lines = lines
        yield here
    finally:
        server.should_exit = True
        thread.join(20)
        taken.close()
