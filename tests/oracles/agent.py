"""An agent's learning, slow and obvious: everything is kept, every answer computed anew."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import mogro

Floats = NDArray[np.float64]


@dataclass
class Made:
    """A decision, and all that came for it: (time, value) by objective."""

    number: int
    x: Floats
    time: float
    start: float  # of its windows; infinity before
    came: list[list[tuple[float, float]]]
    status: list[str]  # by objective: pending, learned, defaulted, missing, unmet, withdrawn
    final: list[float | None]  # by objective: what was learned


@dataclass
class Pair:
    """One observation of one objective."""

    x: Floats
    z: float
    time: float
    number: int


@dataclass
class SlowAgent:
    """Follows an agent, event by event."""

    objectives: list[mogro.Objective]
    dim: int
    half_life: mogro.HalfLife | None = None
    activation_timeout: float = math.inf
    decisions: dict[str, Made] = field(default_factory=dict)
    pairs: list[list[Pair]] = field(default_factory=list)
    now: float = -math.inf
    number: int = 0
    last: int = -1  # decision that something was learned from

    def __post_init__(self) -> None:
        self.pairs = [[] for _ in self.objectives]
        self.index = {one.name: m for m, one in enumerate(self.objectives)}

    def decide(self, id: str, x: Floats, now: float, *, active: bool = True) -> None:
        self.expire(now)
        count, start = len(self.objectives), now if active else math.inf
        came: list[list[tuple[float, float]]] = [[] for _ in range(count)]
        self.decisions[id] = Made(
            self.number, x, now, start, came, ["pending"] * count, [None] * count
        )
        self.number += 1

    def activate(self, id: str, now: float) -> bool:
        self.expire(now)
        made = self.decisions[id]
        if made.start < math.inf or "pending" not in made.status:
            return False
        made.start = now
        self.settle(made, -math.inf)
        return True

    def withdraw(self, id: str, now: float) -> int:
        self.expire(now)
        return self.give_up(self.decisions[id])

    def change(self, objectives: list[mogro.Objective]) -> None:
        """Go on with other objectives; nothing comes of a new one for decisions made before."""
        old = self.index
        for made in self.decisions.values():
            came, status, final = made.came, made.status, made.final
            places = [old.get(one.name) for one in objectives]
            made.came = [[] if m is None else came[m] for m in places]
            made.status = ["missing" if m is None else status[m] for m in places]
            made.final = [None if m is None else final[m] for m in places]
        pairs: list[list[Pair]] = []
        for one in objectives:
            known = self.pairs[old[one.name]] if one.name in old else []
            ratio = self.objectives[old[one.name]].unit / one.unit if known else 1.0
            pairs.append([Pair(p.x, ratio * p.z, p.time, p.number) for p in known])
        self.objectives, self.pairs = objectives, pairs
        self.index = {one.name: m for m, one in enumerate(objectives)}

    def give_up(self, made: Made) -> int:
        count = made.status.count("pending")
        made.status = ["withdrawn" if one == "pending" else one for one in made.status]
        return count

    def conflicts(self, id: str, values: dict[str, float]) -> bool:
        made = self.decisions[id]
        return any(
            self.objectives[m].revise is None and made.came[m] and made.came[m][0][1] != value
            for m, value in ((self.index[name], value) for name, value in values.items())
        )

    def reward(self, id: str, values: dict[str, float], now: float) -> tuple[int, ...]:
        """Return how many were learned, are pending, revised, repeated, late."""
        self.expire(now)
        made = self.decisions[id]
        before = {m: (made.status[m], self.value(made, m)) for m in range(len(self.objectives))}
        for name, value in values.items():
            m = self.index[name]
            closed = self.is_closed(made, m, self.now)
            if not closed if before[m][0] == "pending" else not made.came[m]:
                made.came[m].append((now, value))
        self.settle(made, self.now)
        counted = [0] * 5
        for name, value in values.items():
            m = self.index[name]
            status, old = before[m]
            if status == "pending" and self.is_closed(made, m, self.now):
                counted[3 if value == old else 4] += 1
            elif old is None:
                late = status != "pending" or made.status[m] not in ("pending", "learned")
                counted[4 if late else 0 if made.status[m] == "learned" else 1] += 1
            elif status == "pending":
                counted[2 if self.value(made, m) != old else 3] += 1
            else:
                counted[3 if value == old else 4] += 1
        return tuple(counted)

    def value(self, made: Made, m: int) -> float | None:
        """Return the value that counts of all that came."""
        if not made.came[m]:
            return None
        if self.objectives[m].revise == "max":
            return max(value for _, value in made.came[m])
        return max(made.came[m])[1] if self.objectives[m].revise else made.came[m][0][1]

    def is_closed(self, made: Made, m: int, now: float) -> bool:
        window = self.objectives[m].window
        return window is not None and made.start + window <= now

    def expire(self, now: float) -> int:
        """Close windows one after the other, in the order of their ends; return how much closed."""
        settled, self.now = 0, max(self.now, now)
        ends = [
            (made.start + one.window, made.number, id)
            for id, made in self.decisions.items()
            for one in self.objectives
            if one.window is not None and made.start + one.window <= self.now
        ]
        ends += [
            (made.time + self.activation_timeout, made.number, id)
            for id, made in self.decisions.items()
            if made.start == math.inf and made.time + self.activation_timeout <= self.now
        ]
        for end, _, id in sorted(ends):
            made = self.decisions[id]
            settled += self.settle(made, end) if made.start < math.inf else self.give_up(made)
        return settled

    def settle(self, made: Made, now: float) -> int:
        """Let everything become final that can by now, and return how many objectives did."""
        settled = 0
        if made.start == math.inf:
            return 0
        for _ in self.objectives:  # as often as a chain of conditions may need
            for m, one in enumerate(self.objectives):
                if made.status[m] == "pending" and self.settle_one(made, m, one, now):
                    settled += 1
        return settled

    def settle_one(self, made: Made, m: int, one: mogro.Objective, now: float) -> bool:
        if one.given is not None:
            condition = self.index[one.given]
            if made.status[condition] == "pending":
                return False
            learned = made.final[condition]
            if learned is None or learned <= 0:
                made.status[m] = "unmet"
                return True
        closed = self.is_closed(made, m, now)
        value = self.value(made, m)
        at_once = one.default is None and one.revise is None
        if value is not None and (closed or at_once):
            made.status[m] = "learned"
        elif closed and one.default is not None:
            made.status[m], value = "defaulted", one.default
        elif closed:
            made.status[m] = "missing"
            return True
        else:
            return False
        made.final[m] = value
        assert value is not None
        self.learn(m, made, value)
        return True

    def learn(self, m: int, made: Made, value: float) -> None:
        one = self.objectives[m]
        sign = 1 if one.direction == "max" else -1
        self.last = max(self.last, made.number)
        z = sign * (value - one.offset) / one.unit
        self.pairs[m].append(Pair(made.x, z, made.time, made.number))

    def weight(self, pair: Pair) -> float:
        if self.half_life is None:
            return 1.0
        if self.half_life.updates is not None:
            return float(0.5 ** ((self.last - pair.number) / self.half_life.updates))
        assert self.half_life.time is not None
        return float(0.5 ** ((self.now - pair.time) / self.half_life.time))

    def fitted(self) -> list[tuple[Floats, Floats]]:
        """Per objective: features that were observed lately, (n, d), and what least squares says.

        The values, (n,), are in the user's units. What faded away is left out: it hardly counts.
        """
        found = []
        for objective, pairs in zip(self.objectives, self.pairs, strict=True):
            weights = np.array([self.weight(p) for p in pairs])
            x = np.array([p.x for p in pairs]).reshape(-1, self.dim)
            z = np.array([p.z for p in pairs])
            seen, root = np.column_stack([np.ones(len(x)), x]), np.sqrt(weights)
            theta = np.linalg.lstsq(seen * root[:, None], z * root, rcond=1e-10)[0]
            lately = weights > 1e-4 * weights.max(initial=0.0)
            sign = 1 if objective.direction == "max" else -1
            values = objective.offset + sign * objective.unit * (seen[lately] @ theta)
            found.append((x[lately], values))
        return found

    def observations(self) -> list[float]:
        return [sum(self.weight(p) for p in pairs) for pairs in self.pairs]

    def counted(self, status: str) -> int:
        """Return how many objectives of decisions still known have a status."""
        return sum(made.status.count(status) for made in self.decisions.values())
