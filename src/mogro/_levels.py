"""Estimates of winning probabilities at several levels of arms, on shifted lattices of weights.

Most arms hardly ever win. So many weights are spent on the few arms that won most in a pilot, fewer
on what other arms take from them, and still fewer on what all the rest takes: each level adds the
difference that its further arms make at its weights. Scores are computed in single precision, and
again in double precision where that might not tell arms apart.
"""

import numpy as np

from mogro._lattice import Lattice, Law
from mogro._scores import Scores
from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray

REPLICATES = 16
_ALL = 1 << 62
_LINEAR = ((32, 4096), (160, 1024), (_ALL, 256))  # arms, and weights in each replicate
_BENT = ((24, 2048), (120, 512), (_ALL, 128))
_PILOT = 1024  # weights
_BLOCK = 1 << 15  # scores at a time, so that they stay in the cache
_ROUGH = 1e-6  # what single precision may do to a score, in the size of its terms


def estimated(scores: Scores, law: Law, *, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Return estimates (K,) and their standard errors."""
    arms = len(scores.values)
    levels = _BENT if scores.bend else _LINEAR
    order = np.arange(arms)
    if arms > 1.5 * levels[0][0]:
        pilot = _replicates(scores, law, 0, _PILOT, 1, rng)[0]
        order = np.argsort(-pilot, kind="stable")
    values, squares = np.zeros(arms), np.zeros(arms)
    known, points = 0, 1
    for most, points in levels:
        size = arms if arms <= 1.5 * most else most
        some = order[:size]
        found = _replicates(scores.take(some), law, known, points, REPLICATES, rng)
        values[some] += found.mean(axis=0)
        squares[some] += found.var(axis=0, ddof=1) / REPLICATES
        known = size
        if size == arms:
            break
    values = np.maximum(values, 0)
    errors = np.maximum(np.sqrt(squares), 1 / (REPLICATES * points))
    return values / values.sum(), errors


def _replicates(
    scores: Scores, law: Law, known: int, points: int, replicates: int, rng: Rng
) -> FloatArray:
    """Return what arms win, less what the first ones win among themselves, (replicates, K)."""
    lattice = Lattice.of(law, points, rng=rng)
    arms = len(scores.values)
    rough = np.ascontiguousarray(scores.near.T, dtype=np.float32)
    found = np.zeros((replicates, arms))
    step = max(1, _BLOCK * (1 if scores.bend else 8) // arms)
    for won in found:
        weights = lattice.draw(rng=rng)
        for i in range(0, points, step):
            some = weights[i : i + step]
            table = _table(scores, rough, some.astype(np.float32))
            won += _wins(scores, some, table)
            if known:
                won[:known] -= _wins(scores, some, table[:, :known])
    return found / points


def _table(scores: Scores, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return scores (n, K) in the precision of the values (M, K) and weights (n, M)."""
    if not scores.bend:
        return np.asarray(weights @ values)
    least = weights[:, :1] * values[0]
    other = np.empty_like(least)
    for m in range(1, len(values)):
        np.multiply(weights[:, m, None], values[m], out=other)
        np.minimum(least, other, out=least)
    if scores.total:
        np.matmul(weights * np.float32(scores.total), values, out=other)
        least += other
    return least


def _wins(scores: Scores, weights: FloatArray, table: FloatArray) -> FloatArray:
    """Return how often arms (K,) win in a table (n, K); ties are shared."""
    points, arms = table.shape
    best = table.argmax(axis=1)
    level = table[np.arange(points), best]
    slack = _ROUGH * (np.abs(level) + scores.terms @ weights.T)
    near = table >= (level - slack)[:, None]
    won = np.bincount(best, minlength=arms).astype(np.float64)
    if np.count_nonzero(near) > points:
        won += _decided(scores, weights, best, near)
    return won


def _decided(
    scores: Scores, weights: FloatArray, best: IntArray, near: BoolArray
) -> FloatArray:
    """Return the corrections (K,) where several arms are near the best, in double precision."""
    arms = near.shape[1]
    point, arm = np.divmod(np.flatnonzero(near), arms)
    several = np.bincount(point, minlength=len(best)) > 1
    mine = several[point]
    point, arm = point[mine], arm[mine]
    starts = np.flatnonzero(np.append(True, point[1:] != point[:-1]))
    exact = scores.each(weights[point].T, arm)
    lengths = np.diff(np.append(starts, len(point)))
    level = np.maximum.reduceat(exact, starts) - scores.slack(weights[point[starts]].T)
    tied = exact >= np.repeat(level, lengths)
    share = tied / np.repeat(np.add.reduceat(tied.astype(np.float64), starts), lengths)
    return np.bincount(arm, share, minlength=arms) - np.bincount(best[several], minlength=arms)
