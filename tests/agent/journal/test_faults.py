"""Whatever happens to the file: a clear error, nothing acknowledged lost, and it goes on."""

import json
import os
import resource
import signal
import sqlite3
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.agent.journal.worlds import ARMS, SERVER, in_memory, live, opened, query, saved

import mogro
from mogro.agent.errors import (
    ClosedAgent,
    DamagedJournal,
    JournalError,
    JournalUnavailable,
    NewerJournal,
)
from mogro.agent.journal.tables import VERSION


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    path, plain = tmp_path / "shop.db", in_memory()
    with opened(path) as agent:
        live(agent, 0, 20)
        live(plain, 0, 20)
        with file_size_limit((tmp_path / "shop.db-wal").stat().st_size):
            for _ in range(3):
                with pytest.raises(JournalUnavailable, match=r"shop.db: "):
                    agent.decide(ARMS, now=20.0)
            expected = plain.counters
            assert agent.counters == expected
        live(agent, 20, 20)
        live(plain, 20, 20)
        assert saved(agent, tmp_path / "one") == saved(plain, tmp_path / "two")
    with mogro.Agent.open(path) as again:
        assert saved(again, tmp_path / "one") == saved(plain, tmp_path / "two")


def test_a_full_disk_that_spoils_a_snapshot_only(tmp_path: Path) -> None:
    with opened(tmp_path / "shop.db", snapshot_every=10) as agent:
        live(agent, 0, 3)
        with file_size_limit((tmp_path / "shop.db-wal").stat().st_size + 3 * 4200):
            for n in range(40):
                try:
                    agent.decide(ARMS, id=str(n), now=3.0)
                except JournalUnavailable:
                    break
            else:
                pytest.fail("the disk was never full")
        assert agent.counters["decisions"] == 3 + n


def test_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path, timeout=0.05) as agent:
        live(agent, 0, 10)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            JournalUnavailable, match=rf"shop.db: locked for 0.\d s by process {os.getpid()}"
        ):
            agent.decide(ARMS, now=10.0)
        assert agent.counters["decisions"] == 10  # readers go on
        other.execute("ROLLBACK")
        live(agent, 10, 5)
        assert agent.counters["decisions"] == 15
        other.close()


def stand_still(shop: str, ready: Path) -> None:
    """Stop with the lock held."""
    agent = opened(shop)

    def stop() -> None:
        ready.write_text("")
        os.kill(os.getpid(), signal.SIGSTOP)

    agent._store.perform(stop)


def test_a_worker_that_is_stopped_with_the_lock(tmp_path: Path, shop: str) -> None:
    """Others wait for two seconds: then a file says who has it, and a server takes it away."""
    with opened(shop) as agent:
        live(agent, 0, 3)
        worker = SERVER.Process(target=stand_still, args=(shop, tmp_path / "ready"))
        worker.start()
        assert worker.pid is not None
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        start = time.monotonic()
        if shop.startswith("postgresql:"):
            live(agent, 3, 3)
            os.kill(worker.pid, signal.SIGCONT)
        else:
            with pytest.raises(JournalUnavailable, match=f"locked for .* by process {worker.pid}"):
                agent.decide(ARMS, now=3.0)
        assert 1.5 < time.monotonic() - start < 5.0
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        live(agent, agent.counters["decisions"], 2)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Permissions mean nothing to root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_read_only_file() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        opened(path).close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        with as_nobody(), pytest.raises(JournalUnavailable, match=r"shop.db: .*(readonly|unable)"):
            mogro.Agent.open(path)
        Path(folder).chmod(0o755)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "UPDATE mogro_events SET checksum = checksum + 1 WHERE position = 4",
            "event 4 is damaged: its checksum does not match",
        ),
        ("DELETE FROM mogro_events WHERE position = 5", "event 5 is missing"),
        ("UPDATE mogro_agents SET config = '{'", "its settings are damaged"),
        ("UPDATE mogro_agents SET config = '{}'", "no settings of an agent in it"),
    ],
)
def test_a_damaged_journal(shop: str, statement: str, reason: str) -> None:
    with opened(shop) as agent:
        for n in range(8):
            agent.decide(ARMS, id=f"v{n}", now=0.0)
    query(shop, "DELETE FROM mogro_snapshots")
    query(shop, statement)
    with pytest.raises(DamagedJournal, match=f": {reason}"):
        mogro.Agent.open(shop)


def test_an_event_with_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path) as agent:
        agent.decide(ARMS, id="v3", now=0.0)
    query(str(path), "DELETE FROM mogro_snapshots")
    query(str(path), "UPDATE mogro_events SET event = CAST(replace(event, 'v3', 'v4') AS BLOB)")
    with pytest.raises(DamagedJournal, match=r"is damaged: its checksum does not match"):
        mogro.Agent.open(path)


@pytest.mark.parametrize("index", ["{", '{"posi)ion": 3}', "[]"])
def test_a_damaged_index_of_snapshots(tmp_path: Path, index: str) -> None:
    path = tmp_path / "shop.db"
    with opened(path) as agent:
        agent.decide(ARMS, id="v3", now=0.0)
    query(str(path), f"UPDATE mogro_snapshots SET content = CAST('{index}' AS BLOB) WHERE part = 0")
    with pytest.raises(DamagedJournal, match=r"shop.db: its snapshots are damaged"):
        mogro.Agent.open(path)


