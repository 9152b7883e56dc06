"""The lemmas behind the theorems: how fast lambda_min(V_t) grows, how fast estimates improve."""

import math

from mogro._validation import count, real
from mogro.theory import _checks as check


def noise_sum_bound(
    rounds: int, *, noise: float, dim: int, delta: float, feature_norm: float = 1.0
) -> float:
    """Bound the norm of the sum of noise times features, sum_s eta_s x_s, over t rounds.

    Lemma Kannan_A1: sigma x_max sqrt(2 d t log(d t / delta)) with probability at least 1 - delta,
    for one objective, however the features are chosen from what was seen before. (The paper has
    the root of x_max, which is too small for x_max > 1.)

    Parameters
    ----------
    rounds, noise, dim
        t, sigma and d.
    delta
        Probability of failure, 0 < delta <= 1.
    feature_norm
        x_max.

    Examples
    --------
    2 sqrt(2 * 100 log(100 e)).

    >>> noise_sum_bound(100, noise=1.0, dim=1, delta=1 / math.e, feature_norm=2.0)
    66.963...
    """
    sigma, d, t, xmax = check.run(noise, dim, rounds, feature_norm)
    log_failure = -math.log(check.between(delta, "delta", 0, 1, closed="(]"))
    return sigma * xmax * math.sqrt(2 * d * t * (math.log(d * t) + log_failure))


def gram_growth(rounds: int, *, initial_rounds: int, threshold: float, increment: float) -> float:
    """Return a lower bound on lambda_min(V_t) under MOGRO-RW after t rounds.

    Lemma mineigen_linear: B + (lambda_inc / 2)(t - T_0), except with the probability that
    :func:`gram_growth_failure` bounds, and as long as all estimates stay within alpha / 2
    (which B ensures with probability 1 - 2 M / T).

    Parameters
    ----------
    rounds
        t, at least ``initial_rounds``.
    initial_rounds, threshold
        T_0 and B.
    increment
        lambda_inc > 0, :func:`eigenvalue_increment`.

    Examples
    --------
    >>> gram_growth(300, initial_rounds=100, threshold=5.0, increment=0.02)  # 5 + 0.01 * 200
    7.0
    """
    later = _later(rounds, initial_rounds)
    growth = real(increment, "increment", above=0) / 2 * later
    return real(threshold, "threshold", minimum=0) + growth


def gram_growth_failure(
    rounds: int, *, initial_rounds: int, increment: float, dim: int, feature_norm: float = 1.0
) -> float:
    """Bound the probability that lambda_min(V_t) is below :func:`gram_growth`.

    Lemma mineigen_linear: d exp(-lambda_inc (t - T_0) / (10 x_max^2)), and never above 1.
    At 1 it is vacuous, as for all t soon after T_0.

    Parameters
    ----------
    rounds, initial_rounds, increment
        t, T_0 and lambda_inc, as in :func:`gram_growth`.
    dim, feature_norm
        d and x_max.

    Examples
    --------
    >>> gram_growth_failure(1100, initial_rounds=100, increment=0.05, dim=2)  # 2 exp(-5)
    0.013475...
    """
    _, d, _, xmax = check.run(0.0, dim, 1, feature_norm)
    rate = real(increment, "increment", above=0) / (10 * xmax**2)
    return min(1.0, d * math.exp(-rate * _later(rounds, initial_rounds)))


def gram_growth_round_robin(
    rounds: int, *, initial_rounds: int, threshold: float, left: float, objectives: int
) -> float:
    """Return a lower bound on lambda_min(V_t) under MOGRO-RR after t rounds.

    Lemma mineigen, with lambda' where the paper writes its lower bound lambda / 3: every full
    cycle of M rounds adds M lambda', so lambda_min(V_t) >= B + lambda' (t + 1 - T_0 - M) for
    t >= T_0 + M - 1 with probability 1 - 2 M / T.

    Parameters
    ----------
    rounds, initial_rounds, threshold
        t, T_0 and B.
    left
        lambda' > 0, :func:`diversity_left`.
    objectives
        M.

    Examples
    --------
    >>> gram_growth_round_robin(
    ...     301, initial_rounds=100, threshold=5.0, left=0.25, objectives=2)  # 5 + 0.25 * 200
    55.0
    """
    later = _later(rounds, initial_rounds) + 1 - count(objectives, "objectives")
    growth = real(left, "left", above=0) * max(0, later)
    return real(threshold, "threshold", minimum=0) + growth


