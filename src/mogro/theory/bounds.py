"""The theorems on effective Pareto regret and on fairness.

All theorems assume what the theorems assume: sub-Gaussian noise, features and parameters within
their norms, objectives that span the space, and arms that are gamma-good with radius alpha for a
gamma above :func:`goodness_needed`; and a run of MOGRO with the threshold of that theorem, so that
``initial_rounds`` is the T_0 of that threshold. ``feature_norm`` (x_max) and ``parameter_norm`` (L)
extend them as the appendix says; at 1 they are the theorems as stated.
"""

import math

from mogro._validation import between, count, real
from mogro.theory import _problem as check


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
        The bound. No gap is larger than 2 x_max L: a bound of 2 x_max L T or more says nothing.

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
    share = between(psi, "psi", 0, 1)
    ratio = sigma * xmax**2 / slope / slack
    delay = min(1152 * d * math.log(d * T) * ratio * ratio, 1e300)
    learned_from = max(math.floor(delay) + start, 2 * start)
    missing = 3 * count(objectives, "objectives") / T
    missing += d * math.exp(-slope * (learned_from - start) / (10 * xmax**2))
    return share * max(0.0, (T - learned_from) / T) * max(0.0, 1 - missing)
