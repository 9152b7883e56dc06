"""Estimates of winning probabilities on shifted lattices of weights, at one or two levels of arms.

Where few arms win nearly always, half of the time is spent on them alone, at many weights, and half
on the difference that all others make, at fewer. Otherwise all arms are compared at all weights.
Where scores are minima, a few arms say at each weight which others can be better at all.
Scores are computed in single precision, and again in double precision where that might not tell
arms apart.
"""

from collections.abc import Callable

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.probability._scores import Scores, shares
from mogro.probability._sieve import Sieve, members

Draws = Callable[[int], Callable[[], FloatArray]]

_TIME = 13e6  # nanoseconds for all levels, about: decides how many weights they have
_REPLICATES = (8, 16)  # of a lattice, fewest and most
_MOST, _FEWEST = 4096, 16  # weights of a replicate
_PILOT = 256  # weights
_FEW = 128  # arms that won most in the pilot: the first level
_LEAST = 0.01  # part of the pilot from which an arm has to be known well
_LOST = 0.3  # part of the wins of such arms that others may take, if two levels are to be better
_SIEVED = 4  # objectives from which a sieve gains more than it costs
_STRONG = (300, 1200)  # values of arms that won most in the pilot, which others have to beat
_TINY = 1e-30  # weights and scores too near to what single precision takes for nothing
_CROWD = 48  # arms that might win at a weight, from which all are compared there
_BLOCK = 1 << 15  # scores at a time, so that they stay in the cache
_MANY = 8  # near winners of a weight, from which all scores are computed again
_ROUGH = 5e-7  # what single precision may do to a score, in the size of its terms


