"""Accounts of budgets: what was allowed and spent, and the price that follows from it.

Money is in the objective's own units, spend is what a budget bounds from above: of at least 0.9 it
is minus the value. The level of an account is what is left, in decisions' worth. It walks at random
by what decisions spend, as far as a root of the sum of their squares; a quarter of that is its
reach. The price of a unit is ``exp(L - level / reach + 1/2)``: a quick reaction around a slow L,
which keeps the level at half a reach. L moves only where another price would make a difference:
so it does not run away while money buys nothing, or while there is none.
"""

import copy
import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.events import Priced
from mogro.agent.objective import HalfLife

_LEAST_REACH = 2.0
_LARGEST_LOG = 30.0  # of a price
_DEVIATIONS = 2.0  # of what is in flight, and of an arm, for which there has to be room
_SOME = 100  # decisions before a budget is said to be too small

_NUMBERS = (
    *("decisions", "allowed", "spent", "in_flight", "flight_squares", "holding", "squares"),
    *("level", "log_price", "idle", "surprise", "foreseen", "weight", "least", "time", "since"),
)


class Amount(NamedTuple):
    """What a decision has spent, or is expected to while it is in flight."""

    total: float
    in_flight: bool


class Quote(NamedTuple):
    """The terms of a budget for the next decision.

    Attributes
    ----------
    price
        Of a unit of the objective.
    room
        What may be spent.
    full
        Whether there is more in the account than it should hold.
    """

    price: float
    room: float
    full: bool


