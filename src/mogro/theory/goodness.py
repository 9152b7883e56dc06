"""Goodness of a set of arms: for every direction near every objective there is a good one.

Arms are gamma-good with radius alpha if for every beta within alpha of some parameter theta_m one
of them has x . beta >= gamma |beta| (Definition goodness; alpha < |theta_m|). Both questions are
answered here with certified bounds: the largest alpha for a gamma, the largest gamma for an alpha.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, real
from mogro.theory._checks import between, problem
from mogro.theory._covering import Cover, Uncovered


@dataclass(frozen=True)
class Interval:
    """Certified bounds on a number."""

    lower: float
    upper: float


def goodness(features: ArrayLike, theta: ArrayLike, *, gamma: float) -> Interval:
    """Bound the largest radius alpha with which the arms are gamma-good.

    For each objective it is the distance from theta_m to the nearest direction that no arm
    covers, and at most |theta_m|. The lower bound is certified by a dual solution or by a walk over
    the vertices of {u: x . u <= gamma}; the upper one by a direction that was checked to be
    uncovered. They agree to about 1e-9 unless the walk, which grows quickly with the dimension,
    has to stop early (hundreds of arms all around, from about four dimensions on). The lower bound
    is then still valid.

    Parameters
    ----------
    features
        Arms, (K, d), of any norms, not all zero.
    theta
        Parameters, (M, d), of any norms, none zero.
    gamma
        Level, larger than 0 and at most 1 (or the largest feature norm, if that is larger).

    Returns
    -------
    Interval
        Bounds on alpha; both 0 if some objective has no gamma-good arm: then the arms are not
        gamma-good.

    Notes
    -----
    If features span a subspace only, give :func:`span_coordinates` of the problem. Directions
    exactly at level gamma count as covered in the definition; the lower bound takes them as
    uncovered, so the interval is wide where arms only just touch.

    Examples
    --------
    Arms along both axes; e1 has x . u >= 0.8 up to arccos 0.8 away, at distance sin = 0.6.

    >>> found = goodness([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], gamma=0.8)
    >>> round(found.lower, 9), round(found.upper, 9)
    (0.6, 0.6)
    """
    arms, parameters = problem(features, theta)
    largest = max(1.0, float(np.linalg.norm(arms, axis=1).max()))
    level = between(gamma, "gamma", 0, largest, closed="(]")
    radii = [_radius(arms, parameter, level) for parameter in parameters]
    return Interval(min(r.lower for r in radii), min(r.upper for r in radii))


def goodness_level(features: ArrayLike, theta: ArrayLike, *, alpha: float = 0.0) -> Interval:
    """Bound the largest gamma for which the arms are gamma-good with radius alpha.

    Parameters
    ----------
    features, theta
        Arms (K, d) and parameters (M, d).
    alpha
        Radius, at least 0 and smaller than every parameter norm. At 0 the answer is exact: the
        least over objectives of the best mean reward per unit of parameter norm. The definition
        wants some alpha > 0, so this level is approached but not reached.

    Returns
    -------
    Interval
        Bounds on gamma. A lower bound of 0 means that no positive level was certified.

    Examples
    --------
    >>> arms, theta = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]
    >>> goodness_level(arms, theta)
    Interval(lower=1.0, upper=1.0)
    >>> round(goodness_level(arms, theta, alpha=0.6).lower, 9)
    0.8
    """
    arms, parameters = problem(features, theta)
    sizes = np.linalg.norm(parameters, axis=1)
    radius = between(alpha, "alpha", 0, float(sizes.min()), closed="[)")
    directions = parameters / sizes[:, None]
    best = float((arms @ directions.T).max(axis=0).min())
    if radius == 0 or best <= 0:
        return Interval(max(0.0, best), max(0.0, best))
    lower = upper = best
    for direction, size in zip(directions, sizes, strict=True):
        lower, upper = _level(arms, direction, math.sqrt(1 - (radius / size) ** 2), lower, upper)
    return Interval(lower, upper)


def best_goodness(
    features: ArrayLike,
    theta: ArrayLike,
    *,
    needed: float,
    cap: Callable[[float], float],
) -> tuple[float, float] | None:
    """Return the pair (gamma, alpha) with the largest certified radius after the cap.

    A larger gamma raises the cap on alpha but leaves fewer good arms. The best gamma is the
    largest at which the arms are still certified good up to the cap.

    Parameters
    ----------
    features, theta
        Arms (K, d) and parameters (M, d).
    needed
        The level that gamma has to exceed, :func:`goodness_needed`.
    cap
        The cap on alpha at a gamma above that, increasing in it and smaller than every parameter
        norm: :func:`radius_cap`.

    Returns
    -------
    tuple or None
        None if the arms are not certified good at any level above ``needed``.

    Examples
    --------
    >>> from mogro.theory import goodness_needed, radius_cap
    >>> angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> gamma, alpha = best_goodness(
    ...     circle, np.eye(2), needed=goodness_needed(0.5), cap=lambda g: radius_cap(0.5, g))
    >>> bool(np.isclose(gamma, np.cos(np.pi / 100), atol=1e-9)), round(alpha, 3)
    (True, 0.135)
    """
    arms, parameters = problem(features, theta)
    low, level = real(needed, "needed", minimum=0), goodness_level(arms, parameters).upper
    gamma = level
    for parameter in parameters:
        size = float(np.linalg.norm(parameter))
        cover = Cover(arms, parameter / size)
        # The level of the objectives so far is kept by most others; only the rest is searched.
        if not gamma > low or not _good_up_to_cap(cover, size, gamma, cap):
            gamma = _largest_level(cover, size, low, gamma, cap)
    return (gamma, cap(gamma)) if gamma > low else None


def _largest_level(
    cover: Cover, size: float, low: float, high: float, cap: Callable[[float], float]
) -> float:
    """Return the largest level above ``low`` that is good up to the cap; ``low`` if none is."""
    for _ in range(50):
        gamma = (low + high) / 2
        if not low < gamma < high:
            break
        if _good_up_to_cap(cover, size, gamma, cap):
            low = gamma
        else:
            high = gamma
    return low


def _good_up_to_cap(cover: Cover, size: float, gamma: float, cap: Callable[[float], float]) -> bool:
    sine = min(cap(gamma) / size, 1.0)
    cosine = math.sqrt((1 - sine) * (1 + sine))
    found = cover.nearest_uncovered(gamma, floor=cosine)
    return sine > 0 and found.ceiling <= cosine


def _radius(arms: FloatArray, parameter: FloatArray, level: float) -> Interval:
    size = float(np.linalg.norm(parameter))
    direction = parameter / size
    found = Cover(arms, direction).nearest_uncovered(level)
    cosine = max(0.0, found.ceiling)
    lower = size * math.sqrt((1 - cosine) * (1 + cosine))
    return Interval(lower, max(lower, size * _witness_sine(found, direction)))


def _witness_sine(found: Uncovered, direction: FloatArray) -> float:
    if found.witness is None or (cosine := float(found.witness @ direction)) <= 0:
        return 1.0
    return min(1.0, float(np.linalg.norm(found.witness - cosine * direction)))


def _level(
    arms: FloatArray, direction: FloatArray, cosine: float, lower: float, upper: float
) -> tuple[float, float]:
    """Lower the bounds on gamma to what one objective allows."""
    low, high = 0.0, lower
    gamma = high
    cover = Cover(arms, direction)
    for _ in range(60):
        found = cover.nearest_uncovered(gamma, floor=cosine)
        if found.ceiling <= cosine:
            low = gamma
        else:
            high = gamma
            if found.witness is not None and found.witness @ direction >= cosine:
                upper = min(upper, max(0.0, float((arms @ found.witness).max())))
        gamma = (low + high) / 2
        if not low < gamma < high:
            break
    return low, max(low, upper)
