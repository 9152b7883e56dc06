"""Calls that wait together are committed together."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.journal.worlds import ARMS, in_memory, live, opened

import mogro
from mogro.agent.errors import JournalError
from mogro.agent.events import Expired, to_plain
from mogro.agent.journal import CommitQueue, open_journal, tables


class Counting:
    """A journal that counts its commits; its lock is free once all threads wait."""

    def __init__(self, journal: Any, all_wait: Callable[[], bool] = lambda: True) -> None:
        self.journal = journal
        self.all_wait = all_wait
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    def begin(self) -> None:
        deadline = time.monotonic() + 5
        while not self.all_wait() and time.monotonic() < deadline:
            time.sleep(0.001)
        self.journal.begin()

    def commit(self, *given: Any) -> None:
        self.commits += 1
        self.journal.commit(*given)


def test_threads_share_a_commit(tmp_path: Path) -> None:
    opened(tmp_path / "shop.db").close()
    journal, config = open_journal(tmp_path / "shop.db", "agent", None, types=(), timeout=9.0)
    left = 0  # threads with something to ask for
    counting: Any = Counting(journal, lambda: len(queue._waiting_calls) >= left)
    queue = CommitQueue(counting, config, snapshot_every=1000)
    done: list[float] = []

    def call(k: int) -> None:
        nonlocal left
        for n in range(10):
            event = Expired(float(10 * k + n))
            queue.perform(partial(queue.apply, event))
            done.append(time.monotonic())
        with guard:
            left -= 1

    guard, left = threading.Lock(), 8
    threads = [threading.Thread(target=call, args=(k,)) for k in range(left)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.close()
    assert len(done) == 80
    assert queue.state.time == 79.0
    assert counting.commits <= 80 / 4  # 10 and a few


def test_a_log_is_of_one_moment(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others append, and erase events, while all are read."""
    monkeypatch.setattr(tables, "ROWS", 7)
    with opened(shop, timeout=0.5) as agent:  # it would wait for who reads, to overwrite
        live(agent, 0, 60)
        journal, config = open_journal(shop, "agent", None, types=(), timeout=9.0)
        queue = CommitQueue(journal, config, snapshot_every=10**6)
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


def test_calls_made_together_share_a_commit_and_have_an_answer_each(tmp_path: Path) -> None:
    alone, shared = opened(tmp_path / "alone.db"), opened(tmp_path / "shared.db")

    def calls(agent: mogro.Agent) -> list[Any]:
        decided = [partial(agent.decide, ARMS, id=f"v{n}", now=float(n)) for n in range(20)]
        rewarded = [
            partial(agent.reward, f"v{n}", {"click": 1.0}, now=20.0) for n in (*range(20), 99)
        ]
        return [*decided, *rewarded, partial(agent.decide, ARMS, [[1.0]])]

    journal = alone._store.journal  # type: ignore[union-attr]
    singly: list[Any] = []
    for call in calls(alone):
        try:
            singly.append(call())
        except ValueError as error:
            singly.append(error)
    counting: Any = Counting(shared._store.journal)  # type: ignore[union-attr]
    shared._store.journal = counting  # type: ignore[union-attr]
    answers = shared.batch(calls(shared))
    assert counting.commits == 1
    assert [repr(answer) for answer in answers] == [repr(answer) for answer in singly]
    assert isinstance(answers[40], mogro.errors.UnknownDecision)
    assert alone.counters["decisions"] == shared.counters["decisions"] == 20
    assert np.array_equal(alone.theta, shared.theta)
    kinds = [type(event) for _, event in journal.read(0)]
    assert kinds == [type(event) for _, event in shared.events()]


def test_of_calls_whose_commit_fails_none_has_happened(tmp_path: Path) -> None:
    agent = opened(tmp_path / "shop.db")
    before = agent.counters

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    journal: Any = agent._store.journal  # type: ignore[union-attr]
    journal.commit = fail
    with pytest.raises(OSError, match="no space"):
        agent.batch([partial(agent.decide, ARMS, id="v", now=1.0)] * 2)
    del journal.commit
    assert agent.counters == before
    first, again = agent.batch([partial(agent.decide, ARMS, id="v", now=1.0)] * 2)
    assert first == again
    assert agent.counters["decisions"] == 1


