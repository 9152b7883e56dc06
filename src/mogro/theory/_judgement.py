"""How good the arms of a problem are, which assumptions hold, how much objectives are at odds."""

from dataclasses import astuple, dataclass, replace
from functools import partial

import numpy as np

from mogro import pareto
from mogro._validation import FloatArray
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import Rounds, ShareEstimate, share_above, worst_direction
from mogro.theory.goodness import best_goodness, goodness_level

_UNIT = 1e-9  # norms within this of 1 are 1
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

    @property
    def promised_alpha(self) -> float | None:
        """alpha; if the arms are not good enough, that of perfect arms; None without diversity."""
        if self.alpha is not None or self.diversity == 0:
            return self.alpha
        _, norms = _versions(self)[0]
        return radius_cap(self.diversity, _perfect(norms), **norms) or None


def judge_arms(features: FloatArray, theta: FloatArray, *, apart: bool) -> Goodness:
    """Judge the goodness of fixed arms by the theorem's lemma, or else by a relaxed one.

    If objectives have to be ``apart``, alpha is at most their least distance (unless that is 0).
    """
    good = _measure(features, theta, level=goodness_level(features, theta))
    for version in _versions(good) if good.diversity > 0 else []:
        needed, cap = goodness_needed(good.diversity, **version[1]), partial(_cap, good, version[1])
        pair = best_goodness(features, theta, needed=needed, cap=cap)
        if pair is not None:
            return _enough(good, version, *pair, apart=apart)
    return good


def judge_contexts(rounds: Rounds, theta: FloatArray, rng: np.random.Generator) -> Goodness:
    """Judge the goodness of contexts."""
    sample = rounds.searched
    good = _measure(sample.reshape(-1, sample.shape[-1]), theta, level=0.0)
    for version in _versions(good) if good.diversity > 0 else []:
        gamma, level = _context_level(good, version[1], sample, rng, exponent=len(theta) - 1)
        direction = worst_direction(sample, gamma, rng)
        share = share_above(rounds.counted, direction, gamma)
        good = replace(good, level=level, probability=share)
        if share.low > 0:
            good = replace(good, level=max(level, gamma))
            return _enough(good, version, gamma, _cap(good, version[1], gamma), apart=True)
    return good


_Version = tuple[str, Norms]


def _measure(features: FloatArray, theta: FloatArray, *, level: float) -> Goodness:
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
        left=None,
        separation=float(apart.min()) if len(apart) else None,
        feature_norm=float(np.linalg.norm(features, axis=1).max()),
        smallest_norm=float(sizes.min()),
        largest_norm=float(sizes.max()),
    )
    name, norms = _versions(good)[0]
    needed = goodness_needed(good.diversity, **norms) if good.diversity > 0 else _perfect(norms)
    return replace(good, version=name, needed=needed)


def _versions(good: Goodness) -> list[_Version]:
    """Return the lemmas whose norms a problem keeps to, the theorem's first."""
    low, high = good.smallest_norm, good.largest_norm
    versions = [("all norms", Norms(feature_norm=good.feature_norm, parameter_norms=(low, high)))]
    if good.feature_norm <= 1 + _UNIT:
        relaxed = Norms(feature_norm=None, parameter_norms=(low, high))
        versions.insert(0, ("parameter norms", relaxed))
        if max(high - 1, 1 - low) <= _UNIT:
            versions.insert(0, ("theorem", Norms(feature_norm=None, parameter_norms=None)))
    return versions


def _perfect(norms: Norms) -> float:
    """Return the level of perfect arms."""
    return 1.0 if norms["feature_norm"] is None else norms["feature_norm"]


def _cap(good: Goodness, norms: Norms, gamma: float) -> float:
    # A norm may be above 1 by rounding.
    return radius_cap(good.diversity, min(gamma, _perfect(norms)), **norms)


def _enough(
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
        left=diversity_left(good.diversity, alpha, min(gamma, _perfect(norms)), **norms),
    )


