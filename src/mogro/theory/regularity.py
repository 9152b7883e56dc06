"""How evenly random weights aim: the regularity indices phi and psi of Dirichlet weights.

Both are probabilities that a random objective theta_w comes close to a given one, often far too
small for counting (1e-14 with five objectives), so they are integrated.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray, count, floats, real
from mogro.theory._problem import read_parameters

_Z = 1.959963984540054  # of a two-sided 95% interval
_DRAWS = 200_000  # at most, over all corners, to tell which is the least
_SHARPEST = 1e9  # concentration: weights beyond are a point, to rounding


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

    phi: ConfidenceInterval
    psi: ConfidenceInterval | None


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
    vectors = read_parameters(theta)
    radius = real(epsilon, "epsilon", above=0)
    draws = count(samples, "samples", minimum=100)
    values = floats(concentration, "concentration", shape=(...,))
    if (
        values.shape not in ((), (len(vectors),))
        or not ((values > 0) & (values <= _SHARPEST)).all()
    ):
        raise ValueError(
            f"concentration: expected one number > 0 and <= {_SHARPEST:g}, or one for each of "
            f"{len(vectors)} objectives, got {concentration!r}"
        )
    a = np.broadcast_to(values, len(vectors)).astype(np.float64)
    generator = np.random.default_rng(0) if rng is None else rng
    # The least corner is chosen by other draws than those that estimate it: no bias from choosing.
    pilot_draws = min(draws, max(1000, _DRAWS // len(vectors)))
    objectives = range(len(vectors))
    pilots = [
        _corner_probability(vectors, a, m, radius, pilot_draws, generator) for m in objectives
    ]
    corner = min(objectives, key=lambda m: pilots[m].value)
    phi = pilots[corner]
    if len(vectors) > 2:  # otherwise it is exact
        phi = _corner_probability(vectors, a, corner, radius, draws, generator)
    all_near = np.linalg.norm(vectors[:, None] - vectors, axis=-1).max() < radius
    return Regularity(phi, phi if (a >= 1).all() or all_near else None)


def _corner_probability(
    theta: FloatArray, a: FloatArray, m: int, radius: float, samples: int, rng: np.random.Generator
) -> ConfidenceInterval:
    """Estimate P(|theta_w - theta_m| < eps)."""
    from scipy.special import betainc

    if len(theta) == 1:
        return ConfidenceInterval(1.0, 1.0, 1.0)
    others = np.delete(np.arange(len(theta)), m)
    draws = np.ones((1, 1)) if len(others) == 1 else rng.dirichlet(a[others], samples)
    distances = np.linalg.norm(draws @ theta[others] - theta[m], axis=1)
    reach = radius / np.maximum(distances, radius)
    return _mean_interval(betainc(float(a[others].sum()), float(a[m]), reach))


def _mean_interval(terms: FloatArray) -> ConfidenceInterval:
    """Estimate the mean of terms >= 0, with an interval in their logarithm."""
    largest = float(terms.max())
    if terms.size == 1:
        return ConfidenceInterval(largest, largest, largest)
    if largest == 0:  # to rounding
        return ConfidenceInterval(0.0, 0.0, 3 / terms.size)  # the rule of three
    scaled = terms / largest
    mean = float(scaled.mean())
    spread = _Z * float(scaled.std(ddof=1)) / mean / math.sqrt(terms.size)
    value = largest * mean
    return ConfidenceInterval(value, value * math.exp(-spread), min(value * math.exp(spread), 1.0))
