"""What budgets do to a decision: their prices, and the arms that there is room for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray, without_warnings
from mogro.agent.budget import Budget, Spending
from mogro.agent.events import Priced
from mogro.agent.features.arms import ArmSet
from mogro.agent.state.accounts import Account, AccountBalance
from mogro.agent.state.learner import Learner
from mogro.beliefs import Beliefs
from mogro.valuation import Prices

_RASH_VARIANCE = 1.0  # in units of the noise, above which estimates in a context are not relied on
_UNKNOWN_VARIANCE = 2.0  # above which nothing is known: half an observation has 2
_RIDGE = 1e-6  # of what arms alone explain, in mean squares of their features


class BudgetEffects(NamedTuple):
    """What budgets do to a decision.

    Attributes
    ----------
    spending, balances
        How values become spends, and how the account of each budget stands.
    prices
        Added to the weights, as the learner sees objectives.
    estimates, spends
        Of all arms, (K, M), and what they are expected to spend, (K, B).
    counted
        What they count instead until their values have come, (K, B); None for what is expected.
    affordable
        Indices of the arms that there is room for; None for all.
    """

    spending: Spending
    balances: list[AccountBalance]
    prices: Prices
    estimates: FloatArray
    spends: FloatArray
    counted: FloatArray | None = None
    affordable: IntArray | None = None

    def record(self, index: int, weights: FloatArray | None, *, steered: bool) -> Priced:
        """Return what is written with the arm at an index, chosen for weights.

        A decision that no price could steer (a uniform draw, one that explores) says so.
        """
        index = index if self.affordable is None else self.affordable.item(index)
        prices = tuple([balance.price for balance in self.balances])
        extra = None
        if self.counted is not None:
            beyond = self.counted[index] - self.spends[index]
            extra = tuple(beyond.tolist()) if beyond.any() else None
        sensitive = self._sensitive(index, weights) if steered else None
        return Priced(prices, tuple(self.spends.min(axis=0).tolist()), sensitive, extra)

    def _sensitive(self, index: int, weights: FloatArray | None) -> tuple[bool, ...]:
        """Tell for which budgets another price would make a difference, were there room.

        Where there is a surplus, would more be spent without a price? Otherwise, would less be if
        only prices counted? Prices are looked at together, because they may hold each other.
        """
        prices, balances, spending = self.prices.weights, self.balances, self.spending
        if weights is None:
            weights = np.full(len(prices), 1 / len(prices))
        if self.affordable is not None:
            index = self.estimates.dot(weights + prices).argmax().item()
        spent = least = most = self.spends[index].tolist()
        surplus = [balance.surplus > 0 for balance in balances]
        if any(surplus):
            free = weights + prices
            for m, weight, balance, full in zip(
                spending.indices, spending.weights, balances, surplus, strict=True
            ):
                free[m] -= weight * balance.price * full
            most = self._spends_for(free)
        if not all(surplus):
            least = self._spends_for(prices)
        return tuple(
            [
                dear > now if full else cheap < now
                for full, cheap, now, dear in zip(surplus, least, spent, most, strict=True)
            ]
        )

    def _spends_for(self, weights: FloatArray) -> list[float]:
        spends: list[float] = self.spends[self.estimates.dot(weights).argmax().item()].tolist()
        return spends


def apply_budgets(
    spending: Spending,
    accounts: Sequence[Account],
    learner: Learner,
    arms: ArmSet,
    beliefs: Beliefs,
    time: float | None,
) -> tuple[ArmSet, BudgetEffects]:
    """Return the arms that there is room for, and what the budgets do to the decision.

    Where there is room for an arm of which nothing is known, beside as many as are in flight, there
    is room for all of them: nobody has to look which are known. In a context estimates are relied
    on for that, once there are more observations than features.
    """
    estimates = arms.features.dot(beliefs.theta.T)
    spends: FloatArray = estimates.dot(spending.matrix) + spending.shifts
    balances, prices = [account.balance(time) for account in accounts], [0.0] * len(beliefs.theta)
    for m, weight, balance in zip(spending.indices, spending.weights, balances, strict=True):
        prices[m] += weight * balance.price
    added = Prices(np.array(prices), spending.sizes)
    effects = BudgetEffects(spending, balances, added, estimates, spends)
    observed = learner.observed
    ample = not arms.view.contextual or bool(observed.n.min() > observed.dim)
    for account, balance, most in zip(accounts, balances, spends.max(axis=0).tolist(), strict=True):
        unknown = max(most, account.budget.reserve / 2)
        strays = math.sqrt(unknown**2 + account.flight_squares)
        needed = account.budget.max_cost or (1 + account.pending) * unknown + strays
        ample = ample and needed <= balance.room
    if ample:
        return arms, effects
    budgets, rooms = [account.budget for account in accounts], [each.room for each in balances]
    counted, new = _counted(spending, budgets, learner, arms, beliefs, spends)
    squares = [account.flight_squares for account in accounts]
    fits = _affordable(budgets, np.array(rooms), np.array(squares), counted, new)
    if fits.all():
        return arms, effects._replace(counted=counted)
    return arms.subset(fits), effects._replace(counted=counted, affordable=np.flatnonzero(fits))


def _counted(
    spending: Spending,
    budgets: Sequence[Budget],
    learner: Learner,
    arms: ArmSet,
    beliefs: Beliefs,
    spends: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Return what arms count, (K, B), and of which nothing is known, (K,).

    Where the estimate in a context is rash, an arm counts at what it spends in any context; where
    nothing is known, as the dearest arm on offer, and at half the burst at least.
    """
    variances = beliefs.variances(arms.features)
    if variances.shape[1] > 1:
        variances = variances[:, spending.indices]
    if arms.view.contextual:
        rash = (variances > _RASH_VARIANCE) | (learner.observed.n.min() <= learner.observed.dim)
        if rash.any():
            alone, unsure = _by_arms_alone(spending, learner, arms)
            spends, variances = np.where(rash, alone, spends), np.where(rash, unsure, variances)
    unknown = variances > _UNKNOWN_VARIANCE
    dearest = np.maximum(spends.max(axis=0), [budget.reserve / 2 for budget in budgets])
    return np.where(unknown, dearest, spends), np.asarray(unknown.any(axis=1))


