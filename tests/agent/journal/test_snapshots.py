"""Snapshots in the journal are taken by themselves, and say what the events say."""

import json
from pathlib import Path

import pytest
from tests.agent.journal.worlds import live, opened, query, saved

import mogro


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
        positions = query(shop, "SELECT position FROM mogro_snapshots WHERE part < 0")
        ((events,),) = query(shop, "SELECT max(position) FROM mogro_events")
        assert len(positions) == 1
        assert events - positions[0][0] < 12
