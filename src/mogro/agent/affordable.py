"""What budgets do to a decision: their prices, and the arms that there is room for."""

import math
from collections.abc import Sequence
from operator import sub
from typing import NamedTuple

import numpy as np

from mogro._ties import EQUAL_SCORES
from mogro._validation import BoolArray, FloatArray, IntArray, without_warnings
from mogro.agent.budget import Spending
from mogro.agent.events import BudgetRecord
from mogro.agent.features.arms import ArmSet
from mogro.agent.state.accounts import Account, AccountBalance
from mogro.agent.state.learner import Learner
from mogro.beliefs import Beliefs
from mogro.valuation import Prices

_UNRELIABLE_VARIANCE = (
    1.0  # in units of the noise, above which estimates in a context are not relied on
)
_UNTRIED_VARIANCE = 2.0  # above which nothing is known: half an observation has 2
_UNKNOWN_SHARE = 0.5  # of the burst, that an arm counts of which nothing is known
_OPTIMISM = 2.0  # standard errors, in looks for what money would buy
_RIDGE = 1e-6  # of what arms alone explain, in mean squares of their features


class BudgetTerms(NamedTuple):
    """What budgets do to a decision.

    Attributes
    ----------
    spending, balances
        How values become spends, and how the account of each budget stands.
    prices
        Added to the weights, as the learner sees objectives.
    estimates, features, beliefs
        Of all arms, (K, M) and (K, d), and what is believed about them.
    counted
        What they count instead until their values have come, (K, B); None for what is expected.
    affordable
        Indices of the arms that there is room for; None for all.
    """

    spending: Spending
    balances: list[AccountBalance]
    prices: Prices
    estimates: FloatArray
    features: FloatArray
    beliefs: Beliefs
    counted: FloatArray | None = None
    affordable: IntArray | None = None

    @property
    def spends(self) -> FloatArray:
        """What arms are expected to spend, (K, B)."""
        return self.spending.all_expected(self.estimates)

    def record(self, index: int, weights: FloatArray | None, *, steered: bool) -> BudgetRecord:
        """Return what is written with a decision that looks what other prices would do.

        It chose the arm at an index, for weights. No price could steer a uniform draw, or a
        decision that explores.
        """
        least = tuple(self.spending.least_expected(self.estimates))
        at_stake = self._at_stake(index, weights) if steered else None
        return self.budget_record(index, least, at_stake)

    def budget_record(
        self,
        index: int,
        least_spend: tuple[float, ...] | None = None,
        at_stake: tuple[float, ...] | None = None,
    ) -> BudgetRecord:
        """Return what is written with any decision."""
        prices, reserve = tuple([balance.price for balance in self.balances]), None
        if self.counted is not None:
            index = self._index_of_all(index)
            spent = self.spending.expected(self.estimates[index])
            reserve = tuple(map(sub, self.counted[index].tolist(), spent))
            reserve = reserve if any(reserve) else None
        return BudgetRecord(prices, least_spend, at_stake, reserve)

    def _index_of_all(self, index: int) -> int:
        """Return the index among all arms of one for which there is room."""
        return index if self.affordable is None else self.affordable.item(index)

    def _at_stake(self, index: int, weights: FloatArray | None) -> tuple[float, ...]:
        """Return for every budget what other prices would change, were there room.

        Where there is a surplus, how much more would be spent without a price, by an optimistic
        round? Otherwise, how much less if only prices counted? Prices are looked at together,
        because they may hold each other.
        """
        prices, estimates = self.prices.weights, self.estimates
        saving = [balance.surplus > 0 for balance in self.balances]
        if weights is None:
            weights = np.full(len(prices), 1 / len(prices))
        if self.affordable is not None:
            index = int(estimates.dot(weights + prices).argmax())
        dear = self._choice_without_prices(weights, saving) if any(saving) else index
        cheap = index if all(saving) else int(estimates.dot(prices).argmax())
        if cheap == index == dear:
            return (0.0,) * len(saving)
        spent = [self.spending.expected(estimates[each]) for each in (cheap, index, dear)]
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
        variance = self.beliefs.variances(self.features) * self.beliefs.noise
        errors = np.sqrt(variance.dot(weights * weights))
        return int((self.estimates.dot(free) + _OPTIMISM * errors).argmax())


def apply_budgets(
    spending: Spending,
    accounts: Sequence[Account],
    learner: Learner,
    arms: ArmSet,
    beliefs: Beliefs,
    time: float | None,
) -> tuple[ArmSet, BudgetTerms]:
    """Return the arms that there is room for, and what the budgets do to the decision.

    Where there is room for an arm of which nothing is known, beside as many as are in flight, there
    is room for all of them: nobody has to look which are known. In a context estimates are relied
    on for that, once there are more observations than features.
    """
    estimates = arms.features.dot(beliefs.theta.T)
    balances = [account.balance(time) for account in accounts]
    prices = Prices(spending.weights_of([balance.price for balance in balances]), spending.sizes)
    terms = BudgetTerms(spending, balances, prices, estimates, arms.features, beliefs)
    if _all_affordable(terms, accounts, learner, arms):
        return arms, terms
    counted, unknown = _counted(terms, accounts, learner, arms, beliefs)
    fits = _affordable(terms, accounts, learner, arms, counted, unknown)
    if fits.all():
        return arms, terms._replace(counted=counted)
    return arms.subset(fits), terms._replace(counted=counted, affordable=np.flatnonzero(fits))


