"""Estimates of winning probabilities at several levels of arms, on shifted lattices of weights.

Most arms hardly ever win. So many weights are spent on the few arms that won most in a pilot, fewer
on what other arms take from them, and still fewer on what all the rest takes: each level adds the
difference that its further arms make at its weights. Scores are computed in single precision, and
again in double precision where that might not tell arms apart.
"""

from collections.abc import Callable

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.probability._scores import Scores, shares

Draws = Callable[[int], Callable[[], FloatArray]]

REPLICATES = 16
_SIZES = (32, 160)  # arms that won most, at the first levels
_TIME = 3e6  # nanoseconds for each level, about: decides how many weights it has
_MOST, _FEWEST = 4096, 16  # weights of a replicate
_PILOT = 1024  # weights
_LEAST = 0.005  # part of the pilot above which an arm may have probability 0.01
_DOUBTS = 0.02  # part of the pilot's weights for which single precision may be wrong
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
    pilot = _Race(scores)
    wins = pilot.wins(draws(_PILOT)(), 0)
    order = np.argsort(-wins, kind="stable")
    careful = pilot.doubts > _DOUBTS * _PILOT
    sizes = [size for size in _SIZES if 1.5 * size < arms]
    if wins.max() < _LEAST * _PILOT:  # all are small: no need to know some better than others
        sizes = []
    values, squares = np.zeros(arms), np.zeros(arms)
    known = 0
    for size in (*sizes, arms):
        some = order[:size]
        race = _Race(scores.take(some), careful=careful)
        points = race.points(_TIME * (1 if sizes or arms > _SIZES[-1] else len(_SIZES)))
        found = _replicates(race, draws(points), known, points)
        values[some] += found.mean(axis=0)
        squares[some] += found.var(axis=0, ddof=1) / REPLICATES
        known = size
    values = np.maximum(values, 0)
    errors = np.maximum(np.sqrt(squares), 1 / (REPLICATES * points))
    return values / values.sum(), errors


class _Race:
    """Arms in single precision, and how to decide where that is not enough."""

    def __init__(self, scores: Scores, *, careful: bool = True) -> None:
        self.scores, self.careful = scores, careful
        self.doubts = 0  # weights that single precision did not decide
        self.values = np.ascontiguousarray(scores.near.T, dtype=np.float32)
        self.terms = scores.terms.astype(np.float32)
        exact, rough = (
            np.diff(np.sort(x, axis=1), axis=1) == 0 for x in (scores.near.T, self.values)
        )
        self.faithful = bool((exact == rough).all())  # what differs still does

    def points(self, nanoseconds: float) -> int:
        """Return how many weights for each replicate can be compared in this time, about."""
        objectives, arms = self.values.shape
        each = 0.5 + 0.5 * objectives if self.scores.bend else 1.0 + 0.02 * objectives
        if self.careful:
            each *= 2
        power = round(np.log2(nanoseconds / (each * arms * REPLICATES)))
        return int(np.clip(2.0**power, _FEWEST, _MOST))

    def table(self, weights: FloatArray) -> FloatArray:
        """Return scores (n, K) for weights (n, M), in single precision."""
        if not self.scores.bend:
            return np.asarray(weights @ self.values)
        least = weights[:, :1] * self.values[0]
        other = np.empty_like(least)
        for m in range(1, len(self.values)):
            np.multiply(weights[:, m, None], self.values[m], out=other)
            np.minimum(least, other, out=least)
        if self.scores.total:
            np.matmul(weights * np.float32(self.scores.total), self.values, out=other)
            least += other
        return np.asarray(least)

    def wins(self, weights: FloatArray, known: int) -> FloatArray:
        """Return how many of n weights arms win, less what the first win among themselves, (K,)."""
        single = weights.astype(np.float32)
        table = self.table(single)
        best = table.argmax(axis=1)
        if not self.careful:
            won: FloatArray = np.bincount(best, minlength=table.shape[1]).astype(np.float64)
            if known:
                inner = best[best < known]
                others = table[best >= known, :known].argmax(axis=1)
                won[:known] -= np.bincount(np.append(inner, others), minlength=known)
            return won
        level = table[np.arange(len(best)), best]
        slack = _ROUGH * (np.abs(level) + np.abs(single) @ self.terms)
        near = table >= (level - slack)[:, None]
        self.doubts += int(np.count_nonzero(near)) - len(best)
        clear = np.count_nonzero(near) == len(best)
        if known:  # most winners are among the first anyway
            rows = best >= known
            if not clear:
                rows |= near.sum(axis=1) > 1
            rows = np.flatnonzero(rows)
            weights, best, near, table = weights[rows], best[rows], near[rows], table[rows]
            level, slack = level[rows], slack[rows]
        won = self._shared(weights, table, best, level, near, clear)
        if known:
            table = table[:, :known]
            best = table.argmax(axis=1)
            level = table[np.arange(len(best)), best]
            near = table >= (level - slack)[:, None]
            clear = np.count_nonzero(near) == len(best)
            won[:known] -= self._shared(weights, table, best, level, near, clear)
        return won

    def _shared(
        self,
        weights: FloatArray,
        table: FloatArray,
        best: IntArray,
        level: FloatArray,
        near: BoolArray,
        clear: bool,
    ) -> FloatArray:
        """Return how many of n weights arms (K,) win; ties are shared."""
        points, arms = table.shape
        if clear:
            return np.bincount(best, minlength=arms).astype(np.float64)
        if self.faithful:
            equal = table == level[:, None]
            if np.count_nonzero(equal) == np.count_nonzero(near):
                return np.asarray((1 / equal.sum(axis=1)) @ equal)
        if np.count_nonzero(near) > _MANY * points:
            scores = self.scores.take(np.arange(arms))
            return np.asarray(points * shares(scores.table(weights.T), scores.slack(weights.T)))
        return _decided(self.scores, weights, best, near)


def _replicates(race: _Race, draw: Callable[[], FloatArray], known: int, points: int) -> FloatArray:
    """Return what arms win, less what the first ones win among themselves, (replicates, K)."""
    arms = len(race.scores.values)
    found = np.zeros((REPLICATES, arms))
    step = max(1, _BLOCK * (1 if race.scores.bend else 8) // arms)
    for won in found:
        weights = draw()
        for i in range(0, points, step):
            won += race.wins(weights[i : i + step], known)
    return np.asarray(found / points)


def _decided(scores: Scores, weights: FloatArray, best: IntArray, near: BoolArray) -> FloatArray:
    """Return what arms (K,) win where several are near the best, in double precision."""
    arms = near.shape[1]
    point, arm = np.divmod(np.flatnonzero(near), arms)
    several = np.bincount(point, minlength=len(best)) > 1
    mine = several[point]
    point, arm = point[mine], arm[mine]
    starts = np.flatnonzero(np.append(True, point[1:] != point[:-1]))
    lengths = np.diff(np.append(starts, len(point)))
    exact = scores.each(weights[point].T, arm)
    level = np.maximum.reduceat(exact, starts) - scores.slack(weights[point[starts]].T)
    tied = exact >= np.repeat(level, lengths)
    share = tied / np.repeat(np.add.reduceat(tied.astype(np.float64), starts), lengths)
    alone = np.bincount(best[~several], minlength=arms)
    return np.asarray(np.bincount(arm, share, minlength=arms) + alone)
