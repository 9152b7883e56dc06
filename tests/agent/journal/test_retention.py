"""A journal does not grow for ever, and forgets what it is told to; what was learned stays."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.agent.journal.worlds import ARMS, in_memory, live, opened, query, saved
from tests.agent.stories import add

import mogro
from mogro.agent.errors import ConflictingReward, DamagedJournal, JournalError, UnknownDecision
from mogro.agent.journal.queue import CommitQueue
from mogro.agent.journal.sqlite import SQLiteJournal
from mogro.agent.journal.tables import Journal

LAST = mogro.Retention(decisions=15)


def events(shop: str) -> int:
    return int(query(shop, "SELECT count(*) FROM mogro_events")[0][0])


def rows(table: pa.Table) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = table.to_pylist()
    return listed


CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 9), st.floats(0, 200)),
        st.tuples(st.just("reward"), st.integers(0, 9), st.floats(0, 200)),
        st.tuples(st.just("expire"), st.just(0), st.floats(0, 300)),
        st.tuples(st.just("erase"), st.integers(0, 9), st.just(0.0)),
        st.tuples(st.just("add"), st.just(0), st.just(0.0)),
        st.tuples(st.just("reopen"), st.just(0), st.just(0.0)),
    ),
    max_size=40,
)


def call(agent: mogro.Agent, kind: str, k: int, now: float) -> str:
    try:
        if kind == "decide":
            agent.decide(ARMS if k % 2 else dict(list(ARMS.items())[:3]), id=f"v{k}", now=now)
        elif kind == "reward":
            agent.reward(f"v{k}", {"click": 1.0, "watch": 5.0}, now=now)
        elif kind == "expire":
            agent.expire(now)
        elif kind == "erase":
            agent.erase(f"v{k}")
        elif kind == "add" and len(agent.objectives) < 5:
            add(agent, mogro.Objective(f"new {len(agent.objectives)}"))
    except (UnknownDecision, ConflictingReward) as error:
        return type(error).__name__
    return ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(CALLS, st.sampled_from([{"decisions": 0}, {"decisions": 3}, {"age": 50.0}]))
def test_whatever_goes_out_the_rest_is_as_before(
    tmp_path: Path, calls: list[tuple[str, int, float]], kept: dict[str, Any]
) -> None:
    """Beside a journal with all events, whose snapshots come rarely; and beside one in memory."""
    number = itertools.count(len(list(tmp_path.iterdir())))
    retention = mogro.Retention(**kept)
    path = tmp_path / f"{next(number)}.db"
    plain = in_memory(retention=retention)
    agent = opened(path, retention=retention, snapshot_every=3)
    for kind, k, now in calls:
        if kind == "reopen":
            agent.close()
            agent = mogro.Agent.open(path, snapshot_every=3)
        elif kind == "erase" and plain.counters["decisions"]:
            held = [record.decision.id for record in plain.decisions()]
            if f"v{k}" in held:
                assert call(agent, kind, k, now) == call(plain, kind, k, now)
        else:
            assert call(agent, kind, k, now) == call(plain, kind, k, now)
    assert saved(agent, tmp_path / "one") == saved(plain, tmp_path / "two")
    log, expected = agent.log(), plain.log()
    for name in ("id", "arm", "time", "features", "weights", "reward_click", "status_watch"):
        assert log[name].to_pylist() == expected[name].to_pylist()
    assert log["propensity"].null_count == log["offered"].null_count == 0
    if len(agent.objectives) == 3:  # else what some were based on is gone
        known = dict(zip(log["id"].to_pylist(), log["propensity"].to_pylist(), strict=True))
        for record in agent.decisions():
            id = record.decision.id
            assert agent.decision(id).decision.propensity == known[id]
    agent.close()


def test_events_go_out(tmp_path: Path, shop: str) -> None:
    twin = in_memory(retention=LAST)
    with (
        opened(shop, retention=LAST, snapshot_every=30) as agent,
        opened(shop, retention=LAST, snapshot_every=30) as other,
    ):
        for start in range(0, 160, 20):
            live(agent, start, 20)
            live(twin, start, 20)
            contents = {saved(one, tmp_path / "saved") for one in (agent, other, twin)}
            assert len(contents) == 1  # the other has not read what went out
        for record in agent.decisions(pending=True):
            for one in (agent, twin):
                if record.status["click"] == "pending":
                    one.reward(record.decision.id, {"click": 0.5}, now=400.0)
        for n in range(8):  # commits take deletions along
            agent.expire(400.0 + n)
            twin.expire(400.0 + n)
        held = [record.decision.id for record in agent.decisions()]
        assert len(held) == 15
        assert agent.log()["id"].to_pylist() == held
    assert events(shop) < 25  # of those held, one with arms, the last
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "one") == saved(twin, tmp_path / "two")
        live(again, 500, 20)
        live(twin, 500, 20)
        assert saved(again, tmp_path / "one") == saved(twin, tmp_path / "two")


def test_what_was_forgotten_before_a_kill_goes_out(shop: str) -> None:
    """Whoever goes on reads the last snapshot, and decisions are dropped by events after it."""
    killed = []
    for start in range(0, 160, 20):
        killed.append(opened(shop, retention=LAST, snapshot_every=30))  # it is never closed
        for n in range(start, start + 20):
            visit = killed[-1].decide(ARMS, now=float(n)).id
            killed[-1].reward(visit, {"click": 1.0, "watch": 2.0, "cost": 0.5}, now=float(n))
            killed[-1].expire(n + 0.5)
    with mogro.Agent.open(shop) as last:
        last.expire(500.0)
    with mogro.Agent.open(shop) as last:
        for n in range(8):  # commits take deletions along
            last.expire(600.0 + n)
    assert events(shop) < 25
    for agent in killed:
        agent.close()


def test_an_export_is_kept(tmp_path: Path, shop: str) -> None:
    with opened(shop, retention=100.0, snapshot_every=20) as agent:
        live(agent, 0, 40)
        agent.expire(90.0)
        for record in agent.decisions(pending=True):
            if record.status["click"] == "pending":
                agent.reward(record.decision.id, {"click": 0.5}, now=90.0)
        before = agent.log()
        path = agent.export(tmp_path / "archive")
        agent.expire(1000.0)
        agent.expire(1001.0)  # those that the last call completed
        assert len(agent.log()) == 0
    moved = pq.read_table(path)
    assert moved.equals(before)
    fresh = in_memory(seed=8)
    assert fresh.learn(moved) == 40
    assert list(tmp_path.joinpath("archive").iterdir()) == [path]


def test_retention_by_age(tmp_path: Path, shop: str) -> None:
    twin = in_memory(retention=100.0)
    with opened(shop, retention=100.0, snapshot_every=60) as agent:
        for n in range(400):
            for one in (agent, twin):
                one.reward(one.decide(ARMS, now=float(n)).id, {"click": n % 2}, now=float(n))
        assert events(shop) < 350
        times = [record.decision.time for record in agent.decisions(pending=False)]
        assert (min(times), max(times)) == (299.0, 319.0)  # completed by the longest window
        assert saved(agent, tmp_path / "one") == saved(twin, tmp_path / "two")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == (tmp_path / "two").read_bytes()


def test_a_kill_in_the_middle_of_deleting(tmp_path: Path, shop: str) -> None:
    """What was to go is written with the snapshot: whoever comes next goes on with it."""
    twin = in_memory(retention=LAST)
    agent = opened(shop, retention=LAST, snapshot_every=100_000)
    live(agent, 0, 120)
    live(twin, 0, 120)
    agent.close()  # a snapshot, and all that it lists is deleted
    listed: list[list[int]] = []
    remove = Journal.delete_events
    with pytest.MonkeyPatch.context() as patched:

        def stop(journal: Journal, positions: Any) -> None:
            listed.append(list(positions))
            raise KeyboardInterrupt

        patched.setattr(Journal, "delete_events", stop)
        agent = mogro.Agent.open(shop, snapshot_every=100_000)
        live(agent, 120, 30)
        live(twin, 120, 30)
        with pytest.raises(KeyboardInterrupt):
            agent.close()
    many = events(shop)
    with mogro.Agent.open(shop) as again:
        assert remove is Journal.delete_events
        live(again, 150, 1)
        live(twin, 150, 1)
        assert events(shop) < many
        assert saved(again, tmp_path / "one") == saved(twin, tmp_path / "two")
    assert listed


def test_a_decision_is_erased(tmp_path: Path, shop: str) -> None:
    with opened(shop) as agent, opened(shop) as other:
        live(agent, 0, 20)
        agent.decide(ARMS, id="Ada Lovelace", now=20.0)
        agent.decide(ARMS, id="Charles Babbage", now=20.0)
        agent.reward("Ada Lovelace", {"click": 1.0}, now=20.0)
        theta = agent.theta
        with pytest.raises(UnknownDecision):
            agent.erase("Ada Lovelace", "nobody")
        assert agent.erase("Ada Lovelace", "7-3") == 2
        for one in (agent, other):
            assert (one.theta == theta).all()
            assert one.counters["decisions"] == 22
            with pytest.raises(UnknownDecision):
                one.decision("Ada Lovelace")
        assert len(agent.log()) == 20
        live(agent, 20, 20)
        assert saved(agent, tmp_path / "one") == saved(other, tmp_path / "two")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == (tmp_path / "two").read_bytes()
    if not shop.startswith("postgresql:"):
        everything = b"".join(path.read_bytes() for path in Path(shop).parent.glob("shop.db*"))
        assert b"Babbage" in everything
        assert b"Lovelace" not in everything


def test_erasing_is_repeated_after_a_failure(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails with the decision dropped, and its events still there."""
    with opened(shop) as agent, opened(shop) as other:
        live(agent, 0, 20)
        agent.decide(ARMS, id="Ada Lovelace", now=20.0)
        with monkeypatch.context() as patch:
            patch.setattr(CommitQueue, "write_snapshot", _fail)
            with pytest.raises(JournalError, match="the disk is full"):
                agent.erase("Ada Lovelace")
        live(other, 20, 5)
        assert other.events("Ada Lovelace")
        assert agent.erase("Ada Lovelace") == 1
        assert not other.events("Ada Lovelace")
        expected = saved(agent, tmp_path / "one")
        assert saved(other, tmp_path / "two") == expected
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "two") == expected
    if not shop.startswith("postgresql:"):
        assert not any(b"Lovelace" in f.read_bytes() for f in Path(shop).parent.glob("shop.db*"))


