"""Events on disk: an agent that follows a journal forgets nothing, and processes can share it."""

import os
from collections.abc import Sequence
from typing import Any

from mogro._validation import folder_or_file, real
from mogro.live.errors import DamagedJournal, DifferentSettings
from mogro.live.journal.group import GroupCommit
from mogro.live.journal.rows import check_settings
from mogro.live.journal.tables import Journal
from mogro.live.settings import Settings, from_plain_settings

__all__ = ["GroupCommit", "check_settings", "open_journal"]


def open_journal(
    path: str | os.PathLike[str],
    name: str,
    settings: Settings | None,
    *,
    types: Sequence[type[Any]],
    timeout: float,
) -> tuple[Journal, Settings]:
    """Open an agent's journal in a file or a database, and return it with the agent's settings.

    These are the settings that it was created with; what it has become is in the events.
    """
    if type(name) is not str or not name:
        raise ValueError(f"name: expected a string, not empty, got {name!r}")
    folder_or_file(path, "path")
    plain = None if settings is None else settings.to_plain()
    journal = _journal(os.fspath(path), name, plain, real(timeout, "timeout", minimum=0))
    first = journal.settings
    try:
        if settings is not None and plain is not None:
            changeable = {name: plain[name] for name in ("objectives", "policy")}
            check_settings(journal.path, plain, first, first | changeable)
            types = [*types, *settings.types]
        return journal, from_plain_settings(first, types=types)
    except DifferentSettings:
        journal.close()
        raise
    except Exception as error:  # damaged ones can fail in any way
        journal.close()
        raise DamagedJournal(f"{journal.path}: no settings of an agent in it: {error}") from error


def _journal(path: str, name: str, plain: dict[str, Any] | None, timeout: float) -> Journal:
    if not path.startswith(("postgresql://", "postgres://")):
        from mogro.live.journal.sqlite import SQLiteJournal

        return SQLiteJournal(path, name, plain, timeout=timeout)
    try:
        from mogro.live.journal.postgres import PostgresJournal
    except ImportError as error:
        raise ImportError(f"path: a PostgreSQL database needs mogro[postgres]: {error}") from error
    return PostgresJournal(path, name, plain, timeout=timeout)