class Account:
    """One budget: what has happened to it.

    Attributes
    ----------
    since
        The number of the first decision that counts.
    decisions, allowed
        How many count, and what they may spend together.
    spent, in_flight, flight_squares
        What came back, what is expected of others, and the sum of its squares.
    held, holding
        By decision in flight, what is held back beside what is expected of it; the sum of that.
    level
        What is left of what was allowed, in decisions' worth.
    squares
        The sum of squares of what came back, in decisions' worth.
    surprise, foreseen
        Sums of how far what came back was from what was expected, and of what was expected. At
        first both are what the burst is worth: a spend may be off by as much as it is large.
    log_price
        L.
    idle
        For how many decisions in a row there was money that would have bought nothing.
    weight, least
        Decisions, and the least that they could have been expected to spend, in a sum. Both fade
        with the half-life, as do the sums of squares and of surprises.
    """

    def __init__(self, budget: Budget, half_life: HalfLife | None, since: int = 0) -> None:
        self.budget = budget
        self.since = since
        self._half_life = half_life
        self.decisions = self.allowed = self.spent = self.in_flight = 0.0
        self.flight_squares = self.holding = 0.0
        self.level = self.squares = self.log_price = self.idle = self.weight = self.least = 0.0
        self.surprise = self.foreseen = budget.reserve
        self.time = -math.inf
        self.held: dict[int, float] = {}
        # Of a window, by number of the decision: its time, what it was allowed, and its amount.
        self.entries: dict[int, tuple[float, float, Amount]] = {}

    def copy(self) -> "Account":
        """Return an account that goes on by itself."""
        other = copy.copy(self)
        other.entries, other.held = self.entries.copy(), self.held.copy()
        return other

    @property
    def reach(self) -> float:
        """How far the level strays, in decisions' worth."""
        return max(_LEAST_REACH, math.sqrt(self.squares) / 4)

    @property
    def spread(self) -> float:
        """How far spends are from what is expected of them, as a part of that."""
        return self.surprise / self.foreseen

    @property
    def feasible(self) -> bool:
        """Whether the cheapest arms are expected to keep the bound, on average."""
        return self.least <= self.weight * self.budget.bound

    def needed(self, spends: FloatArray, known: FloatArray) -> FloatArray | float:
        """Return what arms may spend, and all in flight beside what is expected of them.

        With a known maximum, each of them may spend that; otherwise, of what is known, as far as
        was seen so far.
        """
        most = self.budget.max_cost
        if most is not None:
            return most * (1 + len(self.held)) - self.in_flight - self.holding
        squares = self.flight_squares + np.square(known)
        return np.asarray(spends + _DEVIATIONS * self.spread * np.sqrt(squares))

    def _steps(self) -> float:
        """Return how far the level is from where it should be, in reaches.

        What may be missing of it, because of what is in flight, does not count.
        """
        level = self.level
        if self.in_flight:
            doubtful = _DEVIATIONS * self.spread * math.sqrt(self.flight_squares)
            level -= (doubtful + self.holding) / self.budget.worth
        return level / self.reach - 0.5

    def quote(self, time: float | None) -> Quote:
        """Return the terms for the next decision, at a time."""
        budget, steps = self.budget, self._steps()
        left = self.allowed - self.spent - self.in_flight - self.holding
        for serial in self._outdated(time) if self.entries else ():
            _, allowed, amount = self.entries[serial]
            left -= allowed - amount.total
        logarithm = max(-_LARGEST_LOG, min(self.log_price - steps, _LARGEST_LOG))
        return Quote(math.exp(logarithm), left + budget.bound + budget.reserve, steps > 0)

    def status(self, unit: float) -> BudgetStatus:
        """Return how things stand, for people; the unit is that of the objective."""
        budget, sign = self.budget, self.budget.sign
        in_flight = self.in_flight + self.holding
        together = self.spent + in_flight
        return BudgetStatus(
            budget=budget,
            target=sign * budget.bound,
            decisions=int(self.decisions),
            spent=sign * self.spent,
            in_flight=sign * in_flight,
            room=self.allowed - together + budget.reserve,
            price=self.quote(None).price / unit,
            forecast=sign * together / self.decisions if self.decisions else math.nan,
            feasible=self.feasible or self.decisions < _SOME,
        )

    def decide(self, serial: int, expected: float, priced: Priced, place: int, time: float) -> None:
        """Count a decision that is expected to spend so much; the budget has a place among all."""
        budget, full = self.budget, self._steps() > 0
        if budget.window is not None:
            for old in self._outdated(time):
                self._forget(old)
            self.entries[serial] = time, budget.bound, Amount(expected, True)
        if self._half_life is not None:
            kept = self._kept(time)
            for name in ("weight", "least", "squares", "surprise", "foreseen"):
                setattr(self, name, kept * getattr(self, name))
        self.weight += 1
        self.least += priced.least[place]
        self.held[serial] = priced.held[place]
        self.holding += priced.held[place]
        self._add(1.0, budget.bound, Amount(expected, True))
        self.level += (budget.bound - expected) / budget.worth
        if priced.could is not None:
            self._steer(full, priced.could[place])

    def _steer(self, full: bool, could: bool) -> None:
        """Let L follow where it could have made a difference; save nothing where nothing could."""
        self.idle = self.idle + 1 if full and not could else 0
        if self.idle > self.budget.burst:
            self.level = min(self.level, self.reach / 2)
        steps = self._steps()
        if could and (steps > 0) == full:
            moved = self.log_price - steps / self.reach**2
            self.log_price = max(-_LARGEST_LOG, min(moved, _LARGEST_LOG))

    def change(self, serial: int, before: Amount | None, after: Amount | None) -> None:
        """Count what has become of a decision; None: it does not count."""
        budget = self.budget
        if serial < self.since:
            return
        held = self._release(serial)
        if budget.window is not None:
            entry = self.entries.get(serial)
            if entry is None:  # it is no longer in the window
                return
            if after is None:
                del self.entries[serial]
            else:
                self.entries[serial] = *entry[:2], after
        foreseen = before is not None and before.in_flight and before.total != 0
        if before is not None and after is not None and foreseen and held < budget.most_held:
            self.surprise += abs(after.total - before.total - held)
            self.foreseen += abs(before.total + held)
            self.squares += (after.total / budget.worth) ** 2
        for amount, sign in ((before, -1.0), (after, 1.0)):
            if amount is not None:
                self._add(sign, budget.bound, amount)
                self.level += sign * (budget.bound - amount.total) / budget.worth

    def _release(self, serial: int) -> float:
        """Hold nothing back any more for a decision."""
        held = self.held.pop(serial, 0.0)
        self.holding = self.holding - held if self.held else 0.0
        return held

    def _add(self, sign: float, allowed: float, amount: Amount) -> None:
        """Count a decision; with -1 as sign no longer."""
        self.decisions += sign
        self.allowed += sign * allowed
        if amount.in_flight:
            self.in_flight += sign * amount.total
            self.flight_squares = max(0.0, self.flight_squares + sign * amount.total**2)
        else:
            self.spent += sign * amount.total

    def _kept(self, time: float) -> float:
        """Return what the next decision leaves of the weight of those before."""
        half_life, before = self._half_life, self.time
        self.time = max(time, before)
        if half_life is None or before == -math.inf:
            return 1.0
        if half_life.updates is not None:
            return float(0.5 ** (1 / half_life.updates))
        assert half_life.time is not None
        return float(0.5 ** ((self.time - before) / half_life.time))

    def _outdated(self, time: float | None) -> list[int]:
        """Return the decisions that are out of the window once another is made at a time."""
        budget = self.budget
        if budget.window is None:
            return []
        outdated = []
        if budget.within == "decisions":
            many = len(self.entries) + 1 - int(budget.window)
            outdated = list(islice(self.entries, max(0, many)))
        elif time is not None:
            for serial, (made, _, _) in self.entries.items():
                if made > time - budget.window:
                    break
                outdated.append(serial)
        return outdated

    def _forget(self, serial: int) -> None:
        _, allowed, amount = self.entries.pop(serial)
        self._release(serial)
        self._add(-1.0, allowed, amount)

    def save_state(self) -> dict[str, FloatArray]:
        """Return everything as arrays."""
        rows = [(float(n), made, may, *amount) for n, (made, may, amount) in self.entries.items()]
        return {
            "numbers": np.array([getattr(self, name) for name in _NUMBERS], dtype=np.float64),
            "held": np.array(list(self.held.items()), dtype=np.float64).reshape(-1, 2),
            "entries": np.array(rows, dtype=np.float64).reshape(-1, 5),
        }

    def load_state(self, arrays: dict[str, FloatArray]) -> None:
        """Take over what :meth:`save_state` gave."""
        numbers, held, entries = (arrays[name] for name in ("numbers", "held", "entries"))
        shapes = [array.shape[-1:] for array in (numbers, held, entries)]
        if shapes != [(len(_NUMBERS),), (2,), (5,)] or (held.ndim, entries.ndim) != (2, 2):
            raise ValueError(f"its accounts have shapes that end with {shapes}")
        for name, number in zip(_NUMBERS, numbers.tolist(), strict=True):
            setattr(self, name, number)
        self.since = int(self.since)
        self.held = {int(serial): amount for serial, amount in held.tolist()}
        self.entries = {
            int(n): (made, may, Amount(total, bool(in_flight)))
            for n, made, may, total, in_flight in entries.tolist()
        }


def new_accounts(
    budgets: Sequence[Budget],
    half_life: HalfLife | None,
    since: int = 0,
    old: Sequence[Account] = (),
) -> list[Account]:
    """Return an account for every budget; one that was there, with another bound perhaps, goes on.

    What was allowed before stays allowed.
    """
    accounts, left = [], list(old)
    for budget in budgets:
        account = Account(budget, half_life, since)
        for known in left:
            if _key(known.budget) == _key(budget):
                left.remove(known)
                account = known.copy()
                account.budget, account._half_life = budget, half_life
                break
        accounts.append(account)
    return accounts


def _key(budget: Budget) -> tuple[object, ...]:
    return budget.objective, budget.sign, budget.window, budget.within
