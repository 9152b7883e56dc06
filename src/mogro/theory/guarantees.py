"""What the theorems promise for a problem: threshold, initial rounds and bounds."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory import _problem as check
from mogro.theory.bounds import (
    fairness_bound,
    regret_bound_random_weights,
    regret_bound_round_robin,
)
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.measured_goodness import Goodness
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    initial_rounds_round_robin,
    threshold_random_weights,
    threshold_round_robin,
)

_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


@dataclass(frozen=True)
class Guarantees:
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
    epsilon
        Slack of the fairness index.
    phi
        Regularity index at alpha / 2, the lower end of its interval; None for round robin.
    increment
        lambda_inc for random weights, lambda' for round robin.
    regret
        Bound on the effective Pareto regret; None if no theorem applies.
    vacuous
        Whether that bound is vacuous, because no policy can do worse; true without a bound.
    fairness
        Lower bound on the fairness index; None for round robin, for weights with a concentration
        below 1, or if no theorem applies.
    """

    threshold: float | None
    hypothetical: bool
    unreachable: bool
    initial_rounds: int | None
    initial_rounds_bound: int | None
    epsilon: float
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    vacuous: bool = True
    fairness: float | None = None


def collect_guarantees(
    features: FloatArray,
    theta: FloatArray,
    good: Goodness,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
    epsilon: float | None,
) -> Guarantees:
    """Collect what the theory promises for arms (K, d), or for rounds of contexts (n, K, d).

    Features and parameters (M, d) are in coordinates of the span of the features. ``weights`` are
    Dirichlet parameters (M,), None: round robin. The corollaries on contexts are about random
    weights only, and state no bound on T_0.
    """
    objectives, dim = theta.shape
    norm, fixed, alpha = good.bound_norm, features.ndim == 2, good.alpha or good.perfect_alpha
    slack = _SLACK * (norm * good.largest_norm) if epsilon is None else epsilon
    if alpha is None:
        return Guarantees(None, True, True, None, None, slack)
    theorem = threshold_round_robin if weights is None else threshold_random_weights
    B = theorem(alpha, noise=noise, dim=dim, rounds=rounds, feature_norm=norm)
    # The trace of V after T rounds is at most T x_max^2.
    never = rounds * good.feature_norm**2 / dim < B
    start, start_bound = (_rounds_of_arms if fixed else _rounds_of_contexts)(features, B)
    guaranteed = Guarantees(B, good.alpha is None, never, start, start_bound, slack)
    if good.alpha is None or good.diversity_left is None or good.diversity_left <= 0:
        return guaranteed
    if not fixed if weights is None else good.separation == 0:
        return guaranteed
    phi, increment = None, good.diversity_left
    if weights is not None:
        phi = regularity(theta, weights, epsilon=good.alpha / 2).phi.low
        chance = 1.0 if good.probability is None else good.probability.low
        increment = eigenvalue_increment(
            good.diversity_left, phi=phi, objectives=objectives, goodness_probability=chance
        )
    guaranteed = replace(guaranteed, phi=phi, increment=increment)
    if increment < 1e-290 or start is None:  # no bound that a float could hold
        return replace(guaranteed, regret=math.inf, fairness=None if weights is None else 0.0)
    run: dict[str, Any] = {"noise": noise, "dim": dim, "objectives": objectives, "rounds": rounds}
    run |= {"initial_rounds": start, "feature_norm": norm}
    fairness, size = None, good.largest_norm
    if weights is None:
        regret = regret_bound_round_robin(diversity_left=increment, parameter_norm=size, **run)
    else:
        regret = regret_bound_random_weights(increment=increment, parameter_norm=size, **run)
        near = regularity(theta, weights, epsilon=slack / 3 / norm).psi
        if near is not None:
            fairness = fairness_bound(slack, psi=near.low, increment=increment, **run)
    vacuous = regret >= 2 * norm * size * rounds  # no gap is larger than 2 x_max L
    return replace(guaranteed, regret=regret, vacuous=vacuous, fairness=fairness)


def _rounds_of_arms(features: FloatArray, threshold: float) -> tuple[int | None, int | None]:
    """Return T_0 of a round robin over a basis, and its bound; None beyond 10^18 cycles."""
    basis = features[BasisRoundRobin(features).basis]
    try:
        bound = initial_rounds_bound(basis, threshold=threshold)
    except ValueError:
        return None, None
    return initial_rounds_round_robin(basis, threshold=threshold), bound


def _rounds_of_contexts(rounds: FloatArray, threshold: float) -> tuple[int | None, None]:
    """Estimate T_0 of uniform pulls by the mean growth of their Gram matrix."""
    arms = rounds.reshape(-1, rounds.shape[-1])
    growth = float(np.linalg.eigvalsh(arms.T @ arms / len(arms))[0])
    taken = threshold / growth if growth > 0 else math.inf
    return (math.ceil(taken) if taken < check.MOST_ROUNDS else None), None
