"""Which arm has the largest score for which weights of two objectives, exactly.

Weights are pairs whose sum is 1, so that both are precise however small. Scores are linear between
kinks, and their maximum is convex there: if one arm is best at both ends it is best throughout. If
not, the lines of the two arms that are best at the ends cross in between; whichever arm is best
there either is one of the two, or cuts the interval into two of the same kind.
"""

from typing import NamedTuple

import numpy as np

from mogro._scores import Scores
from mogro._validation import BoolArray, FloatArray, IntArray

_BLOCK = 1 << 16  # scores at a time, so that they stay in the cache


class _Intervals(NamedTuple):
    """Intervals of weights, and an arm that is best at either end."""

    low: FloatArray  # (2, n)
    high: FloatArray  # (2, n)
    first: IntArray  # (n,)
    last: IntArray  # (n,)

    def part(self, which: BoolArray) -> "_Intervals":
        low, high, first, last = self
        return _Intervals(low[:, which], high[:, which], first[which], last[which])


def pieces(scores: Scores, edges: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return rising weights (2, n + 1) from (0, 1) to (1, 0), and the best arm of each piece, (n,).

    Of arms that are equal throughout a piece one is given.

    Parameters
    ----------
    scores
        Of arms with two objectives.
    edges
        (2, k) weights at which pieces have to end.
    """
    edges = np.append(edges, np.eye(2), axis=1)
    edges = edges[:, np.lexsort((-edges[1], edges[0]))]
    edges = edges[:, np.append(True, np.any(np.diff(edges) != 0, axis=0))]
    best = _best(scores, edges)
    work = _Intervals(edges[:, :-1], edges[:, 1:], best[:-1], best[1:])
    starts, arms = [], []
    while len(work.first):
        same = work.first == work.last
        starts.append(work.low[:, same])
        arms.append(work.first[same])
        work = work.part(~same)
        middle = _crossing(scores, work)
        best = _best(scores, middle)
        new = _better(scores, middle, best, work)
        done = work.part(~new)
        starts += [done.low, middle[:, ~new]]
        arms += [done.first, done.last]
        middle, best, work = middle[:, new], best[new], work.part(new)
        work = _Intervals(
            np.append(work.low, middle, axis=1),
            np.append(middle, work.high, axis=1),
            np.append(work.first, best),
            np.append(best, work.last),
        )
    start, arm = np.concatenate(starts, axis=1), np.concatenate(arms)
    order = np.lexsort((-start[1], start[0]))
    return np.append(start[:, order], [[1.0], [0.0]], axis=1), arm[order]


def _best(scores: Scores, weights: FloatArray) -> IntArray:
    count = weights.shape[1]
    step = max(1, _BLOCK // len(scores.values))
    best = np.empty(count, dtype=np.int64)
    for i in range(0, count, step):
        scores.rows(weights[:, i : i + step]).argmax(axis=1, out=best[i : i + step])
    return best


def _crossing(scores: Scores, work: _Intervals) -> FloatArray:
    """Return the weights, between both ends, where the arms of the ends change places."""
    low, high, first, last = work
    before = scores.each(low, first) - scores.each(low, last)
    after = scores.each(high, last) - scores.each(high, first)
    total = before + after
    share = np.where(total > 0, before / np.where(total > 0, total, 1), 0.5)
    return np.asarray(low * (1 - share) + high * share)


def _better(scores: Scores, middle: FloatArray, best: IntArray, work: _Intervals) -> BoolArray:
    """Return where another arm is better than both, by more than rounding, inside the interval."""
    rival = np.maximum(scores.each(middle, work.first), scores.each(middle, work.last))
    lead = scores.each(middle, best) - rival
    inside = np.any(middle != work.low, axis=0) & np.any(middle != work.high, axis=0)
    other = (best != work.first) & (best != work.last)
    return np.asarray((lead > scores.slack(middle) / 4) & inside & other)
