"""Estimates of winning probabilities on shifted lattices of weights, at one or two levels of arms.

Where few arms win nearly always, half of the time is spent on them alone, at many weights, and half
on the difference that all others make, at fewer. Otherwise all arms are compared at all weights.
Scores are computed in single precision, and again in double precision where that might not tell
arms apart.
"""

from collections.abc import Callable

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.probability._scores import Scores, shares

Draws = Callable[[int], Callable[[], FloatArray]]

_TIME = 13e6  # nanoseconds for all levels, about: decides how many weights they have
_REPLICATES = (8, 16)  # of a lattice, fewest and most
_MOST, _FEWEST = 4096, 16  # weights of a replicate
_PILOT = 256  # weights
_FEW = 128  # arms that won most in the pilot: the first level
_LEAST = 0.01  # part of the pilot from which an arm has to be known well
_LOST = 0.3  # part of the wins of such arms that others may take, if two levels are to be better
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
    sizes, order = [arms], np.arange(arms)
    if arms > _FEW:
        pilot = draws(_PILOT)
        order = np.argsort(-_Race(scores).wins(pilot()), kind="stable")
        if _few_decide(scores.take(order), pilot()):
            sizes = [_FEW, arms]
    values, squares = np.zeros(arms), np.zeros(arms)
    known = 0
    for size in sizes:
        some = order[:size]
        found, points = _replicates(_Race(scores.take(some)), draws, known, _TIME / len(sizes))
        values[some] += found.mean(axis=0)
        squares[some] += found.var(axis=0, ddof=1) / len(found)
        known = size
    values = np.maximum(values, 0)
    return values / values.sum(), np.maximum(np.sqrt(squares), 1 / (points * len(found)))


def _few_decide(scores: Scores, weights: FloatArray) -> bool:
    """Tell whether the first arms lose few wins to all others, where it matters."""
    among = _Race(scores.take(np.arange(_FEW))).wins(weights)
    lost = -_Race(scores).wins(weights, _FEW)[:_FEW]
    large = among >= _LEAST * len(weights)
    return bool(lost[large].sum() < _LOST * among[large].sum())


def _replicates(
    race: "_Race", draws: Draws, known: int, nanoseconds: float
) -> tuple[FloatArray, int]:
    """Return what arms win, less what the first ones win among themselves, (replicates, K).

    And the number of weights of each replicate, as many as can be compared in this time, about.
    """
    fewest, most = _REPLICATES
    weights = nanoseconds / race.nanoseconds
    points = int(np.clip(2.0 ** np.floor(np.log2(weights / fewest)), _FEWEST, _MOST))
    found = np.zeros((int(np.clip(weights // points, fewest, most)), len(race.scores.values)))
    draw = draws(points)
    step = max(1, _BLOCK * (1 if race.scores.bend else 8) // found.shape[1])
    for won in found:
        drawn = draw()
        for i in range(0, points, step):
            won += race.wins(drawn[i : i + step], known)
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
    def nanoseconds(self) -> float:
        """How long one weight takes, about."""
        objectives, arms = self.values.shape
        each = 0.6 + 0.4 * objectives if self.scores.bend else 0.7 + 0.03 * objectives
        return float(arms * each)

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
        if self.faithful:
            equal = table == level[:, None]
            if np.count_nonzero(equal) == many:
                return np.asarray((1 / equal.sum(axis=1)) @ equal)
        if many > _MANY * points:
            scores = self.scores.take(np.arange(arms))
            return np.asarray(points * shares(scores.table(weights.T), scores.slack(weights.T)))
        return _decided(self.scores, weights, best, near)


def _highest(table: FloatArray) -> tuple[IntArray, FloatArray]:
    best = table.argmax(axis=1)
    return best, table[np.arange(len(best)), best]


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
