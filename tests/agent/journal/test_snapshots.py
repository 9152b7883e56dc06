"""Snapshots in the journal are taken by themselves, and say what the events say."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.agent.journal.worlds import ARMS, live, opened, query, saved

import mogro
from mogro.agent.journal import CommitQueue
from mogro.agent.journal.tables import Journal, SnapshotIndex
from mogro.agent.state import ledger


def snapshot_position(shop: str) -> int:
    ((content,),) = query(shop, "SELECT content FROM mogro_snapshots WHERE part = 0")
    return int(json.loads(bytes(content))["position"])


@pytest.mark.parametrize(
    "half_life", [None, mogro.HalfLife(updates=20.0), mogro.HalfLife(time=30.0)]
)
def test_from_a_snapshot_or_from_the_first_event(
    tmp_path: Path, shop: str, half_life: mogro.HalfLife | None
) -> None:
    with opened(shop, half_life=half_life, snapshot_every=30) as agent:
        live(agent, 0, 50)
        expected = saved(agent, tmp_path / "one")
        ((events,),) = query(shop, "SELECT max(position) FROM mogro_events")
        assert 0 < events - snapshot_position(shop) < 30
        with mogro.Agent.open(shop) as again:
            assert saved(again, tmp_path / "two") == expected
    assert snapshot_position(shop) == events  # by closing
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "two") == expected
    query(shop, "DELETE FROM mogro_snapshots")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "three") == expected


def test_a_damaged_snapshot_is_made_good_by_the_events(tmp_path: Path, shop: str) -> None:
    with opened(shop, snapshot_every=25) as agent:
        live(agent, 0, 30)
        expected = saved(agent, tmp_path / "one")
    query(shop, "UPDATE mogro_snapshots SET content = substr(content, 1, 400) WHERE part <> 0")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "two") == expected


def test_two_processes_do_not_take_the_same_snapshot_twice(shop: str) -> None:
    with opened(shop, snapshot_every=10) as one, opened(shop, snapshot_every=10) as two:
        for n in range(0, 40, 2):
            live((one, two)[n // 2 % 2], n, 2)
        rows = query(
            shop, "SELECT DISTINCT position FROM mogro_snapshots WHERE part > 0 ORDER BY 1"
        )
        ((events,),) = query(shop, "SELECT max(position) FROM mogro_events")
        *before, last = (position for (position,) in rows)
        assert [last - position >= 10 for position in before] in ([], [True])  # it goes next
        assert events - last < 12


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_MAX_BLOCK", 2)  # four decisions in each


@pytest.mark.usefixtures("small_blocks")
def test_a_commit_takes_one_part_along_however_much_has_changed(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = opened(shop, snapshot_every=60)
    made = [agent.decide(ARMS, now=0.0).id for _ in range(40)]
    while agent.counters["learned"] < 40:
        agent.reward(made[agent.counters["learned"]], {"click": 1.0}, now=0.0)
    written, dropped = Journal.write_part, Journal.delete_parts
    parts: list[int] = []

    def write(journal: Journal, part: int, position: int, content: bytes) -> None:
        parts[-1] += part != 0
        written(journal, part, position, content)

    def drop(journal: Journal, some: Iterable[int]) -> None:
        listed = list(some)
        parts[-1] += len(listed)
        dropped(journal, listed)

    monkeypatch.setattr(Journal, "write_part", write)
    monkeypatch.setattr(Journal, "delete_parts", drop)
    for n in range(80):  # all blocks change, and change again
        parts.append(0)
        agent.reward(made[n % 40], {"watch": float(n % 40)}, now=0.0)
    while len(parts) < 160:
        parts.append(0)
        agent.decide(ARMS, now=0.0)
    assert max(parts) == 1
    assert sum(parts) > 40
    monkeypatch.undo()
    expected = saved(agent, tmp_path / "one")
    agent.close()
    ((content,),) = query(shop, "SELECT content FROM mogro_snapshots WHERE part = 0")
    index = SnapshotIndex(**json.loads(bytes(content)))
    there = [part for (part,) in query(shop, "SELECT part FROM mogro_snapshots WHERE part <> 0")]
    assert sorted(there) == sorted(index.head + index.blocks)  # nothing is left of earlier ones
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_MAX_BLOCK", 2)
        with mogro.Agent.open(shop) as again:
            assert saved(again, tmp_path / "two") == expected


@pytest.mark.usefixtures("small_blocks")
def test_a_snapshot_that_is_replaced_while_somebody_reads_it(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = opened(shop, retention=mogro.Retention(decisions=10))
    live(agent, 0, 40)
    agent.close()
    agent = mogro.Agent.open(shop)
    read, snapshots = Journal.read_part, 0

    def content(journal: Journal, part: int) -> bytes:
        nonlocal snapshots
        # By others, in between.
        if snapshots < 2 and part and part == journal.read_index().blocks[1]:
            snapshots += 1
            live(agent, 40 * snapshots, 40)
            assert isinstance(agent._store, CommitQueue)
            agent._store.write_snapshot()
        return read(journal, part)

    monkeypatch.setattr(Journal, "read_part", content)
    with mogro.Agent.open(shop) as again:
        assert snapshots == 2
        assert saved(again, tmp_path / "one") == saved(agent, tmp_path / "two")
    agent.close()
