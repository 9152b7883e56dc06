"""What budgets do to a decision: their prices, and the arms that there is room for.

Prices are added to weights, and for the arm that is best then there mostly is ample room. If not,
what it counts is looked at, and only if there is no room for that, or if more is asked for than the
best arm, what all arms count.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from operator import sub

import numpy as np

from mogro._ties import EQUAL_SCORES
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.agent.events import BudgetRecord
from mogro.agent.expected_spends import Counts, ExpectedSpends
from mogro.agent.features.arms import ArmSet
from mogro.agent.state.accounts import reviews_prices
from mogro.beliefs import variances
from mogro.choice import Arms
from mogro.valuation import Prices

_LEAST_ERROR = 0.5  # of what an arm counts, after one observation
_OPTIMISM = 2.0  # standard errors, in reviews, for what money would buy


class BudgetTerms:
    """What budgets do to a decision; nothing that happens later changes it.

    To a choice they are its arms (:class:`~mogro.choice.LimitedArms`).

    Parameters
    ----------
    expected
        What arms are expected to spend.
    step
        Number of decisions before.
    steered
        False if others decide: then all arms are left.
    """

    def __init__(self, expected: ExpectedSpends, step: int, *, steered: bool) -> None:
        self.expected, self._step, self._steered = expected, step, steered
        self.spending, self.balances = spending, balances = expected.spending, expected.balances
        self.all_arms, self.beliefs = expected.arms, expected.beliefs
        self._prices = tuple([balance.price for balance in balances])
        self.prices = Prices(spending.weights_of(self._prices), spending.sizes)
        self._ample = [balance.ample for balance in balances]
        self.taken: int | None = None  # of all arms, by its row, if nobody asked which are left
        self._ample_row: int | None = None  # of all arms, the last with ample room
        self._left: ArmSet | None = None

    # Arms to choose from, as a choice asks for them

    def __len__(self) -> int:
        return len(self.all_arms)

    @property
    def offered(self) -> Arms:
        """All arms."""
        return self.all_arms.offered

    @property
    def features(self) -> FloatArray:
        """The arms that are left, (L, d), as a policy sees them."""
        return self.left.features

    @property
    def rows(self) -> IntArray:
        """Which of all arms these are, (L,)."""
        return np.flatnonzero(self.fits)

    def take(self, rows: Sequence[int]) -> bool:
        """Take the first of some arms, if all of them are left.

        Once it is known which are left, the choice is made among these.
        """
        if self._left is None and all(map(self._is_left, rows)):
            self.taken = rows[0]
        return self.taken is not None

    @property
    def left(self) -> ArmSet:
        """The arms that there is room for, or if there are none, the cheapest."""
        if self._left is None:
            fits = self.fits
            self._left = self.all_arms if fits.all() else self.all_arms.subset(fits)
        return self._left

    def _is_left(self, row: int) -> bool:
        """Tell whether there is room for one of all arms."""
        return self._has_ample_room(row) or bool(self._is_room(self.expected.of(row))[0])

    def _has_ample_room(self, row: int) -> bool:
        """Tell whether there is room for one of all arms, however little is known of it.

        That needs more observations than features; in a context it goes by what the arm costs
        without one, too.
        """
        expected = self.expected
        if row != self._ample_row and expected.informed and expected.are_within(row, self._ample):
            self._ample_row = row
        return row == self._ample_row

    @cached_property
    def fits(self) -> BoolArray:
        """Which of all arms are left, (K,).

        There has to be ample room for an arm, or room for it as it counts. It may cost more than
        that, as many times as the account's caution says; so may all in flight, each by itself.
        What nothing is known of may be twice what it counts, and an arm that saves something needs
        room only for what it counts. If there is room for none, and no arm that is known would save
        anything, on average, others that are not known are tried: those that count no more than
        there is room for, or any if all count more; and of known ones in some decisions such as may
        be cheaper than they look.
        """
        if not self._steered:
            return np.ones(len(self.all_arms), dtype=np.bool_)
        counts = self.expected.of_all
        fits = self._is_room(counts) | self._have_ample_room
        if self.taken is not None:
            fits[self.taken] = True  # whatever rounding says
        if fits.any():
            return fits
        untried = np.asarray(counts.unknown.any(axis=1))
        if ((counts.usual <= self._bounds).all(axis=1) & ~untried).any():
            return self._cheapest(counts, untried, again=False)
        keeping = np.asarray((counts.counted <= self._rooms).all(axis=1))
        trials = untried & keeping if keeping.any() else untried
        if trials.any():
            return trials
        return self._cheapest(counts, untried, again=reviews_prices(self._step))

    def _is_room(self, counts: Counts) -> BoolArray:
        """Tell for which of some arms, (K,), there is room by what they count."""
        counted, unknown, balances = counts.counted, counts.unknown, self.balances
        caution = [balance.caution for balance in balances]
        in_flight = [balance.flight_strays for balance in balances]
        strays = np.hypot(np.where(unknown, 1.0, caution) * counted, in_flight)
        needed = counted + strays * (unknown | (counted > self._bounds))
        for index, balance in enumerate(balances):
            if balance.budget.max_cost is not None:
                needed[:, index] = balance.budget.max_cost
        return np.asarray((needed <= self._rooms).all(axis=1))

    @property
    def _have_ample_room(self) -> BoolArray:
        """For which of all arms there is ample room, (K,)."""
        if not self.expected.informed:
            return np.zeros(len(self.all_arms), dtype=np.bool_)
        return np.asarray((self.expected.most <= self._ample).all(axis=1))

    def _cheapest(self, counts: Counts, untried: BoolArray, *, again: bool) -> BoolArray:
        """Return which known arms, (K,), cost least at the prices of accounts, up to rounding.

        Those that exceed fewer rooms come first. ``again``: the arm that may cost least, by a bound
        that grows with a root of the logarithm of the decisions, of those that are dearer by no
        more than half the burst. Else one that was unlucky at first would never be tried again,
        whatever it might save.
        """
        balances, counted = self.balances, counts.counted
        worths = np.array([balance.budget.worth for balance in balances])
        shares = worths * [balance.price for balance in balances]
        shares /= shares.sum()
        exceeded = (counted > [balance.room for balance in balances]).sum(axis=1)
        exceeded[untried] = len(balances) + 1
        spends = np.where(exceeded == exceeded.min(), (counted / worths) @ shares, np.inf)
        if again:
            growth = 2 * math.log(1 + max(balance.decisions for balance in balances))
            saved = math.sqrt(growth) * self._errors(counts) / worths @ shares
            dearest = spends.min() + shares.dot(
                [each.unknown / each.budget.worth for each in balances]
            )
            spends = np.where(spends <= dearest, spends - saved, np.inf)
        slack = EQUAL_SCORES * (np.abs(counted) / worths).max(axis=1)
        return np.asarray(spends - slack <= spends.min())

    # What arms spend

    def _errors(self, counts: Counts) -> FloatArray:
        """Return standard errors of what arms count, (K, B).

        Dear arms vary most: where spends are at most something above 0, an error is no larger than
        surprises so far, as a share of what the arm counts, tell; nor is it smaller than such a
        share, because few observations of an arm say little of how it varies. What is in flight
        counts as if it had come: else an arm would be tried again until it has.
        """
        beliefs, features = self.beliefs, self.all_arms.features
        expected = self.spending.by_budget(variances(features, beliefs.expected.W))
        if self.all_arms.view.contextual:  # what counts is an average over contexts, perhaps
            observed = self.spending.by_budget(beliefs.variances(features))
            expected = expected * np.maximum(counts.unsure / observed, 1.0)
        size, limited = np.abs(counts.counted), self._bounds > 0
        largest = np.where(limited, size * [balance.surprise for balance in self.balances], np.inf)
        noise = np.sqrt(beliefs.noise.dot(np.square(self.spending.matrix)))
        least = np.where(limited, _LEAST_ERROR * size, 0.0)
        return np.asarray(np.sqrt(expected) * np.maximum(np.minimum(noise, largest), least))

    @cached_property
    def estimates(self) -> FloatArray:
        """Of all arms, (K, M)."""
        return np.asarray(self.all_arms.features.dot(self.beliefs.theta.T))

    @cached_property
    def _rooms(self) -> FloatArray:
        """The room of each budget, (B,)."""
        return np.array([balance.room for balance in self.balances])

    @cached_property
    def _bounds(self) -> FloatArray:
        """The bound of each budget, (B,)."""
        return np.array([balance.budget.bound for balance in self.balances])

    # What is written with the decision

    def record(self, row: int, weights: FloatArray | None, *, priced: bool) -> BudgetRecord:
        """Return what is written with a decision for one of all arms, by weights.

        Some decisions review what other prices would do, unless they were not priced at all.
        """
        prices, least, at_stake = self._prices, None, None
        if reviews_prices(self._step):
            least = tuple(self.spending.all_expected(self.estimates).min(axis=0).tolist())
            at_stake = self._at_stake(weights) if priced else None
        if self._has_ample_room(row):
            return BudgetRecord(prices, least, at_stake)
        counts = self.expected.of(row)
        counted, spends = counts.counted[0].tolist(), counts.spends[0].tolist()
        surcharge = tuple(map(sub, counted, spends)) if counted != spends else None
        if not self.all_arms.view.contextual:
            return BudgetRecord(prices, least, at_stake, surcharge)
        usual, effects = tuple(counts.usual[0].tolist()), tuple(counts.effects[0].tolist())
        return BudgetRecord(prices, least, at_stake, surcharge, usual, effects)

    def _at_stake(self, weights: FloatArray | None) -> tuple[float, ...]:
        """Return for every budget what other prices would change, by estimates, were there room.

        Where there is a surplus, how much more would be spent without a price, by an optimistic
        round? Otherwise, how much less if only prices counted? Prices are looked at together,
        because they may hold each other.
        """
        prices, estimates = self.prices.weights, self.estimates
        saving = [balance.surplus > 0 for balance in self.balances]
        if weights is None:
            weights = np.full(len(prices), 1 / len(prices))
        row = int(estimates.dot(weights + prices).argmax())
        dear = self._choice_without_prices(weights, saving) if any(saving) else row
        cheap = row if all(saving) else int(estimates.dot(prices).argmax())
        if cheap == row == dear:
            return (0.0,) * len(saving)
        spent = [self.spending.expected(estimates[each]) for each in (cheap, row, dear)]
        return tuple(
            [
                max(0.0, most - now if saves else now - least)
                for saves, least, now, most in zip(saving, *spent, strict=True)
            ]
        )

    def _choice_without_prices(self, weights: FloatArray, saving: Sequence[bool]) -> int:
        """Return what an optimistic round would choose without the prices of accounts that save."""
        free = weights
        if not all(saving):
            pairs = zip(saving, self.balances, strict=True)
            paid = [0.0 if saves else each.price for saves, each in pairs]
            free = weights + self.spending.weights_of(paid)
        variance = self.beliefs.variances(self.all_arms.features) * self.beliefs.noise
        errors = np.sqrt(variance.dot(weights * weights))
        return int((self.estimates.dot(free) + _OPTIMISM * errors).argmax())
