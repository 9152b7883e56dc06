"""The theorems on effective Pareto regret and on fairness, and what they promise for a problem.

All theorems assume what the theorems assume: sub-Gaussian noise, features and parameters within
their norms, objectives that span the space, and arms that are gamma-good with radius alpha for a
gamma above :func:`goodness_needed`; and a run of MOGRO with the threshold of that theorem, so that
``initial_rounds`` is the T_0 of that threshold. ``feature_norm`` (x_max) and ``parameter_norm`` (L)
extend them as the appendix says; at 1 they are the theorems as stated.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mogro._validation import FloatArray, count, real
from mogro.exploration import BasisRoundRobin
from mogro.theory import _problem as check
from mogro.theory.conditions import eigenvalue_increment
from mogro.theory.goodness import Goodness
from mogro.theory.regularity import regularity
from mogro.theory.thresholds import (
    initial_rounds_bound,
    initial_rounds_round_robin,
    is_unreachable,
    threshold_random_weights,
    threshold_round_robin,
)

_SLACK = 0.1  # of the fairness index, times the largest conceivable mean reward


def regret_bound_random_weights(
    *,
    increment: float,
    noise: float,
    dim: int,
    objectives: int,
    rounds: int,
    initial_rounds: int,
    feature_norm: float = 1.0,
    parameter_norm: float = 1.0,
) -> float:
    """Bound the effective Pareto regret of MOGRO-RW after T rounds.

    Theorem EPR: (16 sigma / lambda_inc) sqrt(2 d T log(d T)) + 4 T_0 + 6 M + 20 d / lambda_inc.
    With x_max and L: (16 sigma x_max^2 / lambda_inc) sqrt(2 d T log(d T))
    + 2 x_max L (2 T_0 + 3 M + 10 d x_max^2 / lambda_inc).

    Parameters
    ----------
    increment
        lambda_inc > 0, :func:`eigenvalue_increment`.
    noise, dim, objectives, rounds
        sigma, d, M, T.
    initial_rounds
        T_0, or a bound on it, for the threshold :func:`threshold_random_weights`.
    feature_norm, parameter_norm
        x_max and L.

    Returns
    -------
    float
        The bound. If it :func:`is_vacuous`, the regret can never be larger anyway.

    Examples
    --------
    sigma = 0: 4 * 10 + 6 * 2 + 20 * 2 / 0.1.

    >>> regret_bound_random_weights(
    ...     increment=0.1, noise=0.0, dim=2, objectives=2, rounds=1000, initial_rounds=10)
    452.0

    sigma = 1 adds 160 sqrt(4000 log 2000) = 160 * 174.366.

    >>> round(regret_bound_random_weights(
    ...     increment=0.1, noise=1.0, dim=2, objectives=2, rounds=1000, initial_rounds=10))
    28351
    """
    sigma, d, T, xmax = check.read_run(noise, dim, rounds, feature_norm)
    slope = real(increment, "increment", above=0)
    start = check.read_rounds(initial_rounds, "initial_rounds", minimum=0)
    learning = 16 * sigma * xmax**2 / slope * math.sqrt(2 * d * T * math.log(d * T))
    mistakes = 2 * start + 3 * count(objectives, "objectives") + 10 * d * xmax**2 / slope
    return learning + 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * mistakes


def regret_bound_round_robin(
    *,
    diversity_left: float,
    noise: float,
    dim: int,
    objectives: int,
    rounds: int,
    initial_rounds: int,
    feature_norm: float = 1.0,
    parameter_norm: float = 1.0,
) -> float:
    """Bound the effective Pareto regret of MOGRO-RR after T rounds.

    Corollary EPR_rr: (8 sigma / lambda') sqrt(2 d T log(d T)) + 4 T_0 + 10 M. With x_max and L:
    (8 sigma x_max^2 / lambda') sqrt(2 d T log(d T)) + 2 x_max L (2 T_0 + 5 M).

    Parameters
    ----------
    diversity_left
        lambda' > 0, :func:`diversity_left`.
    noise, dim, objectives, rounds
        sigma, d, M, T.
    initial_rounds
        T_0, or a bound on it, for the threshold :func:`threshold_round_robin`.
    feature_norm, parameter_norm
        x_max and L.

    Examples
    --------
    sigma = 0: 4 * 10 + 10 * 2; sigma = 1 adds 32 sqrt(4000 log 2000) = 32 * 174.366.

    >>> regret_bound_round_robin(
    ...     diversity_left=0.25, noise=0.0, dim=2, objectives=2, rounds=1000, initial_rounds=10)
    60.0
    >>> round(regret_bound_round_robin(
    ...     diversity_left=0.25, noise=1.0, dim=2, objectives=2, rounds=1000, initial_rounds=10))
    5640
    """
    sigma, d, T, xmax = check.read_run(noise, dim, rounds, feature_norm)
    slope = real(diversity_left, "diversity_left", above=0)
    start = check.read_rounds(initial_rounds, "initial_rounds", minimum=0)
    learning = 8 * sigma * xmax**2 / slope * math.sqrt(2 * d * T * math.log(d * T))
    mistakes = 2 * start + 5 * count(objectives, "objectives")
    return learning + 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * mistakes


def is_vacuous(
    bound: float, *, rounds: int, feature_norm: float = 1.0, parameter_norm: float = 1.0
) -> bool:
    """Tell whether a regret bound is vacuous: no policy can do worse.

    A gap is at most 2 x_max L, so the regret never exceeds 2 x_max L T.

    Parameters
    ----------
    bound
        A regret bound, possibly infinite.
    rounds, feature_norm, parameter_norm
        T, x_max and L.

    Examples
    --------
    >>> is_vacuous(2500.0, rounds=1000), is_vacuous(1500.0, rounds=1000)
    (True, False)
    """
    _, _, T, xmax = check.read_run(0.0, 1, rounds, feature_norm)
    worst = 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * T
    return bound == math.inf or real(bound, "bound") >= worst


def fairness_bound(
    epsilon: float,
    *,
    psi: float,
    increment: float,
    noise: float,
    dim: int,
    objectives: int,
    rounds: int,
    initial_rounds: int,
    feature_norm: float = 1.0,
) -> float:
    """Bound the effective Pareto fairness index of MOGRO-RW from below.

    Theorem EPF: psi (T - T_eps) / T (1 - 3 M / T - d exp(-lambda_inc (T_eps - T_0) / 10)) with
    T_eps = max(floor(1152 sigma^2 d log(d T) / (lambda_inc^2 eps^2)) + T_0, 2 T_0). With x_max,
    sigma x_max^2 stands for sigma in T_eps and 10 x_max^2 for 10.

    Parameters
    ----------
    epsilon
        Slack of the fairness index, larger than 0.
    psi
        Regularity index psi of the weights at epsilon / 3 (with x_max: epsilon / (3 x_max)), see
        :func:`regularity`. Where that is an estimate only, so is this bound.
    increment
        lambda_inc > 0, :func:`eigenvalue_increment`.
    noise, dim, objectives, rounds, initial_rounds, feature_norm
        sigma, d, M, T, T_0, x_max.

    Returns
    -------
    float
        The bound, 0 where the theorem is vacuous. For MOGRO-RR there is no such theorem: it never
        aims between the objectives.

    Examples
    --------
    sigma = 0 and T_0 = 100: T_eps = 200, so 0.1 * 0.8 * (1 - 0.006 - 2 exp(-10)).

    >>> round(fairness_bound(0.3, psi=0.1, increment=1.0, noise=0.0, dim=2, objectives=2,
    ...                      rounds=1000, initial_rounds=100), 6)
    0.079513
    """
    sigma, d, T, xmax = check.read_run(noise, dim, rounds, feature_norm)
    slack = real(epsilon, "epsilon", above=0)
    slope = real(increment, "increment", above=0)
    start = check.read_rounds(initial_rounds, "initial_rounds", minimum=0)
    share = check.read_between(psi, "psi", 0, 1, closed="[]")
    ratio = sigma * xmax**2 / slope / slack
    wait = min(1152 * d * math.log(d * T) * ratio * ratio, 1e300)
    settled = max(math.floor(wait) + start, 2 * start)
    missed = 3 * count(objectives, "objectives") / T
    missed += d * math.exp(-slope * (settled - start) / (10 * xmax**2))
    return share * max(0.0, (T - settled) / T) * max(0.0, 1 - missed)


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
    norm, fixed, alpha = good.bound_norm, features.ndim == 2, good.guaranteed_alpha
    slack = _SLACK * (norm * good.largest_norm) if epsilon is None else epsilon
    if alpha is None:
        return Guarantees(None, True, True, None, None, slack)
    theorem = threshold_round_robin if weights is None else threshold_random_weights
    B = theorem(alpha, noise=noise, dim=dim, rounds=rounds, feature_norm=norm)
    start, start_bound = _fixed_start(features, B) if fixed else (_context_start(features, B), None)
    never = is_unreachable(B, dim=dim, rounds=rounds, feature_norm=good.feature_norm)
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
    sizes = {"feature_norm": norm, "parameter_norm": good.largest_norm}
    fairness = None
    if weights is None:
        regret = regret_bound_round_robin(diversity_left=increment, **run | sizes)
    else:
        regret = regret_bound_random_weights(increment=increment, **run | sizes)
        near = regularity(theta, weights, epsilon=slack / 3 / norm).psi
        if near is not None:
            fairness = fairness_bound(slack, psi=near.low, increment=increment, **run)
    vacuous = is_vacuous(regret, rounds=rounds, **sizes)
    return replace(guaranteed, regret=regret, vacuous=vacuous, fairness=fairness)


def _fixed_start(features: FloatArray, threshold: float) -> tuple[int | None, int | None]:
    """Return T_0 of a round robin over a basis, and its bound; None beyond 10^18 cycles."""
    basis = features[BasisRoundRobin(features).basis]
    try:
        bound = initial_rounds_bound(basis, threshold=threshold)
    except ValueError:
        return None, None
    return initial_rounds_round_robin(basis, threshold=threshold), bound


def _context_start(sample: FloatArray, threshold: float) -> int | None:
    """Estimate T_0 of uniform pulls by the mean growth of their Gram matrix."""
    flat = sample.reshape(-1, sample.shape[-1])
    growth = float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[0])
    taken = threshold / growth if growth > 0 else math.inf
    return math.ceil(taken) if taken < check.MOST_ROUNDS else None