def estimation_error(
    rounds: int,
    *,
    initial_rounds: int,
    increment: float,
    noise: float,
    dim: int,
    delta: float,
    feature_norm: float = 1.0,
) -> float:
    """Bound the distance of MOGRO-RW's estimates after t rounds to the parameters.

    Lemma thetahat_bound: (4 sigma x_max / lambda_inc) sqrt(d log(d t / delta) / (t - T_0)) for all
    M objectives together, with probability at least 1 - M delta - :func:`gram_growth_failure`,
    given that all estimates stay within alpha / 2. For t >= 2 T_0 only.

    Parameters
    ----------
    rounds, initial_rounds
        t and T_0, with t >= 2 T_0 and t > T_0.
    increment
        lambda_inc > 0, :func:`eigenvalue_increment`.
    noise, dim, delta, feature_norm
        sigma, d, the probability of failure for one objective, x_max.

    Examples
    --------
    d = 1, t = 100, T_0 = 0: (4 / 0.5) sqrt(log(100 e) / 100) = 8 * 0.236752.

    >>> round(estimation_error(
    ...     100, initial_rounds=0, increment=0.5, noise=1.0, dim=1, delta=1 / math.e), 6)
    1.894019
    """
    t, start = check.horizon(rounds), check.horizon(initial_rounds, "initial_rounds", minimum=0)
    if t < 2 * start:
        raise ValueError(f"rounds: expected at least twice initial_rounds = {start}, got {t}")
    scale = 4 / real(increment, "increment", above=0)
    return scale * _noise_rate(t, t - start, noise, dim, delta, feature_norm)


def estimation_error_round_robin(
    rounds: int,
    *,
    initial_rounds: int,
    left: float,
    objectives: int,
    noise: float,
    dim: int,
    delta: float,
    feature_norm: float = 1.0,
) -> float:
    """Bound the distance of MOGRO-RR's estimates in round t to the parameters.

    Lemma thetahat_bound_rr, with lambda' where the paper writes its lower bound lambda / 3:
    (2 sigma x_max / lambda') sqrt(d log(d t / delta) / (t - T_0 - M)) for all objectives and all
    t >= 2 T_0 + 2 M, with probability at least 1 - 3 M delta.

    Parameters
    ----------
    rounds, initial_rounds, objectives
        t, T_0 and M, with t >= 2 T_0 + 2 M.
    left
        lambda' > 0, :func:`diversity_left`.
    noise, dim, delta, feature_norm
        sigma, d, the probability of failure for one objective, x_max.

    Examples
    --------
    d = 1, t = 100, T_0 = 0, M = 1: (2 / 0.5) sqrt(log(100 e) / 99).

    >>> round(estimation_error_round_robin(
    ...     100, initial_rounds=0, left=0.5, objectives=1, noise=1.0, dim=1, delta=1 / math.e), 6)
    0.95178
    """
    t, start = check.horizon(rounds), check.horizon(initial_rounds, "initial_rounds", minimum=0)
    cycle = count(objectives, "objectives")
    if t < 2 * (start + cycle):
        raise ValueError(
            f"rounds: expected at least 2 initial_rounds + 2 objectives = {2 * (start + cycle)}, "
            f"got {t}"
        )
    scale = 2 / real(left, "left", above=0)
    return scale * _noise_rate(t, t - start - cycle, noise, dim, delta, feature_norm)


def _later(rounds: object, initial_rounds: object) -> int:
    start = check.horizon(initial_rounds, "initial_rounds", minimum=0)
    return check.horizon(rounds, minimum=start) - start


def _noise_rate(
    t: int, later: int, noise: float, dim: int, delta: float, feature_norm: float
) -> float:
    sigma, d, _, xmax = check.run(noise, dim, t, feature_norm)
    log_failure = -math.log(check.between(delta, "delta", 0, 1, closed="(]"))
    return sigma * xmax * math.sqrt(d * (math.log(d * t) + log_failure) / later)
