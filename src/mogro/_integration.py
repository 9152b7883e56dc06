"""How likely arms are to win at random weights: randomised quasi-Monte Carlo.

The weights are a Sobol net in a few independent random shifts, which give standard errors. Nets
grow until arms that win often are known well. An arm that was chosen, but wins seldom, is looked
for in nets that grow much larger, where it meets a few rivals first; if weights are as likely in
any order of the objectives, each is turned there to begin with every objective.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro._winners import Floats, Scores, count_wins

_NETS = 8  # independent copies of a net of weights
_BLOCK, _FEWEST, _MOST = 4096, 512, 12288  # weights that are added to all nets, fewest, and most
_CHEAP, _WORK = 1 << 20, 1 << 24  # scores that cost little, and the most; minima take longer
_OFTEN, _PRECISE = 0.01, 0.08  # arms that win so often are to have this relative error
_WINS_FOR_SPREAD = 30  # wins from which an arm's own spread is its error
_WINS_OF_CHOSEN = 130  # wins that tell enough of an arm that was chosen
_MAX_NET_SIZE = 1 << 13  # weights in a net that looks for it, before they are turned
_CHUNK = 20480  # of all these, turned, at a time
_RIVALS, _FIRST_RIVALS = 32, 4  # arms that it meets before all others, and before these
_LOOKS, _CANDIDATES = 1024, 192  # weights and arms among which they are looked for
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
        tails = np.cumsum(self.concentration[::-1])[-2::-1].tolist()
        remaining = np.zeros(places.shape[1])
        for m, (place, a, b) in enumerate(zip(places, self.concentration, tails, strict=False)):
            after, taken = _parts(place, a, b)
            np.add(remaining, taken, out=logs[m])
            remaining += after
        logs[-1] = remaining
        logs *= self.power
        logs -= logs.max(axis=0)
        return np.ascontiguousarray(np.exp(logs, out=logs).T)


def _parts(places: FloatArray, a: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of what Beta numbers at places (n,) leave, and of what they take."""
    if a == 1:
        after = np.log1p(-places) / b
        return after, np.log(-np.expm1(after))
    start, step, table = _beta_logarithms(a, b)
    logits = np.log((places / (1 - places)).astype(np.float32))
    nearest = ((logits - start) / step).astype(np.int64)
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


class _Nets(NamedTuple):
    """Independently shifted nets of weights."""

    law: WeightDistribution
    shifts: NDArray[np.uint32]  # (nets, M - 1, 1)

    def weights(self, start: int, stop: int) -> tuple[FloatArray, IntArray]:
        """Return the weights (n, M) of a part of each net, not turned, and their nets (n,)."""
        dim = self.shifts.shape[1]
        moved = (_sobol_net(dim)[:, start:stop] ^ self.shifts).swapaxes(0, 1).reshape(dim, -1)
        return self.law.weights((moved + 0.5) / (1 << _BITS)), np.arange(_NETS).repeat(stop - start)


@cache
def _sobol_net(dim: int) -> NDArray[np.uint32]:
    """Return a Sobol net (dim, n) as integers, its matrices scrambled once and for all."""
    from scipy.stats import qmc

    points = qmc.Sobol(dim, bits=_BITS, rng=np.random.default_rng(0)).random(_MAX_NET_SIZE)
    return np.ascontiguousarray((points.T * (1 << _BITS)).astype(np.uint32))


