"""What the theory promises for one problem: threshold, initial rounds, bounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory import _checks as check
from mogro.theory._versions import Goodness, promised_radius
from mogro.theory.bounds import (
    fairness_bound,
    is_vacuous,
    regret_bound_random_weights,
    regret_bound_round_robin,
)
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    initial_rounds_round_robin,
    is_unreachable,
    threshold_random_weights,
    threshold_round_robin,
)

_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


@dataclass(frozen=True)
class Promises:
    """Threshold, initial rounds and bounds.

    Attributes
    ----------
    threshold
        B. If the arms are not good enough: what it would be if they were perfect, so that the true
        need is no smaller. None if the objectives do not span: then there is none.
    hypothetical
        Whether it is only that.
    unreachable
        Whether no exploration can reach it within the horizon, B > T x_max^2 / d.
    initial_rounds
        T_0 of a round robin over a basis found by pivoted QR, exactly; for contexts, of uniform
        pulls, estimated. None if there is none, or above 10^18.
    initial_rounds_bound
        The lemma's bound on it; None for contexts.
    phi
        Regularity index at alpha / 2, the lower end of its interval; None for round robin.
    increment
        lambda_inc for random weights, lambda' for round robin.
    regret
        Bound on the effective Pareto regret; None if no theorem applies.
    vacuous
        Whether that bound is vacuous, because no policy can do worse; true without a bound.
    epsilon
        Slack of the fairness index.
    fairness
        Lower bound on the fairness index; None for round robin or if no theorem applies.
    fairness_guaranteed
        Whether it is a guarantee; if not, its regularity index was searched for, not proved.
    """

    threshold: float | None
    hypothetical: bool
    unreachable: bool
    initial_rounds: int | None
    initial_rounds_bound: int | None
    phi: float | None
    increment: float | None
    regret: float | None
    vacuous: bool
    epsilon: float
    fairness: float | None
    fairness_guaranteed: bool


class Run(NamedTuple):
    """A problem that was judged, in coordinates of the span of its features, and its run.

    ``weights`` are Dirichlet parameters, None: round robin.
    """

    theta: FloatArray
    good: Goodness
    weights: FloatArray | None
    noise: float
    rounds: int
    epsilon: float | None

    @property
    def slack(self) -> float:
        """Slack of the fairness index."""
        largest = self.good.bound_norm * self.good.largest_norm
        return _SLACK * largest if self.epsilon is None else self.epsilon


def promises(features: FloatArray, run: Run) -> Promises:
    """Collect what the theory promises for arms (K, d)."""
    basis = features[BasisRoundRobin(features).basis]

    def start(threshold: float) -> tuple[int | None, int | None]:
        try:
            bound = initial_rounds_bound(basis, threshold=threshold)
        except ValueError:  # more than 10^18 cycles
            return None, None
        return initial_rounds_round_robin(basis, threshold=threshold), bound

    return _collect(run, start, covered=True)


def context_promises(sample: FloatArray, run: Run) -> Promises:
    """Estimate what the theory promises for contexts, from rounds (n, K, d).

    The corollaries are about random weights only. They state no bound on T_0: it is estimated by
    the mean growth of the Gram matrix of uniform pulls.
    """
    flat = sample.reshape(-1, sample.shape[-1])
    growth = float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[0])

    def start(threshold: float) -> tuple[int | None, int | None]:
        taken = threshold / growth if growth > 0 else math.inf
        return (math.ceil(taken) if taken < check.MOST_ROUNDS else None), None

    return _collect(run, start, covered=run.weights is not None)


_Start = Callable[[float], tuple[int | None, int | None]]


def _collect(run: Run, start: _Start, *, covered: bool) -> Promises:
    good, dim = run.good, run.theta.shape[1]
    alpha = promised_radius(good)
    if alpha is None:
        nothing = (None, True, True, None, None, None, None, None, True)
        return Promises(*nothing, run.slack, None, False)
    theorem = threshold_round_robin if run.weights is None else threshold_random_weights
    threshold = theorem(
        alpha, noise=run.noise, dim=dim, rounds=run.rounds, feature_norm=good.bound_norm
    )
    first, bound = start(threshold)
    bounds = _bounds(run, first) if covered else _Bounds()
    return Promises(
        threshold=threshold,
        hypothetical=good.alpha is None,
        unreachable=is_unreachable(
            threshold, dim=dim, rounds=run.rounds, feature_norm=good.feature_norm
        ),
        initial_rounds=first,
        initial_rounds_bound=bound,
        phi=bounds.phi,
        increment=bounds.increment,
        regret=bounds.regret,
        vacuous=bounds.regret is None
        or is_vacuous(
            bounds.regret,
            rounds=run.rounds,
            feature_norm=good.bound_norm,
            parameter_norm=good.largest_norm,
        ),
        epsilon=run.slack,
        fairness=bounds.fairness,
        fairness_guaranteed=bounds.fairness_guaranteed and good.probability is None,
    )


class _Bounds(NamedTuple):
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    fairness: float | None = None
    fairness_guaranteed: bool = False


def _bounds(run: Run, start: int | None) -> _Bounds:
    good = run.good
    if good.alpha is None or good.left is None or good.left <= 0:
        return _Bounds()
    if run.weights is None:
        return _round_robin_bounds(run, good.left, start)
    if good.separation == 0:
        return _Bounds()
    objectives, dim = run.theta.shape
    phi = regularity(run.theta, run.weights, epsilon=good.alpha / 2).phi.low
    chance = 1.0 if good.probability is None else good.probability.low
    increment = eigenvalue_increment(
        good.left, phi=phi, objectives=objectives, goodness_probability=chance
    )
    if increment < 1e-290 or start is None:  # no bound that a float could hold
        return _Bounds(phi=phi, increment=increment, regret=math.inf, fairness=0.0)
    regret = regret_bound_random_weights(
        increment=increment,
        noise=run.noise,
        dim=dim,
        objectives=objectives,
        rounds=run.rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
        parameter_norm=good.largest_norm,
    )
    near = regularity(run.theta, run.weights, epsilon=run.slack / 3 / good.bound_norm)
    fairness = fairness_bound(
        run.slack,
        psi=near.psi.low,
        increment=increment,
        noise=run.noise,
        dim=dim,
        objectives=objectives,
        rounds=run.rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
    )
    return _Bounds(phi, increment, regret, fairness.index, near.guaranteed)


def _round_robin_bounds(run: Run, left: float, start: int | None) -> _Bounds:
    if start is None:
        return _Bounds(increment=left, regret=math.inf)
    objectives, dim = run.theta.shape
    regret = regret_bound_round_robin(
        left=left,
        noise=run.noise,
        dim=dim,
        objectives=objectives,
        rounds=run.rounds,
        initial_rounds=start,
        feature_norm=run.good.bound_norm,
        parameter_norm=run.good.largest_norm,
    )
    return _Bounds(increment=left, regret=regret)
