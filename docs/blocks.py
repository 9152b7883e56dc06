"""Runs the Python blocks of a document, for the tests and for the pictures of the site.

``python docs/blocks.py PAGE ...`` writes into the pages what their blocks print.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"\]\((?:\.\./)*_build/pictures/([^)]+)\)")


class Mismatch(NamedTuple):
    """A ``text`` block that is not what the block before it prints."""

    expected: str
    printed: str
    place: slice  # of the expected text in the document


def pictures(path: Path) -> list[str]:
    """Return the names of the pictures that a document shows and its code has to draw."""
    return _PICTURE.findall(path.read_text())


def run(path: Path, folder: Path) -> Iterator[Mismatch]:
    """Run the blocks one after the other in a folder, and yield what they print wrongly.

    All blocks of a document share names. A ``text`` block is what the last one prints.
    """
    import matplotlib as mpl

    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    style = mpl.rc_context(fname=HERE / "matplotlibrc")
    with style, contextlib.chdir(folder):
        for block in _FENCE.finditer(path.read_text()):
            language, body = block.groups()
            if language == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(body, os.fspath(path), "exec"), names)
                printed = output.getvalue()
            elif language == "text" and printed != body:
                yield Mismatch(body, printed, slice(*block.span(2)))


def rewrite(path: Path) -> None:
    """Write into a document what its blocks print."""
    text = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        errors = list(run(path.resolve(), Path(folder)))
    for _, printed, place in reversed(errors):
        text = text[: place.start] + printed + text[place.stop :]
    path.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
