"""An agent's bookkeeping, slow and obvious: every pair is kept, every answer computed anew."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import mogro

Floats = NDArray[np.float64]


@dataclass
class Made:
    """A decision that was made."""

    x: Floats
    time: float
    arm: str
    state: list[str]  # by objective: pending, learned, defaulted, withdrawn
    values: list[float | None]


@dataclass
class Pair:
    """One observation of one objective."""

    x: Floats
    z: float
    time: float
    weight: float = 1.0


@dataclass
class SlowAgent:
    """Follows an agent, step by step."""

    objectives: list[mogro.Objective]
    dim: int
    half_life: mogro.HalfLife | None = None
    decisions: dict[str, Made] = field(default_factory=dict)
    pairs: list[list[Pair]] = field(default_factory=list)
    now: float = -np.inf
    forgotten: int = 0

    def __post_init__(self) -> None:
        self.pairs = [[] for _ in self.objectives]

    def decide(self, id: str, arm: str, x: Floats, now: float) -> None:
        count = len(self.objectives)
        self.decisions[id] = Made(x, now, arm, ["pending"] * count, [None] * count)
        self.now = max(self.now, now)

    def learn(self, m: int, made: Made, value: float) -> None:
        one = self.objectives[m]
        sign = 1 if one.direction == "max" else -1
        if self.half_life and self.half_life.updates:
            for pair in self.pairs[m]:
                pair.weight *= 0.5 ** (1 / self.half_life.updates)
        self.pairs[m].append(Pair(made.x, sign * (value - one.offset) / one.unit, made.time))

    def reward(self, id: str, values: dict[str, float]) -> tuple[int, int, int]:
        made = self.decisions[id]
        learned = repeated = late = 0
        for m, one in enumerate(self.objectives):
            if one.name not in values:
                continue
            if made.values[m] is not None:
                repeated += 1
                continue
            made.values[m] = values[one.name]
            if made.state[m] == "pending":
                made.state[m] = "learned"
                self.learn(m, made, values[one.name])
                learned += 1
            else:
                late += 1
        return learned, repeated, late

    def expire(self, now: float) -> int:
        closed = 0
        for made in self.decisions.values():
            for m, one in enumerate(self.objectives):
                if one.window is None or made.state[m] != "pending":
                    continue
                if made.time + one.window <= now:
                    closed += 1
                    made.state[m] = "withdrawn" if one.default is None else "defaulted"
                    if one.default is not None:
                        self.learn(m, made, one.default)
        return closed

    def forget(self, before: float) -> int:
        old = [
            id
            for id, made in self.decisions.items()
            if "pending" not in made.state and made.time < before
        ]
        for id in old:
            del self.decisions[id]
        return len(old)

    def merge(self, other: "SlowAgent") -> None:
        self.decisions |= other.decisions
        for mine, theirs in zip(self.pairs, other.pairs, strict=True):
            mine.extend(theirs)
        self.now = max(self.now, other.now)

    def weight(self, time: float) -> float:
        if self.half_life is None or self.half_life.time is None:
            return 1.0
        return float(0.5 ** ((self.now - time) / self.half_life.time))

    def theta(self) -> Floats:
        """Least squares per objective, of least norm, in the user's units, (M, d)."""
        rows = []
        for one, pairs in zip(self.objectives, self.pairs, strict=True):
            weights = np.array([p.weight * self.weight(p.time) for p in pairs])
            x = np.array([p.x for p in pairs]).reshape(-1, self.dim) * np.sqrt(weights)[:, None]
            z = np.array([p.z for p in pairs]) * np.sqrt(weights)
            found = np.linalg.lstsq(x, z, rcond=1e-10)[0] if pairs else np.zeros(self.dim)
            rows.append((1 if one.direction == "max" else -1) * one.unit * found)
        return np.array(rows)

    def observations(self) -> list[float]:
        return [sum(p.weight * self.weight(p.time) for p in pairs) for pairs in self.pairs]

    def gram(self, m: int) -> Floats:
        """Observed plus still pending outer products of an objective."""
        total = np.zeros((self.dim, self.dim))
        for p in self.pairs[m]:
            total += p.weight * self.weight(p.time) * np.outer(p.x, p.x)
        for made in self.decisions.values():
            if made.state[m] == "pending":
                total += self.weight(made.time) * np.outer(made.x, made.x)
        return total
