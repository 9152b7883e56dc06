"""What budgets mean for a decision: prices, and the arms that there is room for."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray, IntArray, without_warnings
from mogro.agent.config import AgentConfig
from mogro.agent.events import Priced
from mogro.agent.features.arms import ArmSet
from mogro.agent.state.accounts import Account, Quote
from mogro.agent.state.learner import Learner
from mogro.beliefs import Beliefs

_RIDGE = 1e-6  # of what arms alone explain, in mean squares of their features


class Terms(NamedTuple):
    """What budgets mean for a decision.

    Attributes
    ----------
    prices
        Added to the weights, (M,), as the learner sees objectives.
    quotes
        Of each budget: its price, the room that it has, and whether its account is full.
    estimates, spends
        Of all arms, (K, M), and what they are expected to spend, (K, B).
    held
        What is held back for them beside what the estimates say, (K, B).
    places
        Of all arms, those that there is room for; None for all.
    """

    prices: FloatArray
    quotes: list[Quote]
    estimates: FloatArray
    spends: FloatArray
    held: FloatArray
    places: IntArray | None

    def priced(
        self, place: int, weights: FloatArray | None, config: AgentConfig, *, steered: bool
    ) -> Priced:
        """Return what is written with the arm at a place, chosen for weights.

        A decision that no price could steer (a uniform draw, one that explores) says so.
        """
        spends, place = self.spends, place if self.places is None else self.places.item(place)
        prices = tuple([quote.price for quote in self.quotes])
        known = prices, tuple(spends.min(axis=0).tolist()), tuple(self.held[place].tolist())
        if not steered:
            return Priced(*known)
        weights = np.full(len(self.prices), 1 / len(self.prices)) if weights is None else weights
        wanted = spends[self.estimates.dot(weights + self.prices).argmax()].tolist()
        free = self.prices.copy()  # without those of all full accounts, which may hold each other
        places, signs = config.spending.places, config.spending.signs
        for m, sign, quote in zip(places, signs, self.quotes, strict=True):
            free[m] -= sign * quote.price * quote.full
        most = spends[self.estimates.dot(weights + free).argmax()].tolist()
        could = [
            much > wants if quote.full else low < wants
            for quote, low, wants, much in zip(self.quotes, known[1], wanted, most, strict=True)
        ]
        return Priced(*known, tuple(could))


def make_terms(
    config: AgentConfig,
    accounts: Sequence[Account],
    learner: Learner,
    arms: ArmSet,
    beliefs: Beliefs,
    time: float | None,
) -> tuple[ArmSet, Terms]:
    """Return the arms that there is room for, and what the budgets mean for them.

    An arm counts at what it is expected to spend, its error, and what spends stray, or at the most
    that it can cost. If there is room for none, it is the cheapest in any context; if that one is
    too dear on average, one that may be cheaper.
    """
    spending, observed = config.spending, learner.observed
    estimates = arms.features.dot(beliefs.theta.T)
    expected: FloatArray = estimates.dot(spending.matrix) + spending.shifts
    spends, variances, alone = expected, beliefs.variances(arms.features), None
    if variances.shape[1] > 1:
        variances = variances[:, spending.columns]
    if arms.view.contextual:
        rash = (variances > 1) | (observed.n.min() <= observed.dim)
        if rash.any():
            alone = _by_arms_alone(config, learner, arms)
            spends, variances = (
                np.where(rash, alone[0], spends),
                np.where(rash, alone[1], variances),
            )
    errors = _errors(config, accounts, beliefs, spends, variances)
    quotes = [account.quote(time) for account in accounts]
    prices, room = [0.0] * len(config.units), [quote.room for quote in quotes]
    for m, sign, quote in zip(spending.places, spending.signs, quotes, strict=True):
        prices[m] += sign * quote.price
    usual = spends + errors
    known = spends / (1 + variances)
    fits = np.ones(len(arms), dtype=np.bool_)
    for budget, account in enumerate(accounts):
        fits &= account.needed(usual[:, budget], known[:, budget]) <= room[budget]
    if not fits.any():
        least, doubt = spends, errors
        if arms.view.contextual:
            least, unsure = alone or _by_arms_alone(config, learner, arms)
            doubt = _errors(config, accounts, beliefs, least, unsure)
        signed = doubt if all(account.feasible for account in accounts) else -doubt
        over = ((least + signed - room) / spending.worth).max(axis=1)
        fits = over <= over.min()
    places = None if fits.all() else np.flatnonzero(fits)
    terms = Terms(np.array(prices), quotes, estimates, spends, usual - expected, places)
    return arms if places is None else arms.only(fits), terms


def _errors(
    config: AgentConfig,
    accounts: Sequence[Account],
    beliefs: Beliefs,
    spends: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    """Return what is held back for arms that are little known, (K, B).

    It is at most half the burst, and nothing for those known up to a decision's worth. Variances
    are in units of the noise. That is of all arms, of which dear ones have more: so it counts up to
    what spends strayed so far, as a part of what was expected.
    """
    spending, spread = config.spending, np.array([account.spread for account in accounts])
    strays, deviations = spread * np.maximum(np.abs(spends), spending.worth), np.sqrt(variances)
    errors: FloatArray = deviations * strays - spending.worth
    if errors.max() > 0:  # else they are 0, whatever the noise
        pooled = np.sqrt(beliefs.noise[spending.columns]) * spending.scales
        errors = deviations * np.minimum(pooled, strays) - spending.worth
    return np.asarray(np.minimum(np.maximum(errors, 0.0), spending.most_held))


@without_warnings
def _by_arms_alone(
    config: AgentConfig, learner: Learner, arms: ArmSet
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
    spends = x @ theta.T @ config.spending.matrix + config.spending.shifts
    variances = np.vecdot(x @ S, x).T
    return spends, variances if len(S) == 1 else variances[:, config.spending.columns]
