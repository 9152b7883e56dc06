"""Goodness of arms that are drawn anew each round: a probability, in the worst direction.

A distribution of contexts is given as a function ``contexts(rng=..., batch=...)`` that returns
features (*batch, K, d), such as the method of that name of every environment; where it is not
known, as a sample of it: the arms of n independent rounds, (n, K, d).
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._intervals import ConfidenceInterval
from mogro._validation import FloatArray, count, floats, real
from mogro.environments.synthetic import unit_vectors

_DIRECTIONS = 200  # tried in a search for the worst one, besides the axes
_REFINEMENTS = 60
_SEARCHED = 2000  # rounds in which a worst direction is looked for, at most
_NUMBERS = 10_000_000  # of features to draw, at most
_MIN_ROUNDS = 100
SAMPLES = 20_000


Contexts = Callable[..., Any]  # draws the arms of a round, see above


def context_goodness(
    contexts: Contexts | ArrayLike,
    *,
    gamma: float,
    samples: int = SAMPLES,
    rng: np.random.Generator | None = None,
) -> ConfidenceInterval:
    """Estimate q_gamma, the least probability over directions that some arm is gamma-good.

    A search over unit vectors looks for the worst direction; other rounds then count how often an
    arm has x . beta >= gamma there (Definition goodness_stochastic).

    Parameters
    ----------
    contexts
        Draws the arms of a round, or a sample of at least 100 rounds, (n, K, d): see the module.
    gamma
        Level, larger than 0.
    samples
        Rounds drawn or used, at most: half of them to search, up to 2000, and the others to count.
        Fewer where a round has more than 500 numbers.
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
    size = count(samples, "samples", minimum=_MIN_ROUNDS)
    generator = np.random.default_rng(0) if rng is None else rng
    rounds = draw_rounds(contexts, generator, samples=size, name="contexts")
    return measure_rounds(rounds, level, generator)[0]


def draw_rounds(
    contexts: Contexts | ArrayLike, rng: np.random.Generator, *, samples: int, name: str
) -> FloatArray:
    """Return the arms of independent rounds, (n, K, d), in no order. ``name`` is for errors."""
    if callable(contexts):
        affordable = _NUMBERS // _draw(contexts, 1, rng, name).size
        return _draw(contexts, max(_MIN_ROUNDS, min(samples, affordable)), rng, name)
    sample = floats(contexts, name, shape=("rounds", "K", "d")).astype(np.float64)
    if len(sample) < _MIN_ROUNDS:
        raise ValueError(
            f"{name}: expected the arms of at least {_MIN_ROUNDS} rounds, got {len(sample)}"
        )
    return np.asarray(sample[rng.permutation(len(sample))[:samples]])  # a log may change with time


def _draw(contexts: Contexts, size: int, rng: np.random.Generator, name: str) -> FloatArray:
    names = inspect.signature(contexts).parameters
    if "batch" in names and "step" not in names:
        features = np.asarray(contexts(rng=rng, batch=(size,)))
    else:  # one round after the other
        steps: list[Any] = [{"step": step} if "step" in names else {} for step in range(size)]
        rounds = [np.asarray(contexts(rng=rng, **step)) for step in steps]
        if len(shapes := sorted({features.shape for features in rounds})) > 1:
            raise ValueError(
                f"{name}: expected the same number of arms in all rounds, "
                f"got shapes {shapes[0]} and {shapes[-1]}"
            )
        features = np.stack(rounds)
    if features.ndim == 2:
        features = np.broadcast_to(features, (size, *features.shape))
    return floats(features, name, shape=(size, "K", "d")).astype(np.float64)


def measure_rounds(
    rounds: FloatArray, level: float, rng: np.random.Generator
) -> tuple[ConfidenceInterval, float]:
    """Return how often rounds reach a level in the worst direction found, and the most they reach.

    Some rounds are searched, others counted (interval of Clopper and Pearson).
    """
    from scipy.stats import binomtest

    searched = min(len(rounds) // 2, _SEARCHED)
    direction = worst_direction(rounds[:searched], level, rng)
    best_values = (rounds[searched:] @ direction).max(axis=-1)
    size, hits = len(best_values), int((best_values >= level).sum())
    low, high = binomtest(hits, size).proportion_ci()
    return ConfidenceInterval(hits / size, float(low), float(high)), float(best_values.max())


def worst_direction(draws: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    """Look for the unit vector along which rounds (n, K, d) reach a level least often."""

    def score(direction: FloatArray) -> tuple[float, float]:
        best = (draws @ direction).max(axis=-1)
        return float((best >= level).mean()), float(best.mean())  # the mean where shares are equal

    dim = draws.shape[-1]
    random_directions = unit_vectors(rng.standard_normal((_DIRECTIONS if dim > 1 else 0, dim)))
    worst = min([*np.eye(dim), *-np.eye(dim), *random_directions], key=score)
    lowest = score(worst)
    for width in np.geomspace(0.5, 0.01, _REFINEMENTS if dim > 1 else 0):
        candidate = unit_vectors(worst + width * rng.standard_normal(dim))
        if (candidate_score := score(candidate)) < lowest:
            worst, lowest = candidate, candidate_score
    return np.asarray(worst)
