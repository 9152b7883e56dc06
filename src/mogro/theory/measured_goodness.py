"""How good the arms of a problem are, by whichever version of the lemma its norms keep to."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import Rounds, share_above, worst_direction
from mogro.theory.goodness import best_goodness, goodness_level

UNIT_SLACK = 1e-9  # norms within this of 1 are 1
_LEVELS = np.linspace(0.05, 0.95, 10)  # tried for contexts, between the level needed and perfect


@dataclass(frozen=True)
class Goodness:
    """Goodness of the arms for the objectives, within the span of the features.

    Attributes
    ----------
    diversity
        lambda.
    level
        The best level gamma (approached as alpha goes to 0). For contexts, the highest level that
        an arm of the sampled rounds reached in the worst direction found.
    needed
        What the level has to exceed.
    version
        Which lemma that is: "theorem", "parameter norms", or "all norms" (the relaxed ones).
    gamma
        The level that the bounds use; None if the arms are not good enough.
    alpha
        The radius that goes with it; None if the arms are not good enough.
    diversity_left
        lambda'; None if the arms are not good enough.
    separation
        Least distance of two objectives, None for one. Random weights need alpha not to exceed
        it, for the proof adds over the events that the weights come near each objective.
    feature_norm
        x_max, the largest norm of a feature vector.
    smallest_norm
        l, the smallest norm of a parameter vector.
    largest_norm
        L, the largest norm of a parameter vector.
    probability
        For contexts, q_gamma: how often a round has a gamma-good arm in the worst direction found,
        an estimate; None for fixed arms.
    """

    diversity: float
    level: float
    needed: float
    version: str
    gamma: float | None
    alpha: float | None
    diversity_left: float | None
    separation: float | None
    feature_norm: float
    smallest_norm: float
    largest_norm: float
    probability: ConfidenceInterval | None = None

    @property
    def bound_norm(self) -> float:
        """The x_max that the bounds take, which is 1 unless the version is the one with x_max."""
        return self.feature_norm if self.version == "all norms" else 1.0

    @property
    def guaranteed_alpha(self) -> float | None:
        """alpha; if the arms are not good enough, that of perfect arms; None without diversity."""
        if self.alpha is not None or self.diversity == 0:
            return self.alpha
        _, norms = _versions(self)[0]
        return radius_cap(self.diversity, _perfect_level(norms), **norms) or None


def measure_arm_goodness(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Measure the goodness of fixed arms by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    good = _measure_sizes(features, theta, level=goodness_level(features, theta))
    for version in _versions(good) if good.diversity > 0 else []:
        needed, cap = goodness_needed(good.diversity, **version[1]), partial(_cap, good, version[1])
        pair = best_goodness(features, theta, needed=needed, cap=cap)
        if pair is not None:
            return _with_radius(good, version, *pair, apart=apart)
    return good


def measure_context_goodness(
    rounds: Rounds, theta: FloatArray, rng: np.random.Generator
) -> Goodness:
    """Measure the goodness of contexts."""
    sample = rounds.searched
    good = _measure_sizes(sample.reshape(-1, sample.shape[-1]), theta, level=0.0)
    for version in _versions(good) if good.diversity > 0 else []:
        gamma, level = _context_level(good, version[1], sample, rng, exponent=len(theta) - 1)
        direction = worst_direction(sample, gamma, rng)
        share = share_above(rounds.counted, direction, gamma)
        good = replace(good, level=level, probability=share)
        if share.low > 0:
            good = replace(good, level=max(level, gamma))
            return _with_radius(good, version, gamma, _cap(good, version[1], gamma), apart=True)
    return good


_Version = tuple[str, Norms]


def _measure_sizes(features: FloatArray, theta: FloatArray, *, level: float) -> Goodness:
    """Return the goodness of arms that are not, or not yet, known to be good enough."""
    sizes = np.linalg.norm(theta, axis=1)
    apart = np.linalg.norm(theta[:, None] - theta, axis=-1)[~np.eye(len(theta), dtype=bool)]
    good = Goodness(
        diversity=objective_diversity(theta),
        level=level,
        needed=0.0,
        version="",
        gamma=None,
        alpha=None,
        diversity_left=None,
        separation=float(apart.min()) if len(apart) else None,
        feature_norm=float(np.linalg.norm(features, axis=1).max()),
        smallest_norm=float(sizes.min()),
        largest_norm=float(sizes.max()),
    )
    name, norms = _versions(good)[0]
    needed = (
        goodness_needed(good.diversity, **norms) if good.diversity > 0 else _perfect_level(norms)
    )
    return replace(good, version=name, needed=needed)


def _versions(good: Goodness) -> list[_Version]:
    """Return the lemmas whose norms a problem keeps to, the theorem's first."""
    low, high = good.smallest_norm, good.largest_norm
    versions = [("all norms", Norms(feature_norm=good.feature_norm, parameter_norms=(low, high)))]
    if good.feature_norm <= 1 + UNIT_SLACK:
        relaxed = Norms(feature_norm=None, parameter_norms=(low, high))
        versions.insert(0, ("parameter norms", relaxed))
        if max(high - 1, 1 - low) <= UNIT_SLACK:
            versions.insert(0, ("theorem", Norms(feature_norm=None, parameter_norms=None)))
    return versions


def _perfect_level(norms: Norms) -> float:
    """Return the level of perfect arms."""
    return 1.0 if norms["feature_norm"] is None else norms["feature_norm"]


def _cap(good: Goodness, norms: Norms, gamma: float) -> float:
    # A norm may be above 1 by rounding.
    return radius_cap(good.diversity, min(gamma, _perfect_level(norms)), **norms)


def _with_radius(
    good: Goodness, version: _Version, gamma: float, alpha: float, *, apart: bool
) -> Goodness:
    """Return the goodness of arms that are good enough by a version."""
    name, norms = version
    if apart and good.separation:
        alpha = min(alpha, good.separation)
    return replace(
        good,
        needed=goodness_needed(good.diversity, **norms),
        version=name,
        gamma=gamma,
        alpha=alpha,
        diversity_left=diversity_left(
            good.diversity, alpha, min(gamma, _perfect_level(norms)), **norms
        ),
    )


def _context_level(
    good: Goodness, norms: Norms, sample: FloatArray, rng: np.random.Generator, *, exponent: int
) -> tuple[float, float]:
    """Return the gamma that promises most, and the highest level reached in a worst direction.

    A larger gamma is reached less often, but its radius alpha is larger; the regularity index
    grows with alpha about as its power M - 1.
    """
    needed = goodness_needed(good.diversity, **norms)
    levels = needed + (_perfect_level(norms) - needed) * _LEVELS
    best = (sample @ worst_direction(sample, float(levels[len(levels) // 2]), rng)).max(axis=-1)
    shares = (best[:, None] >= levels).mean(axis=0)
    radii = np.array([_cap(good, norms, float(gamma)) for gamma in levels])
    with np.errstate(divide="ignore"):
        worth = np.log(shares) + exponent * np.log(radii)
    return float(levels[worth.argmax()]), max(0.0, float(best.max()))
