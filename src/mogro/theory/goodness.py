"""Goodness of arms: for every direction near every objective there is a good one.

Arms are gamma-good with radius alpha if for every beta within alpha of some parameter theta_m one
of them has x . beta >= gamma |beta| (Definition goodness; alpha < |theta_m|). For arms that are
drawn anew each round it is a probability: how often some arm is good, in the worst direction. A
distribution of contexts is given as a function ``contexts(rng=..., batch=...)`` that returns
features (*batch, K, d), such as the method of that name of every environment; where it is not
known, as a sample of it: the arms of n independent rounds, (n, K, d).
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, count, floats, real
from mogro.theory._problem import ProbabilityEstimate, read_between, read_problem
from mogro.theory.conditions import (
    Norms,
    diversity_left,
    goodness_needed,
    objective_diversity,
    radius_cap,
)

UNIT_SLACK = 1e-9  # norms within this of 1 are 1
_LEVELS = np.linspace(0.05, 0.95, 10)  # tried for contexts, between the level needed and perfect
_DIRECTIONS = 200  # tried in a search for the worst one, besides the axes
_REFINEMENTS = 60
_SEARCHED = 2000  # rounds in which a worst direction is looked for, at most
_NUMBERS = 2_000_000  # of features to search in, at most; five times as many to count in
MIN_ROUNDS = 100  # rounds of a sample
SAMPLES = 20_000  # rounds in which good arms are counted


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
    level = read_between(gamma, "gamma", 0, largest, closed="(]")
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
    low, high = real(needed, "needed", minimum=0), goodness_level(features, theta)
    if high > low and goodness(features, theta, gamma=high) >= cap(high) > 0:
        return high, cap(high)
    start = low
    for _ in range(60):
        gamma = (low + high) / 2
        if not low < gamma < high:
            break
        good = goodness(features, theta, gamma=gamma) >= cap(gamma) > 0
        low, high = (gamma, high) if good else (low, gamma)
    return (low, cap(low)) if low > start else None


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


class Contexts(Protocol):
    """Draws the arms of a round."""

    def __call__(self, *, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        """Return features, (*batch, K, d) or broadcastable."""


def context_goodness(
    contexts: Contexts | ArrayLike,
    *,
    gamma: float,
    samples: int = SAMPLES,
    rng: np.random.Generator | None = None,
) -> ProbabilityEstimate:
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
        Rounds counted, at most; fewer where a round has more than 500 numbers.
    rng
        Source of randomness; None: a fixed one.

    Returns
    -------
    ProbabilityEstimate
        The interval is for the direction found. A direction that is worse and was not found would
        make q_gamma smaller: evidence, not proof. An interval that starts at 0 says that the
        condition was not seen to hold.

    Examples
    --------
    >>> from mogro.environments import VaryingContexts
    >>> world = VaryingContexts(np.eye(2), arms=5, noise=0.1)
    >>> share = context_goodness(world.contexts, gamma=0.9)
    >>> share.low <= 1 - (1 - 0.018693) ** 5 <= share.high  # of the disc, 1.87 % are above 0.9
    True
    """
    level = real(gamma, "gamma", above=0)
    size = count(samples, "samples", minimum=MIN_ROUNDS)
    generator = np.random.default_rng(0) if rng is None else rng
    rounds = draw_rounds(contexts, generator, samples=size)
    direction = worst_direction(rounds.searched, level, generator)
    return share_above(rounds.counted, direction, level)


class Rounds(NamedTuple):
    """Independent rounds of arms, (n, K, d): some to search in, and others to count in."""

    searched: FloatArray
    counted: FloatArray


def draw_rounds(
    contexts: Contexts | ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = SAMPLES,
    name: str = "contexts",
) -> Rounds:
    """Return rounds of contexts, at most ``samples`` to count in; refusals call them ``name``."""
    if callable(contexts):
        size = _drawn(contexts, 1, rng, name).size
        parts = (min(samples, _SEARCHED, _NUMBERS // size), min(samples, 5 * _NUMBERS // size))
        return Rounds(*(_drawn(contexts, max(MIN_ROUNDS, part), rng, name) for part in parts))
    sample = floats(contexts, name, shape=("rounds", "K", "d")).astype(np.float64)
    if len(sample) < MIN_ROUNDS:
        raise ValueError(
            f"{name}: expected the arms of at least {MIN_ROUNDS} rounds, got {len(sample)}"
        )
    mixed = sample[rng.permutation(len(sample))]  # a log may change with time
    half = len(mixed) // 2
    return Rounds(mixed[: min(half, _SEARCHED)], mixed[half:][:samples])


def _drawn(contexts: Contexts, size: int, rng: np.random.Generator, name: str) -> FloatArray:
    names = inspect.signature(contexts).parameters
    if "batch" in names and "step" not in names:
        features = np.asarray(contexts(rng=rng, batch=(size,)))
    else:  # one round after the other
        steps: list[Any] = [{"step": step} if "step" in names else {} for step in range(size)]
        rounds = [np.asarray(contexts(rng=rng, **step)) for step in steps]
        if len(shapes := sorted({part.shape for part in rounds})) > 1:
            raise ValueError(
                f"{name}: expected as many arms in all rounds, got shapes {shapes[0]} and "
                f"{shapes[-1]}"
            )
        features = np.stack(rounds)
    if features.ndim not in (2, 3) or features.dtype.kind not in "fiu" or not features.size:
        received = f"{features.dtype} of shape {features.shape}"
        raise ValueError(f"{name}: expected features (n, K, d), got {received}")
    if not np.isfinite(features).all():
        raise ValueError(f"{name}: expected finite features, got NaN or infinity")
    return np.broadcast_to(features, (size, *features.shape[-2:])).astype(np.float64)


def share_above(rounds: FloatArray, direction: FloatArray, level: float) -> ProbabilityEstimate:
    """Count in how many rounds (n, K, d) some arm has x . direction >= level (Clopper, Pearson)."""
    from scipy.special import betaincinv

    size = len(rounds)
    hits = int(((rounds @ direction).max(axis=-1) >= level).sum())
    low = float(betaincinv(hits, size - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, size - hits, 0.975)) if hits < size else 1.0
    return ProbabilityEstimate(hits / size, low, high)


def worst_direction(draws: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    """Look for the unit vector along which rounds (n, K, d) reach a level least often."""

    def score(direction: FloatArray) -> tuple[float, float]:
        best = (draws @ direction).max(axis=-1)
        return float((best >= level).mean()), float(best.mean())  # the mean where shares are equal

    worst = min(directions(draws.shape[-1], rng), key=score)
    lowest = score(worst)
    for width in np.geomspace(0.5, 0.01, _REFINEMENTS if draws.shape[-1] > 1 else 0):
        trial = _unit(worst + width * rng.standard_normal(worst.size))
        if (trial_score := score(trial)) < lowest:
            worst, lowest = trial, trial_score
    return np.asarray(worst)


def directions(dim: int, rng: np.random.Generator) -> FloatArray:
    """Return the axes, both ways, and random unit vectors."""
    axes = np.concatenate([np.eye(dim), -np.eye(dim)])
    if dim == 1:
        return axes
    return np.concatenate([axes, _unit(rng.standard_normal((_DIRECTIONS, dim)))])


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


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
    probability: ProbabilityEstimate | None = None

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
