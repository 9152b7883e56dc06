"""Calls that wait for the thread that changes an agent."""

import asyncio
import threading
from typing import Any

import pytest
from starlette.exceptions import HTTPException

import mogro
from mogro.service.threads import Writer


def test_a_writer_that_is_closed_answers_all_that_wait() -> None:
    """What has begun happens, and its caller is told; what has not is refused."""
    agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
    begun, released = threading.Event(), threading.Event()

    def decide(id: str) -> str:
        return agent.decide({"a": [1.0]}, id=id).arm

    def decide_late() -> str:
        begun.set()
        released.wait(10)
        return decide("v1")

    async def wait() -> list[list[Any]]:
        writer = Writer(agent, max_waiting=10, max_seconds=10.0)
        asked = [asyncio.create_task(writer.perform([decide_late]))]
        await asyncio.to_thread(begun.wait, 10)
        asked.append(asyncio.create_task(writer.perform([lambda: decide("v2")])))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(writer.close))
        while not writer._thread._shutdown:
            await asyncio.sleep(0.001)
        released.set()
        answers = await asyncio.wait_for(asyncio.gather(*asked), 5)
        await closing
        return answers

    (first,), (second,) = asyncio.run(wait())
    assert first == "a"
    assert isinstance(second, HTTPException)
    assert second.status_code == 503
    assert agent.decision("v1").decision.arm == "a"
    assert agent.counters["decisions"] == 1


def test_a_writer_needs_no_new_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there can be none, calls would be refused first and carried out later."""
    agent = mogro.Agent([mogro.Objective("sales")], arms=1, seed=0)
    writer = Writer(agent, max_waiting=10, max_seconds=10.0)

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    assert asyncio.run(writer.perform([lambda: agent.decide({"a": [1.0]}).arm])) == ["a"]
    writer.close()
