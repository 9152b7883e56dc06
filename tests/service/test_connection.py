"""What goes over a connection: answers in one piece, and connections that were closed."""

import http.client
import json
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.running import running

import mogro
from mogro.service.client import ServiceError
from mogro.service.protocol import JoinedWrites


class Written:
    """A transport that remembers what was written."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.pieces.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


HEADS = st.sampled_from([b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 503 Busy\r\n\r\n"])


@given(st.lists(st.tuples(HEADS, st.lists(st.binary(max_size=9)))), st.booleans())
def test_an_answer_is_written_with_its_head(
    answers: list[tuple[bytes, list[bytes]]], close: bool
) -> None:
    transport = Written()
    joined = JoinedWrites(transport)
    for head, parts in answers:
        joined.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        before = len(transport.pieces)
        for piece in (head, *parts):
            joined.write(piece)
        joined.flush()
        assert b"".join(transport.pieces[before:]) == head + b"".join(parts)
        assert transport.pieces[before].startswith(head + b"".join(parts[:1]))
    joined.write(b"HTTP/1.1 200 OK\r\n\r\n")
    if close:
        joined.close()
        assert transport.pieces[-1] == b"HTTP/1.1 200 OK\r\n\r\n"
    assert joined.is_closing() == close


def test_an_answer_comes_in_one_piece_and_without_a_body_too(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        with socket.create_connection(("127.0.0.1", service.port), 10) as line:
            for _ in range(20):
                line.sendall(b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert line.recv(65536).endswith(b'\r\n\r\n{"ready":true}')
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        for method in ("HEAD", "GET", "HEAD"):
            connection.request(method, "/ready")
            assert connection.getresponse().read() == (b"" if method == "HEAD" else _READY)
        connection.close()


_READY = b'{"ready":true}'


def serve_once_each(listening: socket.socket, answers: list[bytes]) -> None:
    """Answer one request of each connection, and close it."""
    for answer in answers:
        line, _ = listening.accept()
        with line:
            line.recv(65536)
            line.sendall(answer)


def answer(body: object, status: int = 200) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(content), content)


def test_a_connection_that_was_closed_costs_no_retry() -> None:
    agents = answer({"agents": ["shop"], "version": "1"})
    waited = answer({"waited": True})
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(
            target=serve_once_each, args=(listening, [agents, waited, waited])
        )
        thread.start()
        with mogro.connect(f"http://127.0.0.1:{port}", retries=0) as agent:
            assert agent.activate("a")
            assert agent.activate("b")
        thread.join(10)


@pytest.mark.parametrize(
    "told",
    [
        answer(b"<html>", 502),
        answer(b"<html>"),
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b'HTTP/1.1 200 OK\r\n\r\n{"a": "\r\ncontent-length: 3"}',
        b"HTTP/1.1 200 OK\r\nx-content-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n{}",
        answer({"agents": ["shop"], "version": "1"}) + b"\n ",
        b"SSH-2\r\n\r\n",
    ],
)
def test_answers_of_somebody_else_are_errors(told: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=serve_once_each, args=(listening, [told]))
        thread.start()
        with pytest.raises(ServiceError, match=r"127\.0\.0\.1|502"):
            mogro.connect(f"http://127.0.0.1:{port}", retries=0)
        thread.join(10)
