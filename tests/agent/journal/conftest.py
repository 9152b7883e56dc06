"""Where agents can be opened: a file, and a database of a private PostgreSQL server.

Both are kept in memory where the system has a folder for that, so that no commit waits for a disk;
a process that is killed leaves the same there.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.postgres import Server, server

_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    # Not in pytest's folder: to root's only root has access, and the server runs as somebody else.
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder, server(Path(folder)) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What to open: nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    running: Server = request.getfixturevalue("postgres")
    return running.new_address()
