"""Accounts of budgets: what was allowed and spent, and the price that follows from it.

Money is in the objective's own units, spend is what a budget bounds from above: of at least 0.9 it
is minus the value. An account in balance holds a reserve, which grows like a root of the number of
decisions. The price of a unit is ``exp(L - (level / reserve - 1))``: a quick reaction to how
full the account is, around a level L that follows slowly. L moves only where it can do something:
not down when no price would not change the choice, not up when the cheapest arm was chosen. So it
does not run away while money buys nothing, or while there is none.
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

_RESERVE = 0.25  # decisions' worth in reserve, times the root of the number of decisions
_LEAST_RESERVE = 2.0
_REACH = 4.0  # reserves from balance at which the price no longer reacts
_LEARNING, _EARLY = 0.05, 30.0  # how fast L follows, and how much faster at first
_EXTREME = 30.0  # of a logarithm of a price
_SOME = 100  # decisions before a budget is said to be too small
_ALL, _EVERY = 64, 4  # decisions of which all move L, and after which every fourth does

_NUMBERS = (
    *("decisions", "allowed", "spent", "in_flight", "pending", "level", "log_price"),
    *("weight", "least", "lowest", "time", "since"),
)


class Amount(NamedTuple):
    """What a decision has spent, and what it is expected to: one of the two is 0."""

    spent: float
    expected: float

    @property
    def total(self) -> float:
        """Both."""
        return self.spent + self.expected


class Offer(NamedTuple):
    """The terms of a budget for the next decision.

    Attributes
    ----------
    price
        Of a unit of the objective.
    room
        What may be spent.
    full
        Whether there is more in the account than its reserve.
    """

    price: float
    room: float
    full: bool


def _clipped(number: float, limit: float) -> float:
    return limit if number > limit else -limit if number < -limit else number


def weight_of(serial: int) -> float:
    """Return for how many decisions one counts that asks what other prices would have done."""
    if serial < _ALL:
        return 1.0
    return 0.0 if serial % _EVERY else float(_EVERY)


class Account:
    """One budget: what has happened to it.

    Attributes
    ----------
    since
        The number of the first decision that counts.
    decisions, allowed
        How many count, and what they may spend together.
    spent, in_flight, pending
        What came back, what is expected of others, and how many these are.
    level
        What is left of what was allowed, in decisions' worth. What no price held back, because it
        would have bought nothing, is carried over up to the burst.
    log_price
        L.
    weight, least
        Decisions, and the least that they could have been expected to spend, in a sum; both fade
        with the half-life.
    lowest
        The least that a decision can spend, by all that is known: 0 where the bound is above 0, or
        what was seen below it.
    """

    def __init__(self, budget: Budget, half_life: HalfLife | None, since: int = 0) -> None:
        self.budget = budget
        self.since = since
        self._half_life = half_life
        self.decisions = self.pending = 0.0
        self.allowed = self.spent = self.in_flight = 0.0
        self.level = self.log_price = self.weight = self.least = 0.0
        self.lowest = 0.0 if budget.at_most is not None and budget.at_most > 0 else -math.inf
        self.time = -math.inf
        # Of a window, by number of the decision: its time, what it was allowed, and its amount.
        self.entries: dict[int, tuple[float, float, Amount]] = {}

    def copy(self) -> "Account":
        """Return an account that goes on by itself."""
        other = copy.copy(self)
        other.entries = self.entries.copy()
        return other

    @property
    def reserve(self) -> float:
        """Decisions' worth that an account in balance holds."""
        return max(_LEAST_RESERVE, _RESERVE * math.sqrt(self.weight))

    @property
    def feasible(self) -> bool:
        """Whether the cheapest arms were expected to keep the bound, once that means something."""
        return self.decisions < _SOME or self.least <= self.weight * self.budget.bound

    def offer(self, time: float | None) -> Offer:
        """Return the terms for the next decision, at a time."""
        budget, reserve = self.budget, self.reserve
        left = self.allowed - self.spent - self.in_flight
        for serial in self._outdated(time) if self.entries else ():
            _, allowed, amount = self.entries[serial]
            left -= allowed - amount.total
        steps = _clipped(self.level / reserve - 1, _REACH)
        price = math.exp(_clipped(self.log_price - steps, _EXTREME))
        return Offer(price, left + budget.bound + budget.reserve, steps > 0)

    def status(self, unit: float) -> BudgetStatus:
        """Return how things stand, for people; the unit is that of the objective."""
        budget, sign = self.budget, self.budget.sign
        together = self.spent + self.in_flight
        return BudgetStatus(
            budget=budget,
            target=sign * budget.bound,
            decisions=int(self.decisions),
            spent=sign * self.spent,
            in_flight=sign * self.in_flight,
            room=self.allowed - together + budget.reserve,
            price=self.offer(None).price / unit,
            forecast=sign * together / self.decisions if self.decisions else math.nan,
            feasible=self.feasible,
        )

    def plausible(self, spends: list[float]) -> list[float]:
        """Return estimates of spends as they count for the room.

        One below what is possible is an extrapolation, and off by at least the difference: it
        counts for so much more, so that it is not taken for a bargain.
        """
        lowest = self.lowest
        return [spend if spend >= lowest else 2 * lowest - spend for spend in spends]

    def decide(self, serial: int, expected: float, priced: Priced, place: int, time: float) -> None:
        """Count a decision that is expected to spend so much; the budget has a place among all."""
        budget, reserve = self.budget, self.reserve
        full = self.level > reserve
        if budget.window is not None:
            for old in self._outdated(time):
                self._forget(old)
            self.entries[serial] = time, budget.bound, Amount(0.0, expected)
        self.decisions += 1
        self.allowed += budget.bound
        self.in_flight += expected
        self.pending += 1 if expected else 0
        kept = 1.0 if self._half_life is None else self._kept(time)
        self.weight = kept * self.weight + 1
        self.least = kept * self.least + priced.least[place]
        self.level += (budget.bound - expected) / budget.worth
        if priced.could is not None:
            self._steer(reserve, full, priced.could[place], weight_of(serial))

    def _steer(self, reserve: float, full: bool, could: bool, weight: float) -> None:
        """Let L follow where it could have made a difference; else do not save for ever."""
        if full and not could:  # money bought nothing
            self.level = min(self.level, reserve + self.budget.burst)
        steps = self.level / reserve - 1
        if could and (steps > 0) == full:
            rate = weight * _LEARNING * (1 + _EARLY / self.decisions) / reserve
            self.log_price -= rate * _clipped(steps, _REACH)
            self.log_price = _clipped(self.log_price, _EXTREME)

    def change(self, serial: int, before: Amount | None, after: Amount | None) -> None:
        """Count what has become of a decision; None: it does not count."""
        budget = self.budget
        if serial < self.since:
            return
        if budget.window is not None:
            entry = self.entries.get(serial)
            if entry is None:  # it is no longer in the window
                return
            if after is None:
                del self.entries[serial]
            else:
                self.entries[serial] = *entry[:2], after
        if after is not None and not after.expected:
            self.lowest = min(self.lowest, after.spent)
        for amount, sign in ((before, -1.0), (after, 1.0)):
            if amount is not None:
                self._add(sign, sign * budget.bound, Amount(*(sign * part for part in amount)))
                self.level += sign * (budget.bound - amount.total) / budget.worth

    def _add(self, count: float, allowed: float, amount: Amount) -> None:
        self.decisions += count
        self.allowed += allowed
        self.spent += amount.spent
        self.in_flight += amount.expected
        if amount.expected:
            self.pending += count

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
        self._add(-1.0, -allowed, Amount(-amount.spent, -amount.expected))

    def save_state(self) -> dict[str, FloatArray]:
        """Return everything as arrays."""
        rows = [(float(n), made, may, *amount) for n, (made, may, amount) in self.entries.items()]
        return {
            "numbers": np.array([getattr(self, name) for name in _NUMBERS], dtype=np.float64),
            "entries": np.array(rows, dtype=np.float64).reshape(-1, 5),
        }

    def load_state(self, arrays: dict[str, FloatArray]) -> None:
        """Take over what :meth:`save_state` gave."""
        numbers, entries = arrays["numbers"], arrays["entries"]
        if numbers.shape != (len(_NUMBERS),) or entries.ndim != 2 or entries.shape[1] != 5:
            raise ValueError(f"its accounts have shapes {numbers.shape} and {entries.shape}")
        for name, number in zip(_NUMBERS, numbers.tolist(), strict=True):
            setattr(self, name, number)
        self.since = int(self.since)
        self.entries = {
            int(n): (made, may, Amount(spent, expected))
            for n, made, may, spent, expected in entries.tolist()
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
