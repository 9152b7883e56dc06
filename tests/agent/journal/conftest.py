"""Where agents can be opened: a file, and a database of a private PostgreSQL server."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.postgres import Server, server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    # Not in pytest's folder: to root's only root has access, and the server runs as somebody else.
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What to open: nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    running: Server = request.getfixturevalue("postgres")
    return running.new_address()
