"""The theorems on effective Pareto fairness, under the assumptions of those on regret."""

import math
from dataclasses import dataclass

from mogro._validation import count, real
from mogro.theory import _checks as check
from mogro.theory.bounds import stochastic_increment


@dataclass(frozen=True)
class FairnessBound:
    """A lower bound on the effective Pareto fairness index, and the round it counts from."""

    index: float
    settled: int


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
) -> FairnessBound:
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
    FairnessBound
        ``index``, 0 where the theorem is vacuous, and ``settled``, the round T_eps. For MOGRO-RR
        there is no such theorem: it never aims between the objectives.

    Examples
    --------
    sigma = 0 and T_0 = 100: T_eps = 200, so 0.1 * 0.8 * (1 - 0.006 - 2 exp(-10)).

    >>> bound = fairness_bound(0.3, psi=0.1, increment=1.0, noise=0.0, dim=2, objectives=2,
    ...                        rounds=1000, initial_rounds=100)
    >>> round(bound.index, 6), bound.settled
    (0.079513, 200)
    """
    sigma, d, T, xmax = check.run(noise, dim, rounds, feature_norm)
    slack = real(epsilon, "epsilon", above=0)
    slope = real(increment, "increment", above=0)
    start = check.horizon(initial_rounds, "initial_rounds", minimum=0)
    share = check.between(psi, "psi", 0, 1, closed="[]")
    ratio = sigma * xmax**2 / slope / slack
    wait = min(1152 * d * math.log(d * T) * ratio * ratio, 1e300)
    settled = max(math.floor(wait) + start, 2 * start)
    missed = 3 * count(objectives, "objectives") / T
    missed += d * math.exp(-slope * (settled - start) / (10 * xmax**2))
    index = share * max(0.0, (T - settled) / T) * max(0.0, 1 - missed)
    return FairnessBound(index, settled)


def fairness_bound_stochastic(
    epsilon: float,
    lam: float,
    gamma: float,
    *,
    psi: float,
    phi: float,
    goodness_probability: float,
    noise: float,
    dim: int,
    objectives: int,
    rounds: int,
    initial_rounds: int,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> FairnessBound:
    """Bound the fairness index of MOGRO-RW with stochastic contexts from below.

    Corollary EPF_stochastic: :func:`fairness_bound` with :func:`stochastic_increment`.

    Parameters
    ----------
    epsilon, psi
        As in :func:`fairness_bound`.
    lam, gamma, phi, goodness_probability
        As in :func:`stochastic_increment`.
    noise, dim, objectives, rounds, initial_rounds
        sigma, d, M, T, T_0.
    feature_norm, parameter_norms
        x_max and (l, L), as in :func:`goodness_needed`.

    Examples
    --------
    lambda_inc' = 0.01, sigma = 0, T_0 = 10^4: 0.1 * 0.98 * (1 - 6e-6 - 2 exp(-10)).

    >>> round(fairness_bound_stochastic(
    ...     0.3, 0.5, 0.999, psi=0.1, phi=0.1, goodness_probability=0.3, noise=0.0,
    ...     dim=2, objectives=2, rounds=10**6, initial_rounds=10**4).index, 6)
    0.097991
    """
    increment = stochastic_increment(
        lam,
        gamma,
        phi=phi,
        goodness_probability=goodness_probability,
        objectives=objectives,
        feature_norm=feature_norm,
        parameter_norms=parameter_norms,
    )
    return fairness_bound(
        epsilon,
        psi=psi,
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=initial_rounds,
        feature_norm=1.0 if feature_norm is None else feature_norm,
    )
