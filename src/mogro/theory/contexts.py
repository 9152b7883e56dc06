"""Conditions on arms that are drawn anew each round: goodness, and its relatives in the literature.

A distribution of contexts is given as a function ``contexts(rng=..., batch=...)`` that returns
features (*batch, K, d), such as the method of that name of every environment.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from mogro._validation import FloatArray, count
from mogro.theory._checks import between

_DIRECTIONS = 200  # tried in a search for the worst one, besides the axes
_REFINEMENTS = 60
_CHUNK = 2_000_000  # numbers drawn at a time


class Contexts(Protocol):
    """Draws the arms of a round."""

    def __call__(self, *, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        """Return features, (*batch, K, d) or broadcastable."""
        ...


@dataclass(frozen=True)
class ShareEstimate:
    """A probability estimated by counting, with a 95% interval (Clopper and Pearson).

    Attributes
    ----------
    value
        The share counted.
    low
        Lower end of the interval.
    high
        Upper end of the interval.
    direction
        The direction for which it was counted, (d,).
    """

    value: float
    low: float
    high: float
    direction: FloatArray


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
    contexts: Contexts,
    *,
    gamma: float,
    samples: int = 20_000,
    rng: np.random.Generator | None = None,
) -> ShareEstimate:
    """Estimate q_gamma, the least probability over directions that some arm is gamma-good.

    A search over unit vectors looks for the worst direction; fresh draws then count how often an
    arm has x . beta >= gamma there (Definition goodness_stochastic).

    Parameters
    ----------
    contexts
        Draws the arms of a round, see the module.
    gamma
        Level, 0 < gamma <= 1.
    samples
        Rounds counted.
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
    from scipy.special import betaincinv

    level = between(gamma, "gamma", 0, 1, closed="(]")
    size = count(samples, "samples", minimum=100)
    generator = np.random.default_rng(0) if rng is None else rng
    direction = _worst_direction(contexts, level, min(size, 2000), generator)
    hits = sum(
        int(((draws @ direction).max(axis=-1) >= level).sum())
        for draws in _rounds(contexts, size, generator)
    )
    low = float(betaincinv(hits, size - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, size - hits, 0.975)) if hits < size else 1.0
    return ShareEstimate(hits / size, low, high, direction)


class ContextDiversity(NamedTuple):
    """The least eigenvalue found, and the arm that has it."""

    value: float
    arm: int


def context_diversity(
    contexts: Contexts, *, samples: int = 20_000, rng: np.random.Generator | None = None
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
    size = count(samples, "samples", minimum=100)
    generator = np.random.default_rng(0) if rng is None else rng
    draws = np.concatenate(list(_rounds(contexts, size, generator)))
    directions = _directions(draws.shape[-1], generator)
    best = ContextDiversity(math.inf, 0)
    for arm in range(draws.shape[1]):
        features = draws[:, arm]
        outer = np.einsum("ni,nj->nij", features, features).reshape(size, -1)
        above = (features @ directions.T >= 0).astype(np.float64)
        means = (above.T @ outer / size).reshape(len(directions), *(2 * (draws.shape[-1],)))
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
    contexts: Contexts,
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
    size = count(samples, "samples", minimum=100)
    generator = np.random.default_rng(0) if rng is None else rng
    hits = sum(
        (draws[..., None] > 1 - steps).sum(axis=0) for draws in _line(contexts, size, generator)
    )
    shares = np.asarray(hits) / size
    seen = shares.min(axis=1) > 0
    logs = np.log(np.where(seen[:, None], shares, 1))
    slopes = np.diff(logs, axis=1) / np.diff(np.log(steps))
    exponents = np.where(seen, np.polyfit(np.log(steps), logs.T, 1)[0], math.nan)
    return BetaRegularity(shares, exponents, bool(seen.all() and np.ptp(slopes) < 0.5))


def _line(contexts: Contexts, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    for draws in _rounds(contexts, size, rng):
        if draws.shape[-1] != 1:
            raise ValueError(f"contexts: expected one dimension, got {draws.shape[-1]}")
        yield draws[..., 0]


def _rounds(contexts: Contexts, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield ``size`` rounds of arms in parts (n, K, d)."""
    probe = np.asarray(contexts(rng=rng, batch=(1,)))
    if probe.ndim not in (2, 3) or not np.isfinite(probe).all():
        raise ValueError(f"contexts: expected finite features (n, K, d), got shape {probe.shape}")
    arms = probe.shape[-2:]
    part = max(1, _CHUNK // math.prod(arms))
    for start in range(0, size, part):
        n = min(part, size - start)
        yield np.broadcast_to(np.asarray(contexts(rng=rng, batch=(n,))), (n, *arms))


def _directions(dim: int, rng: np.random.Generator) -> FloatArray:
    """Return the axes, both ways, and random unit vectors."""
    axes = np.concatenate([np.eye(dim), -np.eye(dim)])
    if dim == 1:
        return axes
    return np.concatenate([axes, _unit(rng.standard_normal((_DIRECTIONS, dim)))])


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _worst_direction(
    contexts: Contexts, level: float, size: int, rng: np.random.Generator
) -> FloatArray:
    draws = np.concatenate(list(_rounds(contexts, size, rng)))

    def score(direction: FloatArray) -> tuple[float, float]:
        best = (draws @ direction).max(axis=-1)
        return float((best >= level).mean()), float(best.mean())  # the mean where shares are equal

    worst = min(_directions(draws.shape[-1], rng), key=score)
    lowest = score(worst)
    for width in np.geomspace(0.5, 0.01, _REFINEMENTS if draws.shape[-1] > 1 else 0):
        trial = _unit(worst + width * rng.standard_normal(worst.size))
        if (there := score(trial)) < lowest:
            worst, lowest = trial, there
    return np.asarray(worst)
