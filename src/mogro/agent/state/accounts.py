"""Accounts of budgets: what was allowed and spent, and the price that follows from it.

Money is in the objective's own units, spend is what a budget bounds from above: of at least 0.9 it
is minus the value. The level of an account is what is left of what was allowed, in decisions'
worth. It is to be at its aim, 30 above 0, saved up over the first 1,500 decisions. The price of a
decision's worth is ``exp(L - surplus / 10)``, where the surplus is the level less its aim. That is
a quick reaction around a slow L: dual ascent, by steps that fall like a root of those made, only
where another price would make a difference. So it does not run away while money buys nothing, or
while there is none. Nor is more saved than the last reviews would have spent.
"""

import copy
import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.budget import Budget, BudgetStatus
from mogro.agent.events import BudgetRecord
from mogro.agent.objective import HalfLife

_REACH = 10.0  # decisions' worth of surplus that change the price by a factor of e
_AIM = 30.0  # decisions' worth
_SAVED = 0.02  # of what a decision is allowed, at most, until the level is at its aim
_LARGEST_LOG = 30.0  # of a price
_REVIEW_EVERY = 10  # decisions, of which one reviews the prices
_GOLDEN = 2654435769  # of 2**32: multiples are spread evenly, those of every k-th decision, too
_PRICE_STEP = 3.7  # of L in a review, for a surplus of a reach, over the root of those before
_DEMAND_REVIEWS = 10.0  # for what the last of them would have bought money is saved
_FREE_SURPLUS = 5.0  # decisions' worth of surplus that are kept in any case
_FIRST_DEMAND = 100.0  # decisions' worth, before anybody knows what there is to buy
_MIN_REVIEWS = 9  # before a budget is said to be too small
_UNKNOWN_SHARE = 0.5  # of the burst, that an arm counts of which nothing is known
_CAUTION = 3.0  # root mean squares of surprises, for what an arm may cost beyond what is expected
_FIRST_SURPRISE = 0.5  # of what was expected, before anything has come
_FIRST_SQUARES = 400.0  # of what was expected, which this counts for, in decisions' worth
_LARGEST_SURPRISE = 10.0  # times what was expected; reports that are wrong by far count no more
_REMEMBERED = 0.998  # of squares, by each decision that spends
_EFFECTS_REMEMBERED = 0.99  # of what contexts added, by each decision that spends
_TINY = 1e-100  # decisions' worth

_NUMBERS = (
    *("decisions", "allowed", "spent", "in_flight", "pending", "flight_squares", "level"),
    *("log_price", "demand", "weight", "least_spend", "time", "since"),
    *("expected_squares", "surprise_squares", "effect_squares", "effect_products"),
    "effect_errors",
)
# Arrays of a saved account: their axes, and the size of the last one.
_WIDTHS = {
    "numbers": (1, (len(_NUMBERS),)),
    "surcharges": (2, (2,)),
    "context_effects": (2, (3,)),
    "entries": (2, (5,)),
}

# What a decision has spent, or is expected to, and whether it is in flight.
SpentAmount = tuple[float, bool]
_NOTHING: SpentAmount = 0.0, False


def reviews_prices(step: int) -> bool:
    """Tell whether a decision, after so many others, reviews what other prices would do.

    Reviews come irregularly, so that they do not fall in step with requests that take turns.
    """
    return step * _GOLDEN % 2**32 < 2**32 // _REVIEW_EVERY


class AccountBalance(NamedTuple):
    """How an account stands before a decision; nothing that happens later changes it.

    Attributes
    ----------
    budget
        Whose account it is.
    price
        Of a unit of the objective, as rewards are given.
    room
        What may be spent.
    ample
        For what there is ample room: as much for each that is in flight, too, and as much again, or
        what it may cost beyond that. It is -inf if there is none for an arm of which nothing is
        known.
    surplus
        How far the level is above its aim, in decisions' worth.
    caution, trust
        Of the account.
    flight_strays
        What all in flight may cost beyond what they count.
    decisions
        How many count.
    """

    budget: Budget
    price: float
    room: float
    ample: float
    surplus: float
    caution: float
    trust: float
    flight_strays: float
    decisions: float

    @property
    def surprise(self) -> float:
        """How far spends are from what is expected of them, root mean square, as a share."""
        return self.caution / _CAUTION

    @property
    def unknown(self) -> float:
        """What an arm counts of which nothing is known."""
        return _UNKNOWN_SHARE * self.budget.reserve


