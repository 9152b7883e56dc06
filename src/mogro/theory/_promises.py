"""What the theory promises for one problem: threshold, initial rounds, bounds."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory._versions import Goodness, radius_of
from mogro.theory.bounds import (
    regret_bound_random_weights,
    regret_bound_round_robin,
    is_vacuous,
)
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.fairness import fairness_bound
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
    endless
        Whether no exploration can reach it within the horizon, B > T x_max^2 / d.
    initial_rounds
        T_0 of a round robin over a basis found by pivoted QR, exactly.
    initial_rounds_bound
        The lemma's bound on it.
    phi
        Regularity index at alpha / 2, the lower end of its interval; None for round robin.
    increment
        lambda_inc for random weights, lambda' for round robin.
    regret
        Bound on the effective Pareto regret; None if no theorem applies.
    vacuous
        Whether that bound says nothing, because no policy can do worse; true without a bound.
    epsilon
        Slack of the fairness index.
    fairness
        Lower bound on the fairness index; None for round robin or if no theorem applies.
    fairness_guaranteed
        Whether it is a guarantee; if not, its regularity index was searched for, not proved.
    """

    threshold: float | None
    hypothetical: bool
    endless: bool
    initial_rounds: int | None
    initial_rounds_bound: int | None
    phi: float | None
    increment: float | None
    regret: float | None
    vacuous: bool
    epsilon: float
    fairness: float | None
    fairness_guaranteed: bool


def promises(
    features: FloatArray,
    theta: FloatArray,
    good: Goodness,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
) -> Promises:
    """Collect what the theory promises; ``weights`` are Dirichlet parameters, None: round robin."""
    dim, epsilon = features.shape[1], _SLACK * good.bound_norm * good.largest_norm
    alpha = radius_of(good)
    if alpha is None:
        return Promises(None, True, True, None, None, None, None, None, True, epsilon, None, False)
    of_theorem = threshold_round_robin if weights is None else threshold_random_weights
    threshold = of_theorem(alpha, noise=noise, dim=dim, rounds=rounds, feature_norm=good.bound_norm)
    basis = features[BasisRoundRobin(features).basis]
    start = initial_rounds_round_robin(basis, threshold=threshold)
    bounds = _bounds(theta, good, start, epsilon, weights=weights, noise=noise, rounds=rounds)
    return Promises(
        threshold=threshold,
        hypothetical=good.alpha is None,
        endless=is_unreachable(threshold, dim=dim, rounds=rounds, feature_norm=good.feature_norm),
        initial_rounds=start,
        initial_rounds_bound=initial_rounds_bound(basis, threshold=threshold),
        phi=bounds.phi,
        increment=bounds.increment,
        regret=bounds.regret,
        vacuous=bounds.regret is None
        or is_vacuous(
            bounds.regret,
            rounds=rounds,
            feature_norm=good.bound_norm,
            parameter_norm=good.largest_norm,
        ),
        epsilon=epsilon,
        fairness=bounds.fairness,
        fairness_guaranteed=bounds.fairness_guaranteed,
    )


class _Bounds(NamedTuple):
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    fairness: float | None = None
    fairness_guaranteed: bool = False


def _bounds(
    theta: FloatArray,
    good: Goodness,
    start: int,
    epsilon: float,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
) -> _Bounds:
    if good.alpha is None or good.left is None or good.left <= 0:
        return _Bounds()
    if weights is not None and good.separation == 0:
        return _Bounds()
    objectives, dim = theta.shape
    if weights is None:
        regret = regret_bound_round_robin(
            left=good.left,
            noise=noise,
            dim=dim,
            objectives=objectives,
            rounds=rounds,
            initial_rounds=start,
            feature_norm=good.bound_norm,
            parameter_norm=good.largest_norm,
        )
        return _Bounds(increment=good.left, regret=regret)
    phi = regularity(theta, weights, epsilon=good.alpha / 2).phi.low
    increment = eigenvalue_increment(good.left, phi=phi, objectives=objectives)
    if increment < 1e-290:  # no bound that a float could hold
        return _Bounds(phi=phi, increment=increment, regret=math.inf, fairness=0.0)
    regret = regret_bound_random_weights(
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
        parameter_norm=good.largest_norm,
    )
    near = regularity(theta, weights, epsilon=epsilon / 3 / good.bound_norm)
    fairness = fairness_bound(
        epsilon,
        psi=near.psi.low,
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=start,
        feature_norm=good.bound_norm,
    )
    return _Bounds(phi, increment, regret, fairness.index, near.guaranteed)
