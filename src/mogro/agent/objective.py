"""Objectives in the user's units, how fast they fade, and the way to the learner's and back.

Inside, every objective is maximised and measured in units from its offset, ``z = +-(y - offset) /
unit``, so that a weight means the importance of one unit. Nothing of that is visible outside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from mogro._validation import FloatArray, count, floats, real

LARGEST = 1e50  # beyond it squares and their sums are no longer safe

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
        if type(self.name) is not str or not self.name:
            raise ValueError(f"name: expected a string, not empty, got {self.name!r}")
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
        usual = Objective("any")
        shown = [n for n in FIELDS if n == "name" or getattr(self, n) != getattr(usual, n)]
        return f"Objective({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


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


class Resolved(NamedTuple):
    """What became final of one decision: objectives with values to learn, and those without."""

    learned: list[tuple[int, float]]
    unobserved: list[int]


NOTHING = Resolved([], [])


class Units:
    """The objectives together: their order, what is final when, conversion of many values."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        listed = isinstance(objectives, Sequence)
        if not listed or not all(isinstance(objective, Objective) for objective in objectives):
            raise ValueError(f"objectives: expected a list of mogro.Objective, got {objectives!r}")
        if not objectives:
            raise ValueError(f"objectives: expected at least one mogro.Objective, got {objectives}")
        self.objectives = tuple(objectives)
        self.names = tuple(objective.name for objective in objectives)
        self.index = {name: m for m, name in enumerate(self.names)}
        if len(self.index) != len(self.names):
            raise ValueError(f"objectives: expected different names, got {list(self.names)}")
        signs = [1.0 if objective.direction == "max" else -1.0 for objective in objectives]
        self.slopes = tuple(
            s * objective.unit for s, objective in zip(signs, objectives, strict=True)
        )
        self.offsets = tuple(objective.offset for objective in objectives)
        # Whether the learner's values are the user's.
        self.standard = set(self.slopes) == {1.0} and set(self.offsets) == {0.0}
        self.scale: FloatArray = np.array(self.slopes)
        self.offset: FloatArray = np.array(self.offsets)
        self.windows = tuple(
            math.inf if objective.window is None else objective.window for objective in objectives
        )
        self.nearest = min(self.windows)  # the first window to close
        self.defaults = tuple(objective.default for objective in objectives)
        self.revise = tuple(objective.revise for objective in objectives)
        self.stamped = self.nearest < math.inf  # whether the times of values are kept
        # Learned when the window closes, not when a value comes.
        self.at_close = tuple(
            objective.default is not None or objective.revise is not None
            for objective in objectives
        )
        self.conditions = tuple(self._condition(objective) for objective in objectives)
        # Conditions first.
        self.order = sorted(range(len(self)), key=lambda m: (len(self._chain(m)), m))
        # Every objective with its first condition, which stands for it where exploration is due.
        self.roots: tuple[int, ...] = tuple(self._chain(m)[-1] for m in range(len(self)))
        # Nothing has a window or a condition: every value is final when it comes.
        self.at_once = self.nearest == math.inf and not any(c is not None for c in self.conditions)
        self.limits = tuple(
            LARGEST * objective.unit for objective in objectives
        )  # of values, from the offset

    def __len__(self) -> int:
        return len(self.names)

    def resolve(
        self, states: list[int], values: list[float], start: float, now: float | None
    ) -> Resolved:
        """Find out what is final by now of a decision shown then, and note it in the states."""
        learned: list[tuple[int, float]] = []
        unobserved: list[int] = []
        before = states.copy()
        for m in self.order:
            if states[m] != PENDING:
                continue
            value, default = values[m], self.defaults[m]
            condition = self.conditions[m]
            if condition is not None:
                if states[condition] == PENDING:
                    continue
                # What still waits beside a condition that was final before had it met: by a
                # default, perhaps, that is another one now.
                if before[condition] == PENDING and not self._met(condition, states, values):
                    states[m] = UNMET
                    unobserved.append(m)
                    continue
            closed = now is not None and start + self.windows[m] <= now
            if not closed and (value != value or self.at_close[m]):
                continue
            if value == value:
                states[m] = LEARNED
                learned.append((m, value))
            elif default is not None:
                states[m] = DEFAULTED
                learned.append((m, default))
            else:
                states[m] = MISSING
                unobserved.append(m)
        return Resolved(learned, unobserved)

    def next_closing(self, states: list[int], start: float, now: float) -> float:
        """Return when the next window of a decision closes after now; infinity if none does."""
        ends = (start + self.windows[m] for m, state in enumerate(states) if state == PENDING)
        return min((end for end in ends if end > now), default=math.inf)

    def inward(self, values: FloatArray) -> FloatArray:
        """Return (..., M) values of the user as the learner sees them."""
        return np.asarray((values - self.offset) / self.scale)

    def outward(self, values: FloatArray) -> FloatArray:
        """Return (..., M) values of the learner as the user sees them."""
        return np.asarray(values * self.scale + self.offset)

    def named(self, values: FloatArray) -> dict[str, float]:
        """Return (M,) numbers under the objectives' names."""
        return dict(zip(self.names, values.tolist(), strict=True))

    def vector(self, values: Mapping[str, float] | Sequence[float], name: str) -> FloatArray:
        """Return numbers, in order or under names (0 for those left out), as (M,)."""
        if isinstance(values, Mapping):
            unknown = [key for key in values if key not in self.index]
            if unknown:
                raise ValueError(f"{name}: expected objectives {self.names}, got {unknown}")
            values = [values.get(key, 0.0) for key in self.names]
        return floats(values, name, shape=(len(self),)).astype(np.float64)

    def weights(self, weights: Mapping[str, float] | Sequence[float]) -> FloatArray:
        """Return weights, in order or under names, as (M,)."""
        vector = self.vector(weights, "weights")
        if (vector < 0).any() or not vector.sum() > 0:
            raise ValueError(f"weights: expected numbers >= 0, not all 0, got {weights}")
        return vector

    def _met(self, condition: int, states: list[int], values: list[float]) -> bool:
        if states[condition] == LEARNED:
            return values[condition] > 0
        default = self.defaults[condition]
        return states[condition] == DEFAULTED and default is not None and default > 0

    def _condition(self, objective: Objective) -> int | None:
        if objective.given is None:
            return None
        if objective.given not in self.index:
            raise ValueError(
                f"given: expected one of the objectives {list(self.names)}, got {objective.given!r}"
            )
        return self.index[objective.given]

    def _chain(self, m: int) -> list[int]:
        """Return an objective, its condition, the condition of that, and so on."""
        chain = [m]
        while (condition := self.conditions[chain[-1]]) is not None:
            if condition in chain:
                circle = [self.names[place] for place in chain]
                raise ValueError(f"given: expected conditions without a circle, got {circle}")
            chain.append(condition)
        return chain
