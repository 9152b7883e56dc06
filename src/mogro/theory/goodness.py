"""Goodness of arms: for every direction near every objective there is a good one.

Arms are gamma-good with radius alpha if for every beta within alpha of some parameter theta_m one
of them has x . beta >= gamma |beta| (Definition goodness; alpha < |theta_m|).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray, between
from mogro.theory._problem import read_problem
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import measure_rounds

UNIT_SLACK = 1e-9  # norms within this of 1 are 1
# Of contexts: where between the level needed and a perfect one. A higher gamma is reached less
# often, but alpha is larger; for M = d and arms in all directions, q_gamma alpha^(M - 1), on which
# the bounds depend, is largest here.
_CONTEXT_LEVEL = 0.75


def goodness(features: ArrayLike, theta: ArrayLike, *, gamma: float) -> float:
    """Return a radius alpha with which the arms are gamma-good.

    In one and two dimensions it is the largest: arms cover arcs of directions, and theta_m may turn
    up to the end of those that hang together around it. In more dimensions it is what the best
    single arm for each objective allows: an arm x at an angle a to theta_m is gamma-good up to
    |theta_m| sin(arccos(gamma / |x|) - a). There the largest radius may be larger, where several
    arms cover what no one arm covers.

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
    float
        alpha, at most the smallest parameter norm; 0 if some objective has no gamma-good arm: then
        the arms are not gamma-good.

    Notes
    -----
    If features span a subspace only, give :func:`span_coordinates` of the problem.

    Examples
    --------
    Arms along both axes; e1 has x . u >= 0.8 up to arccos 0.8 away, at distance sin = 0.6.

    >>> round(goodness([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], gamma=0.8), 9)
    0.6
    """
    arms, parameters = read_problem(features, theta)
    largest = max(1.0, float(np.linalg.norm(arms, axis=1).max()))
    level = between(gamma, "gamma", 0, largest, closed="(]")
    return min(_radius(arms, parameter, level) for parameter in parameters)


def goodness_level(features: ArrayLike, theta: ArrayLike) -> float:
    """Return the level that gamma approaches as the radius alpha goes to 0.

    The least over objectives of the best mean reward per unit of parameter norm. The definition
    wants some alpha > 0, so that this level is approached but not reached. At least 0.

    Examples
    --------
    >>> goodness_level([[1.0, 0.0], [0.0, 0.9]], [[1.0, 0.0], [0.0, 2.0]])
    0.9
    """
    arms, parameters = read_problem(features, theta)
    directions = parameters / np.linalg.norm(parameters, axis=1, keepdims=True)
    return max(0.0, float((arms @ directions.T).max(axis=0).min()))


def best_goodness(
    features: ArrayLike, theta: ArrayLike, *, needed: float, cap: Callable[[float], float]
) -> tuple[float, float] | None:
    """Return the pair (gamma, alpha) with the largest radius after the cap.

    A larger gamma raises the cap on alpha but leaves fewer good arms. The best gamma is the
    largest at which the arms are still good up to the cap.

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
        None if the arms are not known to be good at any level above ``needed``.

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
    low, high = needed, goodness_level(features, theta)
    if high > low and goodness(features, theta, gamma=high) >= cap(high) > 0:
        return high, cap(high)
    for _ in range(60):
        gamma = (low + high) / 2
        if not low < gamma < high:
            break
        is_good = goodness(features, theta, gamma=gamma) >= cap(gamma) > 0
        low, high = (gamma, high) if is_good else (low, gamma)
    return (low, cap(low)) if low > needed else None


def _radius(arms: FloatArray, parameter: FloatArray, level: float) -> float:
    """Return how far an objective may move until no arm is good."""
    size = float(np.linalg.norm(parameter))
    direction = parameter / size
    lengths = np.linalg.norm(arms, axis=1)
    arms, lengths = arms[lengths >= level], lengths[lengths >= level]
    if not (arms @ direction >= level).any():
        return 0.0
    reach = np.arccos(level / lengths)  # an arm covers directions up to this angle away
    if direction.size == 1:
        return size
    if direction.size == 2:
        across = np.array([-direction[1], direction[0]])
        angles = np.arctan2(arms @ across, arms @ direction)
        covered = min(_covered_until(angles, reach), _covered_until(-angles, reach))
    else:
        across = np.linalg.norm(arms - np.outer(arms @ direction, direction), axis=1)
        covered = float((reach - np.arctan2(across, arms @ direction)).max())
    return size * math.sin(min(max(covered, 0.0), math.pi / 2))


def _covered_until(angles: FloatArray, reach: FloatArray) -> float:
    """Return the angle >= 0 up to which arcs around ``angles`` cover everything from 0 on."""
    end = 0.0
    for start, stop in sorted(zip(angles - reach, angles + reach, strict=True)):
        if start > end:
            break
        end = max(end, float(stop))
    return end


