"""Processes that are killed at any moment have lost nothing that was acknowledged."""

import os
import random
import signal
import time
from pathlib import Path

from benchmarks import crash
from tests.agent.journal.worlds import ARMS, SERVER, in_memory, opened, saved

import mogro

TEN = mogro.Retention(decisions=10)


def test_several_processes_are_killed(tmp_path: Path, shop: str) -> None:
    report = crash.run(shop, tmp_path, cycles=8, processes=3, seed=1)
    assert report.clean, report
    assert report.acknowledged > 8


def step(agent: mogro.Agent, n: int) -> None:
    """Make the nth call: what it is and does follows from n and the state."""
    k, now = n // 5, n / 10
    if n % 5 == 0:
        agent.decide(ARMS, id=f"visit {k}", now=now)
    elif n % 5 == 1:
        agent.reward(f"visit {k}", {"click": float(k % 2)}, now=now)
    elif n % 5 == 2:
        agent.decide_top(ARMS, top=2, id=f"page {k}", now=now)
    elif n % 5 == 3:
        agent.reward(f"page {k}", {"watch": 10.0 * (k % 7), "cost": 0.5}, now=now)
    else:
        agent.expire(now)


def go_on(shop: str, start: int, done: Path) -> None:
    """Make calls until killed; one byte is written for each that returned."""
    handle = os.open(done, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    agent = opened(shop, snapshot_every=20, retention=TEN)
    os.write(handle, b"opened")
    for n in range(start, start + 100_000):
        step(agent, n)
        os.write(handle, b".")


def test_the_state_is_that_of_the_acknowledged_calls_and_perhaps_one_more(
    tmp_path: Path, shop: str
) -> None:
    rng, start = random.Random(0), 0
    twin = in_memory(retention=TEN)
    for cycle in range(15):
        done = tmp_path / f"done {cycle}"
        process = SERVER.Process(target=go_on, args=(shop, start, done))
        process.start()
        wanted = 6 + rng.randrange(12)
        while not done.exists() or done.stat().st_size < wanted:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.01))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        crash.wait_for_server(shop)
        acknowledged = done.stat().st_size - 6
        for n in range(start, start + acknowledged):
            step(twin, n)
        start += acknowledged
        with opened(shop, retention=TEN) as agent:
            result = saved(agent, tmp_path / "one")
        if result != saved(twin, tmp_path / "two"):
            step(twin, start)  # the call that was cut off happened wholly
            start += 1
            assert result == saved(twin, tmp_path / "two")
    assert start > 15
