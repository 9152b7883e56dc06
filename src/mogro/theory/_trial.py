"""What a threshold costs on a problem as given: its exploration, and the greedy rounds after it.

The cost of exploration is exact for fixed arms, since which arms are explored does not depend on
rewards. The greedy rounds are simulated with normal noise: an estimate, not a bound.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray
from mogro.exploration import WeakestDirection
from mogro.theory.thresholds import initial_phase

_WALKED = 2000  # rounds of exploration tried out at most; beyond, the rest is extrapolated
_LENGTH = 400  # greedy rounds simulated; beyond, the rate of the second half goes on
_RUNS = 200


class Price(NamedTuple):
    """Regret of exploring up to a threshold.

    Attributes
    ----------
    regret
        Sum of the effective gaps of the arms explored; extrapolated if ``rounds`` is None.
    rounds
        How many there are; None if more than were tried out.
    length
        The same, extrapolated: never more than the horizon.
    gram
        The Gram matrix afterwards.
    """

    regret: float
    rounds: int | None
    length: int
    gram: FloatArray


def exploration_price(
    arms_in: Callable[[int], FloatArray],
    gaps_in: Callable[[int], FloatArray],
    *,
    threshold: float,
    rounds: int,
) -> Price:
    """Return what the default exploration of arms (K, d) with gaps (K,) costs in a horizon."""
    limit = min(rounds, _WALKED)
    phase = initial_phase(
        arms_in,
        threshold=threshold,
        exploration=WeakestDirection(),
        limit=limit,
        rng=np.random.default_rng(0),
    )
    regret = math.fsum(gaps_in(step)[arm] for step, arm in enumerate(phase.arms))
    if phase.ended:
        return Price(regret, len(phase.arms), len(phase.arms), phase.gram)
    weakest = float(np.linalg.eigvalsh(phase.gram)[0])
    longer = threshold / weakest if weakest > 1e-9 * threshold else math.inf
    factor = min(max(longer, 1.0), rounds / limit)
    return Price(regret * factor, None, round(limit * factor), phase.gram * factor)


class Estimate(NamedTuple):
    """A mean over simulated runs, with its 95% interval."""

    mean: float
    low: float
    high: float

    def plus(self, amount: float) -> "Estimate":
        """Return the same with an amount that is certain."""
        return Estimate(*(amount + value for value in self))


def greedy_regret(
    features: FloatArray,
    theta: FloatArray,
    gaps: FloatArray,
    gram: FloatArray,
    *,
    weights: FloatArray | None,
    noise: float,
    rounds: int,
) -> Estimate:
    """Estimate the effective regret of greedy rounds that start with a Gram matrix (d, d).

    ``weights`` are Dirichlet parameters, None: round robin. ``gaps`` (K,) are those of the arms.
    Rounds beyond those that are simulated are extrapolated, see :func:`_later`.
    """
    if rounds <= 0:
        return Estimate(0.0, 0.0, 0.0)
    rng = np.random.default_rng(0)
    objectives, dim = theta.shape
    inverse = np.broadcast_to(np.linalg.inv(gram), (_RUNS, dim, dim))
    root = np.linalg.cholesky(gram)
    moments = theta @ gram + noise * rng.standard_normal((_RUNS, objectives, dim)) @ root.T
    costs = np.zeros((min(rounds, _LENGTH), _RUNS))
    for step in range(len(costs)):
        aims = _aims(weights, objectives, step, rng)
        direction = (aims[:, None] @ moments @ inverse)[:, 0]
        arm = (direction @ features.T).argmax(axis=1)
        costs[step] = gaps[arm]
        x = features[arm]
        rewards = x @ theta.T + noise * rng.standard_normal((_RUNS, objectives))
        moments = moments + rewards[:, :, None] * x[:, None]
        ahead = (inverse @ x[:, :, None])[:, :, 0]
        scale = 1 + (ahead * x).sum(axis=1)
        inverse = inverse - ahead[:, :, None] * ahead[:, None] / scale[:, None, None]
    return _estimate(costs.sum(axis=0) + _later(costs, rounds))


def _aims(
    weights: FloatArray | None, objectives: int, step: int, rng: np.random.Generator
) -> FloatArray:
    if weights is None:
        return np.broadcast_to(np.eye(objectives)[step % objectives], (_RUNS, objectives))
    return rng.dirichlet(weights, _RUNS)


def _later(costs: FloatArray, rounds: int) -> FloatArray:
    """Extrapolate the costs (n, runs) of the first n rounds to those that follow, (runs,).

    The mean cost of a round goes on falling as a power of time, from 0 (nothing more is learned) to
    1, that is found in the second quarter and the second half.
    """
    n = len(costs)
    if rounds == n:
        return np.zeros(costs.shape[1])
    earlier, last = costs[n // 4 : n // 2].mean(), costs[n // 2 :].mean(axis=0)
    power = math.log2(earlier / last.mean()) if earlier > 0 < last.mean() else 0.0
    power = min(max(power, 0.0), 1.0)
    center, ratio = 0.75 * n, rounds / n
    spread = math.log(ratio) if power == 1 else (ratio ** (1 - power) - 1) / (1 - power)
    return np.asarray(last * n * (center / n) ** power * spread)


def _estimate(totals: FloatArray) -> Estimate:
    mean = float(totals.mean())
    error = 2 * float(totals.std(ddof=1)) / math.sqrt(totals.size)
    return Estimate(mean, mean - error, mean + error)
