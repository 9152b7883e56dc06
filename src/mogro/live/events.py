"""What happens to an agent, as plain data: :class:`State` changes by these and by nothing else.

An event says what was asked for and what was chosen, never how the state changed. In memory it is
a tuple; :func:`to_plain` makes it what JSON can hold, where Python writes every float so that
reading it gives the same bits.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray

VERSION = 1


class Offered(NamedTuple):
    """Arms that decisions choose among, written down once however many decisions do.

    Attributes
    ----------
    digest
        Of the rest.
    ids
        Of all arms, also of those that are not eligible.
    features
        Of these arms as the caller gave them, (K, A).
    """

    digest: str
    ids: tuple[str, ...]
    features: FloatArray


def offered(ids: Sequence[str], features: FloatArray) -> Offered:
    """Return the event that writes arms down."""
    names, numbers = tuple(ids), np.ascontiguousarray(features, dtype=np.float64)
    digest = hashlib.blake2b(str(names).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(numbers.data)
    return Offered(digest.hexdigest(), names, numbers)


class Evidence(NamedTuple):
    """What the evaluation of a decision wants to know beside it.

    Attributes
    ----------
    offered
        The position of the event with the arms on offer.
    eligible
        Which of them were, a mask; None for all.
    context
        As the caller gave it, (C,).
    constraints
        Lower bounds by objective, and upper bounds.
    selection
        How to select, if not the policy's own way, as settings are written.
    basis
        The position of the last event that the beliefs knew of.
    theta
        The estimates that arms were compared by, (M, a): in a context, those of arms there.
    values
        What arms were worth, (K, M), where that is neither the estimates nor random.
    propensity
        With its standard error, where it does not follow from all this: see
        :attr:`mogro.Decision.propensity`. Of a decision that somebody else has made, what they say.
    """

    offered: int
    eligible: BoolArray | None
    context: FloatArray | None
    constraints: tuple[dict[str, float], dict[str, float]] | None
    selection: dict[str, Any] | None
    basis: int
    theta: FloatArray
    values: FloatArray | None
    propensity: tuple[float, float] | None


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
    evidence
        Where there is a journal.
    active
        Whether windows begin at once, and not when it is activated.
    observed
        Whether somebody else has made it.
    agreement
        The probability with which the agent would have chosen the arm, if somebody else has.
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
    evidence: Evidence | None = None
    active: bool = True
    observed: bool = False
    agreement: float | None = None


class Imported(NamedTuple):
    """A decision of another agent was taken over, with what has become of it.

    Attributes
    ----------
    decision
        As if it were made now; its estimates are what is believed now.
    values
        Rewards by objective, in the user's units.
    status
        By objective, as in :class:`~mogro.live.DecisionRecord`; nothing is pending.
    """

    decision: Decided
    values: dict[str, float]
    status: dict[str, str]


class Rewarded(NamedTuple):
    """Values came for a decision, in the user's units, by objective."""

    id: str
    values: dict[str, float]
    time: float | None


class Activated(NamedTuple):
    """The arm of a decision is really shown: its windows begin."""

    id: str
    time: float | None


class Withdrawn(NamedTuple):
    """The arm of a decision was not shown after all."""

    id: str
    time: float | None


class Changed(NamedTuple):
    """From now on the agent has these objectives, and this policy.

    Attributes
    ----------
    objectives
        All of them, as settings are written.
    policy
        For so many objectives, as settings are written.
    """

    objectives: tuple[dict[str, Any], ...]
    policy: dict[str, Any]


class Expired(NamedTuple):
    """A time has come, and windows close."""

    time: float


class Forgotten(NamedTuple):
    """Completed decisions from before a time are dropped."""

    before: float


class Compacted(NamedTuple):
    """The same, and what the journal holds of dropped decisions goes out of it, into a file."""

    before: float
    file: str | None


class Erased(NamedTuple):
    """Decisions are dropped, wherever they stand, by their numbers in the order of decisions."""

    numbers: tuple[int, ...]


class Hollow(NamedTuple):
    """What is left in a journal of events that went out of it.

    Attributes
    ----------
    time
        The latest of them, if they had any.
    decisions
        How many were made in them.
    """

    time: float | None
    decisions: int


Event = (
    Decided
    | Rewarded
    | Activated
    | Withdrawn
    | Changed
    | Expired
    | Forgotten
    | Offered
    | Imported
    | Compacted
    | Erased
    | Hollow
)

# Files know events by the names of their classes.
_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Event)}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_plain(event: Event) -> dict[str, Any]:
    """Return an event as JSON can hold it.

    Vectors are lists of numbers; matrices and masks the base64 of their bytes, with their shape.

    Examples
    --------
    >>> to_plain(Expired(time=60.0))
    {'event': 'expired', 'version': 1, 'time': 60.0}
    """
    return {"event": _NAMES[type(event)], "version": VERSION} | _plain_fields(event)


def from_plain(plain: dict[str, Any], *, evidence: bool = True) -> Event:
    """Return the event that :func:`to_plain` was given, to the bit; without ``evidence``, if so."""
    fields = dict(plain)
    name, version = fields.pop("event"), fields.pop("version")
    if not evidence and "evidence" in fields:
        fields["evidence"] = None
    if version != VERSION or name not in _KINDS:
        raise ValueError(f"event: expected version {VERSION} of {list(_KINDS)}, got {plain}")
    event: Event = _KINDS[name](**_parsed_fields(fields))
    return event


def _plain_fields(event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = event._asdict()
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            vector = value.ndim == 1 and value.dtype != np.bool_
            fields[name] = value.tolist() if vector else _packed(value)
        elif isinstance(value, Evidence | Decided):
            fields[name] = _plain_fields(value)
    return fields


def _parsed_fields(fields: dict[str, Any]) -> dict[str, Any]:
    parsed = fields.copy()
    for name, value in fields.items():
        if value is None:
            continue
        if isinstance(value, dict) and "base64" in value:
            parsed[name] = _unpacked(value)
        elif name in _VECTORS:
            parsed[name] = np.array(value, dtype=np.float64)
        elif name in _TUPLES:
            parsed[name] = tuple(value)
        elif name in _NESTED:
            parsed[name] = _NESTED[name](**_parsed_fields(value))
    return parsed


_VECTORS = ("features", "weights", "estimates", "context")
_TUPLES = ("ids", "constraints", "propensity", "objectives", "numbers")
_NESTED: dict[str, type[Any]] = {"evidence": Evidence, "decision": Decided}


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    flat = np.packbits(array) if array.dtype == np.bool_ else array.astype("<f8", copy=False)
    return {"shape": array.shape, "base64": base64.b64encode(flat.tobytes()).decode()}


def _unpacked(plain: dict[str, Any]) -> NDArray[Any]:
    raw, shape = base64.b64decode(plain["base64"]), plain["shape"]
    if len(shape) == 1:
        return np.unpackbits(np.frombuffer(raw, np.uint8), count=shape[0]).astype(np.bool_)
    return np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64)
