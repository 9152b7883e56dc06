"""What arms are expected to spend, and what they count until their values have come."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, without_warnings
from mogro.agent.budget import Spending
from mogro.agent.features.arms import ArmSet
from mogro.agent.features.feature_map import with_constant
from mogro.agent.state.accounts import AccountBalance
from mogro.beliefs import Beliefs
from mogro.posterior import Posterior

_UNTRIED_VARIANCE = 2.0  # in units of the noise, above which nothing is known: half an observation
_RIDGE = 1e-6  # of the weight of each feature, where arms alone explain what they spend
_TINY = float(np.finfo(np.float64).tiny) ** 0.5


class Counts(NamedTuple):
    """What arms are expected to spend, (K, B) all.

    Attributes
    ----------
    spends
        By the estimates.
    usual, effects
        On average over contexts, and what estimates in this one add to that.
    counted
        What they count until their values have come.
    unsure, unknown
        Variances of averages over contexts, in units of the noise, and whether nothing is known.
    """

    spends: FloatArray
    usual: FloatArray
    effects: FloatArray
    counted: FloatArray
    unsure: FloatArray
    unknown: BoolArray


class ExpectedSpends:
    """What budgets expect arms to spend, in a context perhaps.

    Parameters
    ----------
    spending, balances
        How values become spends, and how the account of each budget stands.
    arms, beliefs
        All arms, and what is believed of them.
    observed
        What was learned, in all contexts.

    Attributes
    ----------
    informed
        Whether there are more observations than features.
    beliefs
        What is relied on: until then, a context counts as far as effects of contexts came true.
    """

    def __init__(
        self,
        spending: Spending,
        balances: Sequence[AccountBalance],
        arms: ArmSet,
        beliefs: Beliefs,
        observed: Posterior,
    ) -> None:
        self.spending, self.balances, self.arms = spending, balances, arms
        self.posterior_beliefs, self._observed = beliefs, observed
        self.informed = min(observed.n.tolist()) > observed.dim
        is_doubtful = arms.view.contextual and not self.informed
        self.beliefs = self._doubted() if is_doubtful else beliefs
        self._last: tuple[int, Counts] | None = None  # the last arm that was counted, by its row

    @cached_property
    def of_all(self) -> Counts:
        """What all arms count."""
        return self._count(self.arms.features, self.arms.raw_features)

    def of(self, row: int) -> Counts:
        """Return what one of all arms counts, with K = 1."""
        if self._last is None or self._last[0] != row:
            arms = self.arms
            counts = self._count(arms.arm_features(row)[0][None], arms.raw_arm(row)[None])
            self._last = row, counts
        return self._last[1]

    def are_within(self, row: int, limits: Sequence[float]) -> bool:
        """Tell whether no budget expects more of one of all arms than a limit above 0, or -inf.

        Neither with what the context adds nor without.
        """
        arms, are_within = self.arms, self.spending.are_within
        if not are_within(self.beliefs.theta.dot(arms.arm_features(row)[0]), limits):
            return False
        if not arms.view.contextual:
            return True
        x = with_constant(arms.raw_arm(row))
        return are_within(self._observed.theta[:, : len(x)].dot(x), limits)

    @property
    def most(self) -> FloatArray:
        """The most that budgets expect of all arms, with what the context adds and without."""
        if not self.arms.view.contextual:
            return self.of_all.spends
        x = with_constant(self.arms.raw_features)
        usual = x.dot(self._observed.theta[:, : x.shape[1]].T)
        return np.maximum(self.of_all.spends, self.spending.all_expected(usual))

    def _count(self, features: FloatArray, raw_features: FloatArray) -> Counts:
        """Return what arms count, as a policy sees them and as callers gave them.

        What looks cheaper in this context than on average is mostly underestimated: it counts as
        cheaper as far as that came true before, and not at all if the arm was observed less often
        than contexts have features. Where nothing is known, half the burst counts.
        """
        view, spending = self.arms.view, self.spending
        spends = usual = counted = effects = spending.all_expected(
            features.dot(self.beliefs.theta.T)
        )
        unsure = spending.by_budget(self._variances_on_average(with_constant(raw_features)))
        if view.contextual:
            usual = spending.all_expected(features.dot(self._on_average[0].T))
            effects = spending.all_expected(features.dot(self.posterior_beliefs.theta.T)) - usual
            doubts = np.array(
                [1 - balance.trust if self.informed else 0.0 for balance in self.balances]
            )
            doubts = np.where(unsure * (1 + len(view.context)) > 1, 1.0, doubts)
            counted = spends + doubts * np.maximum(usual - spends, 0.0)
        unknown = unsure > _UNTRIED_VARIANCE
        if unknown.any():
            counted = np.where(unknown, [balance.unknown for balance in self.balances], counted)
        return Counts(spends, usual, effects, counted, unsure, unknown)

    @without_warnings
    def _variances_on_average(self, x: FloatArray) -> FloatArray:
        """Return variances of estimates on average over contexts, (K, G), of arms (1, x)."""
        return np.asarray(np.vecdot(x @ self._on_average[1], x).T)

    def _doubted(self) -> Beliefs:
        """Return beliefs that follow the context as far as effects of contexts came true before."""
        beliefs = self.posterior_beliefs
        theta, usual = beliefs.theta.copy(), self._on_average[0]
        trusts: dict[int, float] = {}
        for index, balance in zip(self.spending.indices, self.balances, strict=True):
            trusts[index] = min(balance.trust, trusts.get(index, 1.0))
        for index, trust in trusts.items():
            theta[index] = usual[index] + trust * (theta[index] - usual[index])
        return Beliefs(theta, beliefs.observed, beliefs.expected)

    @cached_property
    @without_warnings
    def _on_average(self) -> tuple[FloatArray, FloatArray]:
        """Estimates on average over contexts, (M, a), for what a policy sees: by the arm alone.

        And S of the constant and the arm then, (G, 1 + A, 1 + A), in units of the noise. There is
        next to no prior: what was never observed has next to infinite variances.
        """
        observed, size = self._observed, 1 + self.arms.view.feature_map.arm_dim
        V, b = observed.first_sums(size)
        diagonal = V.reshape(len(V), -1)[:, :: size + 1]
        ridge = _RIDGE * diagonal + _TINY
        diagonal += ridge
        means = observed.prior.means(observed.objectives, observed.dim)[:, :size]
        S = np.linalg.inv(V)
        theta = self.posterior_beliefs.theta.copy()  # columns of effects of arms stay
        theta[:, :size] = self.arms.view.in_any_context(np.matvec(S, b + ridge * means))
        return theta, S
