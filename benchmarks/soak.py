"""A service under bad conditions: killed, overloaded, stalled, fed with a gigabyte.

Run ``python -m benchmarks.soak`` (``make soak``), or parts of it: ``--only kills``. Nothing that
was acknowledged may be lost or learned twice; others may not notice a client that misbehaves. The
tests run short versions of all parts.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import mogro
from mogro.service.client import RemoteAgent, ServiceError

SHOP = """
port = {port}
log = "changes"
[limits]
waiting = {waiting}
seconds = {seconds}
[agents.shop]
seed = 7
arms = 4
{journal}
objectives = [{{name = "click"}}, {{name = "cost", direction = "min"}}]
[agents.shop.catalogue]
a = [1.0, 0.0, 0.2, 0.0]
b = [0.0, 1.0, 0.1, 0.3]
c = [0.5, 0.5, 1.0, 0.1]
d = [0.9, 0.3, -0.4, 0.7]
"""
_MAIN = "from mogro.cli import main; main()"


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Server:
    """A service in a process of its own, that can be killed and started again."""

    def __init__(
        self, folder: Path, *, journal: str = "", waiting: int = 500, seconds: float = 10.0
    ) -> None:
        self.port, self.folder = free_port(), folder
        self.url = f"http://127.0.0.1:{self.port}"
        where = f'journal = "{journal}"' if journal else ""
        text = SHOP.format(port=self.port, journal=where, waiting=waiting, seconds=seconds)
        (folder / "shop.toml").write_text(text)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start, and return once it answers."""
        command = [sys.executable, "-c", _MAIN, "serve", str(self.folder / "shop.toml")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.wait()

    def wait(self) -> None:
        """Return once it answers."""
        for _ in range(3000):  # tries, not seconds: somebody may stop all of this for a while
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/ready")[0] == 200:
                    return
            assert self.process is not None
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.02)
        raise TimeoutError("the service does not answer")

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Send one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"content-type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and return how it ended."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(30)

    def memory(self) -> float:
        """Return the memory that it uses, in MB."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)


class Clients:
    """Threads that decide and reward, and remember what was acknowledged."""

    def __init__(
        self, url: str, threads: int, *, name: str = "v", pause: float = 0.0, retries: int = 12
    ) -> None:
        self._name = name
        self.decided: dict[str, str] = {}  # arms
        self.rewarded: set[str] = set()
        self.refused = 0
        self.latencies: list[tuple[float, float]] = []  # when, and how long
        self._url, self._pause, self._retries = url, pause, retries
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int) -> None:
        agent = self._connected()
        turn = 0
        while agent is not None and not self._stop.is_set():
            visit, turn = f"{self._name}.{number}.{turn}", turn + 1
            start = time.monotonic()
            try:
                self.decided[visit] = agent.decide(id=visit).arm
                agent.reward(visit, {"click": float(turn % 2), "cost": 0.1 * number})
                self.rewarded.add(visit)
                self.latencies.append((start, (time.monotonic() - start) / 2))
            except ServiceError:
                self.refused += 1
            if self._pause:
                time.sleep(self._pause)
        if agent is not None:
            agent.close()

    def _connected(self) -> RemoteAgent | None:
        while not self._stop.is_set():
            with contextlib.suppress(ServiceError):
                return mogro.connect(self._url, retries=self._retries, timeout=30)
        return None

    def median(self) -> float:
        """Return the median time of an answer, in milliseconds."""
        return 1000 * statistics.median(took for _, took in self.latencies)

    def finish(self) -> None:
        """Stop all threads, once their calls are answered."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


