"""What the theorems promise for a problem: threshold, initial rounds and bounds."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin
from mogro.theory._problem import MOST_ROUNDS
from mogro.theory.bounds import (
    fairness_bound,
    regret_bound_random_weights,
    regret_bound_round_robin,
)
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.goodness import Goodness
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    threshold_random_weights,
    threshold_round_robin,
)

_DEFAULT_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


@dataclass(frozen=True)
class Guarantees:
    """Threshold, initial rounds and bounds.

    Attributes
    ----------
    epsilon
        Slack of the fairness index.
    threshold
        B. If the arms are not good enough: what it would be if they were perfect, so that the true
        need is no smaller. None if the objectives do not span: then there is none.
    hypothetical
        Whether it is only that.
    unreachable
        Whether no exploration can reach it within the horizon, B > T x_max^2 / d.
    initial_rounds
        The lemma's bound on T_0, for a round robin over a basis found by pivoted QR. For contexts,
        an estimate for uniform pulls. None if there is no threshold, or if it takes more than 10^18
        cycles.
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

    epsilon: float
    threshold: float | None = None
    hypothetical: bool = True
    unreachable: bool = True
    initial_rounds: int | None = None
    phi: float | None = None
    increment: float | None = None
    regret: float | None = None
    vacuous: bool = True
    fairness: float | None = None


def collect_guarantees(
    features: FloatArray,
    theta: FloatArray,
    goodness: Goodness,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
    epsilon: float | None,
) -> Guarantees:
    """Collect what the theory promises for arms (K, d), or rounds (n, K, d), and parameters (M, d).

    ``weights`` are Dirichlet parameters (M,), None: round robin. The corollary on contexts is about
    random weights only, and states no bound on T_0.
    """
    (objectives, dim), fixed_arms = theta.shape, features.ndim == 2
    norm, size = goodness.bound_norm, goodness.largest_norm
    alpha = goodness.alpha or goodness.perfect_alpha
    guarantees = Guarantees(_DEFAULT_SLACK * norm * size if epsilon is None else epsilon)
    if alpha is None:
        return guarantees
    run: dict[str, Any] = {"noise": noise, "dim": dim, "rounds": rounds, "feature_norm": norm}
    B = (threshold_round_robin if weights is None else threshold_random_weights)(alpha, **run)
    initial_rounds = (_initial_rounds if fixed_arms else _uniform_rounds)(features, B)
    guarantees = replace(
        guarantees,
        threshold=B,
        hypothetical=goodness.alpha is None,
        # The trace of V after T rounds is at most T x_max^2.
        unreachable=rounds * goodness.feature_norm**2 / dim < B,
        initial_rounds=initial_rounds,
    )
    diversity = goodness.diversity_left
    covered = fixed_arms if weights is None else goodness.separation != 0
    if diversity is None or diversity <= 0 or not covered:
        return guarantees
    phi, increment = None, diversity
    if weights is not None:
        phi = regularity(theta, weights, epsilon=alpha / 2).phi.low
        probability = 1.0 if goodness.probability is None else goodness.probability.low
        increment = eigenvalue_increment(
            diversity, phi=phi, objectives=objectives, goodness_probability=probability
        )
    guarantees = replace(guarantees, phi=phi, increment=increment)
    if increment < 1e-290 or initial_rounds is None:  # no bound that a float could hold
        return replace(guarantees, regret=math.inf, fairness=None if weights is None else 0.0)
    run |= {"objectives": objectives, "initial_rounds": initial_rounds}
    fairness = None
    if weights is None:
        regret = regret_bound_round_robin(diversity_left=diversity, parameter_norm=size, **run)
    else:
        regret = regret_bound_random_weights(increment=increment, parameter_norm=size, **run)
        slack = guarantees.epsilon
        psi = regularity(theta, weights, epsilon=slack / 3 / norm).psi
        if psi is not None:
            fairness = fairness_bound(slack, psi=psi.low, increment=increment, **run)
    vacuous = regret >= 2 * norm * size * rounds  # no gap is larger than 2 x_max L
    return replace(guarantees, regret=regret, vacuous=vacuous, fairness=fairness)


def _initial_rounds(features: FloatArray, threshold: float) -> int | None:
    """Bound T_0 of a round robin over a basis; None beyond 10^18 cycles."""
    try:
        basis = features[BasisRoundRobin(features).basis]
        return initial_rounds_bound(basis, threshold=threshold)
    except ValueError:
        return None


def _uniform_rounds(rounds: FloatArray, threshold: float) -> int | None:
    """Estimate T_0 of uniform pulls by the mean growth of V in rounds (n, K, d)."""
    arms = rounds.reshape(-1, rounds.shape[-1])
    growth = float(np.linalg.eigvalsh(arms.T @ arms / len(arms))[0])
    needed = threshold / growth if growth > 0 else math.inf
    return math.ceil(needed) if needed < MOST_ROUNDS else None
