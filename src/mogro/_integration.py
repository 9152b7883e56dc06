"""How likely arms are to win at random weights: randomised quasi-Monte Carlo.

The weights are a Sobol net in a few independent random shifts, which give standard errors. An arm
that was chosen, but wins seldom, is looked for in much larger nets, among few rivals first.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray, IntArray
from mogro._winners import Scores, Wins, count_wins

_NETS = 8  # independent copies of a net of weights
_SIZES = (64, 1536)  # weights in a net, fewest and most
_SCORES = 1 << 20  # of a net
_FEW_OBJECTIVES = 4  # objectives with which scores cost less, so that there may be more of them
_WINS_FOR_SPREAD = 30  # wins from which an arm's own spread is its error
_WINS_OF_CHOSEN = 120  # wins of an arm that was chosen
_MAX_NET_SIZE = 8192  # weights in a net that looks for it
_CHUNK = 20480  # of these at a time
_RIVALS, _LOOKS, _CLOSE = 192, 4096, 512  # arms that beat it, of weights, where it is hardly behind
_STAGES = (4, 24)  # rivals that it meets first, and next
_BITS = 30
_TAIL = 1e-10  # less than any place
_NODES, _FINE = 2049, 1 << 15  # quantiles that are computed, and with those between


@dataclass(frozen=True)
class WeightDistribution:
    """Dirichlet weights to some power, up to a factor, made of places in a unit cube.

    Each weight takes a random part, a Beta number, of what is left, the last one all of it. So M
    weights need M - 1 places.
    """

    concentration: tuple[float, ...]
    power: float

    @property
    def turns(self) -> int:
        """How often the objectives of a weight can be turned: if it is as likely in any order."""
        return len(self.concentration) if len(set(self.concentration)) == 1 else 1

    def weights(self, places: FloatArray) -> FloatArray:
        """Return weights (n, M), the largest 1, at places (M - 1, n)."""
        logs = np.zeros((len(self.concentration), places.shape[1]))
        left = np.cumsum(self.concentration[::-1])[-2::-1].tolist()
        rest = np.zeros(places.shape[1])
        for m, (place, a, b) in enumerate(zip(places, self.concentration, left, strict=False)):
            after, taken = _parts(place, a, b)
            np.add(rest, taken, out=logs[m])
            rest += after
        logs[-1] = rest
        logs *= self.power
        logs -= logs.max(axis=0)
        return np.ascontiguousarray(np.exp(logs, out=logs).T)


def _parts(places: FloatArray, a: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of what Beta numbers at places (n,) leave, and of what they take."""
    if a == 1:
        after = np.log1p(-places) / b
        return after, np.log(-np.expm1(after))
    start, step, table = _beta_logarithms(a, b)
    nearest = ((np.log(places / (1 - places)) - start) / step).astype(np.int64)
    return table[0].take(nearest), table[1].take(nearest)


@cache
def _beta_logarithms(a: float, b: float) -> tuple[float, float, FloatArray]:
    """Return logarithms of 1 - x and x, (2, n), for Beta quantiles x by logits of their places.

    And the first of these logits, and the step between them.
    """
    from scipy.special import betaincinv, betaln

    middle = np.log(b / a)  # where Beta numbers with small parameters go from 0 to 1
    end = abs(middle) - np.log(_TAIL)
    nodes = middle + np.linspace(-end, end, _NODES)
    logs = -np.logaddexp(0, [-nodes, nodes])  # of places, and what they leave of 1
    small = (logs + np.log([[a], [b]]) + betaln(a, b)) / np.array([[a], [b]])
    with np.errstate(divide="ignore", over="ignore"):
        exact = np.log([betaincinv(a, b, np.exp(logs[0])), betaincinv(b, a, np.exp(logs[1]))])
    low, high = np.where(small < -20, small, exact)
    fine = np.linspace(nodes[0], nodes[-1], _FINE)
    step = float(fine[1] - fine[0])
    logits = np.interp(fine + step / 2, nodes, low - high)  # they hardly bend
    return float(fine[0]), step, -np.logaddexp(0, [logits, -logits])


