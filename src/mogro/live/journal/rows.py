"""What every journal keeps in its tables, whichever database holds them."""

import json
import zlib
from collections.abc import Iterable
from typing import Any

from mogro.live.errors import DamagedJournal, DifferentSettings, NewerJournal
from mogro.live.events import VERSION as EVENT_VERSION
from mogro.live.events import Event, from_plain, to_plain

VERSION = 1  # of the tables
PART = 1 << 24  # bytes of a snapshot in one row
ROWS = 4096  # events read at a time


def event_rows(position: int, events: Iterable[Event]) -> list[tuple[int, bytes, int]]:
    """Return position, content and checksum of events from a position on."""
    rows = []
    for place, event in enumerate(events, position):
        content = json.dumps(to_plain(event), separators=(",", ":")).encode()
        rows.append((place, content, _checksum(place, content)))
    return rows


def event_from_row(path: str, position: int, content: bytes, checksum: int) -> Event:
    """Return the event that a row holds."""
    try:
        if _checksum(position, content) != checksum:
            raise ValueError("its checksum does not match")
        plain = json.loads(content)
        if plain["version"] > EVENT_VERSION:
            raise NewerJournal(
                f"{path}: event {position} is of version {plain['version']}, "
                f"known here is {EVENT_VERSION}"
            )
        return from_plain(plain)
    except NewerJournal:
        raise
    except Exception as error:  # a damaged event can fail in any way
        raise DamagedJournal(f"{path}: event {position} is damaged: {error}") from error


def check_agent(path: str, version: int, text: str, given: dict[str, Any] | None) -> dict[str, Any]:
    """Return the settings stored; those given have to be the same."""
    if version != VERSION:
        raise NewerJournal(f"{path}: of version {version}, known here is {VERSION}")
    try:
        stored: dict[str, Any] = json.loads(text)
        wanted = None if given is None else json.loads(json.dumps(given))
        differing = [key for key in stored if wanted and stored[key] != wanted.get(key)]
    except (ValueError, TypeError) as error:
        raise DamagedJournal(f"{path}: its settings are damaged: {error}") from error
    if differing and wanted is not None:
        pairs = [f"{key} {stored[key]!r}, not {wanted.get(key)!r}" for key in differing]
        raise DifferentSettings(f"{path}: the agent in it has {'; '.join(pairs)}")
    return stored


def _checksum(position: int, content: bytes) -> int:
    return zlib.crc32(content, position & 0xFFFFFFFF)
