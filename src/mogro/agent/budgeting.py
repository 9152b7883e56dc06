"""What budgets mean for a decision: prices, and the arms that there is room for."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.agent.events import Priced
from mogro.agent.features.arms import ArmSet
from mogro.agent.objective import Units
from mogro.agent.state.accounts import Account
from mogro.beliefs import Beliefs

_UNSURE = math.log(1 / 0.05)  # of what max_cost promises with 95 %


class Terms(NamedTuple):
    """What budgets mean for a decision.

    Attributes
    ----------
    prices
        Added to the weights, (M,), as the learner sees objectives.
    by_budget
        For each budget: its objective, its price of a unit, and what it adds to the weight.
    estimates
        Of the arms that there is room for, (K, M).
    spends
        What they are expected to spend of each budget, (K, B).
    least
        The least that any arm is expected to spend, (B,).
    """

    prices: FloatArray
    by_budget: tuple[tuple[int, float, float], ...]
    estimates: FloatArray
    spends: FloatArray
    least: FloatArray

    def priced(self, place: int, weights: FloatArray | None, *, steered: bool) -> Priced:
        """Return what is written with the arm at a place, chosen for weights.

        A decision that no price could steer (a uniform draw, one that explores) says so.
        """
        prices, least = tuple(price for _, price, _ in self.by_budget), self.least.tolist()
        if not steered:
            no = (False,) * len(prices)
            return Priced(prices, tuple(least), no, no, steered)
        spent = self.spends[place].tolist()
        count = len(self.prices)
        usual = self.prices + (1 / count if weights is None else weights)
        dearer = []
        for budget, (m, _, added) in enumerate(self.by_budget):
            free = usual.copy()
            free[m] -= added
            other = int((self.estimates @ free).argmax())
            dearer.append(bool(self.spends.item(other, budget) > spent[budget]))
        lowest = self.spends.min(axis=0).tolist()
        cheaper = tuple(low < here for low, here in zip(lowest, spent, strict=True))
        return Priced(prices, tuple(least), cheaper, tuple(dearer), steered)


def make_terms(
    accounts: Sequence[Account], arms: ArmSet, beliefs: Beliefs, units: Units, time: float | None
) -> tuple[ArmSet, Terms]:
    """Return the arms that there is room for, and what the budgets mean for them.

    If there is no room for any, it is the one that overdraws least, in decisions' worth.
    """
    estimates = beliefs.estimates(arms.features)
    prices, by_budget = np.zeros(len(units)), []
    columns = []
    for account in accounts:
        budget, m = account.budget, units.index[account.budget.objective]
        slope = budget.sign * units.slopes[m]
        price = account.price
        added = -price if slope > 0 else price  # the learner maximises
        prices[m] += added
        by_budget.append((m, price, added))
        columns.append(account.plausible(estimates[:, m] * slope + budget.sign * units.offsets[m]))
    spends = np.stack(columns, axis=1)
    least = spends.min(axis=0)
    caution = _Caution(arms, beliefs, units)
    over = _overdrawn(accounts, spends, caution, time)
    if over is not None:
        fits = over <= 0
        if not fits.any():
            over = _overdrawn(accounts, spends, caution, time, most=math.inf)
            assert over is not None
            fits = over <= over.min()
        if not fits.all():
            arms, estimates, spends = arms.only(fits), estimates[fits], spends[fits]
    return arms, Terms(prices, tuple(by_budget), estimates, spends, least)


def _overdrawn(
    accounts: Sequence[Account],
    spends: FloatArray,
    caution: "_Caution",
    time: float | None,
    *,
    most: float = 0.5,
) -> FloatArray | None:
    """Return by how much arms overdraw, (K,), in decisions' worth; None if none may.

    Without a known maximum, an arm counts at its estimate and a standard error; the error for at
    most so many bursts.
    """
    worst: FloatArray | None = None
    for place, account in enumerate(accounts):
        budget, spend, room = account.budget, spends[:, place], account.room(time)
        if budget.max_cost is None or most == math.inf:
            limit = most * budget.reserve
            if spend.max() + limit <= room:
                continue
            spend = spend + np.minimum(caution.of(account), limit)
        else:
            spend = _bounded(account, spend + caution.of(account))
        over = (spend - room) / budget.worth
        worst = over if worst is None else np.maximum(worst, over)
    return worst


def _bounded(account: Account, spend: FloatArray) -> FloatArray:
    """Return what arms spend beside what is in flight at most, with 95 %: Bernstein's inequality.

    A cost from 0 to C has a variance of at most C times its mean.
    """
    most = account.budget.max_cost
    assert most is not None
    together = np.clip(spend, 0.0, most) + max(account.in_flight, 0.0)
    more = np.sqrt(2 * _UNSURE * most * together) + _UNSURE * most / 3
    surely = most * (account.pending + 1)
    return np.asarray(np.minimum(together + more, surely) - account.in_flight)


class _Caution:
    """Standard errors of what is expected of arms, computed if somebody asks."""

    def __init__(self, arms: ArmSet, beliefs: Beliefs, units: Units) -> None:
        self._arms, self._beliefs, self._units = arms, beliefs, units

    @cached_property
    def _errors(self) -> FloatArray:
        """(K, M), as the learner sees objectives."""
        variances = self._beliefs.variances(self._arms.features)
        return np.asarray(np.sqrt(variances * self._beliefs.noise))

    def of(self, account: Account) -> FloatArray:
        """Return them for an account, (K,), in the user's units."""
        m = self._units.index[account.budget.objective]
        return np.asarray(self._errors[:, m] * abs(self._units.slopes[m]))
