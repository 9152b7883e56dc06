"""Calls that wait together are committed together."""

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.agent.journal.worlds import live, opened

from mogro.agent.events import Expired
from mogro.agent.journal import CommitQueue, open_journal, tables
from mogro.agent.state.state import State


class Counting:
    """A journal with a slow disk that counts its commits."""

    def __init__(self, journal: Any) -> None:
        self.journal = journal
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def commit(self, *given: Any) -> None:
        time.sleep(0.05)
        self.commits += 1
        self.journal.commit(*given)


def test_threads_share_a_commit(tmp_path: Path) -> None:
    opened(tmp_path / "shop.db").close()
    journal, config = open_journal(tmp_path / "shop.db", "agent", None, types=(), timeout=9.0)
    counting: Any = Counting(journal)
    states: list[State] = []
    queue = CommitQueue(counting, config, snapshot_every=1000, replace=states.append)
    done: list[float] = []

    def call(k: int) -> None:
        for n in range(10):
            event = Expired(float(10 * k + n))
            queue.perform(partial(queue.apply, event))
            done.append(time.monotonic())

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.close()
    assert len(done) == 80
    assert states[-1].time == 79.0
    assert counting.commits <= 80 / 4  # 8 threads: 10 and a few, if all wait for every commit


def test_a_log_is_of_one_moment(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others append, and erase events, while all are read."""
    monkeypatch.setattr(tables, "ROWS", 7)
    with opened(shop, timeout=0.5) as agent:  # it would wait for who reads, to overwrite
        live(agent, 0, 60)
        journal, config = open_journal(shop, "agent", None, types=(), timeout=9.0)
        queue = CommitQueue(journal, config, snapshot_every=10**6, replace=lambda _: None)
        before = [position for position, _ in journal.read(0)]
        with queue.view() as (state, reader):
            read = []
            for position, _ in reader.read(0):
                read.append(position)
                if len(read) == 10:
                    agent.erase(*(record.decision.id for record in agent.decisions()))
                    live(agent, 60, 5)
            assert read == before
            assert state.position == before[-1]
            assert len(state.ledger.live()) == 60
        assert [position for position, _ in journal.read(0)] != before
        queue.close()