def _context_level(
    good: Goodness, norms: Norms, sample: FloatArray, rng: np.random.Generator, *, exponent: int
) -> tuple[float, float]:
    """Return the gamma that promises most, and the highest level reached in a worst direction.

    A larger gamma is reached less often, but its radius alpha is larger; the regularity index
    grows with alpha about as its power M - 1.
    """
    needed = goodness_needed(good.diversity, **norms)
    levels = needed + (_perfect(norms) - needed) * _LEVELS
    best = (sample @ worst_direction(sample, float(levels[len(levels) // 2]), rng)).max(axis=-1)
    shares = (best[:, None] >= levels).mean(axis=0)
    radii = np.array([_cap(good, norms, float(gamma)) for gamma in levels])
    with np.errstate(divide="ignore"):
        worth = np.log(shares) + exponent * np.log(radii)
    return float(levels[worth.argmax()]), max(0.0, float(best.max()))


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
        What was measured and what is needed.
    """

    name: str
    holds: bool
    margin: float
    detail: str


def judge_assumptions(theta: FloatArray, good: Goodness, random: bool) -> tuple[Assumption, ...]:
    """Say which assumptions of the theory hold; ``random`` weights have one more."""
    longest, diverse = good.feature_norm, good.diversity > 0
    off = max(longest - 1, good.largest_norm - 1, 1 - good.smallest_norm)
    sizes = (
        f"feature norms up to {longest:.4g}, parameter norms {good.smallest_norm:.4g} to "
        f"{good.largest_norm:.4g} (theorem: up to 1, and 1)"
        + ("" if off <= _UNIT else "; the appendix's version for such norms is used")
    )
    rank, dim = int(np.linalg.matrix_rank(theta)), theta.shape[1]
    missing = f"lambda = 0: {len(theta)} objectives cover {rank} of {dim} dimensions"
    level = (
        f"best level gamma = {good.level:.6g}, needed above "
        f"{_near(good.needed, max(1.0, longest))} ({good.version}){_seen(good)}"
    )
    assumptions = (
        Assumption("bounded", off <= _UNIT or good.version != "theorem", -max(0.0, off), sizes),
        Assumption(
            "objectives span",
            diverse,
            good.diversity,
            f"lambda = {good.diversity:.4g}" if diverse else missing,
        ),
        Assumption(
            "good arms",
            good.alpha is not None,
            good.level - good.needed,
            level if diverse else "no level is enough, for the objectives do not span",
        ),
    )
    if not random or good.separation is None:
        return assumptions
    words = f"two objectives at distance {good.separation:.4g}, which the radius must not exceed"
    apart = Assumption("objectives apart", good.separation > 0, good.separation, words)
    return (*assumptions, apart)


def _near(value: float, reference: float) -> str:
    """Write a number, by its distance to a reference it is just below."""
    gap = reference - value
    return f"{reference:.4g} - {gap:.3g}" if 0 < gap < 1e-3 * reference else f"{value:.6g}"


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


@dataclass(frozen=True)
class Conflict:
    """How much the objectives are at odds; for contexts, in the mean over sampled rounds.

    Attributes
    ----------
    largest
        Share of an objective's range over the arms that is lost by taking the best arm for
        another objective, for the worst pair. 0: one arm is best for all.
    mean
        The same, in the mean over pairs.
    smallest_cosine
        The least cosine between two parameters.
    pareto_front
        Number of arms on the Pareto front.
    effective_front
        Number of arms on the effective front.
    single_best
        Number of different arms that are best for a single objective.
    """

    largest: float
    mean: float
    smallest_cosine: float
    pareto_front: float
    effective_front: float
    single_best: float


def measure_conflict(features: FloatArray, theta: FloatArray) -> Conflict:
    """Measure the conflict between objectives (M, d) over arms (K, d)."""
    means = features @ theta.T
    best = means.argmax(axis=0)
    top, ranges = means.max(axis=0), np.ptp(means, axis=0)
    losses = (top - means[best]) / np.where(ranges > 0, ranges, 1)
    pairs = losses[~np.eye(len(theta), dtype=bool)]
    directions = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return Conflict(
        largest=float(pairs.max(initial=0)),
        mean=float(pairs.mean()) if pairs.size else 0.0,
        smallest_cosine=float((directions @ directions.T).min()),
        pareto_front=int(pareto.front(means).sum()),
        effective_front=int(pareto.effective_front(means).sum()),
        single_best=len(set(best.tolist())),
    )


def mean_conflict(rounds: FloatArray, theta: FloatArray) -> Conflict:
    """Measure the conflict over the arms of several rounds, (n, K, d), in the mean."""
    conflicts = [astuple(measure_conflict(arms, theta)) for arms in rounds]
    return Conflict(*np.mean(conflicts, axis=0).tolist())
