"""Conditions on arms that are drawn anew each round: goodness, and its relatives in the literature.

A distribution of contexts is given as a function ``contexts(rng=..., batch=...)`` that returns
features (*batch, K, d), such as the method of that name of every environment; where it is not
known, as a sample of it: the arms of n independent rounds, (n, K, d).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, real
from mogro.theory._checks import between
from mogro.theory._sampling import (
    FEWEST,
    Contexts,
    ContextSource,
    ShareEstimate,
    directions,
    worst_direction,
)


def uniform_ball_goodness(gamma: float, *, dim: int, arms: int) -> float:
    """Return q_gamma for independent arms that are uniform in the unit ball.

    The probability that one of them has x . beta >= gamma, the same for every unit vector beta:
    1 - (1 - p)^K with p = I_{1 - gamma^2}((d + 1) / 2, 1/2) / 2, the share of the ball above a
    plane at distance gamma (Definition goodness_stochastic).

    Parameters
    ----------
    gamma
        Level, 0 < gamma <= 1. At 1 the probability is 0: the condition does not hold.
    dim, arms
        d and K.

    Examples
    --------
    On the line, a uniform point in [-1, 1] is above 0.5 with probability 1/4; two: 7/16.

    >>> round(uniform_ball_goodness(0.5, dim=1, arms=2), 12)
    0.4375
    """
    from scipy.special import betainc

    level = between(gamma, "gamma", 0, 1, closed="(]")
    share = betainc((count(dim, "dim") + 1) / 2, 0.5, (1 - level) * (1 + level)) / 2
    return -math.expm1(count(arms, "arms") * math.log1p(-float(share)))


def context_goodness(
    contexts: Contexts | ArrayLike,
    *,
    gamma: float,
    samples: int = 20_000,
    rng: np.random.Generator | None = None,
) -> ShareEstimate:
    """Estimate q_gamma, the least probability over directions that some arm is gamma-good.

    A search over unit vectors looks for the worst direction; other draws then count how often an
    arm has x . beta >= gamma there (Definition goodness_stochastic).

    Parameters
    ----------
    contexts
        Draws the arms of a round, or a sample of at least 100 rounds, (n, K, d): see the module.
        A sample is split: half to search, half to count.
    gamma
        Level, larger than 0.
    samples
        Rounds counted, at most.
    rng
        Source of randomness; None: a fixed one.

    Returns
    -------
    ShareEstimate
        The interval is for the direction found. A direction that is worse and was not found would
        make q_gamma smaller: evidence, not proof. An interval that starts at 0 says that the
        condition was not seen to hold.

    Examples
    --------
    >>> from mogro.environments import VaryingContexts
    >>> world = VaryingContexts(np.eye(2), arms=5, noise=0.1)
    >>> found = context_goodness(world.contexts, gamma=0.9)
    >>> found.low <= uniform_ball_goodness(0.9, dim=2, arms=5) <= found.high
    True
    """
    level = real(gamma, "gamma", above=0)
    size = count(samples, "samples", minimum=FEWEST)
    generator = np.random.default_rng(0) if rng is None else rng
    source = ContextSource(contexts, generator)
    direction = worst_direction(source.searched(size), level, generator)
    return source.share_above(direction, level, size)


class ContextDiversity(NamedTuple):
    """The least eigenvalue found, and the arm that has it."""

    value: float
    arm: int


def context_diversity(
    contexts: Contexts | ArrayLike, *, samples: int = 20_000, rng: np.random.Generator | None = None
) -> ContextDiversity:
    """Estimate the constant of context diversity, which greedy bandits usually assume.

    The least lambda_min(E[x_i x_i^T 1{x_i . u >= 0}]) over arms i and directions u (Assumption 3
    of Bastani, Bayati and Khosravi, as the paper quotes it). It has to be positive.

    Parameters
    ----------
    contexts, samples, rng
        As in :func:`context_goodness`.

    Returns
    -------
    ContextDiversity
        ``value``, exactly 0 if the matrix of some arm and direction is singular, and ``arm``. Like
        every minimum over directions that were searched, it may miss a smaller one.

    Examples
    --------
    Uniform in the unit ball: half of E[x x^T] = I / (d + 2).

    >>> from mogro.environments import VaryingContexts
    >>> world = VaryingContexts(np.eye(2), arms=3, noise=0.1)
    >>> round(context_diversity(world.contexts).value, 2)
    0.12
    """
    size = count(samples, "samples", minimum=FEWEST)
    generator = np.random.default_rng(0) if rng is None else rng
    draws = np.concatenate(list(ContextSource(contexts, generator).rounds(size)))
    size = len(draws)
    axes = directions(draws.shape[-1], generator)
    best = ContextDiversity(math.inf, 0)
    for arm in range(draws.shape[1]):
        features = draws[:, arm]
        outer = np.einsum("ni,nj->nij", features, features).reshape(size, -1)
        above = (features @ axes.T >= 0).astype(np.float64)
        means = (above.T @ outer / size).reshape(len(axes), *(2 * (draws.shape[-1],)))
        values = np.linalg.eigvalsh(means)
        values[values < 1e-12 * np.square(features).sum(axis=1).max()] = 0
        best = min(best, ContextDiversity(float(values[:, 0].min()), arm))
    return best


class BetaRegularity(NamedTuple):
    """Tails of the mean rewards of arms, one objective in one dimension.

    Attributes
    ----------
    shares
        Estimated P(mu_i > 1 - eps), (K, number of levels).
    exponents
        Slope of its logarithm against that of eps, (K,): the beta of each arm. NaN where a share is
        0: no exponent fits.
    holds
        Whether all arms have one exponent in common and keep to it at all levels.
    """

    shares: FloatArray
    exponents: FloatArray
    holds: bool


def beta_regularity(
    contexts: Contexts | ArrayLike,
    *,
    levels: tuple[float, ...] = (0.4, 0.2, 0.1, 0.05),
    samples: int = 100_000,
    rng: np.random.Generator | None = None,
) -> BetaRegularity:
    """Estimate whether mean rewards are beta-regular: P(mu_i > 1 - eps) of the order eps^beta.

    The condition of Bayati and others for many-armed bandits, for d = M = 1 and theta = 1, where
    the feature is the mean reward. Unlike goodness it asks it of every arm and for all eps.

    Parameters
    ----------
    contexts, samples, rng
        As in :func:`context_goodness`, with d = 1.
    levels
        Values of eps, decreasing.

    Returns
    -------
    BetaRegularity
        ``holds`` if slopes between neighbouring levels, of all arms, differ by less than 1/2:
        evidence at these levels, not proof for all.

    Examples
    --------
    Uniform on [-1, 1]: P(mu > 1 - eps) = eps / 2, so beta = 1.

    >>> from mogro.environments import VaryingContexts
    >>> found = beta_regularity(VaryingContexts([[1.0]], arms=2, noise=0.1).contexts)
    >>> found.holds, found.exponents.round(1)
    (True, array([1., 1.]))
    """
    steps = np.array([between(level, "levels", 0, 1, closed="(]") for level in levels])
    if steps.size < 3 or (np.diff(steps) >= 0).any():
        raise ValueError(f"levels: expected at least three, decreasing, got {levels!r}")
    size = count(samples, "samples", minimum=FEWEST)
    generator = np.random.default_rng(0) if rng is None else rng
    source = ContextSource(contexts, generator)
    if source.dim != 1:
        raise ValueError(f"contexts: expected one dimension, got {source.dim}")
    parts = [(draws > 1 - steps) for draws in source.rounds(size)]
    shares = np.concatenate(parts).mean(axis=0)
    seen = shares.min(axis=1) > 0
    logs = np.log(np.where(seen[:, None], shares, 1))
    slopes = np.diff(logs, axis=1) / np.diff(np.log(steps))
    exponents = np.where(seen, np.polyfit(np.log(steps), logs.T, 1)[0], math.nan)
    return BetaRegularity(shares, exponents, bool(seen.all() and np.ptp(slopes) < 0.5))
