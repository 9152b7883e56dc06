"""What decisions should be good at, in the user's units; how fast it fades, how long it is held."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from mogro._validation import count, real, text

LARGEST = 1e48  # beyond it squares and their sums are no longer safe

# What became of one objective of a decision: not final yet; learned as it came; learned as its
# default; closed without a value; closed because its condition was not met; the arm was not shown.
PENDING, LEARNED, DEFAULTED, MISSING, UNMET, WITHDRAWN = range(6)
STATUS = ("pending", "learned", "defaulted", "missing", "unmet", "withdrawn")


@dataclass(frozen=True)
class Objective:
    """One thing that a decision should be good at.

    Parameters
    ----------
    name
        Under which rewards come.
    direction
        ``"max"`` if more is better, ``"min"`` if less is.
    unit
        The difference that counts as one: weights are importance per unit.
    offset
        The value that counts as zero. With features that have no constant, a usual value serves
        best: the estimates of an arm about which nothing is known are the offsets.
    window
        How long after its decision a reward may come, in the caller's time; without it, for ever.
        Where a decision is to be activated, after that.
    default
        What a missing reward means when the window closes. An objective with a default is learned
        when its window closes, from the value that came or from the default, and not before:
        values come sooner than their absence, so that learning them as they come would make every
        arm look good at first. Without a default it is learned when it comes, which assumes
        that whether it comes does not depend on its value, given the features.
    given
        The name of another objective: this one is learned only where the value of the other is
        above 0, once both are final. So ``given="click"`` makes dwell time mean dwell time of
        those who click. Such an objective never calls for exploration by itself.
    revise
        Which of several values counts: the one of the latest ``now`` (``"last"``; of two at one
        time, the larger) or the largest (``"max"``). It is learned when the window closes.
        Without it a second value that differs is refused.

    Examples
    --------
    >>> Objective("watch", unit=60.0, window=3600.0, default=0.0)
    Objective(name='watch', unit=60.0, window=3600.0, default=0.0)
    """

    name: str
    _: KW_ONLY
    direction: Literal["max", "min"] = "max"
    unit: float = 1.0
    offset: float = 0.0
    window: float | None = None
    default: float | None = None
    given: str | None = None
    revise: Literal["last", "max"] | None = None

    def __post_init__(self) -> None:
        text(self.name, "name")
        if self.direction not in ("max", "min"):
            raise ValueError(f"direction: expected 'max' or 'min', got {self.direction!r}")
        object.__setattr__(self, "unit", real(self.unit, "unit", above=0))
        object.__setattr__(self, "offset", real(self.offset, "offset"))
        if self.window is not None:
            object.__setattr__(self, "window", real(self.window, "window", above=0))
        if self.default is not None:
            object.__setattr__(self, "default", real(self.default, "default"))
            if self.window is None:
                raise ValueError("default: expected a window too, or it would never be used")
            if abs(self.default - self.offset) > LARGEST * self.unit:
                raise ValueError(f"default: expected at most {LARGEST:g} units, got {self.default}")
        if self.given is not None and (type(self.given) is not str or self.given == self.name):
            raise ValueError(f"given: expected the name of another objective, got {self.given!r}")
        if self.revise not in (None, "last", "max"):
            raise ValueError(f"revise: expected 'last', 'max' or None, got {self.revise!r}")
        if self.revise is not None and self.window is None:
            raise ValueError("revise: expected a window too, or no value would ever be final")

    def __repr__(self) -> str:
        default = Objective("any")
        fields = [n for n in FIELDS if n == "name" or getattr(self, n) != getattr(default, n)]
        return f"Objective({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


# What a file holds of an objective.
FIELDS = ("name", "direction", "unit", "offset", "window", "default", "given", "revise")


@dataclass(frozen=True)
class HalfLife:
    """How fast old observations fade: after this much an observation counts for half.

    Parameters
    ----------
    updates
        In decisions, from its own to the last one that something was learned from.
    time
        In the caller's time, from its decision to now. Give one of the two.

    Examples
    --------
    >>> HalfLife(updates=1000)
    HalfLife(updates=1000.0, time=None)
    """

    _: KW_ONLY
    updates: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if (self.updates is None) == (self.time is None):
            raise ValueError(
                f"half_life: expected updates or time, got updates={self.updates}, time={self.time}"
            )
        for name in ("updates", "time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), name, above=0))


@dataclass(frozen=True)
class Retention:
    """How long a completed decision is remembered; what was learned from it stays.

    Decisions that wait for rewards are always remembered. Give one of the two, or both.

    Parameters
    ----------
    age
        In the caller's time: for so long after it was made, and never longer after it was
        completed.
    decisions
        The number of completed decisions, the last ones.

    Examples
    --------
    >>> Retention(decisions=100_000)
    Retention(age=None, decisions=100000)
    """

    _: KW_ONLY
    age: float | None = None
    decisions: int | None = None

    def __post_init__(self) -> None:
        if self.age is None and self.decisions is None:
            raise ValueError("retention: expected an age, or a number of decisions, got neither")
        if self.age is not None:
            object.__setattr__(self, "age", real(self.age, "age", minimum=0))
        if self.decisions is not None:
            object.__setattr__(self, "decisions", count(self.decisions, "decisions", minimum=0))
