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
from mogro.agent.features.feature_map import with_constant
from mogro.agent.state.accounts import Account, AccountBalance, looks
from mogro.agent.state.learner import Learner
from mogro.beliefs import Beliefs
from mogro.valuation import Prices

_UNTRIED_VARIANCE = 2.0  # in units of the noise, above which nothing is known: half an observation
_UNKNOWN_SHARE = 0.5  # of the burst, that an arm counts of which nothing is known
_OPTIMISM = 2.0  # standard errors, in looks for what money would buy
_HARDLY_DEARER = 1.0  # decisions' worth
_RIDGE = 1e-6  # of the weight of all observations, where arms alone explain what they spend
_TINY = float(np.finfo(np.float64).tiny) ** 0.5


class BudgetTerms(NamedTuple):
    """What budgets do to a decision.

    Attributes
    ----------
    spending, balances
        How values become spends, and how the account of each budget stands.
    prices
        Added to the weights, as the learner sees objectives.
    estimates, features, beliefs
        Of all arms, (K, M) and (K, d), and what the posterior says of them. Estimates follow from
        it, but where room is short: in a context, they are relied on as far as the accounts do.
    counted
        What they count instead until their values have come, (K, B); None for what is expected.
    affordable
        Indices of the arms that there is room for; None for all.
    usual, context_effects
        What all arms are expected to spend in any context, and what the posterior adds to that in
        this one, (K, B); None without a context, and where there is room for all arms.
    """

    spending: Spending
    balances: list[AccountBalance]
    prices: Prices
    estimates: FloatArray
    features: FloatArray
    beliefs: Beliefs
    counted: FloatArray | None = None
    affordable: IntArray | None = None
    usual: FloatArray | None = None
    context_effects: FloatArray | None = None

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
        prices = tuple([balance.price for balance in self.balances])
        if self.counted is None:
            return BudgetRecord(prices, least_spend, at_stake)
        if self.affordable is not None:
            index = self.affordable.item(index)
        spent = self.spending.expected(self.estimates[index])
        reserve = tuple(map(sub, self.counted[index].tolist(), spent))
        beyond = reserve if any(reserve) else None
        if self.usual is None or self.context_effects is None:
            return BudgetRecord(prices, least_spend, at_stake, beyond)
        effects = tuple(self.usual[index].tolist()), tuple(self.context_effects[index].tolist())
        return BudgetRecord(prices, least_spend, at_stake, beyond, *effects)

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
    step: int,
) -> tuple[ArmSet, Beliefs, BudgetTerms]:
    """Return the arms that there is room for, what is believed of them, and what budgets do.

    Where there is room for an arm of which nothing is known, beside as many as are in flight, there
    is room for all of them: nobody has to look which are known. In a context estimates are relied
    on for that, once there are more observations than features; elsewhere as far as accounts do.
    """
    estimates = arms.features.dot(beliefs.theta.T)
    balances = [account.balance(time) for account in accounts]
    prices = Prices(spending.weights_of([balance.price for balance in balances]), spending.sizes)
    terms = BudgetTerms(spending, balances, prices, estimates, arms.features, beliefs)
    if _all_affordable(terms, accounts, learner, arms):
        return arms, beliefs, terms
    if arms.view.contextual:
        beliefs, terms, unsure = _doubt_context(terms, accounts, learner, arms)
    else:
        unsure = spending.by_budget(beliefs.variances(arms.features))
    counted, unknown = _counted(terms, accounts, arms, unsure)
    fits = _affordable(terms, accounts, counted, unknown, step)
    if fits.all():
        return arms, beliefs, terms._replace(counted=counted)
    terms = terms._replace(counted=counted, affordable=np.flatnonzero(fits))
    return arms.subset(fits), beliefs, terms


def _all_affordable(
    terms: BudgetTerms, accounts: Sequence[Account], learner: Learner, arms: ArmSet
) -> bool:
    """Tell whether there is room for every arm, the dearest or one of which nothing is known."""
    spending, contextual = terms.spending, arms.view.contextual
    if contextual and min(learner.observed.n.tolist()) <= learner.observed.dim:
        return False
    rooms = list(zip(accounts, terms.balances, strict=True))
    if not _is_room(spending.most_expected(terms.estimates), rooms):
        return False
    if not contextual:
        return True
    x = with_constant(arms.raw_features)
    usual = x.dot(learner.theta[:, : x.shape[1]].T)  # without what the context changes
    return _is_room(spending.most_expected(usual), rooms)


def _is_room(most: Sequence[float], rooms: Sequence[tuple[Account, AccountBalance]]) -> bool:
    """Tell whether there is room for the most that each budget expects, or for what is unknown."""
    for expected, (account, balance) in zip(most, rooms, strict=True):
        budget, caution = account.budget, account.caution
        if budget.max_cost is not None:
            needed = budget.max_cost
        else:
            unknown = _UNKNOWN_SHARE * budget.reserve
            strays = max(caution * expected, unknown)
            if account.pending:
                strays = math.hypot(strays, caution * math.sqrt(account.flight_squares))
            needed = (1 + account.pending) * max(expected, unknown) + strays
        if needed > balance.room:
            return False
    return True


