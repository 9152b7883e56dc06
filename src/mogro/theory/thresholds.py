"""How long MOGRO explores: the eigenvalue threshold B and the number of initial rounds T_0."""

import math

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import between, real
from mogro.theory import _problem as check


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
    sigma, d, t, xmax = check.read_run(noise, dim, rounds, feature_norm)
    log_failure = -math.log(between(delta, "delta", 0, 1, closed="(]"))
    return sigma * xmax * math.sqrt(2 * d * t * (math.log(d * t) + log_failure))


def eigenvalue_threshold(
    *,
    radius: float,
    noise: float,
    dim: int,
    rounds: int,
    delta: float,
    feature_norm: float = 1.0,
) -> float:
    """Return a threshold B after which all estimates stay within a radius of the parameters.

    Lemma set_B: once lambda_min(V) >= B, all M estimates are within ``radius`` in all later rounds
    up to T, with probability at least 1 - 2 M delta. B is the smaller of
    (sigma / a) sqrt(2 d T log(d T / delta)) and
    (4 sigma^2 / a^2) (d/2 log(1 + 2 T / d) + log(1 / delta)), the latter at least 1, since the
    inequality behind it needs lambda_min(V) >= 1. With x_max the first gets a factor x_max and
    the logarithm of the second 2 T x_max^2 / d.

    Parameters
    ----------
    radius
        a > 0. MOGRO-RW needs alpha / 2, MOGRO-RR alpha.
    noise
        sigma >= 0, the sub-Gaussian constant of the noise.
    dim
        d, or the rank of the features if they span a subspace only.
    rounds
        T.
    delta
        Probability of failure for each objective and inequality, 0 < delta < 1 (or 1 at T = 1).
    feature_norm
        x_max.

    Returns
    -------
    float
        B, in the unit of a squared feature norm. T rounds reach at most T x_max^2 / d.

    Examples
    --------
    d = T = 1, a = sigma = 1, delta = e^-2: the first is sqrt(2 * 2) = 2, the second
    4 (log(3)/2 + 2) = 10.2.

    >>> eigenvalue_threshold(radius=1, noise=1, dim=1, rounds=1, delta=math.exp(-2))
    2.0

    With T = 10^6 and delta = 1/T the second is smaller: 4 (0.5 log(1 + 2e6) + log(1e6)).

    >>> eigenvalue_threshold(radius=1, noise=1, dim=1, rounds=10**6, delta=1e-6)
    84.279...
    """
    sigma, d, T, xmax = check.read_run(noise, dim, rounds, feature_norm)
    a = real(radius, "radius", above=0)
    log_failure = -math.log(between(delta, "delta", 0, 1, closed="(]"))
    first = noise_sum_bound(T, noise=sigma, dim=d, delta=delta, feature_norm=xmax) / a
    inner = d / 2 * math.log1p(2 * T * xmax**2 / d) + log_failure
    return min(first, max(1.0, (2 * sigma / a) ** 2 * inner))


def threshold_random_weights(
    alpha: float, *, noise: float, dim: int, rounds: int, feature_norm: float = 1.0
) -> float:
    """Return the threshold B of MOGRO-RW in the regret theorem.

    Theorem EPR: :func:`eigenvalue_threshold` with radius alpha / 2 and delta = 1 / T, that is the
    smaller of (2 sigma / alpha) sqrt(2 d T log(d T^2)) and
    (16 sigma^2 / alpha^2) (d/2 log(1 + 2 T / d) + log T), the latter at least 1.

    Parameters
    ----------
    alpha
        Radius of goodness, after the cap: larger than 0.
    noise, dim, rounds, feature_norm
        sigma, d, T, x_max, as in :func:`eigenvalue_threshold`.

    Examples
    --------
    alpha = sigma = 1, d = 1, T = 10: 2 sqrt(20 log 100) = 19.2 is the smaller one.

    >>> round(threshold_random_weights(1.0, noise=1.0, dim=1, rounds=10), 3)
    19.194
    """
    half = real(alpha, "alpha", above=0) / 2
    return threshold_round_robin(
        half, noise=noise, dim=dim, rounds=rounds, feature_norm=feature_norm
    )


def threshold_round_robin(
    alpha: float, *, noise: float, dim: int, rounds: int, feature_norm: float = 1.0
) -> float:
    """Return the threshold B of MOGRO-RR in its regret corollary.

    Corollary EPR_rr_f: :func:`eigenvalue_threshold` with radius alpha and delta = 1 / T.

    Parameters
    ----------
    alpha
        Radius of goodness, after the cap: larger than 0.
    noise, dim, rounds, feature_norm
        sigma, d, T, x_max, as in :func:`eigenvalue_threshold`.

    Examples
    --------
    Half of what random weights need: sqrt(20 log 100).

    >>> round(threshold_round_robin(1.0, noise=1.0, dim=1, rounds=10), 3)
    9.597
    """
    return eigenvalue_threshold(
        radius=real(alpha, "alpha", above=0),
        noise=noise,
        dim=dim,
        rounds=rounds,
        delta=1 / check.read_rounds(rounds),
        feature_norm=feature_norm,
    )


def initial_rounds_bound(basis: ArrayLike, *, threshold: float) -> int:
    """Bound the number of initial rounds of a round robin over some arms.

    Lemma ini_rounds: T_0 <= ceil(B / lambda_min(sum over S of x x^T)) |S|.

    Parameters
    ----------
    basis
        The arms S of the round robin, (n, d). If they span only a subspace, the smallest eigenvalue
        is taken within it.
    threshold
        B. At 0, without noise, it still takes a cycle to have estimates at all.

    Examples
    --------
    The sum of the outer products is diag(1, 0.25): ceil(3 / 0.25) cycles of 2 rounds.

    >>> initial_rounds_bound([[1.0, 0.0], [0.0, 0.5]], threshold=3.0)
    24
    """
    arms = check.read_features(basis)
    basis_of_span = check.span_basis(arms)
    arms = arms if basis_of_span is None else arms @ basis_of_span
    weakest = float(np.linalg.eigvalsh(arms.T @ arms)[0])
    cycles = real(threshold, "threshold", minimum=0) / weakest
    if cycles > check.MOST_ROUNDS:
        raise ValueError(
            f"threshold: expected a value reached in at most 10^18 cycles, got {threshold!r}"
        )
    # One part in 10^12 less, so that rounding of B / lambda does not add a cycle.
    return max(1, math.ceil(cycles * (1 - 1e-12))) * len(arms)
