"""Files that are there as a whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name only when everything has been written to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o644)  # mkstemp lets nobody else read
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