def _doubt_context(
    terms: BudgetTerms, accounts: Sequence[Account], learner: Learner, arms: ArmSet
) -> tuple[Beliefs, BudgetTerms, FloatArray]:
    """Rely on what the context adds to spends as far as accounts do.

    Return what is believed then, terms by that, and variances of what arms spend in any context,
    (K, B), in units of the noise.
    """
    spending, features, theta = terms.spending, terms.features, terms.beliefs.theta.copy()
    usual_theta, variances = _without_context(learner, arms)
    in_context = spending.all_expected(terms.estimates)
    indices, size = spending.indices, usual_theta.shape[1]
    added = theta[indices, :size] - usual_theta[indices]
    theta[indices, :size] = usual_theta[indices]
    usual = spending.all_expected(features.dot(theta.T))
    for index, account, effect in zip(indices, accounts, added, strict=True):
        theta[index, :size] = usual_theta[index] + account.trust * effect
    terms = terms._replace(
        estimates=features.dot(theta.T), usual=usual, context_effects=in_context - usual
    )
    beliefs = Beliefs(theta, terms.beliefs.observed, terms.beliefs.expected)
    return beliefs, terms, spending.by_budget(variances)


@without_warnings
def _without_context(learner: Learner, arms: ArmSet) -> tuple[FloatArray, FloatArray]:
    """Return estimates in any context, (M, 1 + A), for what a policy sees of arms in this one.

    And the variances of such estimates of arms, (K, G), in units of the noise.
    """
    x, observed = with_constant(arms.raw_features), learner.observed
    size = x.shape[1]
    V, b = observed.first_sums(size)  # of the constant and the arm
    ridge = _RIDGE * V[:, :1, 0] + _TINY
    V.reshape(len(V), -1)[:, :: size + 1] += ridge
    means = observed.prior.means(observed.objectives, observed.dim)[:, :size]
    S = np.linalg.inv(V)
    theta = np.matvec(S, b + ridge * means)
    return arms.view.in_any_context(theta), np.vecdot(x @ S, x).T


def _counted(
    terms: BudgetTerms, accounts: Sequence[Account], arms: ArmSet, unsure: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return what arms count, and whether nothing is known of that, (K, B) both.

    In a context, an arm that was observed less often than contexts have features counts at what it
    spends in any, at least; where nothing is known, at half the burst.
    """
    spends = terms.spends
    if terms.usual is not None:
        seldom = unsure * (1 + len(arms.view.context)) > 1
        spends = np.maximum(spends, np.where(seldom, terms.usual, -np.inf))
    unknown = unsure > _UNTRIED_VARIANCE
    if not unknown.any():
        return spends, unknown
    guesses = [_UNKNOWN_SHARE * account.budget.reserve for account in accounts]
    return np.where(unknown, guesses, spends), unknown


def _affordable(
    terms: BudgetTerms,
    accounts: Sequence[Account],
    counted: FloatArray,
    unknown: BoolArray,
    step: int,
) -> BoolArray:
    """Return for which arms, (K,), there is room; if for none, the cheapest.

    An arm may cost more than it counts, as many times as the account's caution says; so may all in
    flight, each by itself. What nothing is known of may be twice what it counts, and an arm that
    saves something needs room only for what it counts. If there is room for none, and no arm that
    is known would save anything, on average, others that are not known are tried: those that count
    no more than there is room for, or any if all count more.
    """
    budgets = [account.budget for account in accounts]
    rooms = np.array([balance.room for balance in terms.balances])
    bounds = np.array([budget.bound for budget in budgets])
    caution = np.array([account.caution for account in accounts])
    in_flight = caution * np.sqrt([account.flight_squares for account in accounts])
    strays = np.hypot(np.where(unknown, 1.0, caution) * counted, in_flight)
    needed = counted + strays * (unknown | (counted > bounds))
    for index, budget in enumerate(budgets):
        if budget.max_cost is not None:
            needed[:, index] = budget.max_cost
    fits = np.asarray((needed <= rooms).all(axis=1))
    if fits.any():
        return fits
    untried = np.asarray(unknown.any(axis=1))
    if untried.any():
        usual = counted if terms.usual is None else terms.usual
        saving = (usual <= bounds).all(axis=1)
        keeping = np.asarray((counted <= rooms).all(axis=1))
        trials = untried & keeping if keeping.any() else untried
        if trials.any() and not (saving & ~untried).any():
            return trials
    return _cheapest(terms, accounts, counted, untried, step)


def _cheapest(
    terms: BudgetTerms,
    accounts: Sequence[Account],
    counted: FloatArray,
    untried: BoolArray,
    step: int,
) -> BoolArray:
    """Return which known arms, (K,), cost least at the prices of the accounts, up to rounding.

    Those that exceed fewer rooms come first. In decisions that look, it is the arm that may cost
    least, by a bound that grows with a root of the logarithm of the decisions, if it is hardly
    dearer: else one that was unlucky at first would never be tried again, whatever it might save.
    """
    budgets, balances = [account.budget for account in accounts], terms.balances
    worths = np.array([budget.worth for budget in budgets])
    shares = worths * [balance.price for balance in balances]
    shares /= shares.sum()
    exceeded = (counted > [balance.room for balance in balances]).sum(axis=1)
    exceeded[untried] = len(budgets) + 1
    spends = np.where(exceeded == exceeded.min(), (counted / worths) @ shares, np.inf)
    if looks(step):
        variances = terms.spending.by_budget(terms.beliefs.variances(terms.features))
        noise = terms.beliefs.noise.dot(np.square(terms.spending.matrix))
        growth = 2 * math.log(1 + max(account.decisions for account in accounts))
        saved = np.sqrt(growth * variances * noise) / worths @ shares
        spends = np.where(spends <= spends.min() + _HARDLY_DEARER, spends - saved, np.inf)
    slack = EQUAL_SCORES * (np.abs(counted) / worths).max(axis=1)
    return np.asarray(spends - slack <= spends.min())