def _all_affordable(
    terms: BudgetTerms, accounts: Sequence[Account], learner: Learner, arms: ArmSet
) -> bool:
    """Tell whether there is room for every arm, the dearest or one of which nothing is known."""
    if arms.view.contextual and min(learner.observed.n.tolist()) <= learner.observed.dim:
        return False
    most = terms.spending.most_expected(terms.estimates)
    for account, balance, expected in zip(accounts, terms.balances, most, strict=True):
        unknown, caution = _UNKNOWN_SHARE * account.budget.reserve, account.caution
        in_flight = caution * math.sqrt(account.flight_squares)
        strays = math.hypot(max(caution * expected, unknown), in_flight)
        counted = (1 + account.pending) * max(expected, unknown)
        needed = account.budget.max_cost or counted + strays
        if needed > balance.room:
            return False
    return True


def _counted(
    terms: BudgetTerms,
    accounts: Sequence[Account],
    learner: Learner,
    arms: ArmSet,
    beliefs: Beliefs,
) -> tuple[FloatArray, BoolArray]:
    """Return what arms count, and whether nothing is known of that, (K, B) both.

    Where the estimate in a context is unreliable, an arm counts at what it spends in any context;
    where nothing is known, at half the burst.
    """
    spending, spends = terms.spending, terms.spends
    unsure = beliefs.variances(arms.features)
    if unsure.shape[1] > 1:
        unsure = unsure[:, spending.indices]
    if arms.view.contextual:
        unreliable = (unsure > _UNRELIABLE_VARIANCE) | (
            learner.observed.n.min() <= learner.observed.dim
        )
        if unreliable.any():
            alone, unsure_alone = _by_arms_alone(spending, learner, arms)
            spends = np.where(unreliable, alone, spends)
            unsure = np.where(unreliable, unsure_alone, unsure)
    unknown = unsure > _UNTRIED_VARIANCE
    guesses = [_UNKNOWN_SHARE * account.budget.reserve for account in accounts]
    return np.where(unknown, guesses, spends), np.broadcast_to(unknown, spends.shape)


def _affordable(
    terms: BudgetTerms,
    accounts: Sequence[Account],
    learner: Learner,
    arms: ArmSet,
    counted: FloatArray,
    unknown: BoolArray,
) -> BoolArray:
    """Return for which arms, (K,), there is room.

    An arm may cost more than it counts, as many times as the account's caution says; so may all in
    flight, each by itself. What nothing is known of may be twice what it counts, and an arm that
    saves something needs room only for what it counts. If there is room for none, it is the
    cheapest, or all that are as cheap up to rounding; unless no arm that is known would save
    anything, on average, and others are not known: then one of these, if it counts no more than
    there is room for, or all count more.
    """
    budgets = [account.budget for account in accounts]
    rooms = np.array([balance.room for balance in terms.balances])
    bounds = [budget.bound for budget in budgets]
    caution = np.array([account.caution for account in accounts])
    in_flight = caution * np.sqrt([account.flight_squares for account in accounts])
    strays = np.hypot(np.where(unknown, 1.0, caution) * counted, in_flight)
    needed = np.where((counted <= bounds) & ~unknown, counted, counted + strays)
    for index, budget in enumerate(budgets):
        needed[:, index] = budget.max_cost or needed[:, index]
    fits = np.asarray((needed <= rooms).all(axis=1))
    if fits.any():
        return fits
    untried = np.asarray(unknown.any(axis=1))
    if untried.any():
        usual = counted
        if arms.view.contextual:
            usual, _ = _by_arms_alone(terms.spending, learner, arms)
        saving = (usual <= bounds).all(axis=1)
        keeping = np.asarray((counted <= rooms).all(axis=1))
        trials = untried & keeping if keeping.any() else untried
        if trials.any() and not (saving & ~untried).any():
            return trials
    worths = [budget.worth for budget in budgets]
    over = ((counted - rooms) / worths).max(axis=1)
    over[untried] = np.inf
    slack = EQUAL_SCORES * ((np.abs(counted) + np.abs(rooms)) / worths).max(axis=1)
    return np.asarray(over - slack <= over.min())


@without_warnings
def _by_arms_alone(
    spending: Spending, learner: Learner, arms: ArmSet
) -> tuple[FloatArray, FloatArray]:
    """Return what arms spend in any context, (K, B), and variances in units of the noise.

    What contexts change is unreliable while there are fewer observations than features, and of an
    arm that is known by less than an observation.
    """
    size = 1 + arms.raw_features.shape[1]
    x = np.concatenate([np.ones((len(arms), 1)), arms.raw_features], axis=1)
    V = learner.observed.V[:, :size, :size]  # of the constant and the arm
    ridge = _RIDGE * np.einsum("gii->g", V) / size + np.finfo(float).tiny ** 0.5
    S = np.linalg.inv(V + ridge[:, None, None] * np.eye(size))
    theta = np.matvec(S, learner.observed.b[:, :size])
    unsure = np.vecdot(x @ S, x).T
    spends = spending.all_expected(x @ theta.T)
    return spends, unsure if len(S) == 1 else unsure[:, spending.indices]
