"""The objectives together: their order, what is final when, and the learner's units and back.

Inside, every objective is maximised and measured in units from its offset, ``z = +-(y - offset) /
unit``, so that a weight means the importance of one unit. Nothing of that is visible outside.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray, floats, without_warnings
from mogro.agent.objective import DEFAULTED, LARGEST, LEARNED, MISSING, PENDING, UNMET, Objective


class ResolvedRewards(NamedTuple):
    """What became final of one decision: objectives with values to learn, and those without."""

    learned: list[tuple[int, float]]
    unobserved: list[int]


class ObjectiveSet:
    """The objectives together: their order, what is final when, conversion of many values."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        is_list = isinstance(objectives, Sequence)
        if not is_list or not all(isinstance(objective, Objective) for objective in objectives):
            raise ValueError(f"objectives: expected a list of mogro.Objective, got {objectives!r}")
        if not objectives:
            raise ValueError(f"objectives: expected at least one mogro.Objective, got {objectives}")
        self.objectives = tuple(objectives)
        self.names = tuple(objective.name for objective in objectives)
        self.index = {name: m for m, name in enumerate(self.names)}
        if len(self.index) != len(self.names):
            raise ValueError(f"objectives: expected different names, got {list(self.names)}")
        signs = [1.0 if objective.direction == "max" else -1.0 for objective in objectives]
        units = [objective.unit for objective in objectives]
        self.slopes = tuple(sign * unit for sign, unit in zip(signs, units, strict=True))
        self.offsets = tuple(objective.offset for objective in objectives)
        self.scale: FloatArray = np.array(self.slopes)
        self.offset: FloatArray = np.array(self.offsets)
        # Whether the units of the learner are those of the user.
        self.plain = {*self.slopes} == {1.0} and {*self.offsets} == {0.0}
        self.windows = tuple(
            math.inf if objective.window is None else objective.window for objective in objectives
        )
        self.shortest_window = min(self.windows)  # the first window to close
        self.defaults = tuple(objective.default for objective in objectives)
        self.revise = tuple(objective.revise for objective in objectives)
        self.windowed = self.shortest_window < math.inf  # then the times of values are kept
        # Learned when the window closes, not when a value comes.
        self.learned_at_close = tuple(
            objective.default is not None or objective.revise is not None
            for objective in objectives
        )
        self.conditions = tuple(self._condition(objective) for objective in objectives)
        # Conditions first.
        self.order = sorted(range(len(self)), key=lambda m: (len(self._chain(m)), m))
        # Every objective with its first condition, which stands for it where exploration is due.
        self.first_conditions: tuple[int, ...] = tuple(self._chain(m)[-1] for m in range(len(self)))
        # Nothing has a window or a condition: every value is final when it comes.
        unconditional = all(condition is None for condition in self.conditions)
        self.final_on_arrival = self.shortest_window == math.inf and unconditional
        # Of values, from the offset.
        self.limits = tuple(LARGEST * objective.unit for objective in objectives)

    def __len__(self) -> int:
        return len(self.names)

    def resolve(
        self, states: list[int], values: list[float], start: float, now: float | None
    ) -> ResolvedRewards:
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
                if before[condition] == PENDING and not self._is_met(condition, states, values):
                    states[m] = UNMET
                    unobserved.append(m)
                    continue
            closed = now is not None and start + self.windows[m] <= now
            if not closed and (value != value or self.learned_at_close[m]):
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
        return ResolvedRewards(learned, unobserved)

    def next_closing(self, states: list[int], start: float, now: float) -> float:
        """Return when the next window of a decision closes after now; infinity if none does."""
        ends = (start + self.windows[m] for m, state in enumerate(states) if state == PENDING)
        return min((end for end in ends if end > now), default=math.inf)

    def to_learner_units(self, values: FloatArray) -> FloatArray:
        """Return (..., M) values of the user as the learner sees them."""
        return np.asarray((values - self.offset) / self.scale)

    def to_user_units(self, values: FloatArray) -> FloatArray:
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

    @without_warnings
    def weights(self, weights: Mapping[str, float] | Sequence[float]) -> FloatArray:
        """Return weights, in order or under names, as (M,)."""
        vector = self.vector(weights, "weights")
        total = float(vector.sum())
        if (vector < 0).any() or not 0 < total < math.inf:
            raise ValueError(
                f"weights: expected numbers >= 0, not all 0, with a finite sum, got {weights}"
            )
        return vector

    def shares(self, weights: Mapping[str, float] | Sequence[float]) -> FloatArray:
        """Return weights, in order or under names, as (M,) of sum 1."""
        vector = self.weights(weights)
        return np.asarray(vector / vector.sum())

    def _is_met(self, condition: int, states: list[int], values: list[float]) -> bool:
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
                cycle = [self.names[index] for index in chain]
                raise ValueError(f"given: expected conditions without a circle, got {cycle}")
            chain.append(condition)
        return chain