def estimated(scores: Scores, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """Return estimates (K,) and their standard errors.

    Parameters
    ----------
    scores
        Of all arms.
    draws
        Given a number n, a power of two, returns what draws n weights, (n, M), again and again.
    """
    arms = len(scores.values)
    whole = _Race(scores)
    levels: list[tuple[IntArray, _Race | _SievedRace]] = [(np.arange(arms), whole)]
    if arms > _FEW:
        pilot = draws(_PILOT)
        order = np.argsort(-whole.wins(pilot()), kind="stable")
        if scores.bend and not scores.total and scores.values.shape[1] >= _SIEVED:
            levels = [(np.arange(arms), _sieved(whole, order, pilot()))]
        elif _few_decide(scores.take(order), pilot()):
            levels = [(some, _Race(scores.take(some))) for some in (order[:_FEW], order)]
    values, squares = np.zeros(arms), np.zeros(arms)
    known = 0
    for some, race in levels:
        found, points = _replicates(race, draws, known, _TIME / len(levels))
        values[some] += found.mean(axis=0)
        squares[some] += found.var(axis=0, ddof=1) / len(found)
        known = len(some)
    values = np.maximum(values, 0)
    return values / values.sum(), np.maximum(np.sqrt(squares), 1 / (points * len(found)))


def _few_decide(scores: Scores, weights: FloatArray) -> bool:
    """Tell whether the first arms lose few wins to all others, where it matters."""
    among = _Race(scores.take(np.arange(_FEW))).wins(weights)
    lost = -_Race(scores).wins(weights, _FEW)[:_FEW]
    large = among >= _LEAST * len(weights)
    return bool(lost[large].sum() < _LOST * among[large].sum())


def _replicates(
    race: "_Race | _SievedRace", draws: Draws, known: int, nanoseconds: float
) -> tuple[FloatArray, int]:
    """Return what arms win, less what the first ones win among themselves, (replicates, K).

    And the number of weights of each replicate, as many as can be compared in this time, about.
    """
    fewest, most = _REPLICATES
    weights = nanoseconds / race.nanoseconds
    points = int(np.clip(2.0 ** np.floor(np.log2(weights / fewest)), _FEWEST, _MOST))
    found = np.zeros((int(np.clip(weights // points, fewest, most)), len(race.scores.values)))
    draw = draws(points)
    for won in found:
        drawn = draw()
        for i in range(0, points, race.step):
            won += race.wins(drawn[i : i + race.step], known)
    return found / points, points


class _Race:
    """Arms in single precision, and how to decide where that is not enough."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.values = np.ascontiguousarray(scores.near.T, dtype=np.float32)
        self.terms = scores.terms.astype(np.float32)
        exact, rough = (
            np.diff(np.sort(x, axis=1), axis=1) == 0 for x in (scores.near.T, self.values)
        )
        self.faithful = bool((exact == rough).all())  # what differs still does

    @property
    def step(self) -> int:
        """How many weights to compare at a time."""
        return max(1, _BLOCK * (1 if self.scores.bend else 8) // len(self.scores.values))

    @property
    def nanoseconds(self) -> float:
        """How long one weight takes, about."""
        objectives, arms = self.values.shape
        if self.scores.bend:
            return float(arms * (0.6 + 0.4 * objectives))
        return float(arms * (0.7 + 0.03 * objectives) + 8 * objectives)  # to draw it counts here

    def table(self, weights: FloatArray) -> FloatArray:
        """Return scores (n, K) for weights (n, M), in single precision."""
        if not self.scores.bend:
            return np.asarray(weights @ self.values)
        least = np.dot(weights[:, :1], self.values[:1])  # faster than to broadcast a product
        other = np.empty_like(least)
        for m in range(1, len(self.values)):
            np.dot(weights[:, m, None], self.values[m, None], out=other)
            np.minimum(least, other, out=least)
        if self.scores.total:
            np.matmul(weights * np.float32(self.scores.total), self.values, out=other)
            least += other
        return np.asarray(least)

    def wins(self, weights: FloatArray, known: int = 0) -> FloatArray:
        """Return how many of n weights arms win, less what the first win among themselves, (K,)."""
        single = weights.astype(np.float32)
        table = self.table(single)
        best, level = _highest(table)
        slack = _ROUGH * (np.abs(level) + np.abs(single) @ self.terms)
        near = table >= (level - slack)[:, None]
        if not known:
            return self._shared(weights, table, best, level, near)
        # Where the winner is one of the first, and nobody else is near, there is no difference.
        rows = np.flatnonzero((best >= known) | near[:, known:].any(axis=1))
        weights, table, slack = weights[rows], table[rows], slack[rows]
        won = self._shared(weights, table, best[rows], level[rows], near[rows])
        table = np.ascontiguousarray(table[:, :known])
        best, level = _highest(table)
        near = table >= (level - slack)[:, None]
        won[:known] -= self._shared(weights, table, best, level, near)
        return won

    def _shared(
        self,
        weights: FloatArray,
        table: FloatArray,
        best: IntArray,
        level: FloatArray,
        near: BoolArray,
    ) -> FloatArray:
        """Return how many of n weights arms (K,) win; ties are shared."""
        points, arms = table.shape
        many = np.count_nonzero(near)
        if many == points:
            return np.bincount(best, minlength=arms).astype(np.float64)
        if many <= _MANY * points:
            point, arm = np.divmod(np.flatnonzero(near), arms)
            return _decided(self.scores, weights, point, arm)[:arms]
        if self.faithful:
            equal = table == level[:, None]
            if np.count_nonzero(equal) == many:
                return np.asarray((1 / equal.sum(axis=1)) @ equal)
        scores = self.scores.take(np.arange(arms))
        return np.asarray(points * shares(scores.table(weights.T), scores.slack(weights.T)))


class _SievedRace:
    """Arms whose scores are minima: few can be above the best of some strong ones.

    Where weights are tiny or many arms might win, all are compared.
    """

    step = 1024

    def __init__(self, race: _Race, sieve: Sieve, strong: _Race, weights: FloatArray) -> None:
        self.scores, self.all, self.sieve, self.strong = race.scores, race, sieve, strong
        objectives = len(race.values)
        sets = self._candidates(weights)
        crowded = self._crowded(weights, sets)
        many = float(_sizes(sets[~crowded]).sum()) / len(sets)
        own = 100 + 30 * objectives + (40 + 8 * objectives) * many
        self.nanoseconds = own + strong.nanoseconds + float(crowded.mean()) * race.nanoseconds

    def wins(self, weights: FloatArray, known: int = 0) -> FloatArray:
        """Return how many of n weights arms (K,) win."""
        sets = self._candidates(weights)
        crowded = self._crowded(weights, sets)
        sets[crowded] = 0
        point, arm = members(sets)
        won = _decided(self.scores, weights, point, arm)
        rest = weights[crowded]
        for i in range(0, len(rest), self.all.step):
            won += self.all.wins(rest[i : i + self.all.step])
        return won

    def _candidates(self, weights: FloatArray) -> IntArray:
        """Return sets (n, words) with all arms that might win."""
        single = np.maximum(weights, _TINY).astype(np.float32)
        level = self.strong.table(single).max(axis=1)
        level -= _ROUGH * np.abs(level)
        level[np.abs(level) < _TINY] = -np.inf
        return self.sieve.above(level[:, None] / single)

    def _crowded(self, weights: FloatArray, sets: IntArray) -> BoolArray:
        return np.asarray((_sizes(sets) > _CROWD) | (weights.min(axis=1) <= _TINY))


def _sieved(race: _Race, order: IntArray, weights: FloatArray) -> _SievedRace:
    """Return what takes least time at some weights."""
    sieve = Sieve(race.values)
    strong = [_Race(race.scores.take(order[: 1 + n // len(race.values)])) for n in _STRONG]
    races = [_SievedRace(race, sieve, few, weights) for few in strong]
    return min(races, key=lambda race: race.nanoseconds)


def _sizes(sets: IntArray) -> FloatArray:
    return np.asarray(np.bitwise_count(sets) @ np.ones(sets.shape[1], dtype=np.float32))


def _highest(table: FloatArray) -> tuple[IntArray, FloatArray]:
    best = table.argmax(axis=1)
    return best, table[np.arange(len(best)), best]


def _decided(scores: Scores, weights: FloatArray, point: IntArray, arm: IntArray) -> FloatArray:
    """Return what arms (K,) win at points where these are near the best, in double precision."""
    exact = scores.each(weights.take(point, axis=0).T, arm)
    level = np.full(len(weights), np.finfo(np.float64).min)
    np.maximum.at(level, point, exact)
    rough = _ROUGH * np.abs(level)
    if not scores.bend or scores.total:
        rough += _ROUGH * (np.abs(weights) @ scores.terms)
    level -= np.minimum(scores.slack(weights.T), rough)
    tied = exact >= level[point]
    point, arm = point[tied], arm[tied]
    share = 1 / np.bincount(point, minlength=len(weights))[point]
    won = np.bincount(arm, share, minlength=len(scores.values))
    return won.astype(np.float64)  # of nothing, numbers are integers