def _affordable(
    budgets: Sequence[Budget],
    room: FloatArray,
    squares: FloatArray,
    counted: FloatArray,
    unknown: BoolArray,
) -> BoolArray:
    """Return for which arms, (K,), there is room.

    An arm may cost twice what it counts, or bring nothing; so may all in flight, whose squares are
    given, each by itself. If there is room for none, it is the cheapest; unless no arm that is
    known would save anything, and others are not known.
    """
    needed = counted + np.sqrt(np.square(counted) + squares)
    for index, budget in enumerate(budgets):
        needed[:, index] = budget.max_cost or needed[:, index]
    fits = np.asarray((needed <= room).all(axis=1))
    if fits.any():
        return fits
    saving = (counted <= [budget.bound for budget in budgets]).all(axis=1) & ~unknown
    if unknown.any() and not saving.any():
        return unknown
    over = ((counted - room) / [budget.worth for budget in budgets]).max(axis=1)
    over[unknown] = np.inf
    return np.asarray(over <= over.min())


@without_warnings
def _by_arms_alone(
    spending: Spending, learner: Learner, arms: ArmSet
) -> tuple[FloatArray, FloatArray]:
    """Return what arms spend in any context, (K, B), and variances in units of the noise.

    What contexts change is rash while there are fewer observations than features, and of an arm
    that is known by less than an observation.
    """
    size = 1 + arms.raw.shape[1]
    x = np.concatenate([np.ones((len(arms), 1)), arms.raw], axis=1)
    V = learner.observed.V[:, :size, :size]  # of the constant and the arm
    ridge = _RIDGE * np.einsum("gii->g", V) / size + np.finfo(float).tiny ** 0.5
    S = np.linalg.inv(V + ridge[:, None, None] * np.eye(size))
    theta = np.matvec(S, learner.observed.b[:, :size])
    spends = x @ theta.T @ spending.matrix + spending.shifts
    variances = np.vecdot(x @ S, x).T
    return spends, variances if len(S) == 1 else variances[:, spending.indices]