def test_what_has_a_commit_of_its_own_is_refused_in_a_batch(shop: str) -> None:
    with opened(shop) as agent:
        agent.decide(ARMS, id="first", now=1.0)
        decide = partial(agent.decide, ARMS, id="second", now=2.0)
        calls: list[Any] = [decide, partial(agent.void, 2), partial(agent.erase, "first")]
        _, *refused = agent.batch(calls)
        for error in refused:
            assert isinstance(error, JournalError)
            assert "called again from within a call" in str(error)
        assert [record.decision.id for record in agent.decisions()] == ["first", "second"]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_what_a_listener_raises_undoes_nothing(shop: str, error: BaseException) -> None:
    def listen(event: Any) -> None:
        told.append(event)
        if getattr(event, "id", None) == "v1":
            raise error

    told: list[Any] = []
    with opened(shop, on_event=listen) as agent:
        agent.decide(ARMS, id="v0", now=0.0)
        with pytest.raises(type(error)):
            agent.observe(ARMS, arm="film", rewards={"click": 1.0}, id="v1", now=1.0)
        assert agent.decision("v1").rewards == {"click": 1.0}
        assert agent.decide(ARMS, id="v2", now=2.0).arm in ARMS
        happened = [to_plain(event) for _, event in agent.events()]
    kinds = {"Offered", "PriorLearned"}
    assert [e["is"] for e in map(to_plain, told) if e["is"] not in kinds] == [
        e["is"] for e in happened if e["is"] not in kinds
    ]


def test_a_listener_in_memory_is_told_as_with_a_journal() -> None:
    """Once all of a call has happened, also of what it calls itself, in the order of the events."""

    def listen(event: Any) -> None:
        told.append(event)
        if event.id == "v1":
            agent.decide(ARMS, id="more", now=2.0)
            raise RuntimeError(event.id)

    told: list[Any] = []
    agent = in_memory(on_event=listen)
    with pytest.raises(RuntimeError, match="v1"):
        agent.observe(ARMS, arm="film", rewards={"click": 1.0}, id="v1", now=1.0)
    assert agent.decision("v1").rewards == {"click": 1.0}
    assert [(type(event).__name__, event.id) for event in told] == [
        ("Decided", "v1"),
        ("Rewarded", "v1"),
        ("Decided", "more"),
    ]


def test_what_a_listener_raises_is_not_for_other_threads(tmp_path: Path) -> None:
    def listen(event: Any) -> None:
        if getattr(event, "id", None) == "bad":
            raise RuntimeError(event.id)

    agent = opened(tmp_path / "shop.db", on_event=listen)
    queue: Any = agent._store
    queue.journal = Counting(queue.journal, lambda: len(queue._waiting_calls) == 4 or not threads)
    answers: dict[str, Any] = {}

    def decide(id: str) -> None:
        try:
            answers[id] = agent.decide(ARMS, id=id, now=1.0)
        except RuntimeError as error:
            answers[id] = error

    threads = [threading.Thread(target=decide, args=(id,)) for id in ("a", "bad", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threads.clear()
    assert isinstance(answers.pop("bad"), RuntimeError)
    assert {id: decision.id for id, decision in answers.items()} == {id: id for id in "abc"}
    assert agent.counters["decisions"] == 4
    agent.close()


def test_a_listener_is_told_of_what_is_committed_only(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("no space left")

    told: list[Any] = []
    agent = opened(tmp_path / "shop.db", on_event=told.append)
    journal: Any = agent._store.journal  # type: ignore[union-attr]
    journal.commit = fail
    with pytest.raises(OSError, match="no space"):
        agent.decide(ARMS, id="v", now=1.0)
    assert not told
    del journal.commit
    agent.decide(ARMS, id="v", now=1.0)
    assert [type(event).__name__ for event in told] == ["Offered", "Decided"]
    agent.close()
