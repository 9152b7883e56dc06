"""What happens to an agent, as plain data: :class:`State` changes by these and by nothing else.

An event says what was asked for and what was chosen, never how the state changed. In memory it is
a tuple; :func:`to_plain` makes it what JSON can hold, where Python writes every float so that
reading it gives the same bits.
"""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray

VERSION = 1


class Decided(NamedTuple):
    """An arm was chosen.

    Attributes
    ----------
    id
        Of the decision.
    arm
        The id of the arm.
    features
        Of the arm, as the learner sees them, (p,).
    weights
        Those the arm was best for, (M,), if any.
    estimates
        Of the arm when it was chosen, as the learner sees them, (M,).
    exploring, uniform, teaches, grouped
        Whether it was chosen to explore; drawn from all arms alike; whether its rewards are
        learned; whether it is one of several chosen together.
    number
        Of the id, if the agent made it up.
    time
        If the caller gave one.
    """

    id: str
    arm: str
    features: FloatArray
    weights: FloatArray | None
    estimates: FloatArray
    exploring: bool
    uniform: bool
    teaches: bool
    grouped: bool
    number: int | None
    time: float | None


class Rewarded(NamedTuple):
    """Values came for a decision, in the user's units, by objective."""

    id: str
    values: dict[str, float]
    time: float | None


class Expired(NamedTuple):
    """A time has come, and windows close."""

    time: float


class Forgotten(NamedTuple):
    """Completed decisions from before a time are dropped."""

    before: float


Event = Decided | Rewarded | Expired | Forgotten

_KINDS: dict[str, type[Any]] = {
    "decided": Decided,
    "rewarded": Rewarded,
    "expired": Expired,
    "forgotten": Forgotten,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_ARRAYS = ("features", "weights", "estimates")


def to_plain(event: Event) -> dict[str, Any]:
    """Return an event as JSON can hold it.

    Examples
    --------
    >>> to_plain(Expired(time=60.0))
    {'event': 'expired', 'version': 1, 'time': 60.0}
    """
    fields = event._asdict()
    for name in _ARRAYS:
        if fields.get(name) is not None:
            fields[name] = fields[name].tolist()
    return {"event": _NAMES[type(event)], "version": VERSION} | fields


def from_plain(plain: dict[str, Any]) -> Event:
    """Return the event that :func:`to_plain` was given, to the bit."""
    fields = dict(plain)
    name, version = fields.pop("event"), fields.pop("version")
    if version != VERSION or name not in _KINDS:
        raise ValueError(f"event: expected version {VERSION} of {list(_KINDS)}, got {plain}")
    for key in _ARRAYS:
        if fields.get(key) is not None:
            fields[key] = np.array(fields[key], dtype=np.float64)
    event: Event = _KINDS[name](**fields)
    return event