def _fail(_: object) -> None:
    raise JournalError("the disk is full")


def test_what_was_forgotten_is_erased_all_the_same(tmp_path: Path, shop: str) -> None:
    """Everything under an id goes, and nothing else does."""
    none = mogro.Retention(decisions=0)
    with opened(shop, retention=none) as agent, mogro.Agent.open(shop) as other:
        for id in ("Ada Lovelace", "Charles Babbage", "Mary Somerville"):
            for n in range(2):
                agent.decide(ARMS, id=id, now=100.0 * n)
                agent.reward(id, {"click": 1.0, "watch": 2.0}, now=100.0 * n)
                agent.expire(100.0 * n + 90.0)
        assert other.decisions() == ()
        theta, many = agent.theta, events(shop)
        kept = [bytes(event) for (event,) in query(shop, "SELECT event FROM mogro_events")]
        assert [event for event in kept if b"Lovelace" in event]
        assert other.erase("Ada Lovelace", "Ada Lovelace") == 1
        kept = [bytes(event) for (event,) in query(shop, "SELECT event FROM mogro_events")]
        assert not [event for event in kept if b"Lovelace" in event]
        assert (agent.theta == theta).all()
        assert saved(agent, tmp_path / "one") == saved(other, tmp_path / "two")
        with pytest.raises(UnknownDecision):
            agent.erase("Ada Lovelace")
        assert events(shop) < many
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("forgotten", [0, 1])
def test_arms_of_what_is_forgotten_are_erased_with_it(shop: str, forgotten: int) -> None:
    """Forgotten before, or just now: what was pending is completed first, one too many then."""
    last = mogro.Retention(decisions=1 - forgotten)
    with mogro.Agent.open(
        shop, [mogro.Objective("sales")], arms=1, seed=7, retention=last
    ) as agent:
        for n, arm in enumerate(("crib", "corset", "hat")):
            agent.decide({arm: [float(n)]}, id=f"visit {n}")
        agent.reward("visit 1", {"sales": 1.0})
        agent.erase("visit 0", "visit 1")
        kept = [bytes(event) for (event,) in query(shop, "SELECT event FROM mogro_events")]
        assert any(b"hat" in event for event in kept)
        assert not [event for event in kept if b"crib" in event or b"corset" in event]
        agent.decide({"corset": [1.0]}, id="visit 3")
        assert agent.decision("visit 3").decision.propensities.arms == ("corset",)


