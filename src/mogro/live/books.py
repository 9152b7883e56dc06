"""All that changes in an agent: what was decided, what came of it, what was learned from it.

Every operation checks first and changes afterwards, so that an error leaves everything as it was.
Nothing here locks; the agent does.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from numbers import Real

import numpy as np

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.live.decision import Outcome
from mogro.live.errors import BadReward, ConflictingReward, UnknownDecision, UnknownObjective
from mogro.live.learning import Learner
from mogro.live.ledger import (
    DEFAULTED,
    EXPLORED,
    LEARNED,
    PENDING,
    TEACHES,
    WITHDRAWN,
    Block,
    Ledger,
)
from mogro.live.objective import LARGEST
from mogro.live.offer import Offer
from mogro.live.setup import Setup
from mogro.live.steering import Explored, Steering

_NUMBERS = (Real, Decimal, np.bool_)  # not strings, which float would read


@dataclass
class Tally:
    """What has happened so far, in numbers."""

    decisions: int = 0
    explored: int = 0  # of them, decisions made to explore
    learned: int = 0  # rewards learned, one for each objective
    repeated: int = 0  # rewards that had come before
    late: int = 0  # rewards after their window
    defaulted: int = 0  # windows closed with a default learned
    withdrawn: int = 0  # windows closed with nothing learned
    forgotten: int = 0  # completed decisions dropped

    def add(self, other: "Tally") -> None:
        """Count what happened elsewhere too."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class Books:
    """The state of an agent."""

    def __init__(self, setup: Setup) -> None:
        driver, units = setup.driver, setup.units
        size, objectives = driver.policy.dim, len(units)
        self.units = units
        self.driver = driver
        self.capacity = setup.capacity
        self.learner = Learner(
            size, objectives, ridge=driver.policy.model.ridge, half_life=setup.half_life
        )
        self.ledger = Ledger(size, objectives)
        self.steering = None
        if driver.exploration is not None:
            unsure = any(one.window and one.default is None for one in units.objectives)
            losing = unsure or setup.half_life is not None
            self.steering = Steering(
                size,
                objectives,
                threshold=driver.threshold,
                exploration=driver.exploration,
                losing=losing,
            )
        self._full: BoolArray = np.ones(objectives, dtype=np.bool_)  # a reward with everything
        self.tally = Tally()
        self.made = 0  # ids made

    def advance(self, now: float) -> None:
        """Let what was learned fade until a time."""
        factor = self.learner.advance(now)
        if factor < 1 and self.steering is not None:
            self.steering.fade(factor, pending=True)

    def explore(self, offer: Offer, *, rng: Rng) -> Explored | None:
        """Return the arm to explore, if there is anything to explore."""
        if self.steering is None:
            return None
        step = self.tally.decisions
        return self.steering.explore(offer, self.learner, self.ledger, step=step, rng=rng)

    def record(
        self,
        id: str,
        arm: str,
        features: FloatArray,
        weights: FloatArray | None,
        estimates: FloatArray,
        exploring: bool,
        time: float,
    ) -> None:
        """Write a decision down."""
        teaches = exploring or not self.driver.commits
        block, i = self.ledger.add(id, arm)
        block.features[i] = features
        block.weights[i] = math.nan if weights is None else weights
        block.estimates[i] = estimates
        block.values[i] = math.nan
        block.state[i] = PENDING
        block.time[i] = time
        block.serial[i] = self.tally.decisions
        block.flags[i] = EXPLORED * exploring + TEACHES * teaches
        self.tally.decisions += 1
        self.tally.explored += exploring
        if teaches and self.steering is not None:
            self.steering.depart(features, self.learner.weight(time))

    def reward(self, id: str, values: Mapping[str, float], now: float) -> Outcome:
        """Learn what is new in a reward."""
        row = self.row(id)
        block, i = self.ledger.place(row)
        new = self._checked(values, block.values[i].tolist())
        if block.time[i] + self.units.nearest <= now:
            self._close(np.array([row]), now)
        states = block.state[i].tolist()
        fresh = [(m, value) for m, value in new if states[m] == PENDING]
        if fresh:
            self._learn(block, i, fresh)
        for m, value in new:
            block.values[i, m] = value
        if len(fresh) == states.count(PENDING) > 0:
            self.complete([row])
        outcome = Outcome(len(fresh), len(values) - len(new), len(new) - len(fresh))
        self.tally.learned += outcome.learned
        self.tally.repeated += outcome.repeated
        self.tally.late += outcome.late
        return outcome

    def expire(self, now: float) -> int:
        """Close the windows that end at or before a time, and return how many."""
        return self._close(self.ledger.pending(self.units.windows, now), now)

    def forget(self, before: float) -> int:
        """Drop completed decisions made before a time, and return how many."""
        kept, dropped = [], 0
        for row in self.ledger.completed:
            block, i = self.ledger.place(row)
            if block.time[i] < before:
                self.ledger.drop(row)
                dropped += 1
            else:
                kept.append(row)
        self.ledger.completed.clear()
        self.ledger.completed.extend(kept)
        self.tally.forgotten += dropped
        return dropped

    def row(self, id: str) -> int:
        """Return the row of a decision."""
        if not isinstance(id, str):
            raise ValueError(f"id: expected the id of a decision (decision.id), got {id!r}")
        row = self.ledger.rows.get(id)
        if row is None:
            raise UnknownDecision(f"id: no decision {id!r}; it was never made, or is forgotten")
        return row

    def _checked(self, values: Mapping[str, float], stored: list[float]) -> list[tuple[int, float]]:
        """Check a reward, and return the objectives and values that had not come before."""
        try:
            pairs = values.items()
        except AttributeError:
            raise ValueError(
                f"values: expected a mapping of objective name to number, got {values!r}"
            ) from None
        new = []
        for name, given in pairs:
            m = self.units.index.get(name)
            if m is None:
                raise UnknownObjective(
                    f"values: expected objectives {list(self.units.names)}, got {name!r}"
                )
            value = given if type(given) is float else _number(given)
            if not abs(value - self.units.offsets[m]) <= LARGEST * abs(self.units.slopes[m]):
                raise BadReward(f"values: expected a finite number for {name!r}, got {given!r}")
            before = stored[m]
            if before == before and before != value:
                raise ConflictingReward(
                    f"values: {name!r} was {before!r} for this decision before, now {value!r}"
                )
            if before != before:
                new.append((m, value))
        return new

    def _learn(self, block: Block, i: int, fresh: list[tuple[int, float]]) -> None:
        seen, found = [False] * len(self.units), [0.0] * len(self.units)
        for m, value in fresh:
            seen[m] = True
            found[m] = (value - self.units.offsets[m]) / self.units.slopes[m]
        which = self._full if len(fresh) == len(seen) else np.array(seen)
        inward = np.array(found)
        if block.flags[i] & TEACHES:
            weight = self.learner.weight(block.time.item(i))
            self.learner.learn(block.features[i], inward, which, weight)
            if self.steering is not None:
                self.steering.arrive(block.features[i], which, weight)
                if self.learner.keep is not None:
                    self.steering.fade(np.where(which, self.learner.keep, 1.0), pending=False)
        if which is self._full:
            block.state[i] = LEARNED
            return
        for m, _ in fresh:
            block.state[i, m] = LEARNED

    def _close(self, rows: IntArray, now: float) -> int:
        """Close windows of these decisions that end by now."""
        closed = 0
        usual = np.isfinite(self.units.defaults)
        inward = self.units.inward(np.where(usual, self.units.defaults, 0))
        for some, part in self.ledger.gather(rows):
            due = (part.state == PENDING) & (part.time[:, None] + self.units.windows <= now)
            teaches = (part.flags & TEACHES > 0)[:, None]
            learned: BoolArray = due & usual & teaches
            if learned.any():
                values = np.broadcast_to(inward, due.shape)
                self.learner.learn_many(part.features, values, learned, part.time)
            if self.steering is not None:
                weights = self.learner.weights(part.time)
                self.steering.close(part.features, due & teaches, due & teaches & ~usual, weights)
                if self.learner.keep is not None:
                    factor = self.learner.keep ** learned.sum(axis=0, dtype=np.float64)
                    self.steering.fade(factor, pending=False)
            part.state[due] = np.broadcast_to(np.where(usual, DEFAULTED, WITHDRAWN), due.shape)[due]
            self.ledger.put_states(some, part.state)
            done = due.any(axis=1) & (part.state != PENDING).all(axis=1)
            self.complete(some[done].tolist())
            self.tally.defaulted += int((due & usual).sum())
            self.tally.withdrawn += int((due & ~usual).sum())
            closed += int(due.sum())
        return closed

    def complete(self, rows: list[int]) -> None:
        """Keep decisions with nothing pending, as many as there is capacity for."""
        self.ledger.completed.extend(rows)
        while self.capacity is not None and len(self.ledger.completed) > self.capacity:
            self.ledger.drop(self.ledger.completed.popleft())
            self.tally.forgotten += 1


def _number(given: object) -> float:
    """Return a number as a float; NaN if it is none, or beyond every float."""
    try:
        return float(given) if isinstance(given, _NUMBERS) else math.nan
    except (ValueError, OverflowError):
        return math.nan
