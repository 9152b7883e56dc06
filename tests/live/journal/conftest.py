"""Where agents can be opened: a file, and a database of a private PostgreSQL server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.postgres import Server, server


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("postgres")) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What to open: nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    running: Server = request.getfixturevalue("postgres")
    return running.new_address()
