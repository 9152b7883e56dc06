"""Files that are there as a whole or not at all."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file, and the folders above it; it takes its name when everything is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
