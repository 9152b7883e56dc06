"""Which of many arms have the largest scores, at many weights.

Scores are computed in single precision, and again in double precision where that might not tell
arms apart. If some strong arms are known, a bound says for most others that they are below them.
"""

from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.probability._scores import Scores
from mogro.probability._sieve import Sieve, members

_BLOCK = 1 << 19  # scores at a time
_ROUGH = 5e-7  # what single precision may do to a score, in the size of its terms
_DEEP = 1e30  # quotients of weights that single precision can hold
_TIES = 16  # as many times more arms than near winners: only these are scored again
_MANY = 8  # arms that are equal because they share a value, not by accident
_CROWD = 48  # arms that might win at a weight, from which all are compared there
_BOUNDED = {True: 4, False: 6}  # objectives from which bounds gain more than they cost: pure minima


class Points(NamedTuple):
    """Weights, how many times each of them counts, and the replicate each belongs to."""

    weights: FloatArray  # (n, M)
    single: FloatArray  # (n, M) the same in single precision, up to a factor for each
    slack: FloatArray  # (n,) what single precision may do to sums
    deep: BoolArray  # (n,) whether single precision does not serve at all
    times: FloatArray  # (n,)
    replicate: IntArray  # (n,), rising
    replicates: int

    def take(self, rows: IntArray | slice) -> "Points":
        """Return some of the points."""
        weights, single, slack, deep, times, replicate, replicates = self
        some = (weights[rows], single[rows], slack[rows], deep[rows], times[rows], replicate[rows])
        return Points(*some, replicates)


class Outcome(NamedTuple):
    """Who won at some points."""

    won: FloatArray  # (replicates, K), what arms won; ties are shared
    best: IntArray  # (n,) an arm that won, or is near
    level: FloatArray  # (n,) its score, in single precision
    close: BoolArray  # (n,) whether others are near

    def take(self, rows: IntArray | slice) -> "Outcome":
        """Return who won at some of the points, and what was won at all."""
        return Outcome(self.won, self.best[rows], self.level[rows], self.close[rows])


