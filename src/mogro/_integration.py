"""How likely arms are to win at random weights: randomised quasi-Monte Carlo.

The weights are a Sobol net in a few independent random shifts, which give standard errors. Nets
grow until arms that win often are known well. An arm that was chosen, but wins seldom, is looked
for in nets that grow much larger, where it meets a few rivals first; if weights are as likely in
any order of the objectives, each counts in all its cyclic rotations.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro._winners import Floats, Scores, count_wins

_NETS = 8  # independent copies of a net of weights
_BLOCK_WEIGHTS, _MIN_WEIGHTS, _MAX_WEIGHTS = 4096, 512, 12288  # of all nets
_CHEAP_SCORES, _MAX_SCORES = 1 << 20, 1 << 24  # minima take longer
_FREQUENT, _RELATIVE_ERROR = 0.01, 0.08  # arms that win so often are to have this error
_WINS_FOR_SPREAD = 30  # wins from which an arm's own spread is its error
_WINS_OF_CHOSEN = 130  # wins that tell enough of an arm that was chosen
_MAX_NET_SIZE = 1 << 13  # weights in a net that looks for it, before they are rotated
_CHUNK_WEIGHTS = 20480  # of all these, rotated, at a time
_MAX_RIVALS, _FIRST_RIVALS = 32, 4  # arms that it meets before all others, and before these
_RIVAL_WEIGHTS, _RIVAL_CANDIDATES = 1024, 192  # weights and arms among which they are looked for
_BITS = 30
_TAIL = 1e-10  # below every coordinate
_QUANTILES, _INTERPOLATED = 2049, 1 << 15  # numbers of quantiles, and with those in between


@dataclass(frozen=True)
class WeightDistribution:
    """Dirichlet weights to some power, up to a factor, made of points of a unit cube.

    Each weight takes a random share, a Beta number, of the remainder, the last one all of it. So M
    weights need M - 1 coordinates.
    """

    concentration: tuple[float, ...]
    power: float

    @property
    def rotations(self) -> int:
        """How many cyclic rotations of the objectives leave the distribution as it is."""
        return len(self.concentration) if len(set(self.concentration)) == 1 else 1

    def weights(self, points: FloatArray) -> FloatArray:
        """Return weights (n, M), the largest 1, at points (M - 1, n)."""
        logs = np.zeros((len(self.concentration), points.shape[1]))
        tails = np.cumsum(self.concentration[::-1])[-2::-1].tolist()
        log_remainder = np.zeros(points.shape[1])
        for m, (column, a, b) in enumerate(zip(points, self.concentration, tails, strict=False)):
            log_rest, log_share = _split(column, a, b)
            np.add(log_remainder, log_share, out=logs[m])
            log_remainder += log_rest
        logs[-1] = log_remainder
        logs *= self.power
        logs -= logs.max(axis=0)
        return np.ascontiguousarray(np.exp(logs, out=logs).T)


def _split(coordinates: FloatArray, a: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of 1 - x and x, for the Beta quantiles x at coordinates (n,)."""
    if a == 1:
        log_rest = np.log1p(-coordinates) / b
        return log_rest, np.log(-np.expm1(log_rest))
    start, step, table = _beta_logarithms(a, b)
    logits = np.log((coordinates / (1 - coordinates)).astype(np.float32))
    nearest = ((logits - start) / step).astype(np.int64)
    return table[0].take(nearest), table[1].take(nearest)


@cache
def _beta_logarithms(a: float, b: float) -> tuple[float, float, FloatArray]:
    """Return logits at which Beta quantiles x are known, and the logarithms of 1 - x and x, (2, n).

    The logits are given by the first of them and the step between them.
    """
    from scipy.special import betaincinv, betaln

    centre = np.log(b / a)  # where Beta numbers with small parameters go from 0 to 1
    end = abs(centre) - np.log(_TAIL)
    nodes = centre + np.linspace(-end, end, _QUANTILES)
    logs = -np.logaddexp(0, [-nodes, nodes])  # of coordinates, and of 1 less them
    tails = (logs + np.log([[a], [b]]) + betaln(a, b)) / np.array([[a], [b]])
    with np.errstate(divide="ignore", over="ignore"):
        quantiles = np.log([betaincinv(a, b, np.exp(logs[0])), betaincinv(b, a, np.exp(logs[1]))])
    low, high = np.where(tails < -20, tails, quantiles)
    grid = np.linspace(nodes[0], nodes[-1], _INTERPOLATED)
    step = float(grid[1] - grid[0])
    logits = np.interp(grid + step / 2, nodes, low - high)  # they hardly bend
    return float(grid[0]), step, -np.logaddexp(0, [logits, -logits])


