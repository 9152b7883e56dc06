"""How likely arms are to win at random weights: randomised quasi-Monte Carlo.

The weights are a Sobol net in a few independent random shifts, which give standard errors. An arm
that was chosen, but wins seldom, is looked for at many more weights, where it is compared with few
rivals first.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro._winners import SINGLE, SLACK, TINY, Floats, Scores, Wins, count_wins

_NETS = 8  # independent copies of a net of weights
_SIZES = (64, 1536)  # weights in a net, fewest and most
_WORK = 1.1e7  # nanoseconds for all nets
# Nanoseconds for an arm at a weight, and more for each objective: sums, minima, both.
_COSTS = ((0.2, 0.025), (0.5, 0.08), (0.5, 0.13))
_SPREAD = 100  # wins from which an arm's own spread is its error
_SEVERAL = 150  # wins from which an arm that was chosen is known well enough
_WANTED = 300  # wins of other arms that were
_DRAWS = (1 << 14, 200_000)  # weights for that, fewest and most
_VALUES = 1_280_000  # numbers in them, at most
_CHUNK = 20480  # weights at a time, turned
_RIVALS, _LOOKS, _CLOSE = 192, 4096, 512  # arms that beat it, of weights, where it is hardly behind
_STAGES = (4, 24)  # rivals that it meets first, and next
_BITS = 30
_TAIL = 1e-9  # places of quantiles that are interpolated
_NODES = 257
_FINE = 16  # places between two of them


@dataclass(frozen=True)
class WeightDistribution:
    """Dirichlet weights to some power, up to a factor, made of places in a unit cube.

    Each weight takes a random part, a Beta number, of what is left, the last one all of it. So M
    weights need M - 1 places.
    """

    concentration: tuple[float, ...]
    power: float

    @property
    def is_exchangeable(self) -> bool:
        """Whether weights are as likely in any order."""
        return len(set(self.concentration)) == 1

    def weights(self, places: FloatArray) -> FloatArray:
        """Return weights (n, M), the largest 1, at places (n, M - 1)."""
        logs = np.zeros((len(places), len(self.concentration)))
        if set(self.concentration) == {1.0}:
            after: FloatArray = np.log1p(-places) / np.arange(places.shape[1], 0, -1)
            taken: FloatArray = np.log(-np.expm1(after))
        else:
            after, taken = self._parts_taken(places)
        np.cumsum(after, axis=1, out=logs[:, 1:])
        logs[:, :-1] += taken
        logs *= self.power
        logs -= logs.max(axis=1, keepdims=True)
        return np.exp(logs, out=logs)

    def _parts_taken(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return logarithms of what Beta numbers leave, and of what they take, (n, M - 1)."""
        left = np.cumsum(self.concentration[::-1])[::-1][1:].tolist()
        start, step, table = _beta_quantiles(tuple(zip(self.concentration, left, strict=False)))
        at = np.log(places / (1 - places))
        at -= start
        at /= step
        low = at.astype(np.int64)
        at -= low
        low += np.arange(0, table.size, table.shape[1])
        logits = table.take(low)
        at *= table.take(low + 1) - logits
        logits += at
        after = -np.maximum(logits, 0) - np.log1p(np.exp(-np.abs(logits)))
        return after, after + logits

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return independent random weights (n, M)."""
        shape = count, len(self.concentration)
        if self == WeightDistribution((1.0,) * shape[1], 1.0):
            return rng.standard_exponential(shape, dtype=np.float32)
        if self == WeightDistribution((0.5,) * shape[1], -0.5):
            sizes = np.abs(rng.standard_normal(shape, dtype=np.float32))
            return np.reciprocal(np.maximum(sizes, np.float32(TINY)))
        places = np.clip(rng.random((count, shape[1] - 1)), _TAIL, 1 - _TAIL)
        return self.weights(places).astype(np.float32)


@cache
def _beta_quantiles(
    parts: tuple[tuple[float, float], ...],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return logits of Beta quantiles (k, n), to be interpolated, by logits of their places.

    And the first of these, (k,), and the steps between them: logits hardly bend over each other.
    """
    from scipy.interpolate import CubicHermiteSpline
    from scipy.special import betaincinv, betaln

    starts, steps, table = np.empty(len(parts)), np.empty(len(parts)), []
    for i, (a, b) in enumerate(parts):
        middle = np.log(b / a)  # where Beta numbers with small parameters go from 0 to 1
        end = 1 - np.log(_TAIL) + abs(middle)
        nodes = middle + np.linspace(-end, end, _NODES)
        logs = -np.logaddexp(0, [-nodes, nodes])  # of places, and what they leave of 1
        small = (logs + np.log([[a], [b]]) + betaln(a, b)) / np.array([[a], [b]])
        with np.errstate(divide="ignore", over="ignore"):
            exact = np.log([betaincinv(a, b, np.exp(logs[0])), betaincinv(b, a, np.exp(logs[1]))])
        ends = np.where(small < -20, small, exact)
        density = a * ends[0] + b * ends[1] - betaln(a, b)  # of the logit
        spline = CubicHermiteSpline(nodes, ends[0] - ends[1], np.exp(logs.sum(axis=0) - density))
        fine = middle + np.linspace(-end, end, _FINE * _NODES)
        starts[i], steps[i] = fine[0], fine[1] - fine[0]
        table.append(spline(fine))
    return starts, steps, np.array(table)