@dataclass(frozen=True)
class Goodness:
    """Goodness of the arms for the objectives, within the span of the features.

    Attributes
    ----------
    diversity
        lambda.
    level
        The best level gamma, approached as alpha goes to 0. For contexts, the highest level that
        an arm of the sampled rounds reached in the worst direction found.
    needed
        What the level has to exceed.
    version
        Which lemma that is: "theorem", "parameter norms", or "all norms" (the relaxed ones).
    separation
        Least distance of two objectives, None for one. Random weights need alpha not to exceed
        it, for the proof adds over the events that the weights come near each objective.
    feature_norm
        x_max, the largest norm of a feature vector.
    smallest_norm
        l, the smallest norm of a parameter vector.
    largest_norm
        L, the largest norm of a parameter vector.
    perfect_alpha
        The radius of perfect arms; None if the objectives do not span.
    gamma
        The level that the bounds use; None if the arms are not good enough.
    alpha
        The radius that goes with it; None if the arms are not good enough.
    diversity_left
        lambda'; None if the arms are not good enough.
    probability
        For contexts, q_gamma: how often a round has a gamma-good arm in the worst direction found,
        an estimate; None for fixed arms.
    """

    diversity: float
    level: float
    needed: float
    version: str
    separation: float | None
    feature_norm: float
    smallest_norm: float
    largest_norm: float
    perfect_alpha: float | None = None
    gamma: float | None = None
    alpha: float | None = None
    diversity_left: float | None = None
    probability: ConfidenceInterval | None = None

    @property
    def bound_norm(self) -> float:
        """The x_max that the bounds take, which is 1 unless the version is the one with x_max."""
        return self.feature_norm if self.version == "all norms" else 1.0


def measure_goodness(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Measure arms (K, d), or rounds (n, K, d), by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    norms = np.linalg.norm(theta, axis=1)
    distances = np.linalg.norm(theta[:, None] - theta, axis=-1)[~np.eye(len(theta), dtype=bool)]
    facts = Goodness(
        diversity=objective_diversity(theta),
        level=goodness_level(features, theta) if features.ndim == 2 else 0.0,
        needed=0.0,
        version="",
        separation=float(distances.min()) if len(distances) else None,
        feature_norm=float(np.linalg.norm(features, axis=-1).max()),
        smallest_norm=float(norms.min()),
        largest_norm=float(norms.max()),
    )
    versions = (
        _measure(features, theta, facts, apart, *version) for version in _versions(facts).items()
    )
    first = next(versions)
    return next((good for good in chain([first], versions) if good.alpha is not None), first)


def _measure(
    features: FloatArray,
    theta: FloatArray,
    facts: Goodness,
    apart: bool,
    version: str,
    norms: Norms,
) -> Goodness:
    """Return what one version of the lemma says."""
    lam, top = facts.diversity, norms["feature_norm"] or 1.0  # the level of perfect arms
    if not lam:
        return replace(facts, version=version, needed=top)

    def cap(gamma: float) -> float:
        return radius_cap(lam, min(gamma, top), **norms)  # a norm may be above 1 by rounding

    needed = goodness_needed(lam, **norms)
    result = replace(facts, version=version, needed=needed, perfect_alpha=cap(top) or None)
    if features.ndim == 2:
        pair = best_goodness(features, theta, needed=needed, cap=cap)
    else:
        level = needed + _CONTEXT_LEVEL * (top - needed)
        share, reached = measure_rounds(features, level, np.random.default_rng(0))
        result = replace(result, level=max(0.0, reached), probability=share)
        pair = (level, cap(level)) if share.low > 0 else None
    if pair is None:
        return result
    gamma, alpha = pair
    if apart and result.separation:
        alpha = min(alpha, result.separation)
    diversity = diversity_left(lam, alpha, min(gamma, top), **norms)
    return replace(result, gamma=gamma, alpha=alpha, diversity_left=diversity)


def _versions(facts: Goodness) -> dict[str, Norms]:
    """Return the versions of the lemma whose norms a problem keeps to, the theorem's first."""
    norm_range = facts.smallest_norm, facts.largest_norm
    norms = {"all norms": Norms(feature_norm=facts.feature_norm, parameter_norms=norm_range)}
    if facts.feature_norm <= 1 + UNIT_SLACK:
        norms = {"parameter norms": Norms(feature_norm=None, parameter_norms=norm_range)} | norms
        if max(facts.largest_norm - 1, 1 - facts.smallest_norm) <= UNIT_SLACK:
            norms = {"theorem": Norms(feature_norm=None, parameter_norms=None)} | norms
    return norms
