"""What holds for all tests at once: where their files are, how much is tried, what is marked."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import mogro

# Files are in memory, where the system has a folder for that with room in it, so that no commit
# waits for a disk; a process that is killed leaves the same there.
_MEMORY = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 1 << 30:
    tempfile.tempdir = str(_MEMORY)

# How long an example takes says more about the machine and its load than about the code.
settings.register_profile("mogro", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=10)  # of `make test-fast`
# What a commit is judged by is the same in every run; every other run tries new examples.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "mogro")

# Files and folders whose tests look at files, words and errors rather than at numbers.
_NOT_NUMERIC = (
    "paper/test_reproduce.py",
    "agent/test_refusals.py",
    "agent/test_snapshot.py",
    "agent/test_threads.py",
    "policies/test_refusals.py",
    "service",
    "test_command_line.py",
    "test_files.py",
    "test_package.py",
    "test_validation.py",
)

# Whole folders and files that take long; single tests are marked where they stand.
_SLOW = (
    "../src/mogro/environments/protocol.py",
    "../src/mogro/testing",
    "league",
    "paper",
    "agent/journal",
    "agent/test_late_rewards.py",
    "agent/test_snapshot.py",
    "agent/test_stateful.py",
    "policies/test_conformance.py",
    "test_examples.py",
    "test_probability.py",
)


@pytest.fixture(autouse=True)
def _agents_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the agents that a test has opened; a file left open is a warning, and an error."""
    opened, open_agent = [], mogro.Agent.open

    def remember(*arguments: Any, **named: Any) -> mogro.Agent:
        opened.append(open_agent(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(mogro.Agent, "open", remember)
    yield
    for agent in opened:
        agent.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``numeric`` what other kernels could change, and as ``slow`` what takes long."""
    for item in items:
        if not _within(item.path, _NOT_NUMERIC):
            item.add_marker("numeric")
        if _within(item.path, _SLOW):
            item.add_marker("slow")


@cache
def _within(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(place) for place in _resolved(places))


@cache
def _resolved(places: tuple[str, ...]) -> list[Path]:
    return [(Path(__file__).parent / place).resolve() for place in places]