def check(url: str, clients: Clients) -> dict[str, int]:
    """Compare what was acknowledged with what the service knows; return its counters."""
    with mogro.connect(url) as agent:
        before = agent.counters
        # What was not acknowledged may have happened: said again, it is there exactly once.
        for visit, arm in clients.decided.items():
            if agent.decide(id=visit).arm != arm:
                raise SystemExit(f"{visit}: another arm than was acknowledged")
        lost = len(clients.decided) - before["decisions"]
        if lost > 0 or agent.counters["decisions"] != before["decisions"]:
            raise SystemExit(f"{lost} decisions that were acknowledged are lost")
        for visit in clients.decided:
            number, turn = (int(part) for part in visit.split(".")[1:])
            outcome = agent.reward(visit, {"click": float((turn + 1) % 2), "cost": 0.1 * number})
            if visit in clients.rewarded and outcome.repeated != 2:
                raise SystemExit(f"{visit}: a reward that was acknowledged is lost")
        counters = agent.counters
        if counters["learned"] != 2 * len(clients.decided):
            raise SystemExit(f"learned {counters['learned']} of {2 * len(clients.decided)} rewards")
        return counters


def kills(
    folder: Path,
    times: int,
    *,
    journal: str = "",
    threads: int = 4,
    how: Sequence[signal.Signals] = (signal.SIGKILL,),
) -> dict[str, int]:
    """Kill a service under traffic, again and again; nothing acknowledged is lost."""
    rng = random.Random(0)
    with Server(folder, journal=journal) as server:
        clients = Clients(server.url, threads)
        for turn in range(times):
            time.sleep(rng.uniform(0.05, 0.4))
            server.stop(how[turn % len(how)])
            server.start()
            if sys.stdout.isatty() or turn % 50 == 49:
                print(f"  {turn + 1} of {times}: {len(clients.rewarded)} decisions", flush=True)
        clients.finish()
        counters = check(server.url, clients)
        server.stop()
    return {**counters, "acknowledged": len(clients.rewarded), "kills": times}


def several(folder: Path, journal: str, seconds: float) -> dict[str, int]:
    """Run two services on one database, of which one is stopped under traffic and started again."""
    with contextlib.ExitStack() as stack:
        servers, clients = [], []
        for number in range(2):
            (folder / str(number)).mkdir()
            servers.append(stack.enter_context(Server(folder / str(number), journal=journal)))
            clients.append(Clients(servers[-1].url, 3, name=f"s{number}"))
        time.sleep(seconds / 2)
        if servers[0].stop() != 0:
            raise SystemExit("a service did not stop well")
        servers[0].start()
        time.sleep(seconds / 2)
        for each in clients:
            each.finish()
        whole, other = clients
        served = [len(each.rewarded) for each in clients]
        whole.decided |= other.decided
        whole.rewarded |= other.rewarded
        counters = check(servers[1].url, whole)
        with mogro.connect(servers[0].url) as one, mogro.connect(servers[1].url) as two:
            if one.counters != two.counters or not np.array_equal(one.theta, two.theta):
                raise SystemExit("two services on one database do not agree")
    return {**counters, "by the first": served[0], "by the second": served[1]}


