"""How evenly random weights aim: the regularity indices phi and psi of Dirichlet weights.

Both are probabilities that a random objective theta_w comes close to a given one, often far too
small for counting (1e-14 with five objectives), so they are computed in logarithms.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, floats, real
from mogro.theory._problem import parameters

_Z = 1.959963984540054  # of a two-sided 95% interval
_DRAWS = 200_000  # at most, over all corners, to tell which is the least
_SHARPEST = 1e9  # concentration: weights beyond are a point, to rounding


@dataclass(frozen=True)
class LogEstimate:
    """An estimated probability with a 95% interval, in natural logarithms.

    Attributes
    ----------
    log
        Logarithm of the estimate.
    log_low
        Logarithm of the lower end of its interval. Equal to ``log``: exact.
    log_high
        Logarithm of the upper end of its interval.
    """

    log: float
    log_low: float
    log_high: float

    @property
    def value(self) -> float:
        """The estimate itself; 0 where it is below every float."""
        return math.exp(self.log)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return math.exp(self.log_low)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return math.exp(self.log_high)


@dataclass(frozen=True)
class Regularity:
    """The regularity indices of a weight distribution.

    Attributes
    ----------
    phi
        Least probability, over the objectives, that theta_w is within epsilon of theta_m.
    psi
        The same over all theta_w', not only the objectives; equal to phi where every concentration
        is at least 1. Otherwise it may be smaller by far, and is not known: None.
    """

    phi: LogEstimate
    psi: LogEstimate | None


def regularity(
    theta: ArrayLike,
    concentration: ArrayLike,
    *,
    epsilon: float,
    samples: int = 20_000,
    rng: np.random.Generator | None = None,
) -> Regularity:
    """Estimate the regularity indices phi and psi of Dirichlet weights.

    phi = min_m P(|theta_w - theta_m| < eps) and psi = inf_w' P(|theta_w - theta_w'| < eps) for
    w ~ Dirichlet(a). Seen from corner m, w = e_m + r (v - e_m) with r ~ Beta(sum of the other a,
    a_m) and v ~ Dirichlet(the other a) independent, so P = E[F_r(eps / |theta_v - theta_m|)]:
    only v is sampled. With all a >= 1 the density is log-concave, so the least probability is at a
    corner and psi = phi. Otherwise it may be anywhere, and psi is None.

    Parameters
    ----------
    theta
        Parameters, (M, d).
    concentration
        a, one number for all objectives or one for each, larger than 0.
    epsilon
        Radius, larger than 0.
    samples
        Draws for the final estimate. Others go before it, to tell which corner is the least.
    rng
        Source of randomness; None: a fixed one, so that the same question has the same answer.

    Returns
    -------
    Regularity
        The interval of phi is exact for one and two objectives. It holds for 95% of the draws,
        less if two corners are so nearly equal that the first draws mistake one for the other.

    Examples
    --------
    Two objectives at distance sqrt(2), uniform weights: r is uniform, P = 0.1 / sqrt(2).

    >>> index = regularity([[1.0, 0.0], [0.0, 1.0]], 1.0, epsilon=0.1)
    >>> round(index.phi.value, 6), index.psi == index.phi
    (0.070711, True)
    """
    vectors = parameters(theta)
    radius = real(epsilon, "epsilon", above=0)
    size = count(samples, "samples", minimum=100)
    given = floats(concentration, "concentration", shape=(...,))
    if given.shape not in ((), (len(vectors),)) or not ((given > 0) & (given <= _SHARPEST)).all():
        raise ValueError(
            f"concentration: expected one number > 0 and <= {_SHARPEST:g}, or one for each of "
            f"{len(vectors)} objectives, got {concentration!r}"
        )
    a = np.broadcast_to(given, len(vectors)).astype(np.float64)
    generator = np.random.default_rng(0) if rng is None else rng
    phi = regularity_index(vectors, a, radius, size, generator)
    together = np.linalg.norm(vectors[:, None] - vectors, axis=-1).max() < radius
    return Regularity(phi, phi if (a >= 1).all() or together else None)


def regularity_index(
    theta: FloatArray, a: FloatArray, radius: float, samples: int, rng: np.random.Generator
) -> LogEstimate:
    """Estimate phi: the least probability, over objectives m, of |theta_w - theta_m| < eps."""
    objectives = len(theta)
    if objectives == 1:
        return LogEstimate(0.0, 0.0, 0.0)
    # The least corner is chosen by other draws than those that estimate it: no bias from choosing.
    few = min(samples, max(1000, _DRAWS // objectives))
    first = [_corner(theta, a, m, radius, few, rng) for m in range(objectives)]
    if objectives == 2:
        return min(first, key=lambda estimate: estimate.log)
    least = min(range(objectives), key=lambda m: first[m].log)
    return _corner(theta, a, least, radius, samples, rng)


def _corner(
    theta: FloatArray,
    a: FloatArray,
    m: int,
    radius: float,
    samples: int,
    rng: np.random.Generator,
) -> LogEstimate:
    """Estimate P(|theta_w - theta_m| < eps)."""
    others = np.delete(np.arange(len(theta)), m)
    draws = np.ones((1, 1)) if len(others) == 1 else rng.dirichlet(a[others], samples)
    distances = np.linalg.norm(draws @ theta[others] - theta[m], axis=1)
    reach = radius / np.maximum(distances, radius)
    return _log_mean(log_beta_cdf(reach, float(a[others].sum()), float(a[m])))


def log_beta_cdf(x: FloatArray, p: float, q: float) -> FloatArray:
    """Return log P(Beta(p, q) <= x), also where the probability is below every float."""
    from scipy.special import betainc, betaln, hyp2f1

    values = betainc(p, q, x)
    tiny = values < 1e-290
    logs = np.log(np.where(tiny, 1, values))
    z = x[tiny]
    logs[tiny] = p * np.log(z) + q * np.log1p(-z) - math.log(p) - betaln(p, q)
    logs[tiny] += np.log(hyp2f1(1, p + q, p + 1, z))
    return np.asarray(logs)


def _log_mean(logs: FloatArray) -> LogEstimate:
    """Estimate the logarithm of a mean from the logarithms of its terms."""
    if logs.size == 1:
        return LogEstimate(float(logs[0]), float(logs[0]), float(logs[0]))
    top = float(logs.max())
    if top == -math.inf:
        return LogEstimate(-math.inf, -math.inf, math.log(3 / logs.size))  # the rule of three
    terms = np.exp(logs - top)
    mean = float(terms.mean())
    log = top + math.log(mean)
    spread = _Z * float(terms.std(ddof=1)) / mean / math.sqrt(logs.size)
    return LogEstimate(min(log, 0.0), min(log - spread, 0.0), min(log + spread, 0.0))
