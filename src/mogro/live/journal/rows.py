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
        content = event_bytes(event)
        rows.append((place, content, checksum(place, content)))
    return rows


def event_bytes(event: Event) -> bytes:
    """Return an event as it is written."""
    return json.dumps(to_plain(event), separators=(",", ":")).encode()


def event_from_row(
    path: str, position: int, content: bytes, expected: int, *, evidence: bool = True
) -> Event:
    """Return the event that a row holds; without the ``evidence`` of a decision, if so."""
    try:
        if checksum(position, content) != expected:
            raise ValueError("its checksum does not match")
        plain = json.loads(content)
        if plain["version"] > EVENT_VERSION:
            raise NewerJournal(
                f"{path}: event {position} is of version {plain['version']}, "
                f"known here is {EVENT_VERSION}"
            )
        return from_plain(plain, evidence=evidence)
    except NewerJournal:
        raise
    except Exception as error:  # a damaged event can fail in any way
        raise DamagedJournal(f"{path}: event {position} is damaged: {error}") from error


def read_settings(path: str, version: int, text: str) -> dict[str, Any]:
    """Return the settings that an agent was created with."""
    if version != VERSION:
        raise NewerJournal(f"{path}: of version {version}, known here is {VERSION}")
    try:
        stored: dict[str, Any] = dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise DamagedJournal(f"{path}: its settings are damaged: {error}") from error
    return stored


def check_settings(
    path: str, given: dict[str, Any], first: dict[str, Any], now: dict[str, Any]
) -> None:
    """Refuse settings that are neither those an agent was created with nor those it has now."""
    given, now = (json.loads(json.dumps(one)) for one in (given, now))
    if given in (first, now):
        return
    pairs = [
        f"{key} {now[key]!r}, not {given.get(key)!r}" for key in now if now[key] != given.get(key)
    ]
    since = "" if first == now else "; nor are these the settings that it was created with"
    raise DifferentSettings(f"{path}: the agent in it has {'; '.join(pairs)}{since}")


def checksum(position: int, content: bytes) -> int:
    """Return the checksum of an event at a position."""
    return zlib.crc32(content, position & 0xFFFFFFFF)