def estimate(
    scores: Scores, law: WeightDistribution, rng: np.random.Generator, chosen: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities (K,) of arms, and standard errors.

    That of an arm that was chosen is above 0, and one over it is right on average.
    """
    arms, objectives = scores.values.shape
    fixed, more = _COSTS[int(scores.bend + bool(scores.bend and scores.total))]
    size = int(_WORK / (_NETS * arms * (fixed + more * objectives)))
    size = int(np.clip(size, *_SIZES)) // _SIZES[0] * _SIZES[0]
    draws = _NETS * size
    weights = law.weights(_shifted(size, objectives - 1, rng))
    wins = count_wins(scores, weights, nets=_NETS, arm=chosen or 0)
    shares = wins.won / size
    values, squares = shares.mean(axis=0), shares.var(axis=0, ddof=1) / _NETS
    few = values * draws < _SPREAD  # few wins say little of their own spread
    squares[few] = (squares[few] + wins.squares[few] / draws**2) / 2
    if chosen is not None:
        mine, _ = _with_choice(wins.share, draws)
        if np.square(wins.share.sum()) < _SEVERAL * np.square(wins.share).sum() + 1:
            mine, squares[chosen] = _estimate_rare_arm(scores, law, rng, chosen, weights, wins)
        values *= (1 - mine) / (1 - values[chosen]) if values[chosen] < 1 else 0.0
        values[chosen] = mine
    errors = np.sqrt(squares)
    return values, np.where(errors > 0, errors, 1 / draws)


def _shifted(size: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return independent copies of a net of points in the unit cube, (nets * size, dim)."""
    each = rng.integers(0, 1 << _BITS, (_NETS, 1, dim), dtype=np.uint32)
    return np.asarray((((_net(dim)[:size] ^ each) + 0.5) / (1 << _BITS)).reshape(-1, dim))


@cache
def _net(dim: int) -> NDArray[np.uint32]:
    """Return a Sobol net as integers, its matrices scrambled once and for all."""
    from scipy.stats import qmc

    size = 1 << (_SIZES[1] - 1).bit_length()
    points = qmc.Sobol(dim, bits=_BITS, rng=np.random.default_rng(0)).random(size)
    return np.asarray((points * (1 << _BITS)).astype(np.uint32))


def _estimate_rare_arm(
    scores: Scores,
    law: WeightDistribution,
    rng: np.random.Generator,
    arm: int,
    weights: FloatArray,
    wins: Wins,
) -> tuple[float, float]:
    """Return how likely an arm is that wins seldom, and the square of the error, by many draws.

    Its choice is one of them. How many there are, and who are its rivals, is known from ``wins`` at
    other weights (n, M). If weights are as likely in any order, each draw is turned M times.
    """
    objectives = weights.shape[1]
    turns = objectives if law.is_exchangeable else 1
    wanted = _WANTED * len(weights) / (1 + np.count_nonzero(wins.share))
    most = max(_DRAWS[0], min(_DRAWS[1], _VALUES // objectives))
    size = -(-_CHUNK // turns)
    chunks = -(-int(np.clip(wanted, _DRAWS[0], most)) // (size * turns))
    draws = chunks * size * turns
    fast, rivals = scores.in_single_precision(), _rivals(scores, arm, weights, wins)
    stages = [np.append(arm, some) for some in np.split(rivals, _STAGES)]
    first = [np.roll(fast.values[stages[0]], -turn, axis=1) for turn in range(turns)]
    kept = []
    for _ in range(chunks):
        drawn = law.draw(size, rng)
        table = fast.of(drawn).table(np.concatenate(first)).reshape(turns, -1, size)
        turn, row = np.nonzero(_is_ahead(fast, drawn, table.swapaxes(0, 1)))
        points = drawn[row[:, None], (np.arange(objectives) - turn[:, None]) % objectives]
        for some in stages[1:]:
            table = fast.of(points).table(fast.values[some])
            points = points[_is_ahead(fast, points, table)]
        kept.append(points)
    points = np.concatenate(kept).astype(np.float64)
    return _with_choice(count_wins(scores, points, arm=arm, strong=stages[0]).share, draws)


def _with_choice(share: FloatArray, draws: int) -> tuple[float, float]:
    """Return the mean of shares that an arm won in draws, and the square of its error.

    The choice of the arm is one more draw, with the share that is typical where it wins: one over
    the mean is then one over the probability on average, up to higher powers of the error.
    """
    total, squares = share.sum(), np.square(share).sum()
    typical = squares / total if total > 0 else 1.0
    mean = (total + typical) / (draws + 1)
    return mean, ((squares + typical**2) / (draws + 1) - mean**2) / (draws + 1)


def _is_ahead(scores: Scores, weights: Floats, table: Floats) -> BoolArray:
    """Tell where, at weights (n, M), the first of scores (K, ..., n) may be the largest."""
    mine, best = table[0], table.max(axis=0)
    off = 4 * SINGLE * np.abs(best) + TINY
    if scores.total:  # terms of both signs, or sums that are equal up to rounding
        digits = SINGLE if scores.bend else SLACK * scores.sizes.max()
        off += 4 * digits * scores.total * weights.sum(axis=1)
    return np.asarray(best - mine <= off)


def _rivals(scores: Scores, arm: int, weights: FloatArray, wins: Wins) -> IntArray:
    """Return arms that win, those first that do so where an arm is the least behind."""
    often = wins.won.sum(axis=0) / len(weights)
    others = np.flatnonzero((wins.best >= 0) & (wins.best != arm))[:_LOOKS]
    behind = scores.pairs(wins.best[others], weights[others])
    behind -= scores.pairs(np.full(len(others), arm), weights[others])
    near = others[np.argsort(behind / (weights[others] @ scores.sizes), kind="stable")[:_CLOSE]]
    often += np.bincount(wins.best[near], minlength=len(often))
    often[arm] = 0
    return np.argsort(-often, kind="stable")[: min(_RIVALS, np.count_nonzero(often))]