def estimate(
    scores: Scores, law: WeightDistribution, rng: np.random.Generator, chosen: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities (K,) of arms, and standard errors.

    That of an arm that was chosen is above 0, and one over it is right on average.
    """
    arms, objectives = scores.values.shape
    scores_of_net = _SCORES if objectives > _FEW_OBJECTIVES else _SCORES * 3 // 2
    size = int(np.clip(scores_of_net // arms, *_SIZES))
    shifts = rng.integers(0, 1 << _BITS, (_NETS, objectives - 1, 1), dtype=np.uint32)
    weights = law.weights(_places(0, size, shifts))
    wins = count_wins(scores, weights, net=np.arange(_NETS).repeat(size), nets=_NETS)
    values, squares = _with_errors(wins.won, wins.squares, size)
    if chosen is not None:
        mine, square = _mean_with_choice(wins, chosen, size)
        if mine**2 < _WINS_OF_CHOSEN * square:
            mine, square = _estimate_rare_arm(scores, law, chosen, shifts, weights, wins)
        squares[chosen] = square
        values *= (1 - mine) / (1 - values[chosen]) if values[chosen] < 1 else 0.0
        values[chosen] = mine
    errors = np.sqrt(squares)
    return values, np.where(errors > 0, errors, 1 / (_NETS * size))


def _with_errors(won: FloatArray, squares: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return means (K,) of wins (nets, K) in nets of a size, and the squares of their errors."""
    shares = won / size
    values, errors = shares.mean(axis=0), shares.var(axis=0, ddof=1) / _NETS
    few = values * _NETS * size < _WINS_FOR_SPREAD  # few wins say little of their own spread
    return values, np.where(few, (errors + squares / (_NETS * size) ** 2) / 2, errors)


def _mean_with_choice(wins: Wins, arm: int, size: int) -> tuple[float, float]:
    """Return the mean of what an arm wins in nets of a size, and the square of its error.

    The choice of the arm is one weight more, with the share that is typical where it wins: one over
    the mean is then one over the probability on average, up to higher powers of the error.
    """
    means, errors = _with_errors(wins.won[:, [arm]], wins.squares[[arm]], size)
    total, draws = wins.won[:, arm].sum(), _NETS * size
    typical = wins.squares[arm] / total if total else 1.0
    mean = (total + typical) / (draws + 1)
    return float(mean), float(errors[0] + (mean - means[0]) ** 2)


def _places(start: int, stop: int, shifts: NDArray[np.uint32]) -> FloatArray:
    """Return a part of independently shifted nets of points in the unit cube, (dim, nets * n)."""
    dim = shifts.shape[1]
    moved = (_sobol_net(dim)[:, start:stop] ^ shifts).swapaxes(0, 1).reshape(dim, -1)
    return np.asarray((moved + 0.5) / (1 << _BITS))


@cache
def _sobol_net(dim: int) -> NDArray[np.uint32]:
    """Return a Sobol net (dim, n) as integers, its matrices scrambled once and for all."""
    from scipy.stats import qmc

    points = qmc.Sobol(dim, bits=_BITS, rng=np.random.default_rng(0)).random(_MAX_NET_SIZE)
    return np.ascontiguousarray((points.T * (1 << _BITS)).astype(np.uint32))


def _estimate_rare_arm(
    scores: Scores,
    law: WeightDistribution,
    arm: int,
    shifts: NDArray[np.uint32],
    weights: FloatArray,
    wins: Wins,
) -> tuple[float, float]:
    """Return how likely an arm is that wins seldom, and the square of the error, by many weights.

    How many there are, and who are its rivals, is known from ``wins`` at the first of them. If
    weights are as likely in any order, each is turned M times.
    """
    turns, objectives = law.turns, weights.shape[1]
    wanted = _WINS_OF_CHOSEN * len(weights) / (1 + wins.won[:, arm].sum())
    size = min(_MAX_NET_SIZE, int(wanted / (_NETS * turns)) + len(weights) // _NETS)
    fast, rivals = scores.in_single_precision(), _rivals(scores, arm, weights, wins)
    stages = [np.append(arm, some) for some in np.split(rivals, _STAGES)]
    first = np.concatenate([np.roll(fast.values[stages[0]], -t, axis=1) for t in range(turns)])
    kept = []
    for start in range(0, size, step := max(1, _CHUNK // (turns * _NETS))):
        points = law.weights(_places(start, min(start + step, size), shifts))
        single = points.astype(np.float32)
        table = Scores(single, fast.minimum, fast.total, fast.sizes).table(first)
        table = table.reshape(turns, -1, len(single))
        best = table[:, 1:].max(axis=1, initial=-np.inf)
        turn, row = np.nonzero(~fast.is_ahead(single, best, table[:, 0]))
        net = row // (len(points) // _NETS)
        points = points[row[:, None], (np.arange(objectives) - turn[:, None]) % objectives]
        for some in stages[1:]:
            single = points.astype(np.float32)
            table = fast.table(single, some)
            near = ~fast.is_ahead(single, table[:, 1:].max(axis=1, initial=-np.inf), table[:, 0])
            points, net = points[near], net[near]
        kept.append((points, net))
    points, net = map(np.concatenate, zip(*kept, strict=True))
    last = count_wins(scores, points, net=net, nets=_NETS)
    return _mean_with_choice(last, arm, turns * size)


def _rivals(scores: Scores, arm: int, weights: FloatArray, wins: Wins) -> IntArray:
    """Return arms that win, those first that do so where an arm is the least behind."""
    often = wins.won.sum(axis=0) / len(weights)
    others = np.flatnonzero(wins.best != arm)[:_LOOKS]
    behind = scores.pairs(wins.best[others], weights[others])
    behind -= scores.pairs(np.full(len(others), arm), weights[others])
    near = others[np.argsort(behind / (weights[others] @ scores.sizes), kind="stable")[:_CLOSE]]
    often += np.bincount(wins.best[near], minlength=len(often))
    often[arm] = 0
    return np.argsort(-often, kind="stable")[: min(_RIVALS, np.count_nonzero(often))]