class _Nets(NamedTuple):
    """Independently shifted nets of weights."""

    distribution: WeightDistribution
    shifts: NDArray[np.uint32]  # (nets, M - 1, 1)

    def weights(self, start: int, stop: int) -> tuple[FloatArray, IntArray]:
        """Return the weights (n, M) of a part of each net, not rotated, and their nets (n,)."""
        dim = self.shifts.shape[1]
        shifted = (_sobol_net(dim)[:, start:stop] ^ self.shifts).swapaxes(0, 1).reshape(dim, -1)
        weights = self.distribution.weights((shifted + 0.5) / (1 << _BITS))
        return weights, np.arange(_NETS).repeat(stop - start)


@cache
def _sobol_net(dim: int) -> NDArray[np.uint32]:
    """Return a Sobol net (dim, n) as integers, its matrices scrambled once and for all."""
    from scipy.stats import qmc

    points = qmc.Sobol(dim, bits=_BITS, rng=np.random.default_rng(0)).random(_MAX_NET_SIZE)
    return np.ascontiguousarray((points.T * (1 << _BITS)).astype(np.uint32))


def estimate(
    scores: Scores, distribution: WeightDistribution, rng: np.random.Generator, chosen: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities (K,) of arms, and standard errors.

    That of an arm that was chosen is above 0, and one over it is right on average.
    """
    arms, objectives = scores.values.shape
    shifts = rng.integers(0, 1 << _BITS, (_NETS, objectives - 1, 1), dtype=np.uint32)
    nets, cost = _Nets(distribution, shifts), arms * (1 + scores.min_factor * objectives / 10)
    max_draws = np.clip(_MAX_SCORES / cost, _MIN_WEIGHTS, _MAX_WEIGHTS)
    block = int(min(max_draws, max(_BLOCK_WEIGHTS, _CHEAP_SCORES / arms))) // _NETS
    counts, squares, size = np.zeros((_NETS, arms)), np.zeros(arms), 0
    while True:
        weights, net_indices = nets.weights(size, size + block)
        wins = count_wins(scores, weights, net_indices=net_indices, net_count=_NETS)
        counts, squares, size = counts + wins.counts, squares + wins.squares, size + block
        draws = size * _NETS
        total, spread = counts.sum(axis=0), counts.var(axis=0, ddof=1) * _NETS
        # Eight nets tell little of the spread of an arm; what is typical of all arms tells more.
        pooled_spread = np.maximum(spread, squares * spread.sum() / squares.sum())
        precise = pooled_spread <= (_RELATIVE_ERROR * total) ** 2
        if precise[total >= _FREQUENT * draws].all() or draws + len(weights) > max_draws:
            break
    values, variances = total / draws, _variances(counts, squares, draws)
    if chosen is not None:
        refinement = _Refinement(scores, nets, chosen, weights, wins.best)
        share, variances[chosen] = refinement.estimate(counts[:, chosen], squares[chosen], size)
        values *= (1 - share) / (1 - values[chosen]) if values[chosen] < 1 else 0.0
        values[chosen] = share
    errors = np.sqrt(variances)
    return values, np.where(errors > 0, errors, 1 / draws)


def _variances(counts: FloatArray, squares: FloatArray, draws: int) -> FloatArray:
    """Return the squares of the errors (K,) of what arms win in nets (nets, K), per draw."""
    spread = counts.var(axis=0, ddof=1) * _NETS
    rare = counts.sum(axis=0) < _WINS_FOR_SPREAD  # they say little of their own spread
    return np.asarray(np.where(rare, (spread + squares) / 2, spread) / draws**2)


@dataclass(frozen=True, eq=False)
class _Refinement:
    """A better estimate for one arm, after a first one at weights (n, M), with best arms (n,)."""

    scores: Scores
    nets: _Nets
    arm: int
    weights: FloatArray
    best: IntArray

    def estimate(self, counts: FloatArray, squares: float, size: int) -> tuple[float, float]:
        """Return the arm's probability, and the square of its error, by nets that go on.

        They have a size already, and the wins of the arm there, (nets,), are known.

        The choice of the arm is one weight more, with the share that is typical where it wins: one
        over its probability is right on average then, up to higher powers of the error.
        """
        rotated_nets, rivals = self.nets.distribution.rotations * _NETS, None
        draws = size * _NETS
        while True:
            total = float(counts.sum())
            growth = _WINS_OF_CHOSEN * squares / total**2 if total else np.inf
            if growth <= 1 or size == _MAX_NET_SIZE:
                break
            rivals = self.find_rivals() if rivals is None else rivals
            added = 1 + int(draws * np.clip(growth - 1, 0.25, 7) / rotated_nets)
            stop = min(_MAX_NET_SIZE, size + added)
            weights, net_indices = self.weights_without_better_rival(rivals, size, stop)
            wins = count_wins(self.scores, weights, net_indices=net_indices, net_count=_NETS)
            counts, squares = counts + wins.counts[:, self.arm], squares + wins.squares[self.arm]
            draws, size = draws + (stop - size) * rotated_nets, stop
        variance = float(_variances(counts[:, None], np.array([squares]), draws)[0])
        share = (total + (squares / total if total else 1.0)) / (draws + 1)
        return share, variance + (share - total / draws) ** 2

    def find_rivals(self) -> IntArray:
        """Return a few arms, one of which beats the arm nearly wherever it is not the best.

        The first does so at the most weights, each other one at the most of those that remain.
        """
        losses = np.flatnonzero(self.best != self.arm)[:_RIVAL_WEIGHTS]
        winners = np.argsort(-np.bincount(self.best[losses]), kind="stable")[:_RIVAL_CANDIDATES]
        table = self.table(self.scores.scale_weights(self.weights[losses]), winners)[0]
        rivals: list[int] = []
        beats = table[1:] > table[0]
        while len(rivals) < _MAX_RIVALS and beats.any():
            rival = int(np.count_nonzero(beats, axis=1).argmax())
            rivals.append(int(winners[rival]))
            beats = beats[:, ~beats[rival]]
        return np.array(rivals, dtype=np.int64)

    def weights_without_better_rival(
        self, rivals: IntArray, start: int, stop: int
    ) -> tuple[FloatArray, IntArray]:
        """Return the weights (n, M) of parts of nets at which no rival beats the arm; the nets."""
        objectives, rotations = self.weights.shape[1], self.nets.distribution.rotations
        step = max(1, _CHUNK_WEIGHTS // (rotations * _NETS))
        columns, blocks = np.arange(objectives), []
        for begin in range(start, stop, step):
            weights, net_indices = self.nets.weights(begin, min(begin + step, stop))
            scaled = self.scores.scale_weights(weights)
            first_rivals, others = rivals[:_FIRST_RIVALS], rivals[_FIRST_RIVALS:]
            rotation, row = np.nonzero(self.may_win(scaled, first_rivals, rotations))
            rotated = row[:, None] * objectives + (columns - rotation[:, None]) % objectives
            wins = self.may_win(scaled.take(rotated), others)[0]
            blocks.append((weights.take(rotated[wins]), net_indices[row[wins]]))
        weights, net_indices = map(np.concatenate, zip(*blocks, strict=True))
        return weights, net_indices

    def may_win(self, scaled: Floats, rivals: IntArray, rotations: int = 1) -> BoolArray:
        """Tell at which of scaled weights, (rotations, n), no rival is better for certain."""
        table = self.table(scaled, rivals, rotations)
        top = table[:, 1:].max(axis=1, initial=-np.inf)
        single = self.scores.in_single_precision
        return np.asarray(table[:, 0] >= single.cutoff(scaled, top))

    def table(self, scaled: Floats, rivals: IntArray, rotations: int = 1) -> Floats:
        """Return scores (rotations, 1 + k, n) of the arm and its rivals at weights to be rotated.

        Arms and weights change places, for BLAS, and arms are rotated back instead.
        """
        single = self.scores.in_single_precision
        values = single.values[np.append(self.arm, rivals)]
        rotated = np.concatenate([np.roll(values, -r, axis=1) for r in range(rotations)])
        swapped = Scores(scaled, single.min_factor, single.sum_factor, single.magnitudes)
        return swapped.table(rotated).reshape(rotations, len(values), len(scaled))
