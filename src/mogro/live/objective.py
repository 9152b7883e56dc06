"""Objectives in the user's units, and the way to the learner's and back.

Inside, every objective is maximised and measured in units from its offset, ``z = +-(y - offset) /
unit``, so that a weight means the importance of one unit. Nothing of that is visible outside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from mogro._validation import FloatArray, floats, real

LARGEST = 1e50  # beyond it squares and their sums are no longer safe


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
    default
        What a missing reward means when the window closes: this value is learned. Without it
        nothing is learned for this objective.

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

    def __post_init__(self) -> None:
        if type(self.name) is not str or not self.name:
            raise ValueError(f"name: expected a word, got {self.name!r}")
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

    def __repr__(self) -> str:
        plain = {"direction": "max", "unit": 1.0, "offset": 0.0, "window": None, "default": None}
        shown = [f"name={self.name!r}"]
        for name, usual in plain.items():
            if getattr(self, name) != usual:
                shown.append(f"{name}={getattr(self, name)!r}")
        return f"Objective({', '.join(shown)})"


class Units:
    """The objectives together: their order, and conversion of many values at once."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        listed = isinstance(objectives, Sequence)
        if not listed or not all(isinstance(one, Objective) for one in objectives):
            raise ValueError(f"objectives: expected a list of mogro.Objective, got {objectives!r}")
        if not objectives:
            raise ValueError(f"objectives: expected at least one mogro.Objective, got {objectives}")
        self.objectives = tuple(objectives)
        self.names = tuple(one.name for one in objectives)
        self.index = {name: m for m, name in enumerate(self.names)}
        if len(self.index) != len(self.names):
            raise ValueError(f"objectives: expected different names, got {list(self.names)}")
        signs = [1.0 if one.direction == "max" else -1.0 for one in objectives]
        self.slopes = tuple(s * one.unit for s, one in zip(signs, objectives, strict=True))
        self.offsets = tuple(one.offset for one in objectives)
        self.scale: FloatArray = np.array(self.slopes)
        self.offset: FloatArray = np.array(self.offsets)
        windows = [math.inf if one.window is None else one.window for one in objectives]
        self.windows: FloatArray = np.array(windows)
        self.nearest = min(windows)  # the first window to close
        self.defaults: FloatArray = np.array(
            [math.nan if one.default is None else one.default for one in objectives]
        )

    def __len__(self) -> int:
        return len(self.names)

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