def test_a_reward_of_what_another_process_has_erased_leaves_nothing_behind(
    tmp_path: Path, shop: str
) -> None:
    with opened(shop) as agent, opened(shop) as other:
        agent.decide(ARMS, id="Ada Lovelace", now=0.0)
        other.erase("Ada Lovelace")
        with pytest.raises(UnknownDecision):
            agent.reward("Ada Lovelace", {"click": 1.0}, now=1.0)
        kept = [bytes(event) for (event,) in query(shop, "SELECT event FROM mogro_events")]
        assert not [event for event in kept if b"Lovelace" in event]
        live(agent, 0, 5)
        assert saved(agent, tmp_path / "one") == saved(other, tmp_path / "two")
        assert len(other.log()) == 5


def test_what_another_process_decides_meanwhile_is_erased_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "shop.db") as agent, opened(tmp_path / "shop.db") as other:
        agent.decide(ARMS, id="Ada Lovelace", now=0.0)
        begin, meanwhile = SQLiteJournal.begin, [other]

        def begin_later(journal: SQLiteJournal) -> None:
            if meanwhile:
                meanwhile.pop().reward("Ada Lovelace", {"click": 1.0}, now=2.0)
            begin(journal)

        monkeypatch.setattr(SQLiteJournal, "begin", begin_later)
        assert agent.erase("Ada Lovelace") == 1
        assert agent.decisions() == other.decisions() == ()
        assert len(agent.log()) == 0
        kept = [
            bytes(event)
            for (event,) in query(agent_path(tmp_path), "SELECT event FROM mogro_events")
        ]
        assert not [event for event in kept if b"Lovelace" in event]


