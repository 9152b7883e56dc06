"""What can go out of a journal: events of decisions that are no longer held, or were erased.

A snapshot takes their place: the state is no longer read from the first event. Between events that
stay one :class:`~mogro.live.events.Hollow` is left, so that those that stay can still be read in
order (for a log), and nobody takes the rest for all that happened.
"""

import math
from collections.abc import Collection, Iterable
from typing import NamedTuple

from mogro.live.events import Decided, Event, Expired, Forgotten, Hollow, Imported, Offered
from mogro.live.memory.state import State


class Run(NamedTuple):
    """Events that go, from a position to another, and what is left in place of the last."""

    first: int
    last: int
    rest: Hollow


def runs(
    events: Iterable[tuple[int, Event]], state: State, erased: Collection[str] | None = None
) -> list[Run]:
    """Return what can go of all events so far; the state is that after the last one.

    These are the events of decisions that the state does not hold; or of ids that were ``erased``.
    """
    held = held_positions(state)
    needed = set(state.offers.values())  # arms that decisions may refer to
    read: list[tuple[int, bool, bool, Hollow]] = []
    for position, event in events:
        stays = _stays(position, event, held) if erased is None else decided_id(event) not in erased
        decided = event.decision if isinstance(event, Imported) else event
        if stays and isinstance(decided, Decided) and decided.evidence is not None:
            needed.add(decided.evidence.offered)
        read.append((position, stays, isinstance(event, Offered), _rest(event)))
    found: list[Run] = []
    going: list[tuple[int, Hollow]] = []
    for position, stays, is_offer, rest in read:
        if stays and (position in needed or not is_offer):
            found += _joined(going)
            going = []
        else:
            going.append((position, rest))
    return found + _joined(going)


def held_positions(state: State) -> dict[str, int]:
    """Return the positions of the decisions that a state holds, by their ids."""
    ledger = state.ledger
    rows = ledger.live()
    places = ledger.gather(rows).position.tolist()
    return {ledger.ids[row]: place for row, place in zip(rows.tolist(), places, strict=True)}


def _stays(position: int, event: Event, held: dict[str, int]) -> bool:
    if isinstance(event, Expired | Forgotten | Hollow):
        return False
    decision = decided_id(event)
    return decision is None or held.get(decision, math.inf) <= position


def decided_id(event: Event) -> str | None:
    """Return the id of the decision that an event is about, if it is about one."""
    about = event.decision if isinstance(event, Imported) else event
    id: str | None = getattr(about, "id", None)
    return id


def _rest(event: Event) -> Hollow:
    if isinstance(event, Hollow):
        return event
    if isinstance(event, Imported):
        return Hollow(event.decision.time, 1)
    return Hollow(getattr(event, "time", None), isinstance(event, Decided))


def _joined(going: list[tuple[int, Hollow]]) -> list[Run]:
    if not going:
        return []
    times = [rest.time for _, rest in going if rest.time is not None]
    decisions = sum(rest.decisions for _, rest in going)
    rest = Hollow(max(times) if times else None, decisions)
    return [Run(going[0][0], going[-1][0], rest)]
