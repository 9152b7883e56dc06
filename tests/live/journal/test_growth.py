"""A journal does not grow for ever, and forgets what it is told to; what was learned stays."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.live.journal.worlds import ARMS, in_memory, live, opened, query, saved

import mogro
from mogro.live.errors import DamagedJournal
from mogro.live.journal.sqlite import SQLiteJournal


def events(shop: str) -> int:
    return int(query(shop, "SELECT count(*) FROM mogro_events")[0][0])


def archived(folder: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.iterdir())])


def by_id(table: pa.Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = table.sort_by("position").to_pylist()
    return rows


def test_decisions_move_to_files(tmp_path: Path, shop: str) -> None:
    archive, moves = tmp_path / "archive", 0
    twin = in_memory()
    with opened(shop) as agent, opened(shop) as other:
        for start in range(0, 120, 40):
            live(agent, start, 40)
            live(twin, start, 40)
            before = agent.log()
            theta, many = agent.theta, events(shop)
            dropped = agent.compact(before=start - 10.0, to=archive)
            assert dropped == twin.compact(before=start - 10.0)
            assert (agent.theta == theta).all()
            assert start < 80 or (dropped > 0 and events(shop) < many)
            assert by_id(agent.log())[-20:] == by_id(before)[-20:]
            moves += len(agent.log()) < len(before)
            contents = {saved(one, tmp_path / "saved") for one in (agent, other, twin)}
            assert len(contents) == 1  # the other had not read what went out
        whole = pa.concat_tables([archived(archive), agent.log()])
        assert len(set(whole["position"].to_pylist())) == len(whole) == 120
        assert moves > 0
        assert sorted(path.suffix for path in archive.iterdir()) == [".parquet"] * moves
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "saved") in contents
        live(again, 120, 20)
        live(twin, 120, 20)
        assert saved(again, tmp_path / "one") == saved(twin, tmp_path / "two")


def test_the_archive_is_the_log(tmp_path: Path, shop: str) -> None:
    with opened(shop, capacity=15) as agent, opened(shop, name="twin", capacity=15) as twin:
        for one in (agent, twin):
            live(one, 0, 60)
        agent.compact(before=30.0, to=tmp_path / "archive")
        for one in (agent, twin):
            live(one, 60, 30)
            one.expire(300.0)
            for record in one.decisions(pending=True):
                one.reward(record.decision.id, {"click": 0.5}, now=300.0)
        agent.compact(before=1000.0, to=tmp_path / "archive")
        assert len(agent.log()) == 0
        moved, log = by_id(archived(tmp_path / "archive")), by_id(twin.log())
        places = ("position", "basis")  # the other agent's journal lacks the events of compacting
        for rows in (moved, log):
            for row in rows:
                for name in places:
                    row.pop(name)
        assert moved == log
        # The first thirty are complete in the first file; so an archive can be learned from.
        fresh = in_memory(seed=8)
        assert fresh.learn(archived(tmp_path / "archive")) == 90


def test_ids_after_compacting_are_new_decisions(shop: str) -> None:
    with opened(shop) as one, opened(shop) as two:
        made = [one.decide(ARMS, now=0.0).id, one.decide(ARMS, id="visit", now=0.0).id]
        for name in made:
            one.reward(name, {"click": 1.0, "watch": 1.0, "cost": 1.0}, now=0.0)
        one.expire(100.0)
        assert two.compact(before=50.0) == 2
        with pytest.raises(mogro.errors.UnknownDecision):
            one.reward("visit", {"click": 1.0}, now=100.0)
        assert one.decide(ARMS, id="visit", now=101.0) == two.decide(ARMS, id="visit", now=102.0)
        assert one.decide(ARMS, now=101.0).id not in made  # those made up never come again
        assert two.counters["decisions"] == 4


def test_pending_decisions_stay(tmp_path: Path, shop: str) -> None:
    with opened(shop) as agent:
        live(agent, 0, 30)
        pending = [record.decision.id for record in agent.decisions(pending=True)]
        agent.compact(before=1000.0)
        assert [record.decision.id for record in agent.decisions()] == pending
        assert agent.log()["id"].to_pylist() == pending
        assert agent.decision(pending[0]).decision.propensity > 0  # from the journal
        assert agent.reward(pending[-1], {"watch": 3.0}, now=31.0).late == 0


def test_a_decision_is_erased(tmp_path: Path, shop: str) -> None:
    with opened(shop) as agent, opened(shop) as other:
        live(agent, 0, 20)
        agent.decide(ARMS, id="Ada Lovelace", now=20.0)
        agent.decide(ARMS, id="Charles Babbage", now=20.0)
        agent.reward("Ada Lovelace", {"click": 1.0}, now=20.0)
        theta = agent.theta
        with pytest.raises(mogro.errors.UnknownDecision):
            agent.erase("Ada Lovelace", "nobody")
        assert agent.erase("Ada Lovelace", "7-3") == 2
        for one in (agent, other):
            assert (one.theta == theta).all()
            assert one.counters["decisions"] == 22
            with pytest.raises(mogro.errors.UnknownDecision):
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


def test_what_was_forgotten_is_erased_all_the_same(tmp_path: Path, shop: str) -> None:
    """Everything under an id goes, and nothing else does."""
    with opened(shop, capacity=2) as agent, mogro.Agent.open(shop) as other:
        for id in ("Ada Lovelace", "Charles Babbage", "Mary Somerville"):
            for n in range(2):
                agent.decide(ARMS, id=id, now=100.0 * n)
                agent.reward(id, {"click": 1.0, "watch": 2.0}, now=100.0 * n)
                agent.expire(100.0 * n + 90.0)
                agent.forget(before=100.0)
            agent.forget(before=200.0)
        assert other.decisions() == ()
        theta, many = agent.theta, events(shop)
        with pytest.raises(mogro.errors.UnknownDecision, match="nobody"):
            other.erase("Ada Lovelace", "nobody")
        assert events(shop) == many
        assert other.erase("Ada Lovelace", "Ada Lovelace") == 1
        assert other.log()["id"].to_pylist() == ["Charles Babbage"] * 2 + ["Mary Somerville"] * 2
        assert (agent.theta == theta).all()
        assert saved(agent, tmp_path / "one") == saved(other, tmp_path / "two")
        with pytest.raises(mogro.errors.UnknownDecision):
            agent.erase("Ada Lovelace")
        agent.compact(before=1000.0, to=tmp_path / "archive")
        assert len(archived(tmp_path / "archive")) == 4
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == (tmp_path / "two").read_bytes()


def test_what_was_forgotten_and_erased_is_not_in_the_file(tmp_path: Path) -> None:
    with opened(tmp_path / "shop.db") as agent, opened(tmp_path / "shop.db") as other:
        for id in ("Ada Lovelace", "Charles Babbage"):
            agent.decide(ARMS, id=id, now=0.0)
        agent.expire(100.0)
        agent.withdraw("Ada Lovelace", now=100.0)
        agent.forget(before=50.0)
        assert len(other.log()) == 2
        agent.erase("Ada Lovelace")
        everything = b"".join(path.read_bytes() for path in tmp_path.glob("shop.db*"))
    assert b"Babbage" in everything
    assert b"Lovelace" not in everything


def test_what_another_process_decides_meanwhile_is_erased_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "shop.db") as agent, opened(tmp_path / "shop.db") as other:
        agent.decide(ARMS, id="Ada Lovelace", now=0.0)
        agent.withdraw("Ada Lovelace", now=0.0)
        agent.forget(before=1.0)
        begin, meanwhile = SQLiteJournal.begin, [other]

        def begin_later(journal: SQLiteJournal, after: int = 0) -> None:
            if meanwhile:
                meanwhile.pop().decide(ARMS, id="Ada Lovelace", now=2.0)
            begin(journal, after)

        monkeypatch.setattr(SQLiteJournal, "begin", begin_later)
        assert agent.erase("Ada Lovelace") == 1
        assert agent.decisions() == other.decisions() == ()
        assert len(agent.log()) == 0


@pytest.mark.parametrize("kept", [True, False])
def test_without_anything_to_move_there_is_no_file(tmp_path: Path, kept: bool) -> None:
    archive = tmp_path / "archive"
    with opened(tmp_path / "shop.db") if kept else in_memory() as agent:
        live(agent, 0, 40)
        agent.expire(200.0)
        assert agent.compact(before=-1.0, to=archive) == 0
        assert not archive.exists()
        assert agent.compact(before=100.0, to=archive) > 0
        assert agent.compact(before=100.0, to=archive) == 0
        assert len(list(archive.iterdir())) == 1


def test_arguments_that_are_something_else(tmp_path: Path) -> None:
    with opened(tmp_path / "shop.db") as agent:
        live(agent, 0, 5)
        before = saved(agent, tmp_path / "saved")
        refused: dict[str, Callable[[], object]] = {
            "to": lambda: agent.compact(before=1.0, to=5),  # type: ignore[arg-type]
            "before": lambda: agent.compact(before="now"),  # type: ignore[arg-type]
            "id": lambda: agent.erase(["7-0"]),  # type: ignore[arg-type]
            "policy": lambda: agent.retire("click", policy=3),  # type: ignore[arg-type]
            "name": lambda: agent.retire(3),  # type: ignore[arg-type]
            "folder": lambda: agent.export(5),  # type: ignore[arg-type]
            "path": lambda: agent.save(None),  # type: ignore[arg-type]
        }
        for name, call in refused.items():
            with pytest.raises(ValueError, match=rf"^{name}: expected"):
                call()
        assert saved(agent, tmp_path / "saved") == before
    with pytest.raises(ValueError, match=r"^path: expected a path, got 5"):
        mogro.Agent.open(5)  # type: ignore[arg-type]


def test_what_is_erased_in_memory(tmp_path: Path) -> None:
    agent, other = in_memory(capacity=3), in_memory(capacity=3)
    for one in (agent, other):
        live(one, 0, 20)
    held = [record.decision.id for record in agent.decisions()]
    for id in held:
        agent.erase(id)
    assert agent.decisions() == ()
    assert other.erase(*held) == len(held)
    assert saved(agent, tmp_path / "one") == saved(other, tmp_path / "two")
    assert agent.expire(1e6) == 0  # nothing is pending


def test_retention(tmp_path: Path, shop: str) -> None:
    twin = in_memory(retention=100.0)
    with opened(shop, retention=100.0, snapshot_every=60) as agent:
        for n in range(400):
            for one in (agent, twin):
                one.reward(one.decide(ARMS, now=float(n)).id, {"click": n % 2}, now=float(n))
        assert 200 <= events(shop) < 500
        times = [record.decision.time for record in agent.decisions(pending=False)]
        assert (min(times), max(times)) == (299.0, 319.0)  # completed by the longest window
        assert saved(agent, tmp_path / "one") == saved(twin, tmp_path / "two")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == (tmp_path / "two").read_bytes()


def test_without_its_snapshot_a_compacted_journal_is_damaged(shop: str) -> None:
    with opened(shop) as agent:
        live(agent, 0, 30)
        agent.compact(before=20.0)
    query(shop, "UPDATE mogro_snapshots SET content = substr(content, 1, 400)")
    with pytest.raises(DamagedJournal, match=r"event \d+ is missing"):
        mogro.Agent.open(shop)


def test_a_folder_that_cannot_be_written(tmp_path: Path, shop: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with opened(shop) as agent:
        live(agent, 0, 120)
        before = saved(agent, tmp_path / "saved"), events(shop)
        with pytest.raises(OSError, match="file"):
            agent.compact(before=20.0, to=tmp_path / "file")
        assert (saved(agent, tmp_path / "saved"), events(shop)) == before


def test_a_file_that_was_not_named_in_time(tmp_path: Path, shop: str) -> None:
    """Killed between the commit and the naming: the next one names it; drafts of others stay."""
    archive = tmp_path / "archive"
    with opened(shop) as agent:
        live(agent, 0, 120)
        agent.compact(before=20.0, to=archive)
        (file,) = archive.iterdir()
        file.rename(file.with_name(file.name + ".part"))
        stranger = archive / "decisions-000000000007-0123abcd.parquet.part"
        stranger.write_bytes(b"")
        agent.compact(before=20.0, to=archive)
        assert file.exists()
        assert stranger.exists()
