"""What budgets mean for a decision: prices, and the arms that there is room for."""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray
from mogro.agent.config import AgentConfig
from mogro.agent.events import Priced
from mogro.agent.features.arms import ArmSet
from mogro.agent.state.accounts import Account, Offer
from mogro.beliefs import Beliefs

_UNSURE = math.log(1 / 0.05)  # of what max_cost promises with 95 %


class Terms(NamedTuple):
    """What budgets mean for a decision.

    Attributes
    ----------
    prices
        Added to the weights, (M,), as the learner sees objectives.
    offers
        Of each budget: its price, the room that it has, and whether its account is full.
    estimates
        Of the arms that there is room for, (K, M).
    spends
        What they are expected to spend, K numbers for each budget.
    least
        The least that any arm is expected to spend, one number for each budget.
    """

    prices: FloatArray
    offers: list[Offer]
    estimates: FloatArray
    spends: list[list[float]]
    least: list[float]

    def priced(
        self, place: int, weights: FloatArray | None, config: AgentConfig, *, steered: bool
    ) -> Priced:
        """Return what is written with the arm at a place, chosen for weights.

        A decision that no price could steer (a uniform draw, one that explores) says so.
        """
        prices = tuple([offer.price for offer in self.offers])
        if not steered:
            return Priced(prices, tuple(self.least))
        could = []
        for budget, (offer, column) in enumerate(zip(self.offers, self.spends, strict=True)):
            if offer.full:
                free = self.prices + (1 / len(self.prices) if weights is None else weights)
                free[config.spending.places[budget]] -= config.spending.signs[budget] * offer.price
                could.append(column[int(self.estimates.dot(free).argmax())] > column[place])
            else:
                could.append(min(column) < column[place])
        return Priced(prices, tuple(self.least), tuple(could))


def make_terms(
    config: AgentConfig,
    accounts: Sequence[Account],
    arms: ArmSet,
    beliefs: Beliefs,
    time: float | None,
) -> tuple[ArmSet, Terms]:
    """Return the arms that there is room for, and what the budgets mean for them.

    If there is no room for any, it is the one that overdraws least, in decisions' worth.
    """
    spending, signs = config.spending, config.spending.signs
    estimates = arms.features.dot(beliefs.theta.T)
    spends: list[list[float]] = (estimates.dot(spending.matrix) + spending.shifts).T.tolist()
    prices, offers, least, scarce = [0.0] * len(config.units), [], [], False
    for budget, account in enumerate(accounts):
        column, offer = spends[budget], account.offer(time)
        low = min(column)
        if low < account.lowest:
            column = spends[budget] = account.plausible(column)
            low = min(column)
        prices[spending.places[budget]] += signs[budget] * offer[0]
        offers.append(offer)
        least.append(low)
        scarce = scarce or max(column) + account.budget.caution > offer[1]
    if scarce:
        fits = _fitting(accounts, spends, offers, _Errors(arms, beliefs, config))
        if not fits.all():
            arms, estimates = arms.only(fits), estimates[fits]
            spends = [list(compress(column, fits.tolist())) for column in spends]
    return arms, Terms(np.array(prices), offers, estimates, spends, least)


def _fitting(
    accounts: Sequence[Account], spends: list[list[float]], offers: list[Offer], errors: "_Errors"
) -> BoolArray:
    """Tell which arms there is room for, (K,); if for none, which overdraw least.

    An arm counts at its estimate and a standard error. If there is room for none, errors count in
    full, so that nothing unknown passes for the cheapest; but every other time they do not count,
    or an arm that is cheap, and little known, would never be found.
    """
    overdrafts = []
    counts = accounts[0].decisions % 2
    for careful in (False, True):
        over: FloatArray = np.full(len(spends[0]), -math.inf)
        for budget, (account, offer) in enumerate(zip(accounts, offers, strict=True)):
            spend, error = np.array(spends[budget]), errors.of(budget)
            if careful:
                spend = spend + counts * error
            elif account.budget.max_cost is None:
                spend = spend + np.minimum(error, account.budget.caution)
            else:
                spend = _bounded(account, spend + error)
            over = np.maximum(over, (spend - offer.room) / account.budget.worth)
        overdrafts.append(over)
    usual, careful_one = overdrafts
    return np.asarray(usual <= 0 if usual.min() <= 0 else careful_one <= careful_one.min())


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


class _Errors:
    """Standard errors of what is expected of arms, computed if somebody asks."""

    def __init__(self, arms: ArmSet, beliefs: Beliefs, config: AgentConfig) -> None:
        self._arms, self._beliefs, self._config = arms, beliefs, config

    @cached_property
    def _all(self) -> FloatArray:
        """(K, M), as the learner sees objectives."""
        variances = self._beliefs.variances(self._arms.features)
        return np.asarray(np.sqrt(variances * self._beliefs.noise))

    def of(self, budget: int) -> FloatArray:
        """Return those of what a budget bounds, (K,), in the user's units."""
        m = self._config.spending.places[budget]
        return np.asarray(self._all[:, m] * abs(self._config.units.slopes[m]))
