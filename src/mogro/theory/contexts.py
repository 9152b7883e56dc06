"""Goodness of arms that are drawn anew each round: a probability, in the worst direction.

A distribution of contexts is given as a function ``contexts(rng=..., batch=...)`` that returns
features (*batch, K, d), such as the method of that name of every environment; where it is not
known, as a sample of it: the arms of n independent rounds, (n, K, d).
"""

import inspect
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray, count, floats, real
from mogro.environments.synthetic import unit_vectors

_DIRECTIONS = 200  # tried in a search for the worst one, besides the axes
_REFINEMENTS = 60
_SEARCHED = 2000  # rounds in which a worst direction is looked for, at most
_NUMBERS = 2_000_000  # of features to search in, at most; five times as many to count in
MIN_ROUNDS = 100  # rounds of a sample
SAMPLES = 20_000  # rounds in which good arms are counted


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
) -> ConfidenceInterval:
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
    ConfidenceInterval
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
        size = _draw(contexts, 1, rng, name).size
        parts = (min(samples, _SEARCHED, _NUMBERS // size), min(samples, 5 * _NUMBERS // size))
        return Rounds(*(_draw(contexts, max(MIN_ROUNDS, part), rng, name) for part in parts))
    sample = floats(contexts, name, shape=("rounds", "K", "d")).astype(np.float64)
    if len(sample) < MIN_ROUNDS:
        raise ValueError(
            f"{name}: expected the arms of at least {MIN_ROUNDS} rounds, got {len(sample)}"
        )
    mixed = sample[rng.permutation(len(sample))]  # a log may change with time
    half = len(mixed) // 2
    return Rounds(mixed[: min(half, _SEARCHED)], mixed[half:][:samples])


def _draw(contexts: Contexts, size: int, rng: np.random.Generator, name: str) -> FloatArray:
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


def share_above(rounds: FloatArray, direction: FloatArray, level: float) -> ConfidenceInterval:
    """Count in how many rounds (n, K, d) some arm has x . direction >= level (Clopper, Pearson)."""
    from scipy.special import betaincinv

    size = len(rounds)
    hits = int(((rounds @ direction).max(axis=-1) >= level).sum())
    low = float(betaincinv(hits, size - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, size - hits, 0.975)) if hits < size else 1.0
    return ConfidenceInterval(hits / size, low, high)


def worst_direction(draws: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    """Look for the unit vector along which rounds (n, K, d) reach a level least often."""

    def score(direction: FloatArray) -> tuple[float, float]:
        best = (draws @ direction).max(axis=-1)
        return float((best >= level).mean()), float(best.mean())  # the mean where shares are equal

    worst = min(directions(draws.shape[-1], rng), key=score)
    lowest = score(worst)
    for width in np.geomspace(0.5, 0.01, _REFINEMENTS if draws.shape[-1] > 1 else 0):
        trial = unit_vectors(worst + width * rng.standard_normal(worst.size))
        if (trial_score := score(trial)) < lowest:
            worst, lowest = trial, trial_score
    return np.asarray(worst)


def directions(dim: int, rng: np.random.Generator) -> FloatArray:
    """Return the axes, both ways, and random unit vectors."""
    axes = np.concatenate([np.eye(dim), -np.eye(dim)])
    if dim == 1:
        return axes
    return np.concatenate([axes, unit_vectors(rng.standard_normal((_DIRECTIONS, dim)))])
