"""What only a server can do wrong: slow transactions, restarts, wires that are cut."""

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from benchmarks.postgres import Server
from psycopg.conninfo import conninfo_to_dict
from tests.agent.journal.proxies import Wire
from tests.agent.journal.worlds import ARMS, in_memory, live, opened, query, saved

import mogro
from mogro.agent.errors import JournalError, JournalUnavailable
from mogro.agent.events import Rewarded
from mogro.agent.journal.tables import event_rows


@pytest.fixture
def database(postgres: Server) -> str:
    return postgres.new_address()


def hold(agent: mogro.Agent, wait: Callable[[], object]) -> None:
    """Hold the agent's lock for a while."""
    agent._store.perform(wait)


def in_threads(*work: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    return threads


def test_slow_transactions_beside_readers(tmp_path: Path, database: str) -> None:
    """A reader that follows the positions skips none, however long transactions take."""
    seen: list[int] = []
    done = threading.Event()

    def write(worker: int) -> None:
        rng = random.Random(worker)
        with opened(database) as agent:
            for n in range(12):
                hold(agent, lambda: time.sleep(rng.uniform(0, 0.01)))
                decision = agent.decide(ARMS, id=f"{worker} {n}", now=10.0)
                agent.reward(decision.id, {"click": worker + n / 7}, now=10.0)

    def read() -> None:
        with opened(database) as agent:
            while not done.is_set():
                seen.append(agent.counters["decisions"])
            seen.append(agent.counters["decisions"])
            agent.save(tmp_path / "reader")

    (reader,) = in_threads(read)
    for thread in in_threads(*(lambda k=k: write(k) for k in range(4))):
        thread.join()
    done.set()
    reader.join()
    assert seen == sorted(seen)
    assert seen[-1] == 4 * 12
    with mogro.Agent.open(database) as again:
        assert saved(again, tmp_path / "again") == (tmp_path / "reader").read_bytes()


def test_rewards_that_contradict_each_other_at_the_same_time(tmp_path: Path, database: str) -> None:
    """Both were right by what their processes knew: the first counts, and the second is told."""
    outcomes: dict[str, list[float]] = {}
    conflicts: list[str] = []
    start = threading.Barrier(3)

    def give(worker: int) -> None:
        with opened(database) as agent:
            for n in range(40):
                agent.decide(ARMS, id=str(n), now=10.0)
                start.wait()
                try:
                    agent.reward(str(n), {"click": float(worker)}, now=10.0)
                    outcomes.setdefault(str(n), []).append(float(worker))
                except mogro.errors.ConflictingReward:
                    conflicts.append(str(n))
            start.wait()
            agent.save(tmp_path / str(worker))

    for thread in in_threads(*(lambda k=k: give(k) for k in range(3))):
        thread.join()
    assert len(conflicts) == 80
    with mogro.Agent.open(database) as again:
        for n in range(40):
            (told,) = outcomes[str(n)]
            assert again.decision(str(n)).rewards == {"click": told}
        assert again.counters["learned"] == 40
        again.save(tmp_path / "again")
        assert again.log().num_rows == 40
    assert len({(tmp_path / name).read_bytes() for name in ("0", "1", "2", "again")}) == 1


def test_a_lock_that_is_held_too_long(database: str) -> None:
    go_on = threading.Event()
    with opened(database) as one, opened(database, timeout=0.1) as two:
        (thread,) = in_threads(lambda: hold(one, lambda: go_on.wait(20)))
        while not query(database, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"):
            time.sleep(0.005)
        holder = rf"lock timeout.*held by server process \d+ for 'mogro, process {os.getpid()} on "
        with pytest.raises(JournalUnavailable, match=holder):
            two.decide(ARMS, id="quick", now=11.0)
        assert two.counters["decisions"] == 0  # readers go on
        go_on.set()
        thread.join()
        two.decide(ARMS, id="quick", now=11.0)
        assert one.counters["decisions"] == two.counters["decisions"] == 1


def test_a_process_that_stands_still_loses_the_lock(tmp_path: Path, database: str) -> None:
    with opened(database, timeout=0.3) as one, opened(database) as two:
        live(one, 0, 10)
        go_on, failed = threading.Event(), []

        def stand_still() -> None:
            try:
                hold(one, lambda: go_on.wait(20))
            except JournalUnavailable as error:
                failed.append(error)

        (thread,) = in_threads(stand_still)
        while not query(database, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"):
            time.sleep(0.005)
        two.decide(ARMS, id="quick", now=11.0)
        go_on.set()
        thread.join()
        assert len(failed) == 1
        one.decide(ARMS, id="slow", now=11.0)
        assert one.counters["decisions"] == 12
        assert saved(one, tmp_path / "one") == saved(two, tmp_path / "two")


@pytest.fixture
def wire(postgres: Server) -> Iterator[Wire]:
    with tempfile.TemporaryDirectory() as folder:  # a short path: sockets want one
        host = conninfo_to_dict(postgres.address)["host"]
        wire = Wire(Path(folder), f"{host}/.s.PGSQL.5432")
        yield wire
        wire.close()


def by_wire(database: str, wire: Wire) -> str:
    host = str(conninfo_to_dict(database)["host"])
    return database.replace(f"host={host}", f"host={quote(str(wire.folder), safe='')}")


@pytest.mark.parametrize("order", ["cut", "swallow"])
def test_a_connection_cut_in_the_middle_of_a_commit(
    tmp_path: Path, database: str, wire: Wire, order: str
) -> None:
    """Whether it was committed is asked for: the caller gets the decision, or an error."""
    plain = in_memory()
    with opened(by_wire(database, wire), timeout=5.0) as agent:
        agent.decide(ARMS, id="a", now=0.0)
        cuts = [order]
        wire.sent = lambda content: cuts.pop() if cuts and b"COMMIT;" in content else "pass"
        if order == "cut":  # the commit never reached the server
            with pytest.raises(JournalUnavailable):
                agent.decide(ARMS, id="b", now=1.0)
            assert agent.counters["decisions"] == 1
        decision = agent.decide(ARMS, id="b", now=1.0)
        assert not cuts
        assert agent.decide(ARMS, id="b", now=2.0) == decision
        agent.reward("b", {"click": 1.0}, now=3.0)
        for id, now in (("a", 0.0), ("b", 1.0)):
            plain.decide(ARMS, id=id, now=now)
        plain.reward("b", {"click": 1.0}, now=3.0)
        assert saved(agent, tmp_path / "one") == saved(plain, tmp_path / "two")


def decide(agent: mogro.Agent, n: int) -> None:
    agent.decide(ARMS, id=f"visit {n}", now=float(n))


def reward(agent: mogro.Agent, n: int) -> None:
    agent.reward(f"visit {n}", {"click": n / 7}, now=float(n))


def test_a_connection_cut_anywhere(tmp_path: Path, database: str, wire: Wire) -> None:
    """Cut at every message in turn; the same call again, with the same id, is always right."""
    plain = in_memory()
    with opened(by_wire(database, wire), timeout=5.0, snapshot_every=10) as agent:
        for n in range(16):
            left = [n]

            def count(_: bytes, left: list[int] = left) -> str:
                left[0] -= 1
                return "pass" if left[0] else "cut" if left[0] % 2 else "swallow"

            wire.sent = count
            for call in (decide, reward):
                call(plain, n)
                try:
                    call(agent, n)
                except JournalUnavailable:
                    call(agent, n)
        assert agent.counters["repeated"] <= 8  # a reward that had come was given again
        assert (agent.theta == plain.theta).all()
        assert agent.counters["decisions"] == 16


@pytest.mark.parametrize("end", ["stop", "crash"])
def test_a_server_that_is_restarted_in_the_middle_of_traffic(
    tmp_path: Path, postgres: Server, database: str, end: str
) -> None:
    """Nothing acknowledged is lost; nobody goes on from what others had not been told yet."""
    done = threading.Event()
    acknowledged: list[str] = []

    def traffic(worker: int) -> None:
        with opened(database, timeout=30.0, snapshot_every=100) as agent:
            n = 0
            while not done.is_set():
                visit = f"{worker} {n}"
                for call in (
                    lambda visit=visit: agent.decide(ARMS, id=visit, now=0.0),
                    lambda visit=visit: agent.reward(visit, {"click": 1.0}, now=0.0),
                ):
                    try:
                        call()
                    except JournalUnavailable:
                        call()
                acknowledged.append(visit)
                n += 1
            agent.save(tmp_path / str(worker))

    threads = in_threads(*(lambda k=k: traffic(k) for k in range(3)))
    for _ in range(2 if end == "stop" else 5):
        time.sleep(0.3)
        getattr(postgres, end)()
        before = len(acknowledged)
        postgres.start()
        while len(acknowledged) < before + 6:
            assert all(thread.is_alive() for thread in threads)
            time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert len(set(acknowledged)) == len(acknowledged)
    with mogro.Agent.open(database) as agent:
        assert agent.counters["decisions"] == agent.counters["learned"] == len(acknowledged)
        assert {record.decision.id for record in agent.decisions()} == set(acknowledged)


def test_what_was_read_and_is_lost_did_not_happen(
    tmp_path: Path, postgres: Server, database: str
) -> None:
    """An event can be seen before it is on the disk, and be lost with the server."""
    with opened(database) as one, opened(database) as two:
        one.decide(ARMS, id="a", now=0.0)
        two.decide(ARMS, id="b", now=0.0)
        position = query(database, "SELECT max(position) FROM mogro_events")[0][0]
        for _ in range(5):  # it may reach the disk in time
            (row,) = event_rows(position + 1, [Rewarded("a", {"click": 1.0}, 1.0)])
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("SET synchronous_commit = off")
                connection.execute("INSERT INTO mogro_events VALUES (1, %s, %s, %s)", row)
                assert one.counters["learned"] == 1
                postgres.crash()
            postgres.start()
            lost = query(database, "SELECT max(position) FROM mogro_events")[0][0] == position
            if lost:
                break
            query(database, f"DELETE FROM mogro_events WHERE position > {position}")
        assert lost
        two.reward("b", {"click": 0.5}, now=2.0)  # in its place
        assert one.counters["learned"] == 1
        assert one.decision("a").rewards == {}
        assert saved(one, tmp_path / "one") == saved(two, tmp_path / "two")


def test_a_user_who_may_not_write(database: str) -> None:
    opened(database).close()
    schema = query(database, "SELECT current_schema()")[0][0]
    with psycopg.connect(database) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        for statement in (
            "CREATE ROLE reader LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO reader",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
        ):
            connection.execute(statement)
    with mogro.Agent.open(f"{database}&user=reader") as agent:
        assert agent.counters["decisions"] == 0
        with pytest.raises(JournalUnavailable, match="permission denied"):
            agent.decide(ARMS, now=0.0)
    query(database, "DROP OWNED BY reader; DROP ROLE reader")


def test_addresses_that_lead_nowhere(tmp_path: Path, database: str) -> None:
    with pytest.raises(JournalError, match=r"no agent 'agent' in it, only \[\]; to create one"):
        mogro.Agent.open(database)
    with pytest.raises(JournalUnavailable, match=r"postgresql://.*nowhere/shop: ") as caught:
        mogro.Agent.open(f"postgresql://me:secret@/shop?host={tmp_path}/nowhere", timeout=0.1)
    assert "secret" not in str(caught.value)
    with pytest.raises(JournalError, match=r"path: expected the address of a database"):
        mogro.Agent.open("postgresql://[/shop")
