"""What a service costs: processor time beside the agent in memory and beside empty requests.

Run ``python -m benchmarks.serve``. 64 connections ask for decisions among 100 arms of 16 features,
with 8 features of context, and send a reward for each; every answer is on the disk (SQLite). The
same bodies go to a route of the same server that does nothing, and the same calls to an agent in
memory, as many decisions before their rewards. All three take turns in one run; processor times are
medians over the turns.

The bars: a decision with its reward costs the server at most 2 times the sum of the agent in memory
and two empty requests; in batches of 100 with a catalogue at most 1.5 times the agent in memory; a
client costs a tenth of an agent with a journal.

The agent in memory makes the same decisions: with 64 clients as many are in flight, and each of
them has a part in what is explored, which costs an agent more than one decision at a time does. The
ratio to that is printed, too. A client is measured beside this server, for whose disk it waits, and
beside one that answers at once, which shows what its own code takes; a bare socket that sends the
same bytes shows what the kernel takes.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import asyncio
import json
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mogro
from benchmarks.soak import free_port

ARMS, DIM, CONTEXT, CLIENTS = 100, 16, 8, 64
OBJECTIVES = [mogro.Objective("click"), mogro.Objective("watch")]
_AT_ONCE = r"""
import socket
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
connection, _ = listening.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
bodies = {
    b"/decide ": b'{"id":"client 0 1","arm":"arm 17","exploring":false,"uniform":false,'
                 b'"holdout":false,"time":0.0,"weights":{"click":0.3,"watch":0.7},'
                 b'"estimates":{"click":0.3445345345345,"watch":0.756756756756}}',
    b"/reward ": b'{"learned":2,"pending":0,"revised":0,"repeated":0,"late":0}',
    b"/agents ": b'{"agents":["shop"],"version":"1"}',
}
while asked := connection.recv(65536):
    body = next(body for path, body in bodies.items() if path in asked)
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-type: application/json\r\n\r\n"
    connection.sendall(head % len(body) + body)
