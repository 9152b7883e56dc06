"""Runs the Python blocks of a document: the tests and the pictures of the site come from here."""

import contextlib
import io
import os
import re
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


def pictures(path: Path) -> list[str]:
    """Return the names of the pictures that a document shows and its own code has to draw."""
    return _PICTURE.findall(path.read_text())


def run(path: Path, folder: Path) -> Iterator[Mismatch]:
    """Run the blocks one after the other in a folder, and yield what they print wrongly.

    All blocks of a document share their names. A ``text`` block is what the last one prints.
    """
    import matplotlib as mpl

    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    style = mpl.rc_context(fname=HERE / "matplotlibrc")
    with style, contextlib.chdir(folder):
        for language, body in _FENCE.findall(path.read_text()):
            if language == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(body, os.fspath(path), "exec"), names)
                printed = output.getvalue()
            elif language == "text" and printed != body:
                yield Mismatch(body, printed)
