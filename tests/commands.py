"""Commands, run in this process."""

import contextlib
import io
from collections.abc import Callable
from typing import Any, NamedTuple


class Finished(NamedTuple):
    """How a command ended, and all that it said."""

    exit_code: int
    output: str


def run(main: Callable[[list[str]], Any], *arguments: object) -> Finished:
    """Run a command; an error that no user should see passes through."""
    said = io.StringIO()
    code: int | str | None = 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    if isinstance(code, str):
        return Finished(1, f"{said.getvalue()}{code}\n")
    return Finished(code or 0, said.getvalue())
