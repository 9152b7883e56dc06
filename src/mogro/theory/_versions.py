"""Which version of the lemmas fits a problem, and how good its arms are by it."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from mogro._validation import FloatArray
from mogro.theory._report import near
from mogro.theory._sampling import ContextSource, ShareEstimate, worst_direction
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.goodness import best_goodness, goodness_level

UNIT = 1e-9  # norms within this of 1 are 1
_LEVELS = np.linspace(0.05, 0.95, 10)  # tried for contexts, between the level needed and perfect
_COUNTED = 20_000  # rounds of contexts in which good ones are counted


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
    left
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
    left: float | None
    separation: float | None
    feature_norm: float
    smallest_norm: float
    largest_norm: float
    probability: ShareEstimate | None = None

    @property
    def bound_norm(self) -> float:
        """The x_max that the bounds take, which is 1 unless the version is the one with x_max."""
        return self.feature_norm if self.version == "all norms" else 1.0


@dataclass(frozen=True)
class _Version:
    """The lemmas for one way of bounding norms."""

    name: str
    feature_norm: float | None
    parameter_norms: tuple[float, float] | None

    @property
    def _norms(self) -> Norms:
        return {"feature_norm": self.feature_norm, "parameter_norms": self.parameter_norms}

    def needed(self, lam: float) -> float:
        return goodness_needed(lam, **self._norms)

    def cap(self, lam: float, gamma: float) -> float:
        return radius_cap(lam, self._level(gamma), **self._norms)

    def left(self, lam: float, gamma: float, alpha: float) -> float:
        return diversity_left(lam, alpha, self._level(gamma), **self._norms)

    def _level(self, gamma: float) -> float:
        return min(gamma, self.perfect)  # a norm may be above 1 by rounding

    @property
    def perfect(self) -> float:
        """The level of perfect arms."""
        return 1.0 if self.feature_norm is None else self.feature_norm


def _versions(xmax: float, low: float, high: float) -> list[_Version]:
    """Return the versions whose norms a problem keeps to, the theorem's first."""
    versions = [_Version("all norms", xmax, (low, high))]
    if xmax <= 1 + UNIT:
        versions.insert(0, _Version("parameter norms", None, (low, high)))
        if max(high - 1, 1 - low) <= UNIT:
            versions.insert(0, _Version("theorem", None, None))
    return versions