def agent_path(folder: Path) -> str:
    return str(folder / "shop.db")


def test_arguments_that_are_something_else(tmp_path: Path) -> None:
    with opened(tmp_path / "shop.db") as agent:
        live(agent, 0, 5)
        before = saved(agent, tmp_path / "saved")
        refused: dict[str, Callable[[], object]] = {
            "id": lambda: agent.erase(["7-0"]),  # type: ignore[arg-type]
            "policy": lambda: agent.reconfigure(policy=3),  # type: ignore[arg-type]
            "folder": lambda: agent.export(5),  # type: ignore[arg-type]
            "path": lambda: agent.save(None),  # type: ignore[arg-type]
        }
        for name, wrong in refused.items():
            with pytest.raises(ValueError, match=rf"^{name}: expected"):
                wrong()
        assert saved(agent, tmp_path / "saved") == before
    with pytest.raises(ValueError, match=r"^path: expected a path, got 5"):
        mogro.Agent.open(5)  # type: ignore[arg-type]


def test_what_is_erased_in_memory(tmp_path: Path) -> None:
    three = mogro.Retention(decisions=3)
    agent, other = in_memory(retention=three), in_memory(retention=three)
    for one in (agent, other):
        live(one, 0, 20)
    held = [record.decision.id for record in agent.decisions()]
    for id in held:
        agent.erase(id)
    assert agent.decisions() == ()
    assert other.erase(*held) == len(held)
    assert agent.counters == other.counters
    assert agent.expire(5000.0) == 0  # nothing is pending


def test_what_makes_room_for_itself_by_what_is_erased_with_it() -> None:
    """The first is withdrawn, so that the second is one too many: both go, once."""
    last = mogro.Retention(decisions=1)
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0, retention=last)
    for id in ("waits", "done"):
        agent.decide({"x": [1.0]}, id=id)
    agent.reward("done", {"click": 1.0})
    assert agent.erase("waits", "done") == 2
    counters = agent.counters
    assert [counters[n] for n in ("withdrawn", "forgotten", "pending", "completed")] == [1, 2, 0, 0]
    for id in ("a", "b", "c"):
        agent.decide({"x": [1.0]}, id=id)
    assert [record.decision.id for record in agent.decisions(pending=True)] == ["a", "b", "c"]


def test_without_its_snapshot_a_journal_that_has_forgotten_is_damaged(shop: str) -> None:
    with opened(shop, retention=mogro.Retention(decisions=3), snapshot_every=10) as agent:
        live(agent, 0, 30)
        agent.expire(500.0)
    query(shop, "UPDATE mogro_snapshots SET content = substr(content, 1, 400) WHERE part <> 0")
    with pytest.raises(DamagedJournal, match=r"event \d+ is missing"):
        mogro.Agent.open(shop)


def test_a_folder_that_cannot_be_written(tmp_path: Path, shop: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with opened(shop) as agent:
        live(agent, 0, 20)
        before = saved(agent, tmp_path / "saved"), events(shop)
        with pytest.raises(OSError, match="file"):
            agent.export(tmp_path / "file")
        assert (saved(agent, tmp_path / "saved"), events(shop)) == before
        agent.export(tmp_path)


@pytest.mark.parametrize("closes", [True, False])
def test_who_was_away_reads_a_snapshot_without_the_lock_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closes: bool
) -> None:
    """Others would wait."""
    path = tmp_path / "shop.db"
    objectives = [mogro.Objective("sales")]
    options = {"arms": 1, "seed": 7, "retention": mogro.Retention(decisions=5)}
    agent, away = (mogro.Agent.open(path, objectives, **options) for _ in "12")  # type: ignore[arg-type]
    for n in range(40):
        agent.reward(agent.decide({"a": [1.0]}).id, {"sales": float(n)})
    agent.close()
    restarts = []
    plain = CommitQueue._reload

    def restart(self: CommitQueue) -> None:
        assert isinstance(self.journal, SQLiteJournal)
        restarts.append(self.journal._connection.in_transaction)
        plain(self)

    monkeypatch.setattr(CommitQueue, "_reload", restart)
    if closes:
        away.close()
    else:
        assert away.decide({"a": [1.0]}).id == "7-40"
    assert restarts == [False]
    away.close()