class Race:
    """Arms in single precision, and how to decide where that is not enough."""

    def __init__(self, scores: Scores, values: FloatArray, terms: FloatArray, space: FloatArray):
        self.scores, self.values, self._terms = scores, values, terms
        self._faithful = scores.pure and _faithful(scores.values, values)
        self._memory = space  # which is used again and again: that is faster
        step = max(1, space.shape[1] // self.arms)
        self._space = space[:, : step * self.arms].reshape(2, step, self.arms)

    @classmethod
    def of(cls, scores: Scores) -> "Race":
        """Prepare all arms."""
        near = scores.near
        unit = np.ldexp(1.0, -int(np.frexp(np.abs(near).max())[1]))
        values = np.ascontiguousarray((unit * near).T, dtype=np.float32)
        # Scores that are equal up to rounding in double precision are near in single precision.
        terms = _ROUGH * scores.terms + (0 if scores.pure else scores.slack(np.eye(len(values))))
        space = np.empty((2, max(_BLOCK, len(near))), dtype=np.float32)
        return cls(scores, values, (unit * terms).astype(np.float32), space)

    def take(self, arms: IntArray) -> "Race":
        """Return a race of some of the arms, in the same unit."""
        values = self.values.take(arms, axis=1)
        return Race(self.scores.take(arms), values, self._terms, self._memory)

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
        return self.run(points).won

    def run(self, points: Points) -> "Outcome":
        """Compare all arms at all points."""
        number = len(points.times)
        found = Outcome(
            np.zeros((points.replicates, self.arms)),
            np.empty(number, dtype=np.int64),
            np.empty(number, dtype=np.float32),
            np.empty(number, dtype=np.bool_),
        )
        for rows in self.blocks(number):
            self._run(points.take(rows), found.take(rows))
        return found

    def again(self, points: Points, found: "Outcome") -> FloatArray:
        """Return what arms win if the points of an outcome count otherwise."""
        won = _counted(points, found.best, ~found.close, self.arms)
        some = np.flatnonzero(found.close)
        return won + self.wins(points.take(some)) if len(some) else won

    def _run(self, points: Points, found: "Outcome") -> None:
        """Compare all arms at a block of points."""
        table = self._table(points.single)
        table.argmax(axis=1, out=found.best)
        top = np.arange(0, table.size, self.arms) + found.best
        table.take(top, out=found.level)
        table.put(top, -np.inf)
        low = lowest(points, found.level)
        np.greater_equal(table.max(axis=1), low, out=found.close)
        table.put(top, found.level)
        won = _counted(points, found.best, ~found.close, self.arms)
        some = np.flatnonzero(found.close)
        if len(some):
            won += self._decided(points.take(some), table[some], found.level[some], low[some])
        found.won[:] += won

    def blocks(self, points: int) -> list[slice]:
        """Return which weights to compare at a time."""
        step = self._space.shape[1]
        return [slice(i, i + step) for i in range(0, points, step)]

    def points(
        self, weights: FloatArray, times: FloatArray, replicate: IntArray, replicates: int
    ) -> Points:
        """Prepare weights (n, M)."""
        if self.scores.pure:  # the largest weights do not matter, if no value is below 0
            least = weights.min(axis=1)
            deep = np.asarray(least <= 0)
            if (self.values < 0).any():
                deep |= weights.max(axis=1) * (1 / _DEEP) >= least
            with np.errstate(over="ignore"):
                scaled = np.clip(weights / np.where(least > 0, least, 1)[:, None], 1, _DEEP)
        else:
            most = np.abs(weights).max(axis=1)
            deep = np.zeros(len(weights), dtype=np.bool_)
            scaled = weights / np.where(most > 0, most, 1)[:, None]
        single = np.asarray(scaled, dtype=np.float32)
        slack = np.abs(single) @ self._terms
        return Points(weights, single, slack, deep, times, replicate, replicates)

    def _table(self, single: FloatArray) -> FloatArray:
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
        won = np.zeros((points.replicates, self.arms))
        if self._faithful:  # where many minima are equal in single precision, they are equal
            many = np.count_nonzero(near, axis=1)
            alike = np.count_nonzero(table == level[:, None], axis=1) == many
            alike &= many > _MANY
            won += _shared(points.take(np.flatnonzero(alike)), near[alike])
            points, near = points.take(np.flatnonzero(~alike)), near[~alike]
        if np.count_nonzero(near) * _TIES <= near.size:
            point, arm = np.divmod(np.flatnonzero(near), self.arms)
            return won + decided(self.scores, points, point, arm)
        exact = self.scores.table(points.weights.T)
        best = exact.max(axis=0)
        tied = exact >= best - self.scores.tolerance(points.weights.T, best)
        return won + _shared(points, tied.T)


class BoundedRace:
    """Arms whose scores have a minimum: few can be above the level of some strong ones."""

    def __init__(self, race: Race, points: Points, level: FloatArray) -> None:
        self._race = race
        self._sieve = Sieve(race.values) if race.scores.pure else None
        arms, objectives = race.arms, len(race.values)
        crowded, point, _ = self._candidates(points, level)
        own = 100 + 50 * objectives if self._sieve else arms * (0.5 + 0.06 * objectives)
        each = (60 + 8 * objectives) * len(point) / len(crowded)
        self.nanoseconds = own + each + float(crowded.mean()) * race.nanoseconds

    def wins(self, points: Points, level: FloatArray) -> FloatArray:
        """Return what arms win, (replicates, K), where none below the level (n,) can."""
        crowded, point, arm = self._candidates(points, level)
        won = decided(self._race.scores, points, point, arm)
        rest = np.flatnonzero(crowded)
        return won + self._race.wins(points.take(rest)) if len(rest) else won

    def _candidates(
        self, points: Points, level: FloatArray
    ) -> tuple[BoolArray, IntArray, IntArray]:
        """Return where all are to be compared; elsewhere numbers of points, and who might win."""
        race, low = self._race, lowest(points, level)
        if self._sieve is not None:
            low[np.abs(low) < 1 / _DEEP] = -np.inf
            sets = self._sieve.above(low[:, None] / points.single)
            crowded = np.asarray(np.bitwise_count(sets).sum(axis=1, dtype=np.int64) > _CROWD)
            crowded |= points.deep
            sets[crowded] = 0
            return crowded, *members(sets)
        places = []
        crowded = np.zeros(len(low), dtype=np.bool_)
        for i in race.blocks(len(low)):
            above = race.bound(points.single[i]) >= low[i, None]
            crowded[i] = np.count_nonzero(above, axis=1) > _CROWD
            above[crowded[i]] = False
            places.append(np.flatnonzero(above) + i.start * race.arms)
        return crowded, *np.divmod(np.concatenate(places), race.arms)


def bounded(race: Race) -> bool:
    """Tell whether a bound gains more than it costs."""
    scores = race.scores
    return bool(scores.bend) and len(race.values) >= _BOUNDED[scores.pure]


def lowest(points: Points, level: FloatArray) -> FloatArray:
    """Return the least scores (n,) that may be as good as those of a level (n,)."""
    low = level - (_ROUGH * np.abs(level) + points.slack)
    low[points.deep] = -np.inf
    return low


def decided(scores: Scores, points: Points, point: IntArray, arm: IntArray) -> FloatArray:
    """Return what arms win, (replicates, K), if these are near the best, in double precision."""
    weights, arms = points.weights, len(scores.values)
    exact = scores.each(weights.take(point, axis=0).T, arm)
    level = np.full(len(weights), np.finfo(np.float64).min)
    np.maximum.at(level, point, exact)
    tied = exact >= (level - scores.tolerance(weights.T, level))[point]
    point, arm = point[tied], arm[tied]
    share = points.times[point] / np.bincount(point, minlength=len(weights))[point]
    return _counted(
        points._replace(times=share, replicate=points.replicate[point]), arm, True, arms
    )


def _shared(points: Points, tied: BoolArray) -> FloatArray:
    """Return what arms win, (replicates, K), if these (n, K) are the best, each alike."""
    share = points.times / np.count_nonzero(tied, axis=1)
    won = np.zeros((points.replicates, tied.shape[1]))
    for i in np.unique(points.replicate):
        rows = slice(*points.replicate.searchsorted([i, i + 1]))
        won[i] = share[rows] @ tied[rows]
    return won


def _counted(points: Points, arm: IntArray, which: BoolArray | bool, arms: int) -> FloatArray:
    """Return how often arms (n,) are there, (replicates, K), at points that count."""
    place = points.replicate * arms + arm
    won = np.bincount(place, points.times * which, points.replicates * arms)
    return np.asarray(won, dtype=np.float64).reshape(-1, arms)


def _faithful(values: FloatArray, single: FloatArray) -> bool:
    """Tell whether values (K, M) that several arms share differ in single precision, (M, K)."""
    same = np.diff(np.sort(values, axis=0), axis=0).T == 0
    merged = (np.diff(np.sort(single, axis=1), axis=1) == 0) & ~same
    shared = np.zeros_like(same)
    shared[:, 1:] |= same[:, :-1]
    shared[:, :-1] |= same[:, 1:]
    return not (merged & shared).any()
