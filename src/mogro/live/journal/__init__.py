"""Events on disk: an agent that follows a journal forgets nothing, and processes can share it."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mogro._validation import real
from mogro.live.errors import DamagedJournal
from mogro.live.journal.group import GroupCommit
from mogro.live.settings import Settings, from_plain_settings

if TYPE_CHECKING:
    from mogro.live.journal.sqlite import SQLiteJournal

__all__ = ["GroupCommit", "open_journal"]


def open_journal(
    path: str | os.PathLike[str],
    name: str,
    settings: Settings | None,
    *,
    types: Sequence[type[Any]],
    timeout: float,
) -> tuple["SQLiteJournal", Settings]:
    """Open an agent's journal in a file, and return it with the agent's settings."""
    from mogro.live.journal.sqlite import SQLiteJournal

    if type(name) is not str or not name:
        raise ValueError(f"name: expected a string, not empty, got {name!r}")
    plain = None if settings is None else settings.to_plain()
    journal = SQLiteJournal(
        os.fspath(path), name, plain, timeout=real(timeout, "timeout", minimum=0)
    )
    if settings is None:
        try:
            settings = from_plain_settings(journal.settings, types=types)
        except Exception as error:  # damaged ones can fail in any way
            journal.close()
            raise DamagedJournal(f"{path}: no settings of an agent in it: {error}") from error
    return journal, settings
