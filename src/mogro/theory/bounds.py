"""The theorems on effective Pareto regret.

All of them assume what the theorems assume: sub-Gaussian noise, features and parameters within
their norms, objectives that span the space, and arms that are gamma-good with radius alpha for a
gamma above :func:`goodness_needed`; and a run of MOGRO with the threshold of that theorem, so that
``initial_rounds`` is the T_0 of that threshold. ``feature_norm`` (x_max) and ``parameter_norm`` (L)
extend them as the appendix says; at 1 they are the theorems as stated.
"""

import math
from typing import TypedDict

from mogro._validation import count, real
from mogro.theory import _checks as check
from mogro.theory.conditions import diversity_left, eigenvalue_increment, radius_cap


class _Norms(TypedDict):
    feature_norm: float | None
    parameter_norms: tuple[float, float] | None


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
    sigma, d, T, xmax = check.run(noise, dim, rounds, feature_norm)
    slope = real(increment, "increment", above=0)
    start = check.horizon(initial_rounds, "initial_rounds", minimum=0)
    learning = 16 * sigma * xmax**2 / slope * math.sqrt(2 * d * T * math.log(d * T))
    mistakes = 2 * start + 3 * count(objectives, "objectives") + 10 * d * xmax**2 / slope
    return learning + 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * mistakes


def regret_bound_round_robin(
    *,
    left: float,
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
    left
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
    ...     left=0.25, noise=0.0, dim=2, objectives=2, rounds=1000, initial_rounds=10)
    60.0
    >>> round(regret_bound_round_robin(
    ...     left=0.25, noise=1.0, dim=2, objectives=2, rounds=1000, initial_rounds=10))
    5640
    """
    sigma, d, T, xmax = check.run(noise, dim, rounds, feature_norm)
    slope = real(left, "left", above=0)
    start = check.horizon(initial_rounds, "initial_rounds", minimum=0)
    learning = 8 * sigma * xmax**2 / slope * math.sqrt(2 * d * T * math.log(d * T))
    mistakes = 2 * start + 5 * count(objectives, "objectives")
    return learning + 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * mistakes


def stochastic_increment(
    lam: float,
    gamma: float,
    *,
    phi: float,
    goodness_probability: float,
    objectives: int,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> float:
    """Return lambda_inc' for stochastic contexts.

    Lemma mineigen_oneround_stochastic: lambda' q_gamma phi M with alpha at its cap
    psi(lambda, gamma), since there all directions are covered with probability q_gamma. For other
    norms, lambda' and the cap are those of the relaxed versions, as the appendix allows.

    Parameters
    ----------
    lam, gamma
        lambda, and gamma above :func:`goodness_needed`.
    phi
        Regularity index at half of :func:`radius_cap`.
    goodness_probability
        q_gamma, for example :func:`uniform_ball_goodness`.
    objectives
        M.
    feature_norm, parameter_norms
        x_max and (l, L), as in :func:`goodness_needed`.

    Examples
    --------
    At the cap a third of lambda is left: 0.5 / 3 * 0.1 * 0.3 * 2.

    >>> round(stochastic_increment(
    ...     0.5, 0.999, phi=0.1, goodness_probability=0.3, objectives=2), 9)
    0.01
    """
    norms: _Norms = {"feature_norm": feature_norm, "parameter_norms": parameter_norms}
    left = diversity_left(lam, radius_cap(lam, gamma, **norms), gamma, **norms)
    return eigenvalue_increment(
        left, phi=phi, objectives=objectives, goodness_probability=goodness_probability
    )


def regret_bound_stochastic(
    lam: float,
    gamma: float,
    *,
    phi: float,
    goodness_probability: float,
    noise: float,
    dim: int,
    objectives: int,
    rounds: int,
    initial_rounds: int,
    feature_norm: float | None = None,
    parameter_norms: tuple[float, float] | None = None,
) -> float:
    """Bound the effective Pareto regret of MOGRO-RW with stochastic contexts.

    Corollary EPR_stochastic: the bound of :func:`regret_bound_random_weights` with
    :func:`stochastic_increment`. Contexts of different rounds have to be independent. The paper
    states no bound on T_0 here: it is an argument. Where q_gamma is an estimate
    (:func:`context_goodness`), so is the bound.

    Parameters
    ----------
    lam, gamma, phi, goodness_probability
        lambda, gamma, the regularity index and q_gamma, see :func:`stochastic_increment`. If phi
        or q_gamma is 0 there is no bound: a ValueError says so.
    noise, dim, objectives, rounds, initial_rounds
        sigma, d, M, T, T_0.
    feature_norm, parameter_norms
        x_max and (l, L), as in :func:`goodness_needed`.

    Examples
    --------
    lambda_inc' = 0.01 as above and sigma = 0: 4 * 10 + 6 * 2 + 20 * 2 / 0.01.

    >>> round(regret_bound_stochastic(
    ...     0.5, 0.999, phi=0.1, goodness_probability=0.3,
    ...     noise=0.0, dim=2, objectives=2, rounds=1000, initial_rounds=10), 6)
    4052.0
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
    return regret_bound_random_weights(
        increment=increment,
        noise=noise,
        dim=dim,
        objectives=objectives,
        rounds=rounds,
        initial_rounds=initial_rounds,
        feature_norm=1.0 if feature_norm is None else feature_norm,
        parameter_norm=check.norms(parameter_norms)[1],
    )


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
    _, _, T, xmax = check.run(0.0, 1, rounds, feature_norm)
    worst = 2 * xmax * real(parameter_norm, "parameter_norm", above=0) * T
    return bound == math.inf or real(bound, "bound") >= worst
