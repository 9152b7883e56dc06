"""Snapshots in the journal are taken by themselves, and say what the events say."""

import sqlite3
from pathlib import Path

import pytest
from tests.live.journal.worlds import live, opened, saved

import mogro


def query(path: Path, statement: str) -> list[tuple[int, ...]]:
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize(
    "half_life", [None, mogro.HalfLife(updates=20.0), mogro.HalfLife(time=30.0)]
)
def test_from_a_snapshot_or_from_the_first_event(
    tmp_path: Path, half_life: mogro.HalfLife | None
) -> None:
    path = tmp_path / "shop.db"
    with opened(path, half_life=half_life, capacity=20, snapshot_every=30) as agent:
        live(agent, 0, 50)
        expected = saved(agent, tmp_path / "one")
    ((events,),) = query(path, "SELECT max(position) FROM mogro_events")
    ((position,),) = query(path, "SELECT DISTINCT position FROM mogro_snapshots")
    assert 0 < events - position < 30
    with mogro.Agent.open(path) as again:
        assert saved(again, tmp_path / "two") == expected
    query(path, "DELETE FROM mogro_snapshots")
    with mogro.Agent.open(path) as again:
        assert saved(again, tmp_path / "three") == expected


def test_a_damaged_snapshot_is_made_good_by_the_events(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path, snapshot_every=25) as agent:
        live(agent, 0, 30)
        expected = saved(agent, tmp_path / "one")
    query(path, "UPDATE mogro_snapshots SET content = zeroblob(400)")
    with mogro.Agent.open(path) as again:
        assert saved(again, tmp_path / "two") == expected


def test_two_processes_do_not_take_the_same_snapshot_twice(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with opened(path, snapshot_every=10) as one, opened(path, snapshot_every=10) as two:
        for n in range(0, 40, 2):
            live((one, two)[n // 2 % 2], n, 2)
    positions = query(path, "SELECT position FROM mogro_snapshots")
    ((events,),) = query(path, "SELECT max(position) FROM mogro_events")
    assert len(positions) == 1
    assert events - positions[0][0] < 10
