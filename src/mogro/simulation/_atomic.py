"""Files that are there as a whole or not at all, and arrays read from them."""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


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


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz`` file by name; refuse a damaged one with a ValueError."""
    whole = io.BytesIO(path.read_bytes())
    try:
        with np.load(whole, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # a damaged file can fail in any way
        raise ValueError(f"no arrays in {path}: {error}") from error