def test_a_damaged_schema(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    opened(path).close()
    path.write_bytes(path.read_bytes().replace(b"TABLE mogro_events", b"\xff" * 18))
    with pytest.raises(DamagedJournal, match=r"shop.db: "):
        mogro.Agent.open(path)


def test_damage_that_is_met_while_open(shop: str) -> None:
    with opened(shop) as one, opened(shop) as two:
        for n in range(8):
            one.decide(ARMS, id=f"v{n}", now=5.0)
        assert two.counters["decisions"] == 8
        for n in range(8, 12):
            one.decide(ARMS, id=f"v{n}", now=5.0)
        ((last,),) = query(shop, "SELECT max(position) FROM mogro_events")
        damage = "UPDATE mogro_events SET checksum = checksum {} 1 WHERE position = {}"
        query(shop, damage.format("+", last - 1))
        for _ in range(2):
            with pytest.raises(DamagedJournal, match=f": event {last - 1} is damaged"):
                two.decide(ARMS, now=6.0)
        query(shop, damage.format("-", last - 1))
        two.decide(ARMS, id="at last", now=6.0)
        assert one.counters == two.counters


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    path.write_bytes(b"something else" * 1000)
    with pytest.raises(DamagedJournal, match=r"shop.db: file is not a database"):
        mogro.Agent.open(path)
    assert path.read_bytes() == b"something else" * 1000


def test_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path) as agent:
        live(agent, 0, 60)
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 64] = bytes(range(64))
    path.write_bytes(content)
    with pytest.raises(DamagedJournal, match=r"shop.db: "):
        mogro.Agent.open(path)


def test_a_newer_journal(shop: str) -> None:
    opened(shop).close()
    newer = VERSION + 1
    query(shop, f"UPDATE mogro_agents SET version = {newer}")
    message = f": its format is version {newer}; this mogro reads {VERSION} only"
    with pytest.raises(NewerJournal, match=message):
        mogro.Agent.open(shop)


def test_an_older_journal(shop: str) -> None:
    opened(shop).close()
    query(shop, "UPDATE mogro_agents SET version = 1")
    message = f": its format is version 1; this mogro reads {VERSION} only"
    with pytest.raises(JournalError, match=message):
        mogro.Agent.open(shop)


def test_a_newer_event(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path) as agent:
        agent.expire(1.0)
    later = json.dumps({"is": "Dreamt"}, separators=(",", ":")).encode()
    query(str(path), "DELETE FROM mogro_snapshots")
    query(
        str(path),
        f"UPDATE mogro_events SET event = x'{later.hex()}', checksum = {zlib.crc32(later, 1)}",
    )
    with pytest.raises(NewerJournal, match=r"event 1 is 'Dreamt', not known here"):
        mogro.Agent.open(path)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_opening(shop: str) -> None:
    with opened(shop) as agent:
        live(agent, 0, 5)
        child = os.fork()
        if child == 0:
            os._exit(_refused_in_child(agent, shop))
        assert os.waitpid(child, 0)[1] == 0
        live(agent, 5, 5)
        assert agent.counters["decisions"] == 11


def _refused_in_child(agent: mogro.Agent, shop: str) -> int:
    try:
        for call in (lambda: agent.decide(ARMS, now=5.0), lambda: agent.counters):
            with pytest.raises(ClosedAgent, match=r": opened before this process was fork"):
                call()
        agent.close()
        with mogro.Agent.open(shop) as own:
            own.decide(ARMS, id="of the child", now=5.0)
    except BaseException:
        return 1
    return 0


class Failing:
    """Weights that cannot be drawn."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def weights(self, *_: Any, **__: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_what_fails_in_the_middle_of_a_round(
    tmp_path: Path, shop: str, error: BaseException
) -> None:
    plain = in_memory()
    with opened(shop) as agent:
        live(agent, 0, 20)
        live(plain, 0, 20)
        with pytest.raises(type(error)):
            agent.decide(ARMS, weights=Failing(error), now=20.0)
        live(agent, 20, 5)
        live(plain, 20, 5)
        assert saved(agent, tmp_path / "one") == saved(plain, tmp_path / "two")


def test_threads_share_rounds_and_failures_stay_with_callers(tmp_path: Path, shop: str) -> None:
    refused: list[int] = []
    with opened(shop) as agent:
        agent.decide(ARMS, id="common", now=0.0)

        def work(k: int) -> None:
            for n in range(10):
                decision = agent.decide(ARMS, id=f"{k} {n}", now=0.0)
                agent.reward(decision.id, {"click": float(k)}, now=0.0)
                try:
                    agent.reward("common", {"click": float(k)}, now=0.0)
                except mogro.errors.ConflictingReward:
                    refused.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert agent.counters["decisions"] == 81
        assert agent.counters["learned"] == 81
        assert len(set(refused)) == 7  # one of them was the first
        expected = saved(agent, tmp_path / "one")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "two") == expected