"""
_SERVER = "import sys; from benchmarks.serve import run_server; run_server(sys.argv[1])"


def catalogue() -> dict[str, list[float]]:
    """Return the arms."""
    features = np.random.default_rng(0).standard_normal((ARMS, DIM)).round(4)
    return {f"arm {k}": row.tolist() for k, row in enumerate(features)}


def contexts(number: int, seed: int) -> list[list[float]]:
    """Return contexts."""
    rows = np.random.default_rng(seed).standard_normal((number, CONTEXT)).round(4)
    return [row.tolist() for row in rows]


def config(port: int) -> dict[str, Any]:
    """Return the settings of the service."""
    agent = {
        "seed": 7,
        "arms": DIM,
        "context": CONTEXT,
        "objectives": [{"name": each.name} for each in OBJECTIVES],
        "catalogue": catalogue(),
    }
    return {"agents": {"shop": agent}, "port": port, "log": "changes"}


def run_server(place: str) -> None:
    """Serve, with a route more that reads a body and does nothing."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from mogro.service.access import HostCheck, read_body
    from mogro.service.app import make_app
    from mogro.service.config import parse_config
    from mogro.service.protocol import make_protocol
    from mogro.service.service import Service

    folder = Path(place)
    port = int((folder / "port").read_text())
    service = Service(parse_config(config(port), folder / "shop.toml"))

    async def nothing(request: Request) -> Response:
        service.access.authenticate(request)
        await read_body(request, max_bytes=10**6, max_seconds=10.0)
        return Response(b"{}", media_type="application/json")

    whole = make_app(service)
    empty = HostCheck(
        Starlette(routes=[Route("/empty", nothing, methods=["POST"])]), service.config
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        chosen = empty if scope.get("path") == "/empty" else whole
        await chosen(scope, receive, send)

    uvicorn.run(app, host="127.0.0.1", port=port, http=make_protocol(10.0), log_config=None,
                access_log=False, server_header=False)  # fmt: skip


class Load:
    """Connections that send bodies one after the other."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def _client(self, bodies: list[tuple[str, bytes]], latencies: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for path, body in bodies:
            head = (
                f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            start = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            content = await reader.readexactly(size)
            latencies.append(time.perf_counter() - start)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(content.decode())
        writer.close()

    def send(self, bodies: list[tuple[str, bytes]], clients: int = CLIENTS) -> list[float]:
        """Send all bodies, in order for each client; return the latencies."""
        latencies: list[float] = []

        async def all_clients() -> None:
            shares = [bodies[k::clients] for k in range(clients)]
            await asyncio.gather(*(self._client(share, latencies) for share in shares if share))

        asyncio.run(all_clients())
        return latencies


def cpu(process: int) -> float:
    """Return the processor time of another process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def encoded(body: dict[str, Any]) -> bytes:
    """Return a body."""
    return json.dumps(body, separators=(",", ":")).encode()


def single(turn: int, number: int, *, with_arms: bool) -> list[tuple[str, bytes]]:
    """Return decisions and their rewards, each pair for one client."""
    arms = {"arms": catalogue()} if with_arms else {}
    bodies = []
    for n, context in enumerate(contexts(number, turn)):
        visit = f"{with_arms} {turn} {n}"
        decide = encoded({"id": visit, "context": context, **arms})
        reward = encoded({"id": visit, "values": {"click": n % 2, "watch": n / 7}})
        bodies += [("/v1/agents/shop/decide", decide), ("/v1/agents/shop/reward", reward)]
    # A client sends every CLIENTS-th body: put the two of a pair into one client's hands.
    rows = [bodies[k : k + 2 * CLIENTS] for k in range(0, len(bodies), 2 * CLIENTS)]
    return [body for row in rows for half in (row[0::2], row[1::2]) for body in half]


def batched(turn: int, number: int) -> list[tuple[str, bytes]]:
    """Return batches of 100 decisions, then of their rewards."""
    bodies = []
    for start in range(0, number, 100):
        visits = [f"batch {turn} {n}" for n in range(start, start + 100)]
        drawn = contexts(100, 1000 * turn + start)
        decide = [{"call": "decide", "id": v, "context": c}
                  for v, c in zip(visits, drawn, strict=True)]  # fmt: skip
        reward = [{"call": "reward", "id": v, "values": {"click": n % 2, "watch": n / 7}}
                  for n, v in enumerate(visits)]  # fmt: skip
        bodies += [("/v1/agents/shop/batch", encoded({"calls": c})) for c in (decide, reward)]
    return bodies


def in_process(
    agent: mogro.Agent, arms: Any, turn: int, number: int, name: str, *, at_once: int
) -> float:
    """Return the processor time of decisions with rewards in this process.

    So many decisions come before their rewards, as with so many clients: what is in flight has a
    part in every decision.
    """
    drawn = contexts(number, turn)
    start = time.process_time()
    for first in range(0, number, at_once):
        visits = range(first, min(first + at_once, number))
        for n in visits:
            agent.decide(arms, id=f"{name} {turn} {n}", context=drawn[n])
        for n in visits:
            agent.reward(f"{name} {turn} {n}", {"click": float(n % 2), "watch": n / 7})
    return time.process_time() - start


def bare_commits(folder: Path, number: int) -> list[float]:
    """Return how long commits of rows like an event take."""
    table = sqlite3.connect(folder / "bare.db", isolation_level=None)
    table.execute("PRAGMA journal_mode = WAL")
    table.execute("PRAGMA synchronous = FULL")
    table.execute("CREATE TABLE IF NOT EXISTS bare (n INTEGER PRIMARY KEY, b BLOB)")
    latencies = []
    for _ in range(number):
        start = time.perf_counter()
        table.execute("BEGIN IMMEDIATE")
        table.execute("INSERT INTO bare (b) VALUES (?)", (b"x" * 1500,))
        table.execute("COMMIT")
        latencies.append(time.perf_counter() - start)
    table.close()
    return latencies


def remote(port: int, turn: int, number: int) -> float:
    """Return the processor time of a client for decisions with rewards."""
    with mogro.connect(f"http://127.0.0.1:{port}") as agent:
        drawn = contexts(number, turn)
        start = time.process_time()
        for n, context in enumerate(drawn):
            visit = f"client {turn} {n}"
            agent.decide(id=visit, context=context)
            agent.reward(visit, {"click": float(n % 2), "watch": n / 7})
        return time.process_time() - start


def bare(port: int, turn: int, number: int) -> float:
    """Return the processor time of a socket that sends the same bytes and reads the answers."""
    requests = []
    for n, context in enumerate(contexts(number, turn)):
        visit = f"bare {turn} {n}"
        values = {"click": float(n % 2), "watch": n / 7}
        bodies: dict[str, dict[str, Any]] = {"decide": {"id": visit, "context": context}}
        bodies["reward"] = {"id": visit, "values": values}
        for call, body in bodies.items():
            content = encoded(body)
            head = (
                f"POST /v1/agents/shop/{call} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
                f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
            )
            requests.append(head.encode() + content)
    with socket.create_connection(("127.0.0.1", port), 30) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.process_time()
        for request in requests:
            line.sendall(request)
            line.recv(65536)  # an answer comes in one piece
        return time.process_time() - start


def remote_at_once(number: int) -> float:
    """Return the processor time of a client whose calls are answered at once."""
    with subprocess.Popen([sys.executable, "-c", _AT_ONCE], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            return remote(int(server.stdout.readline()), 0, number)
        finally:
            server.terminate()


def measure(folder: Path, *, turns: int, number: int) -> None:
    """Take turns, and print medians and their ratios."""
    port = free_port()
    (folder / "port").write_text(str(port))
    server = subprocess.Popen([sys.executable, "-c", _SERVER, str(folder)])
    load, pid = Load(port), server.pid
    options: dict[str, Any] = {"arms": DIM, "context": CONTEXT, "seed": 7}
    arms, kept = catalogue(), mogro.Catalogue(DIM)
    kept.add(list(arms), list(arms.values()))
    memory = {name: mogro.Agent(OBJECTIVES, **options) for name in ("arms", "catalogue", "batches")}
    durable = mogro.Agent.open(folder / "durable.db", OBJECTIVES, **options)

    def on_server(
        bodies: list[tuple[str, bytes]], clients: int = CLIENTS
    ) -> tuple[float, list[float]]:
        before = cpu(pid)
        latencies = load.send(bodies, clients)
        return cpu(pid) - before, latencies

    def empty(bodies: list[tuple[str, bytes]]) -> float:
        return on_server([("/empty", body) for _, body in bodies])[0]

    times: dict[str, list[float]] = {}
    waits: dict[str, list[float]] = {"one at a time": [], "64 at once": [], "bare commit": []}

    def note(name: str, seconds: float) -> None:
        times.setdefault(name, []).append(1e6 * seconds / number)

    try:
        _wait(port)
        for turn in range(turns + 1):
            for with_arms, name in ((True, "arms"), (False, "catalogue")):
                bodies = single(turn, number, with_arms=with_arms)
                seconds, latencies = on_server(bodies)
                note(f"server, {name}", seconds)
                note(f"empty, {name}", empty(bodies))
                offered = arms if with_arms else kept
                took = in_process(memory[name], offered, turn, number, name, at_once=CLIENTS)
                note(f"memory, {name}", took)
                if not with_arms:
                    waits["64 at once"] += latencies
            note("server, batches", on_server(batched(turn, number), 1)[0])
            took = in_process(memory["batches"], kept, turn, number, "batch", at_once=100)
            note("memory, batches", took)
            alone = on_server(single(turn + 500, 100, with_arms=False), 1)[1]
            waits["one at a time"] += alone
            waits["bare commit"] += bare_commits(folder, 200)
            note("durable", in_process(durable, kept, turn, number, "durable", at_once=1))
            for name, offered in (("arms", arms), ("catalogue", kept)):
                took = in_process(memory["batches"], offered, turn, number, f"1 {name}", at_once=1)
                note(f"one at a time, {name}", took)
            note("client", remote(port, turn, number))
            note("client, answered at once", remote_at_once(number))
            note("bare socket", bare(port, turn, number))
            if turn == 0:  # imports and caches
                times.clear()
                for each in waits.values():
                    each.clear()
    finally:
        server.terminate()
        server.wait(20)
        durable.close()
    report({name: statistics.median(each) for name, each in times.items()}, waits)


def report(times: dict[str, float], waits: dict[str, list[float]]) -> None:
    """Print what was measured."""
    print("processor time of a decision with its reward, microseconds, medians")
    for name, each in times.items():
        print(f"  {name:<25} {each:8.0f}")
    for name in ("arms", "catalogue"):
        beside = times[f"memory, {name}"] + times[f"empty, {name}"]
        print(f"{name} ratio: {times[f'server, {name}'] / beside:.2f} (bar 2)")
        alone = times[f"one at a time, {name}"] + times[f"empty, {name}"]
        print(f"  beside an agent with one at a time {times[f'server, {name}'] / alone:.2f}")
    print(f"batches ratio: {times['server, batches'] / times['memory, batches']:.2f} (bar 1.5)")
    for name in ("client", "client, answered at once", "bare socket"):
        print(f"{name} / agent with a journal: {times[name] / times['durable']:.2f} (bar 0.1)")
        print(f"  beside an agent in memory {times[name] / times['one at a time, catalogue']:.2f}")
    for name in ("server, catalogue", "server, batches"):
        print(f"{name}: {1e6 / times[name]:.0f} durable decisions with rewards per core and second")
    for name, latencies in waits.items():
        p50, p99 = (1000 * float(np.quantile(latencies, q)) for q in (0.5, 0.99))
        print(f"{name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            mogro.connect(f"http://127.0.0.1:{port}", retries=0).close()
        except ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the service does not answer")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--number", type=int, default=1280)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), turns=given.turns, number=given.number)


if __name__ == "__main__":
    main()
