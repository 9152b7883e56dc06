"""Calls that wait together are committed together."""

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.live.journal.worlds import opened

from mogro.live.events import Expired
from mogro.live.journal import GroupCommit, open_journal
from mogro.live.state import State


class Counting:
    """A journal with a slow disk that counts its commits."""

    def __init__(self, journal: Any) -> None:
        self.journal = journal
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def commit(self) -> None:
        time.sleep(0.02)
        self.commits += 1
        self.journal.commit()


def test_threads_share_a_commit(tmp_path: Path) -> None:
    opened(tmp_path / "shop.db").close()
    journal, settings = open_journal(tmp_path / "shop.db", "agent", None, types=(), timeout=9.0)
    counting, states = Counting(journal), list[State]()
    group = GroupCommit(counting, settings, snapshot_every=1000, replace=states.append)
    done: list[float] = []

    def call(k: int) -> None:
        for n in range(10):
            event = Expired(float(10 * k + n))
            group.perform(partial(group.apply, event))
            done.append(time.monotonic())

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    group.close()
    assert len(done) == 80
    assert states[-1].time == 79.0
    assert counting.commits <= 80 / 4  # 8 threads: 10 and a few, if all wait for every commit