def estimate(
    scores: Scores, law: WeightDistribution, rng: np.random.Generator, chosen: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities (K,) of arms, and standard errors.

    That of an arm that was chosen is above 0, and one over it is right on average.
    """
    arms, objectives = scores.values.shape
    nets = _Nets(law, rng.integers(0, 1 << _BITS, (_NETS, objectives - 1, 1), dtype=np.uint32))
    most = np.clip(_WORK / (arms * (1 + scores.minimum * objectives / 10)), _FEWEST, _MOST)
    block = int(min(most, max(_BLOCK, _CHEAP / arms))) // _NETS
    won, squares, size = np.zeros((_NETS, arms)), np.zeros(arms), 0
    while True:
        weights, net = nets.weights(size, size + block)
        wins = count_wins(scores, weights, net=net, nets=_NETS)
        won, squares, size = won + wins.won, squares + wins.squares, size + block
        draws = size * _NETS
        total, spread = won.sum(axis=0), won.var(axis=0, ddof=1) * _NETS
        # Eight nets tell little of the spread of an arm; what is typical of all arms tells more.
        likely = np.maximum(spread, squares * spread.sum() / squares.sum())
        precise = likely <= (_PRECISE * total) ** 2
        if precise[total >= _OFTEN * draws].all() or draws + len(weights) > most:
            break
    values, variances = total / draws, _variances(won, squares, draws)
    if chosen is not None:
        look = _CloseLook(scores, nets, chosen, weights, wins.best)
        share, variances[chosen] = look.refine(won[:, chosen], squares[chosen], size)
        values *= (1 - share) / (1 - values[chosen]) if values[chosen] < 1 else 0.0
        values[chosen] = share
    errors = np.sqrt(variances)
    return values, np.where(errors > 0, errors, 1 / draws)


def _variances(won: FloatArray, squares: FloatArray, draws: int) -> FloatArray:
    """Return the squares of the errors (K,) of what arms win in nets (nets, K), per draw."""
    spread = won.var(axis=0, ddof=1) * _NETS
    few = won.sum(axis=0) < _WINS_FOR_SPREAD  # they say little of their own spread
    return np.asarray(np.where(few, (spread + squares) / 2, spread) / draws**2)


@dataclass(frozen=True, eq=False)
class _CloseLook:
    """A close look at one arm, after a first one at weights (n, M), with their best arms (n,)."""

    scores: Scores
    nets: _Nets
    arm: int
    weights: FloatArray
    best: IntArray

    def refine(self, won: FloatArray, squares: float, size: int) -> tuple[float, float]:
        """Return the arm's probability, and the square of its error, by nets that go on.

        They have a size, and what it ``won`` there, (nets,), is known.

        The choice of the arm is one weight more, with the share that is typical where it wins: one
        over its probability is right on average then, up to higher powers of the error.
        """
        draws, turned, rivals = size * _NETS, self.nets.law.turns * _NETS, None
        while True:
            total = float(won.sum())
            wanted = _WINS_OF_CHOSEN * squares / total**2 if total else np.inf
            if wanted <= 1 or size == _MAX_NET_SIZE:
                break
            rivals = self.rivals() if rivals is None else rivals
            more = 1 + int(draws * np.clip(wanted - 1, 0.25, 7) / turned)
            stop = min(_MAX_NET_SIZE, size + more)
            weights, net = self.where_it_may_win(rivals, size, stop)
            wins = count_wins(self.scores, weights, net=net, nets=_NETS)
            won, squares = won + wins.won[:, self.arm], squares + wins.squares[self.arm]
            draws, size = draws + (stop - size) * turned, stop
        variance = float(_variances(won[:, None], np.array([squares]), draws)[0])
        share = (total + (squares / total if total else 1.0)) / (draws + 1)
        return share, variance + (share - total / draws) ** 2

    def rivals(self) -> IntArray:
        """Return a few arms, one of which beats the arm nearly wherever it is not the best.

        The first does so at the most weights, each other one at the most of those that are left.
        """
        lost = np.flatnonzero(self.best != self.arm)[:_LOOKS]
        winners = np.argsort(-np.bincount(self.best[lost]), kind="stable")[:_CANDIDATES]
        table = self.table(self.scores.scaled(self.weights[lost]), winners)[0]
        rivals: list[int] = []
        beats = table[1:] > table[0]
        while len(rivals) < _RIVALS and beats.any():
            rival = int(np.count_nonzero(beats, axis=1).argmax())
            rivals.append(int(winners[rival]))
            beats = beats[:, ~beats[rival]]
        return np.array(rivals, dtype=np.int64)

    def where_it_may_win(
        self, rivals: IntArray, start: int, stop: int
    ) -> tuple[FloatArray, IntArray]:
        """Return the weights (n, M) of parts of nets at which no rival beats the arm; the nets."""
        objectives, turns = self.weights.shape[1], self.nets.law.turns
        step = max(1, _CHUNK // (turns * _NETS))
        kept = []
        for begin in range(start, stop, step):
            weights, net = self.nets.weights(begin, min(begin + step, stop))
            points = self.scores.scaled(weights)
            turn, row = np.nonzero(self.is_ahead(points, rivals[:_FIRST_RIVALS], turns))
            place = row[:, None] * objectives + (np.arange(objectives) - turn[:, None]) % objectives
            ahead = self.is_ahead(points.take(place), rivals[_FIRST_RIVALS:])[0]
            kept.append((weights.take(place[ahead]), net[row[ahead]]))
        weights, net = map(np.concatenate, zip(*kept, strict=True))
        return weights, net

    def is_ahead(self, points: Floats, rivals: IntArray, turns: int = 1) -> BoolArray:
        """Tell at which of some weights, (turns, n), no rival is better for certain."""
        table = self.table(points, rivals, turns)
        top = table[:, 1:].max(axis=1, initial=-np.inf)
        return np.asarray(table[:, 0] >= self.scores.single.least(points, top))

    def table(self, points: Floats, rivals: IntArray, turns: int = 1) -> Floats:
        """Return the scores (turns, 1 + k, n) of the arm and its rivals at weights to be turned.

        They change places, for BLAS, and arms are turned back instead.
        """
        single = self.scores.single
        values = single.values[np.append(self.arm, rivals)]
        turned = np.concatenate([np.roll(values, -turn, axis=1) for turn in range(turns)])
        table = Scores(points, single.minimum, single.total, single.sizes).table(turned)
        return table.reshape(turns, len(values), len(points))
