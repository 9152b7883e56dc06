"""Events on disk: an agent that follows a journal forgets nothing, and processes can share it."""

import json
import os
from collections.abc import Sequence
from typing import Any

from mogro._codec import by_name, to_plain
from mogro._validation import folder_or_file, real, text
from mogro.agent.config import KNOWN, AgentConfig, config_from_plain
from mogro.agent.errors import DamagedJournal, DifferentConfig
from mogro.agent.events import KINDS, PARTS
from mogro.agent.journal.queue import CommitQueue
from mogro.agent.journal.removal import erase_decisions, void_event
from mogro.agent.journal.tables import Journal

__all__ = ["CommitQueue", "check_config", "erase_decisions", "open_journal", "void_event"]


def open_journal(
    path: str | os.PathLike[str],
    name: str,
    config: AgentConfig | None,
    *,
    types: Sequence[type[Any]],
    timeout: float,
) -> tuple[Journal, AgentConfig]:
    """Open an agent's journal in a file or a database, and return it with the agent's settings.

    These are the settings that it was created with; what it has become is in the events.
    """
    text(name, "name")
    folder_or_file(path, "path")
    by_name(KNOWN, types)  # it checks them
    plain_config = None if config is None else to_plain(config)
    journal = _journal(os.fspath(path), name, plain_config, real(timeout, "timeout", minimum=0))
    try:
        foreign_types = (*types, *(() if config is None else config.types))
        initial_config = config_from_plain(journal.config, foreign_types)
        journal.types = by_name((*KNOWN, *KINDS.values(), *PARTS), foreign_types)
    except Exception as error:  # damaged ones can fail in any way
        journal.close()
        raise DamagedJournal(f"{journal.path}: no settings of an agent in it: {error}") from error
    return journal, initial_config


def check_config(path: str, config: AgentConfig, versions: Sequence[AgentConfig]) -> None:
    """Refuse settings that an agent does not have now, and never had."""
    plain_config = _without_weights(config)
    for version in reversed(versions):
        if _without_weights(version) == plain_config:
            return
    current = versions[-1]
    differences = [
        f"{name} {getattr(current, name)!r}, not {getattr(config, name)!r}"
        for name, value in _without_weights(current).items()
        if value != plain_config[name]
    ]
    suffix = "; nor has it ever had these settings" if len(versions) > 1 else ""
    raise DifferentConfig(f"{path}: the agent in it has {'; '.join(differences)}{suffix}")


def _without_weights(config: AgentConfig) -> dict[str, Any]:
    """Return settings as plain data, less the weights, which are set while an agent runs."""
    text = json.dumps(to_plain(config.reconfigured({"weights": None})))
    return dict(json.loads(text))


def _journal(path: str, name: str, plain_config: dict[str, Any] | None, timeout: float) -> Journal:
    if not path.startswith(("postgresql://", "postgres://")):
        from mogro.agent.journal.sqlite import SQLiteJournal

        return SQLiteJournal(path, name, plain_config, timeout=timeout)
    try:
        from mogro.agent.journal.postgres import PostgresJournal
    except ImportError as error:
        raise ImportError(
            "path: a PostgreSQL database needs psycopg: pip install 'psycopg[binary]'"
        ) from error
    return PostgresJournal(path, name, plain_config, timeout=timeout)