class Account:
    """One budget: what has happened to it.

    Attributes
    ----------
    since
        The number of the first decision that counts.
    decisions, allowed
        How many count, and what they may spend together.
    spent, in_flight, pending, flight_squares
        What came back, what is expected of others, how many these are, and the sum of squares of
        what they count, with their surcharges.
    expected_squares, surprise_squares
        Squares of what was expected of decisions that have spent, and of how far they were from it,
        in sums that fade, in decisions' worth.
    effect_squares, effect_products, effect_errors
        Squares of what contexts were said to add to what decisions spend; products with what they
        added; and products of these squares with those of what trust in them was wrong by. Alike.
    caution
        How many times what is expected of an arm it may cost beyond that.
    trust
        Which share of what contexts are said to add to spends can be relied on, from 0 to 1.
    context_effects
        By decision in flight, what it was expected to spend in any context, and what its own was
        said to add, in decisions' worth.
    surcharges
        By decision in flight, what it counts beyond its estimate, because that is not known.
    level
        What is left of what was allowed, in decisions' worth, less what bought nothing.
    log_price
        L.
    demand
        What the last reviews would have spent more without a price, where there was a surplus, in
        decisions' worth; so much surplus is kept, and little more.
    weight, least_spend
        Decisions that reviewed prices, and the least that these could have been expected to spend,
        in a sum.
        Both fade with the half-life.
    """

    def __init__(self, budget: Budget, half_life: HalfLife | None, since: int = 0) -> None:
        self.budget = budget
        self.since = since
        self._half_life = half_life
        self.decisions = self.allowed = self.spent = self.in_flight = self.pending = 0.0
        self.flight_squares = self.level = self.log_price = self.weight = self.least_spend = 0.0
        self.expected_squares = _FIRST_SQUARES
        self.surprise_squares = _FIRST_SQUARES * _FIRST_SURPRISE**2
        self.effect_squares = self.effect_products = self.effect_errors = 0.0
        self.caution, self.trust = self._find_caution(), 0.0
        self.context_effects: dict[int, tuple[float, float]] = {}
        self.demand, self.time = _FIRST_DEMAND, -math.inf
        self.surcharges: dict[int, float] = {}
        # Of a window, by number of the decision: its time, what it was allowed, and its amount.
        self.entries: dict[int, tuple[float, float, SpentAmount]] = {}

    def copy(self) -> "Account":
        """Return an account that goes on by itself."""
        other = copy.copy(self)
        other.entries, other.surcharges = self.entries.copy(), self.surcharges.copy()
        other.context_effects = self.context_effects.copy()
        return other

    @property
    def surplus(self) -> float:
        """How far the level is above its aim, in decisions' worth."""
        aim = _SAVED * self.decisions
        surcharges = sum(self.surcharges.values()) / self.budget.worth if self.surcharges else 0.0
        return self.level - surcharges - (aim if aim < _AIM else _AIM)

    @property
    def _all_in_flight(self) -> float:
        """What all in flight count."""
        return self.in_flight + sum(self.surcharges.values())

    @property
    def mean_least_spend(self) -> float:
        """What the cheapest arms are expected to spend on average; -inf before that is known.

        The weight of reviews fades with a half-life, so that decisions may have to tell of them.
        """
        reviews = max(self.weight, self.decisions / _REVIEW_EVERY)
        return (
            self.least_spend / self.weight
            if reviews >= _MIN_REVIEWS and self.weight > 0
            else -math.inf
        )

    def balance(self, time: float | None) -> AccountBalance:
        """Return how things stand before a decision at a time.

        With a known maximum, all in flight counts as that.
        """
        budget, caution, pending = self.budget, self.caution, self.pending
        surplus, room = self.surplus, self.allowed - self.spent + budget.bound + budget.reserve
        in_flight, squares = self._all_in_flight if pending else 0.0, self.flight_squares
        for number in self._outdated(time) if self.entries else ():
            _, allowed, (amount, is_in_flight) = self.entries[number]
            room -= allowed
            if is_in_flight:
                counted = amount + self.surcharges.get(number, 0.0)
                pending, in_flight = pending - 1, in_flight - counted
                squares -= counted * counted
            else:
                room += amount
        strays, ample = 0.0, -math.inf
        if budget.max_cost is not None:
            room -= budget.max_cost * pending
            if room >= budget.max_cost:
                ample = math.inf
        else:
            if pending:
                room -= in_flight
                strays = caution * math.sqrt(max(0.0, squares))
            if room - strays >= (2 + pending) * _UNKNOWN_SHARE * budget.reserve:
                ample = (room - strays) / (1 + pending + (caution if caution > 1 else 1.0))
        price, trust = self._price(surplus), self.trust
        return AccountBalance(
            budget, price, room, ample, surplus, caution, trust, strays, self.decisions
        )

    def _price(self, surplus: float) -> float:
        """Return what a unit of the objective costs."""
        log_price = self.log_price - surplus / _REACH
        if not -_LARGEST_LOG < log_price < _LARGEST_LOG:
            log_price = math.copysign(_LARGEST_LOG, log_price)
        return math.exp(log_price) / self.budget.worth

    def status(self) -> BudgetStatus:
        """Return how things stand, for people."""
        budget, sign = self.budget, self.budget.sign
        in_flight = self._all_in_flight
        together = self.spent + in_flight
        return BudgetStatus(
            budget=budget,
            target=sign * budget.bound,
            decisions=int(self.decisions),
            spent=sign * self.spent,
            in_flight=sign * in_flight,
            room=self.allowed - together + budget.reserve,
            price=self._price(self.surplus),
            forecast=sign * together / self.decisions if self.decisions else math.nan,
            feasible=self.mean_least_spend <= budget.bound,
        )

    def decide(
        self, number: int, expected: float, record: BudgetRecord, index: int, time: float
    ) -> None:
        """Count a decision that is expected to spend so much; the budget has an index among all."""
        budget = self.budget
        if budget.window is not None:
            for old in self._outdated(time):
                self._forget(old)
        if record.at_stake is not None:
            self._update_log_price(record.at_stake[index] / budget.worth)
        if self._half_life is not None:
            kept = self._remaining_weight(time)
            self.weight, self.least_spend = kept * self.weight, kept * self.least_spend
        if record.least_spend is not None:
            self.weight += 1
            self.least_spend += record.least_spend[index]
        surcharge = 0.0
        if record.surcharge is not None:
            surcharge = self.surcharges[number] = record.surcharge[index]
        if record.usual is not None and record.context_effect is not None:
            effect = record.usual[index] / budget.worth, record.context_effect[index] / budget.worth
            self.context_effects[number] = effect
        if budget.window is not None:
            self.entries[number] = time, budget.bound, (expected, True)
        self._count(1.0, budget.bound)
        self._count_in_flight(1.0, expected, surcharge)
        self.level += (budget.bound - expected) / budget.worth

    def _update_log_price(self, at_stake: float) -> None:
        """Let L follow where it makes a difference; save nothing that buys nothing."""
        surplus = self.surplus
        if at_stake > 0:
            step = _PRICE_STEP * max(-1.0, min(surplus / _REACH, 1.0)) / math.sqrt(1 + self.weight)
            self.log_price = max(-_LARGEST_LOG, min(self.log_price - step, _LARGEST_LOG))
        if surplus > 0:
            self.demand += at_stake - self.demand / _DEMAND_REVIEWS
            self.level -= max(0.0, surplus - _FREE_SURPLUS - self.demand)

    def change(self, number: int, before: SpentAmount | None, after: SpentAmount | None) -> None:
        """Count what has become of a decision; None: it does not count."""
        if number < self.since:
            return
        budget, worth = self.budget, self.budget.worth
        surcharge = self.surcharges.pop(number, 0.0) if self.surcharges else 0.0
        effect = self.context_effects.pop(number, None) if self.context_effects else None
        (guess, was_in_flight), (value, is_in_flight) = before or _NOTHING, after or _NOTHING
        if was_in_flight and after is not None and value != guess:
            self._compare((guess + surcharge) / worth, value / worth)
            if effect is not None:
                self._learn_trust(*effect, value / worth)
        if budget.window is not None:
            entry = self.entries.get(number)
            if entry is None:  # it is no longer in the window
                return
            if after is None:
                del self.entries[number]
            else:
                self.entries[number] = *entry[:2], after
        if before is None or after is None:
            sign = float(after is not None) - float(before is not None)
            self._count(sign, budget.bound)
            self.level += sign * budget.bound / worth
        self.level += (guess - value) / worth
        if was_in_flight:
            self._count_in_flight(-1.0, guess, surcharge)
        else:
            self.spent -= guess
        if is_in_flight:
            self._count_in_flight(1.0, value, 0.0)
        else:
            self.spent += value

    def _compare(self, expected: float, spent: float) -> None:
        """Learn how far spends are from what is expected, in decisions' worth."""
        if abs(expected) < _TINY:
            return
        surprise = min(abs(spent - expected), _LARGEST_SURPRISE * abs(expected))
        self.expected_squares = _REMEMBERED * self.expected_squares + expected * expected
        self.surprise_squares = _REMEMBERED * self.surprise_squares + surprise * surprise
        self.caution = self._find_caution()

    def _find_caution(self) -> float:
        """Follow how far spends were from what was expected of them.

        An arm that is to bring something may bring nothing: at most 1 then.
        """
        caution = _CAUTION * math.sqrt(self.surprise_squares / self.expected_squares)
        return caution if self.budget.bound > 0 else min(caution, 1.0)

    def _learn_trust(self, usual: float, effect: float, spent: float) -> None:
        """Learn what contexts add to what is spent in any, in decisions' worth.

        An effect counts as no larger than that, however large it was said to be.
        """
        size = abs(usual)
        effect, added = max(-size, min(effect, size)), spent - usual
        added = max(-_LARGEST_SURPRISE * size, min(added, _LARGEST_SURPRISE * size))
        square, error, kept = effect * effect, added - self.trust * effect, _EFFECTS_REMEMBERED
        self.effect_squares = kept * self.effect_squares + square
        self.effect_products = kept * self.effect_products + effect * added
        self.effect_errors = kept * self.effect_errors + square * error * error
        self.trust = self._find_trust()

    def _find_trust(self) -> float:
        """Return the slope of what contexts have added, divided by one and its variance.

        That is the mean of a posterior. To choose what looks cheap is to choose what is
        underestimated, most of all where little is known, or where arms differ in their noise.
        """
        squares = self.effect_squares
        weight = squares * squares + self.effect_errors
        return max(0.0, min(self.effect_products * squares / weight, 1.0)) if weight > 0 else 0.0

    def _count(self, sign: float, allowed: float) -> None:
        """Allow something for a decision; with -1 as sign no longer."""
        self.decisions += sign
        self.allowed += sign * allowed

    def _count_in_flight(self, sign: float, expected: float, surcharge: float) -> None:
        """Count what is expected of a decision in flight, and more; with -1 no longer."""
        self.pending += sign
        if self.pending:
            self.in_flight += sign * expected
            counted = expected + surcharge
            self.flight_squares = max(0.0, self.flight_squares + sign * counted * counted)
        else:
            self.in_flight = self.flight_squares = 0.0

    def _remaining_weight(self, time: float) -> float:
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
            for number, (made, _, _) in self.entries.items():
                if made > time - budget.window:
                    break
                outdated.append(number)
        return outdated

    def _forget(self, number: int) -> None:
        _, allowed, (amount, is_in_flight) = self.entries.pop(number)
        surcharge = self.surcharges.pop(number, 0.0)
        self._count(-1.0, allowed)
        if is_in_flight:
            self._count_in_flight(-1.0, amount, surcharge)
        else:
            self.spent -= amount
        self.context_effects.pop(number, None)

    def save_state(self) -> dict[str, FloatArray]:
        """Return everything as arrays."""
        rows = [(float(n), made, may, *amount) for n, (made, may, amount) in self.entries.items()]
        effects = [(float(n), *effect) for n, effect in self.context_effects.items()]
        return {
            "numbers": np.array([getattr(self, name) for name in _NUMBERS], dtype=np.float64),
            "surcharges": np.array(list(self.surcharges.items()), dtype=np.float64).reshape(-1, 2),
            "context_effects": np.array(effects, dtype=np.float64).reshape(-1, 3),
            "entries": np.array(rows, dtype=np.float64).reshape(-1, 5),
        }

    def load_state(self, arrays: dict[str, FloatArray]) -> None:
        """Take over what :meth:`save_state` gave."""
        shapes = [arrays[name].shape for name in _WIDTHS]
        if [(len(shape), shape[-1:]) for shape in shapes] != list(_WIDTHS.values()):
            raise ValueError(f"its accounts have shapes {shapes}")
        numbers, surcharges, effects, entries = (arrays[name].tolist() for name in _WIDTHS)
        for name, number in zip(_NUMBERS, numbers, strict=True):
            setattr(self, name, number)
        self.since = int(self.since)
        self.caution, self.trust = self._find_caution(), self._find_trust()
        self.surcharges = {int(number): amount for number, amount in surcharges}
        self.context_effects = {int(number): (usual, added) for number, usual, added in effects}
        self.entries = {
            int(n): (made, may, (total, bool(in_flight)))
            for n, made, may, total, in_flight in entries
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
                account.caution = account._find_caution()  # the bound may be below 0 now
                break
        accounts.append(account)
    return accounts


def _key(budget: Budget) -> tuple[object, ...]:
    return budget.objective, budget.sign, budget.window, budget.within
