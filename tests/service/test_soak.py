"""Short versions of ``make soak``."""

import signal
from pathlib import Path

import pytest
from benchmarks import postgres, soak

pytestmark = pytest.mark.slow


def test_what_was_acknowledged_survives_a_kill_and_a_stop(tmp_path: Path) -> None:
    counters = soak.kills(tmp_path, 2, how=(signal.SIGKILL, signal.SIGTERM))
    assert counters["acknowledged"] > 10
    assert '"event": "stop"' in (tmp_path / "log").read_text()


def test_two_services_on_one_database_agree_and_one_may_stop(tmp_path: Path) -> None:
    with postgres.server(tmp_path / "server") as database:
        counters = soak.several(tmp_path, database.new_address(), 2.0)
    assert min(counters["by the first"], counters["by the second"]) > 5


def test_too_many_clients_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    seen = soak.overload(tmp_path, 0.7)
    assert seen["refused"] > 0
    assert seen["answered"] > 0


def test_clients_that_stall_or_send_too_much(tmp_path: Path) -> None:
    seen = soak.large_body(tmp_path, 64 << 20)
    assert seen["MB grown"] < 20