def judge_arms(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Judge the goodness of fixed arms by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    lam = objective_diversity(theta)
    level = goodness_level(features, theta).upper
    norms = _norms(features, theta)
    separation = _separation(theta)
    versions = _versions(*norms)
    for version in versions if lam > 0 else []:
        needed = version.needed(lam)
        cap = partial(version.cap, lam)
        if (pair := best_goodness(features, theta, needed=needed, cap=cap)) is not None:
            gamma, alpha = pair
            if apart and separation:
                alpha = min(alpha, separation)
            left = version.left(lam, gamma, alpha)
            return Goodness(
                lam, level, needed, version.name, gamma, alpha, left, separation, *norms
            )
    first = versions[0]
    needed = first.needed(lam) if lam > 0 else first.perfect
    return Goodness(lam, level, needed, first.name, None, None, None, separation, *norms)


def judge_contexts(
    source: ContextSource, sample: FloatArray, theta: FloatArray, rng: np.random.Generator
) -> Goodness:
    """Judge the goodness of contexts, from rounds (n, K, d) to search in and others to count in."""
    lam = objective_diversity(theta)
    norms = _norms(sample.reshape(-1, sample.shape[-1]), theta)
    separation = _separation(theta)
    versions = _versions(*norms)
    level, probability = 0.0, None
    for version in versions if lam > 0 else []:
        needed = version.needed(lam)
        gamma, level = _context_level(version, lam, sample, rng, exponent=len(theta) - 1)
        direction = worst_direction(sample, gamma, rng)
        probability = source.share_above(direction, gamma, _COUNTED)
        if probability.low > 0:
            alpha = min(version.cap(lam, gamma), separation or math.inf)
            left = version.left(lam, gamma, alpha)
            of_version = (lam, max(level, gamma), needed, version.name)
            return Goodness(*of_version, gamma, alpha, left, separation, *norms, probability)
    first = versions[0]
    needed = first.needed(lam) if lam > 0 else first.perfect
    of_version = (lam, level, needed, first.name)
    return Goodness(*of_version, None, None, None, separation, *norms, probability)


def _context_level(
    version: _Version,
    lam: float,
    sample: FloatArray,
    rng: np.random.Generator,
    *,
    exponent: int,
) -> tuple[float, float]:
    """Return the gamma that promises most, and the highest level reached in a worst direction.

    A larger gamma is reached less often, but its radius alpha is larger; the regularity index
    grows with alpha about as its power M - 1.
    """
    needed = version.needed(lam)
    levels = needed + (version.perfect - needed) * _LEVELS
    best = (sample @ worst_direction(sample, float(levels[len(levels) // 2]), rng)).max(axis=-1)
    shares = (best[:, None] >= levels).mean(axis=0)
    radii = np.array([version.cap(lam, float(gamma)) for gamma in levels])
    with np.errstate(divide="ignore"):
        worth = np.log(shares) + exponent * np.log(radii)
    return float(levels[worth.argmax()]), max(0.0, float(best.max()))


def _norms(features: FloatArray, theta: FloatArray) -> tuple[float, float, float]:
    """Return x_max, l and L."""
    sizes = np.linalg.norm(theta, axis=1)
    longest = float(np.linalg.norm(features, axis=1).max())
    return longest, float(sizes.min()), float(sizes.max())


def _separation(theta: FloatArray) -> float | None:
    if len(theta) == 1:
        return None
    distances = np.linalg.norm(theta[:, None] - theta, axis=-1)
    return float(distances[~np.eye(len(theta), dtype=bool)].min())


def promised_radius(good: Goodness) -> float | None:
    """Return alpha; if the arms are not good enough, that of perfect arms."""
    if good.alpha is not None or good.diversity == 0:
        return good.alpha
    version = _versions(good.feature_norm, good.smallest_norm, good.largest_norm)[0]
    return version.cap(good.diversity, version.perfect) or None


@dataclass(frozen=True)
class Assumption:
    """One assumption of the theory, whether it holds, and by how much.

    Attributes
    ----------
    name
        What is assumed.
    holds
        Whether it does.
    margin
        By how much it holds (positive) or fails (negative), in the unit that ``detail`` names.
    detail
        What was found and what is needed.
    """

    name: str
    holds: bool
    margin: float
    detail: str


def judge_assumptions(theta: FloatArray, good: Goodness, random: bool) -> tuple[Assumption, ...]:
    """Say which assumptions of the theory hold; ``random`` weights have one more."""
    longest = good.feature_norm
    off = max(longest - 1, good.largest_norm - 1, 1 - good.smallest_norm)
    bounded = Assumption(
        "bounded",
        off <= UNIT or good.version != "theorem",
        -max(0.0, off),
        f"feature norms up to {longest:.4g}, parameter norms {good.smallest_norm:.4g} to "
        f"{good.largest_norm:.4g} (theorem: up to 1, and 1)"
        + ("" if off <= UNIT else "; the appendix's version for such norms is used"),
    )
    rank, dim = int(np.linalg.matrix_rank(theta)), theta.shape[1]
    span = Assumption(
        "objectives span",
        good.diversity > 0,
        good.diversity,
        f"lambda = {good.diversity:.4g}"
        if good.diversity > 0
        else f"lambda = 0: {len(theta)} objectives cover {rank} of {dim} dimensions",
    )
    goods = Assumption(
        "good arms",
        good.alpha is not None,
        good.level - good.needed,
        f"best level gamma = {good.level:.6g}, needed above "
        f"{near(good.needed, max(1.0, longest))} ({good.version}){_seen(good)}"
        if good.diversity > 0
        else "no level is enough, for the objectives do not span",
    )
    if not random or good.separation is None:
        return bounded, span, goods
    apart = Assumption(
        "objectives apart",
        good.separation > 0,
        good.separation,
        f"two objectives at distance {good.separation:.4g}, which the radius must not exceed",
    )
    return bounded, span, goods, apart


def _seen(good: Goodness) -> str:
    """Say how often contexts were good."""
    if (q := good.probability) is None:
        return ""
    if q.high <= 0 or good.gamma is None:
        return f"; rounds with a good arm in the worst direction found: at most {q.high:.2g}"
    return (
        f"; q_gamma = {q.value:.3g} [{q.low:.3g}, {q.high:.3g}] at gamma = {good.gamma:.6g} in the "
        "worst direction found (an estimate)"
    )