def overload(folder: Path, seconds: float, *, threads: int = 48) -> dict[str, float]:
    """Ask for more than it can do: some are refused, none lost, and then all is as before."""
    with Server(folder, waiting=threads // 3) as server:
        usual = Clients(server.url, 4, name="usual", pause=0.01)
        time.sleep(min(3.0, seconds))
        usual.finish()
        crowd = Clients(server.url, threads, name="crowd", retries=0)
        time.sleep(seconds)
        crowd.finish()
        time.sleep(min(5.0, seconds))
        after = Clients(server.url, 4, name="after", pause=0.01)
        time.sleep(min(3.0, seconds))
        after.finish()
        with mogro.connect(server.url) as agent:
            known = 0
            for clients in (usual, crowd, after):
                known += len(clients.decided)
                for visit, arm in list(clients.decided.items())[:500]:
                    if agent.decide(id=visit).arm != arm:
                        raise SystemExit(f"{visit}: another arm than was acknowledged")
            if agent.counters["decisions"] < known:
                raise SystemExit("decisions that were acknowledged are lost")
        return {
            "usual ms": usual.median(),
            "crowd ms": crowd.median(),
            "after ms": after.median(),
            "answered": len(crowd.rewarded),
            "refused": crowd.refused,
        }


def bad_clients(folder: Path, seconds: float, *, number: int = 20) -> dict[str, float]:
    """Let clients stall, trickle and break off beside others, who should not notice."""
    with Server(folder, seconds=max(1.0, seconds / 3)) as server:
        alone = Clients(server.url, 2, name="alone", pause=0.005)
        time.sleep(seconds)
        alone.finish()
        stop = threading.Event()
        head = b"POST /v1/agents/shop/decide HTTP/1.1\r\nhost: localhost\r\n"
        full = head + b"content-type: application/json\r\ncontent-length: 500\r\n\r\n{"
        bad = [threading.Thread(target=_bad, args=(server.port, text, stop)) for text in
               (b"", head[:30], full) for _ in range(number // 3)]  # fmt: skip
        for thread in bad:
            thread.start()
        beside = Clients(server.url, 2, name="beside", pause=0.005)
        time.sleep(seconds)
        beside.finish()
        stop.set()
        for thread in bad:
            thread.join()
        with mogro.connect(server.url) as agent:
            if agent.counters["decisions"] < len(alone.decided) + len(beside.decided):
                raise SystemExit("decisions that were acknowledged are lost")
        return {"alone ms": alone.median(), "beside ms": beside.median()}


def _bad(port: int, text: bytes, stop: threading.Event) -> None:
    """Send the beginning of a request, then a byte a second, and break off."""
    while not stop.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as line:
            line.sendall(text)
            for _ in range(5):
                if stop.wait(1.0):
                    break
                line.sendall(b"x")


def large_body(folder: Path, size: int) -> dict[str, float]:
    """Send a body that is far too large; return how the memory has grown, in MB."""
    with Server(folder) as server:
        for _ in range(20):
            server.ask("POST", "/v1/agents/shop/decide", b"{}")
        before = server.memory()
        heads = (f"content-length: {size}", "transfer-encoding: chunked")
        statuses = [_pour(server.port, head.encode(), size) for head in heads]
        status, _ = server.ask("POST", "/v1/agents/shop/decide", b"{}")
        if statuses != [413, 413] or status != 200:
            raise SystemExit(f"expected 413 twice, then 200, got {statuses}, {status}")
        return {"MB sent": size / 1e6, "MB grown": server.memory() - before}


def _pour(port: int, head: bytes, size: int) -> int:
    """Send a body of zeros until the service has had enough; return the status."""
    piece = b"0" * (1 << 16)
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.sendall(
            b"POST /v1/agents/shop/decide HTTP/1.1\r\nhost: localhost\r\n"
            b"content-type: application/json\r\n" + head + b"\r\n\r\n"
        )
        sent, answer = 0, b""
        line.settimeout(0.0)
        until = time.monotonic() + 60
        while sent < size and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                answer = line.recv(4096)
                break
            part = piece if b"length" in head else b"10000\r\n" + piece + b"\r\n"
            try:
                line.setblocking(True)
                line.sendall(part)
                line.setblocking(False)
            except (ConnectionError, TimeoutError):
                break
            sent += len(piece)
        line.settimeout(10)
        with contextlib.suppress(ConnectionError):
            answer = answer or line.recv(4096)
        return int(answer.split()[1]) if answer else 0


@contextmanager
def place() -> Iterator[Path]:
    """Yield an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    """Run all parts, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["kills", "postgres", "overload", "bad", "body"])
    parser.add_argument("--kills", type=int, default=500)
    given = parser.parse_args()

    def postgres(folder: Path) -> dict[str, Any]:
        from benchmarks.postgres import server

        with server(folder / "server") as database:
            told = kills(folder, given.kills, journal=database.new_address())
            return {**told, "several": several(folder, database.new_address(), 20.0)}

    parts: dict[str, Callable[[Path], dict[str, Any]]] = {
        "kills": lambda folder: kills(folder, given.kills),
        "postgres": postgres,
        "overload": lambda folder: overload(folder, 60.0),
        "bad": lambda folder: bad_clients(folder, 20.0),
        "body": lambda folder: large_body(folder, 1 << 30),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            with place() as folder:
                print(f"{name}: {json.dumps(part(folder))}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
