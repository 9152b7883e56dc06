"""Which of many arms have the largest scores, at many weights.

Scores are computed in single precision, and again in double precision where that might not tell
arms apart. If some strong arms are known, a bound says for most others that they are below them.
"""

from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.probability._scores import Scores
from mogro.probability._sieve import Sieve, members

_BLOCK = 1 << 17  # scores at a time
_ROUGH = 5e-7  # what single precision may do to a score, in the size of its terms
_DEEP = 1e30  # quotients of weights that single precision can hold
_TIES = 16  # as many times more arms than near winners: only these are scored again
_DISTINCT = 2e-6  # relative difference of values that single precision certainly tells apart
_CROWD = 48  # arms that might win at a weight, from which all are compared there
_BOUNDED = {True: 4, False: 6}  # objectives from which bounds gain more than they cost: pure minima


class Points(NamedTuple):
    """Weights, how many times each of them counts, and the replicate each belongs to."""

    weights: FloatArray  # (n, M)
    times: FloatArray  # (n,)
    replicate: IntArray  # (n,)
    replicates: int

    def take(self, rows: IntArray | slice) -> "Points":
        """Return some of the points."""
        weights, times, replicate, replicates = self
        return Points(weights[rows], times[rows], replicate[rows], replicates)


class Race:
    """Arms in single precision, and how to decide where that is not enough."""

    def __init__(self, scores: Scores, values: FloatArray, terms: FloatArray) -> None:
        self.scores, self.values, self.terms = scores, values, terms
        self._positive = bool((values >= 0).all())
        self._distinct = scores.pure and _distinct(values)
        # Memory that is used again and again is faster.
        self._space = np.empty((2, max(1, _BLOCK // self.arms), self.arms), dtype=np.float32)

    @classmethod
    def of(cls, scores: Scores) -> "Race":
        """Prepare all arms."""
        near = scores.near
        unit = np.ldexp(1.0, -int(np.frexp(np.abs(near).max())[1]))
        values = np.ascontiguousarray((unit * near).T, dtype=np.float32)
        # Scores that are equal up to rounding in double precision are near in single precision.
        terms = _ROUGH * scores.terms + (0 if scores.pure else scores.slack(np.eye(len(values))))
        return cls(scores, values, (unit * terms).astype(np.float32))

    def take(self, arms: IntArray) -> "Race":
        """Return a race of some of the arms, in the same unit."""
        return Race(self.scores.take(arms), self.values.take(arms, axis=1), self.terms)

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.scores.values)

    @property
    def nanoseconds(self) -> float:
        """How long one weight takes, about."""
        objectives, arms = self.values.shape
        if self.scores.bend:
            return float(arms * (0.8 + 0.22 * objectives) + 60 + 12 * objectives)
        return float(arms * (0.55 + 0.015 * objectives) + 100 + 5 * objectives)

    def wins(self, points: Points) -> FloatArray:
        """Return what arms win, (replicates, K)."""
        return self.winners(points)[0]

    def winners(self, points: Points) -> tuple[FloatArray, IntArray]:
        """Return what arms win, and an arm near the best of each point, (n,)."""
        won = np.zeros((points.replicates, self.arms))
        best = np.empty(len(points.times), dtype=np.int64)
        for rows in self.blocks(len(best)):
            won += self._wins(points.take(rows), best[rows])
        return won, best

    def _wins(self, points: Points, best: IntArray) -> FloatArray:
        """Return what arms win, (replicates, K), and write an arm near the best."""
        single = self.single(points.weights)
        table = self.table(single)
        table.argmax(axis=1, out=best)
        top = np.arange(0, table.size, self.arms) + best
        level = table.take(top)
        table.put(top, -np.inf)
        low = level - self.slack(single, level)
        low[self.deep(points.weights)] = -np.inf
        close = table.max(axis=1) >= low
        table.put(top, level)
        size = points.replicates * self.arms
        place = points.replicate * self.arms + best
        won = np.bincount(place, points.times * ~close, size).astype(np.float64)
        won = won.reshape(-1, self.arms)
        some = np.flatnonzero(close)
        if len(some):
            won += self._decided(points.take(some), table[some], level[some], low[some])
        return won

    def blocks(self, points: int) -> list[slice]:
        """Return which weights to compare at a time."""
        step = self._space.shape[1]
        return [slice(i, i + step) for i in range(0, points, step)]

    def single(self, weights: FloatArray) -> FloatArray:
        """Return weights (n, M) in single precision, up to a factor that does not matter."""
        if self.scores.pure:  # the largest weights do not matter
            unit = weights.min(axis=1, keepdims=True)
            with np.errstate(over="ignore"):
                scaled = np.clip(weights / np.where(unit > 0, unit, 1), 1, _DEEP)
        else:
            unit = np.abs(weights).max(axis=1, keepdims=True)
            scaled = weights / np.where(unit > 0, unit, 1)
        return np.asarray(scaled, dtype=np.float32)

    def deep(self, weights: FloatArray) -> BoolArray:
        """Tell where single precision does not serve at all."""
        if not self.scores.pure:
            return np.zeros(len(weights), dtype=np.bool_)
        least = weights.min(axis=1)
        if self._positive:
            return np.asarray(least <= 0)
        return np.asarray(weights.max(axis=1) * (1 / _DEEP) >= least)

    def slack(self, single: FloatArray, level: FloatArray) -> FloatArray:
        """Return what single precision may do to scores near a level (n,)."""
        return np.asarray(_ROUGH * np.abs(level) + np.abs(single) @ self.terms)

    def table(self, single: FloatArray) -> FloatArray:
        """Return scores (n, K) for a block of weights (n, M), until the next are asked for."""
        least, other = self._space[:, : len(single)]
        if not self.scores.bend:
            return np.asarray(np.matmul(single, self.values, out=least))
        np.dot(single[:, :1], self.values[:1], out=least)  # faster than to broadcast a product
        for m in range(1, len(self.values)):
            np.dot(single[:, m, None], self.values[m, None], out=other)
            np.minimum(least, other, out=least)
        if self.scores.total:
            np.matmul(single * np.float32(self.scores.total), self.values, out=other)
            least += other
        return np.asarray(least)

    def bound(self, single: FloatArray) -> FloatArray:
        """Return what scores (n, K) would be if one of the two smallest weights were the least."""
        bound, other = self._space[:, : len(single)]
        rows = np.arange(len(single))
        left = single.copy()
        for out in (bound, other):
            least = left.argmin(axis=1)
            modified = single * np.float32(self.scores.total)
            modified[rows, least] += single[rows, least]
            np.matmul(modified, self.values, out=out)
            left[rows, least] = np.inf
        return np.asarray(np.minimum(bound, other, out=bound))

    def _decided(
        self, points: Points, table: FloatArray, level: FloatArray, low: FloatArray
    ) -> FloatArray:
        """Return what arms win, (replicates, K), at points where some are near the best."""
        near = table >= low[:, None]
        many = np.count_nonzero(near)
        if many * _TIES <= near.size:
            return decided(self.scores, points, *np.divmod(np.flatnonzero(near), self.arms))
        tied = np.asarray(table == level[:, None])
        if not self._distinct or np.count_nonzero(tied) < many:
            exact = self.scores.table(points.weights.T)
            best = exact.max(axis=0)
            tied = (exact >= best - self.scores.tolerance(points.weights.T, best)).T
        share = points.times / np.count_nonzero(tied, axis=1)
        won = np.zeros((points.replicates, self.arms))
        for i in np.unique(points.replicate):
            rows = slice(*points.replicate.searchsorted([i, i + 1]))
            won[i] = share[rows] @ tied[rows]
        return won


class BoundedRace:
    """Arms whose scores have a minimum: few can be above the best of some strong ones."""

    def __init__(self, race: Race, strong: Race, points: Points) -> None:
        self._race, self._strong = race, strong
        self._sieve = Sieve(race.values) if race.scores.pure else None
        objectives = len(race.values)
        crowded, point, _ = self._candidates(points.weights)
        crowd = float(crowded.mean())
        each = len(point) / len(crowded)
        own = 200 + 40 * objectives if self._sieve else race.arms * (0.6 + 0.06 * objectives)
        self.nanoseconds = (
            own + strong.nanoseconds + (60 + 8 * objectives) * each + crowd * race.nanoseconds
        )

    def wins(self, points: Points) -> FloatArray:
        """Return what arms win, (replicates, K)."""
        crowded, point, arm = self._candidates(points.weights)
        won = decided(self._race.scores, points, point, arm)
        rest = np.flatnonzero(crowded)
        if len(rest):
            won += self._race.wins(points.take(rest))
        return won

    def _candidates(self, weights: FloatArray) -> tuple[BoolArray, IntArray, IntArray]:
        """Return where all are to be compared; elsewhere numbers of points, and who might win."""
        race, strong = self._race, self._strong
        single = race.single(weights)
        level = np.concatenate(
            [strong.table(single[i]).max(axis=1) for i in strong.blocks(len(single))]
        )
        level -= race.slack(single, level)
        if self._sieve is not None:
            level[np.abs(level) < 1 / _DEEP] = -np.inf
            sets = self._sieve.above(level[:, None] / single)
            crowded = np.asarray(np.bitwise_count(sets).sum(axis=1, dtype=np.int64) > _CROWD)
            crowded |= race.deep(weights)
            sets[crowded] = 0
            return crowded, *members(sets)
        places = []
        crowded = np.zeros(len(single), dtype=np.bool_)
        for i in race.blocks(len(single)):
            above = race.bound(single[i]) >= level[i, None]
            crowded[i] = np.count_nonzero(above, axis=1) > _CROWD
            above[crowded[i]] = False
            places.append(np.flatnonzero(above) + i.start * race.arms)
        return crowded, *np.divmod(np.concatenate(places), race.arms)


def bounded(race: Race) -> bool:
    """Tell whether a bound gains more than it costs."""
    scores = race.scores
    return bool(scores.bend) and len(race.values) >= _BOUNDED[scores.pure]


def decided(scores: Scores, points: Points, point: IntArray, arm: IntArray) -> FloatArray:
    """Return what arms win, (replicates, K), if these are near the best, in double precision."""
    weights, arms = points.weights, len(scores.values)
    exact = scores.each(weights.take(point, axis=0).T, arm)
    level = np.full(len(weights), np.finfo(np.float64).min)
    np.maximum.at(level, point, exact)
    tied = exact >= (level - scores.tolerance(weights.T, level))[point]
    point, arm = point[tied], arm[tied]
    share = points.times[point] / np.bincount(point, minlength=len(weights))[point]
    won = np.bincount(points.replicate[point] * arms + arm, share, points.replicates * arms)
    return np.asarray(won, dtype=np.float64).reshape(-1, arms)


def _distinct(values: FloatArray) -> bool:
    """Tell whether values (M, K) of an objective are equal or certainly not."""
    rising = np.sort(values, axis=1)
    gap = np.diff(rising, axis=1)
    size = np.maximum(np.abs(rising[:, 1:]), np.abs(rising[:, :-1]))
    return bool(((gap == 0) | (gap > _DISTINCT * size)).all())
