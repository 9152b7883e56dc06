"""How likely arms are to be selected by their values.

Fronts, fixed weights and one objective are counted. With two objectives the weights at which the
best arm changes are computed, and the law of the weights says the rest, exactly. More objectives
are integrated over weights by randomised quasi-Monte Carlo: a Sobol net in independent random
shifts, which give standard errors. Arms that win often are compared at more weights. An arm that
was chosen, at known weights, but wins seldom is also compared at weights near these.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import BoolArray, FloatArray, IntArray, count, floats
from mogro.scalarization import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    Scalarization,
    is_nonlinear,
    reference_point,
)
from mogro.selection import Selection, is_front

_EPS = float(np.finfo(np.float64).eps)
_SLACK = 16 * _EPS  # scores that are nearer, in their size, are equal
_MINIMA = 5e-7  # the most that may be, of minima
_SINGLE = 2e-6  # what single precision may be off
_NORMAL = 1e-30  # below, single precision loses digits
_SHIFTS = 8  # independent copies of a net of weights
_WORK = (2.1e7, 8.5e7)  # products of weights and values: minima, and sums
_SIZES = (64, 512)  # weights in a copy of the net, fewest and most
_BLOCK = 1 << 16  # scores at a time, so that they stay in the cache
_DRAWS = (512, 1 << 14)  # weights that are drawn from scalarisations of users, fewest and most
_SPREAD = 100  # wins from which an arm's own spread is its error
_SEVERAL = 400  # wins from which an arm is known well enough
_WIDE = 3.0  # half the width of these boxes, in standard deviations of what was found
_FEW = 8  # places in which an arm wins that say how large the boxes should be, at least
_RIVALS = 64  # arms that win nearby, at most
# Weights of a shift near those of a choice, in rounds that find out where, and in the last one.
_NEAR = (16, 32, 32, 256)
_CENTRES = 64  # boxes that hold the latter, at most
_FIRST, _PILOT, _MORE = 48, 2, 4  # arms, shifts that name them, more weights for these arms
_STRONG = 32  # arms that others are compared with beforehand
_BITS = 30
_TAIL = 1e-9  # places of quantiles that are interpolated
_NODES = 257
_FINE = 16  # places between two of them
_ROUGH = 0.5  # concentration below which weights are likely to be as small as rounding
_CORNER = 2.0 ** np.arange(-66, -38)  # weights at which a small one begins to matter


class Probabilities(NamedTuple):
    """Probabilities of arms, (K,), and their standard errors, 0 where they are exact."""

    values: FloatArray
    errors: FloatArray


class Chosen(NamedTuple):
    """An arm that was chosen by its values, and the weights that were drawn then, (M,), if any."""

    arm: int
    weights: FloatArray | None


def selection_probabilities(
    values: ArrayLike,
    selection: Selection,
    *,
    step: int,
    rng: np.random.Generator,
    chosen: Chosen | None = None,
) -> Probabilities:
    """Return how likely each of several distinct arms is to be selected.

    Arms whose scores are equal up to rounding share equally, for they are drawn uniformly. The
    answer is exact, with errors 0, for fronts, :class:`FixedWeights` and :class:`RoundRobin`, and
    with one or two objectives for all scalarisations of mogro. Otherwise it is an estimate.

    Parameters
    ----------
    values
        (K, M) of the arms, all maximised.
    selection
        A scalarisation, or an object with a method ``members`` such as :class:`ParetoFront`.
    step
        How many arms were selected before; :class:`RoundRobin` goes by it.
    rng
        Where estimates draw from: the same state gives the same answer.
    chosen
        What was selected by these values. The estimate then counts this choice, so that the arm's
        probability is above 0, and looks more closely at it.

    Examples
    --------
    >>> values = [[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]]
    >>> rng = np.random.default_rng(0)
    >>> selection_probabilities(values, RandomWeights(), step=0, rng=rng).values
    array([0.25, 0.25, 0.5 ])
    """
    points = floats(values, "values", shape=("K", "M")).astype(np.float64)
    turn = count(step, "step", minimum=0)
    if is_front(selection):
        members = selection.members(points)
        return exactly(members / members.sum())
    match selection:
        case RandomWeights() | RandomChebyshev() | RandomHypervolume():
            return _random(points, selection, rng, chosen)
        case FixedWeights() | RoundRobin():
            weights = selection.weights(points.shape[1], step=turn, batch=(), rng=rng)
            sizes = np.abs(points[(points @ weights).argmax()])
            return exactly(
                _shares(_Scores(points, 0.0, 1.0, sizes), np.asarray(weights)[None], np.ones(1))
            )
    return _drawn(points, selection, turn, rng, chosen)  # type: ignore[arg-type]  # no front


def exactly(values: FloatArray) -> Probabilities:
    """Return probabilities that are known."""
    return Probabilities(values, np.zeros(len(values)))


def counted(wins: FloatArray | IntArray, draws: int, chosen: Chosen | None) -> Probabilities:
    """Return shares (K,) of wins in independent draws, of which a choice is one more.

    With it, one over the share of the arm that was chosen is one over its probability on average,
    up to the probability that nobody draws the arm. One more draw, far off, keeps errors from zero.
    """
    if chosen is not None:
        wins = wins + (np.arange(len(wins)) == chosen.arm)
        draws += 1
    share = wins / draws
    return Probabilities(share, np.sqrt((draws * share * (1 - share) + 1) / (draws * draws)))


@dataclass(frozen=True, eq=False)
class _Scores:
    """``bend * min_m w_m y_m + total * sum_m w_m y_m`` for arms with values y, (K, M).

    ``sizes`` (M,) are those of the numbers that compete, as they were before a reference point was
    subtracted: the unit of rounding.
    """

    values: FloatArray
    bend: float
    total: float
    sizes: FloatArray

    def tables(self, weights: NDArray[np.floating]) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Give the scores (n, K) for weights (n, M), a few at a time, in the precision of these.

        They are good until the next ones, and may be overwritten.
        """
        values = np.ascontiguousarray(self.values.T, dtype=weights.dtype)
        block = max(1, min(len(weights), _BLOCK // len(self.values)))
        least, term = np.empty((2, block, len(self.values)), dtype=weights.dtype)
        total = weights.dtype.type(self.total)
        for start in range(0, len(weights), block):
            part = weights[start : start + block]
            if len(part) < block:
                least, term = least[: len(part)], term[: len(part)]
            if not self.bend:
                np.matmul(part, values, out=least)
            else:
                np.multiply(part[:, :1], values[0], out=least)
                for m in range(1, len(values)):
                    np.multiply(part[:, m, None], values[m], out=term)
                    np.minimum(least, term, out=least)
                if self.total:
                    np.matmul(total * part, values, out=term)
                    least += term
            yield slice(start, start + len(part)), least

    @cached_property
    def exact(self) -> bool:
        """Whether scores are minima of values that differ in single precision, if they do."""
        if not self.bend or self.total:
            return False
        rising = np.sort(self.values, axis=0)
        less = np.diff(rising.astype(np.float32), axis=0) > 0
        return bool(((np.diff(rising, axis=0) > 0) == less).all())

    def slack(self, weights: FloatArray, level: FloatArray) -> FloatArray:
        """Return up to what difference from a level (n,) scores are equal for weights (n, M)."""
        slack = _SLACK * (self.bend + self.total) * (np.abs(weights) @ self.sizes)
        if self.bend and not self.total:  # minima with tiny weights may be below it
            slack = np.minimum(slack, _MINIMA * np.abs(level))
        return np.asarray(slack)


class _Race(NamedTuple):
    """How often each arm wins at the weights of every shift, (s, K); those who tie have shares.

    And the weights at which one arm wins, (h,), and its shares there.
    """

    won: FloatArray
    point: IntArray
    share: FloatArray


def _race(scores: _Scores, weights: FloatArray, *, shifts: int = 1, arm: int = 0) -> _Race:
    """Compare arms at weights (n, M): in single precision, or in double where that is close."""
    shifted = scores.values - scores.values.max(axis=0)  # of sums, only differences matter
    fast = scores if scores.bend else _Scores(shifted, 0.0, 1.0, scores.sizes)
    largest = np.abs(fast.values).max(axis=0)
    mixed = bool(scores.bend and scores.total) or (weights < 0).any()  # terms of both signs
    single = weights.astype(np.float32)
    size, arms = max(1, len(weights) // shifts), len(scores.values)
    best = np.empty(len(weights), dtype=np.int64)
    close = np.empty(len(weights), dtype=np.bool_)
    ties = _Ties(np.zeros((shifts, arms)), size, arm)
    for part, table in fast.tables(single):
        rows = np.arange(len(table))
        first = table.argmax(axis=1)
        top = table[rows, first]
        table[rows, first] = -np.inf
        second = table.max(axis=1)
        off = _SINGLE * (np.abs(top) + np.abs(second))
        if mixed:
            off += _SINGLE * fast.total * (np.abs(single[part]) @ largest)
        best[part] = first
        close[part] = doubt = ~(top - second > off)
        if doubt.any() and scores.exact:  # equal minima are equal in any precision
            table[rows, first] = top
            tied = table[doubt] == top[doubt, None]
            near = np.count_nonzero(table[doubt] >= (top - off)[doubt, None], axis=1)
            sure = (near == np.count_nonzero(tied, axis=1)) & (np.abs(top[doubt]) > _NORMAL)
            place = part.start + np.flatnonzero(doubt)[sure]
            ties.add(place, tied[sure])
            close[place], best[place] = False, -1
    clear, doubtful = np.flatnonzero(~close & (best >= 0)), np.flatnonzero(close)
    for part, tied in _ties(scores, weights[doubtful]):
        ties.add(doubtful[part], tied)
    places = clear // size * arms + best[clear]
    won = np.bincount(places, minlength=shifts * arms).reshape(shifts, arms) + ties.won
    mine = clear[best[clear] == arm]
    point = np.concatenate([mine, *ties.point])
    return _Race(won, point, np.concatenate([np.ones(len(mine)), *ties.share]))


class _Ties:
    """Sums up shares of arms that tie, (shifts, K), and where one of them has some."""

    def __init__(self, won: FloatArray, size: int, arm: int) -> None:
        self.won, self.size, self.arm = won, size, arm
        self.point: list[IntArray] = []
        self.share: list[FloatArray] = []

    def add(self, points: IntArray, tied: BoolArray) -> None:
        """Take down who ties, (n, K), at some points (n,)."""
        each = 1 / np.count_nonzero(tied, axis=1)
        parts = np.zeros((len(self.won), len(points)))
        parts[points // self.size, np.arange(len(points))] = each
        self.won += parts @ tied
        self.point.append(points[tied[:, self.arm]])
        self.share.append(each[tied[:, self.arm]])


def _ties(scores: _Scores, weights: FloatArray) -> Iterator[tuple[slice, BoolArray]]:
    """Give who has the largest score, up to rounding, at weights (n, M): (n, K)."""
    for part, table in scores.tables(weights):
        level = table.max(axis=1)
        yield part, table >= (level - scores.slack(weights[part], level))[:, None]


def _shares(scores: _Scores, weights: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the sums (K,) of sizes (n,) won at weights (n, M); ties share."""
    won = np.zeros(len(scores.values))
    for part, tied in _ties(scores, weights):
        won += (sizes[part] / np.count_nonzero(tied, axis=1)) @ tied
    return won


@dataclass(frozen=True)
class _Law:
    """Dirichlet weights to some power, up to a factor, made of places in a unit cube.

    Each weight takes a random part, a Beta number, of what is left, the last one all of it. So M
    weights need M - 1 places.
    """

    concentration: tuple[float, ...]
    power: float

    @property
    def parts(self) -> list[tuple[float, float]]:
        """Parameters of the Beta numbers."""
        left = np.cumsum(self.concentration[::-1])[::-1][1:].tolist()
        return list(zip(self.concentration, left, strict=False))

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
        start, step, table = _beta_quantiles(tuple(self.parts))
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

    def places(self, weights: FloatArray) -> FloatArray:
        """Return the places (M - 1,) at which these are the Dirichlet weights (M,)."""
        from scipy.special import betainc

        left = np.maximum(np.cumsum(weights[::-1])[::-1], np.finfo(np.float64).tiny)
        first, second = np.array(self.parts).T
        found = betainc(first, second, (weights / left)[:-1])
        return np.asarray(np.clip(found, _TAIL, 1 - _TAIL))

    def below(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(w_1 / w_2 < ratio) and P(w_1 / w_2 > ratio) for the ratios of weights (n, 2)."""
        from scipy.special import betainc

        a, b = self.concentration
        plain = weights if self.power > 0 else weights[:, ::-1]
        first, second = (plain ** (1 / abs(self.power))).T
        total = first + second
        low, high = betainc(a, b, first / total), betainc(b, a, second / total)
        return (low, high) if self.power > 0 else (high, low)


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


def _random(
    values: FloatArray,
    selection: RandomWeights | RandomChebyshev | RandomHypervolume,
    rng: np.random.Generator,
    chosen: Chosen | None,
) -> Probabilities:
    """Return probabilities for the random weights of mogro."""
    arms, objectives = values.shape
    some: BoolArray = np.ones(objectives, dtype=np.bool_)
    if isinstance(selection, RandomHypervolume):
        law, bend, total = _Law((0.5,) * objectives, -0.5), 1.0, 0.0
    elif isinstance(selection, RandomChebyshev):
        law = _Law(RandomWeights(selection.concentration).dirichlet(objectives), 1.0)
        bend, total = 1.0, selection.rho
    else:
        # An objective without values, because it has no observations yet, decides nothing.
        some = np.asarray(values.any(axis=0)) if values.any() else some
        concentration = np.array(selection.dirichlet(objectives))[some]
        law, bend, total = _Law(tuple(concentration.tolist()), 1.0), 0.0, 1.0
    above, sizes = values[:, some], np.abs(values[:, some])
    if bend:
        point = reference_point(values, selection.reference).ravel()  # type: ignore[union-attr]
        above, sizes = values - point, np.maximum(sizes, np.abs(point))
    if isinstance(selection, RandomHypervolume):
        above = np.maximum(above, 0)
        if not above.all(axis=1).any():  # all scores are 0
            return exactly(np.full(arms, 1 / arms))
    sizes = sizes[_unbeaten(above)].max(axis=0)
    snapped = _snapped(above, _SLACK * sizes)
    rows = _unbeaten(snapped)
    kinds, kind, copies = _kinds(snapped[rows])
    scores = _Scores(kinds, bend, total, sizes)
    if len(kinds) == 1:
        won = exactly(np.ones(1))
    elif kinds.shape[1] == 1:
        won = exactly(_shares(scores, np.ones((1, 1)), np.ones(1)))
    elif kinds.shape[1] == 2:
        won = exactly(_in_pieces(scores, law))
    else:
        if chosen is not None:
            at = None if chosen.weights is None else chosen.weights[some]
            if at is not None and isinstance(selection, RandomHypervolume):
                at = np.square(at)
            place = np.flatnonzero(rows == chosen.arm)
            chosen = Chosen(int(kind[place[0]]), at) if place.size else None
        won = _integrated(scores, law, rng, chosen)
    whole = np.zeros((2, arms))
    whole[:, rows] = (np.array(won) / copies)[:, kind]
    return Probabilities(*whole)


def _unbeaten(values: FloatArray) -> IntArray:
    """Return arms in rising order, without most of those that another beats in every objective."""
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    total = ((values - low) / np.where(span > 0, span, 1)).sum(axis=1)
    columns = np.ascontiguousarray(values.T)
    beaten = np.zeros(len(values), dtype=np.bool_)
    for arm in np.argsort(-total, kind="stable")[:_STRONG]:
        beaten |= (columns < columns[:, arm, None]).all(axis=0)
    return np.flatnonzero(~beaten)


def _snapped(values: FloatArray, slack: FloatArray) -> FloatArray:
    """Return values (K, M) in which those that are equal up to rounding are equal."""
    order = values.argsort(axis=0, kind="stable")
    rising = np.take_along_axis(values, order, axis=0)
    starts = np.append(np.ones((1, values.shape[1]), bool), np.diff(rising, axis=0) > slack, axis=0)
    place = np.maximum.accumulate(np.where(starts, np.arange(len(values))[:, None], 0), axis=0)
    snapped = np.empty_like(values)
    np.put_along_axis(snapped, order, np.take_along_axis(rising, place, axis=0), axis=0)
    return snapped


def _kinds(values: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return different rows of values (K, M), which of them each is, and how often it is there."""
    kinds, kind, copies = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    return kinds, kind.ravel(), copies


def _integrated(
    scores: _Scores, law: _Law, rng: np.random.Generator, chosen: Chosen | None
) -> Probabilities:
    """Return estimates (K,) and standard errors by shifted nets of weights."""
    number = _WORK[not scores.bend] / (scores.values.size * _SHIFTS)
    size = int(np.clip(2.0 ** np.floor(np.log2(number)), *_SIZES))
    draws, arm = _SHIFTS * size, 0 if chosen is None else chosen.arm
    places = _shifted(size, len(law.parts), rng)
    weights = law.weights(places)
    race = _race(scores, weights, shifts=_SHIFTS, arm=arm)
    values, squares = _summary(race.won / size)
    # Few wins say little of their own spread: that of all such arms says as much.
    few = (values > 0) & (values * draws < _SPREAD)
    squares[few] = (squares[few] + values[few] * squares[few].sum() / values[few].sum()) / 2
    if len(values) > 3 * _FIRST:
        first = np.argsort(-race.won[:_PILOT].sum(axis=0), kind="stable")[:_FIRST]
        values[first], squares[first] = _among_first(scores, law, race, weights, first, rng)
        values /= values.sum()
    if chosen is not None:
        mine = (draws * values[arm] + 1) / (draws + 1)
        if chosen.weights is not None and values[arm] * draws < _SEVERAL:
            won = places[race.point], race.point // size, race.share
            closer = _near_choice(scores, law, chosen, won, draws, rng)
            mine, squares[arm] = _summary(closer)
        values *= (1 - mine) / (1 - values[arm]) if values[arm] < 1 else 0.0
        values[arm] = mine
    errors = np.sqrt(squares)
    return Probabilities(values, np.where(errors > 0, errors, 1 / draws))


def _summary(estimates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means of independent estimates (n, ...), and squares of their standard errors."""
    return estimates.mean(axis=0), estimates.var(axis=0, ddof=1) / len(estimates)


def _among_first(
    scores: _Scores,
    law: _Law,
    race: _Race,
    weights: FloatArray,
    first: IntArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return estimates of the arms that won most in a few shifts, and squares of their errors.

    How often they win among themselves is known at more weights, for it costs less. What part of
    these wins others leave them is known from the shifts that did not say who they are.
    """
    size, shifts = len(weights) // _SHIFTS, _SHIFTS - _PILOT
    few = _Scores(scores.values[first], scores.bend, scores.total, scores.sizes)
    there = _race(few, weights[_PILOT * size :], shifts=shifts).won / size
    more = law.weights(_shifted(_MORE * size, len(law.parts), rng)[_PILOT * _MORE * size :])
    alone = (there + _race(few, more, shifts=shifts).won / size) / (1 + _MORE)
    whole = race.won[_PILOT:, first] / size
    kept = whole.sum(axis=0) / np.maximum(there.sum(axis=0), 1 / size)
    return _summary(kept * alone + (whole - kept * there))


def _shifted(size: int, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return independent copies of a net of points in the unit cube, (shifts * size, dim)."""
    each = rng.integers(0, 1 << _BITS, (_SHIFTS, 1, dim), dtype=np.uint32)
    return np.asarray((((_net(size, dim) ^ each) + 0.5) / (1 << _BITS)).reshape(-1, dim))


@cache
def _net(size: int, dim: int) -> NDArray[np.uint32]:
    from scipy.stats import qmc

    points = qmc.Sobol(dim, scramble=False, bits=_BITS).random(size)
    return np.asarray((points * (1 << _BITS)).astype(np.uint32))


def _near_choice(
    scores: _Scores,
    law: _Law,
    chosen: Chosen,
    plain: tuple[FloatArray, IntArray, FloatArray],
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return estimates (shifts,) of an arm's probability by weights near those of its choice, too.

    Importance sampling from boxes around places where the arm wins. A few rounds find out how large
    these should be; arms that win nearby are enough for that. At places of the last round all arms
    are compared if the arm has not lost already. ``plain`` are the places (h, M - 1) of ``draws``
    weights at which the arm won, their shifts and shares. All places, in boxes or not, count as
    draws from one mixture, and so does the choice itself.
    """
    assert chosen.weights is not None
    own, arm = law.places(chosen.weights)[None], chosen.arm
    half = np.full(own.size, 0.5 * ((1 + plain[2].sum()) / draws) ** (1 / own.size))
    boxes = _Boxes.around(own, half)
    points = boxes.points(_NEAR[0], rng)
    race = _race(scores, law.weights(points), arm=arm)
    often = race.won[0]
    often[arm] = len(points) + 1
    rivals = np.argsort(-often, kind="stable")[: max(2, min(_RIVALS, np.count_nonzero(often)))]
    few = _Scores(scores.values[rivals], scores.bend, scores.total, scores.sizes)
    point = race.point
    for most in _NEAR[1:]:
        near = np.append(own, points[point], axis=0)
        size = most >> min(2, 4 * len(point) // len(points))  # the more wins, the fewer do
        half = half / 2 if len(near) < _FEW else _WIDE * near.std(axis=0)
        boxes = _Boxes.around(near[rng.permutation(len(near))[:_CENTRES]], half)
        points = boxes.points(size, rng)
        point = _race(few, law.weights(points)).point
    race = _race(scores, law.weights(points[point]), arm=arm)
    point = point[race.point]
    places = np.concatenate([own, plain[0], points[point]])
    shares = np.concatenate([[1.0], plain[2], race.share])
    shares /= draws + 1 + _SHIFTS * size * boxes.density(places)
    shifts = np.concatenate([plain[1], point // size])
    return np.asarray(shares[0] + _SHIFTS * np.bincount(shifts, shares[1:], _SHIFTS))


class _Boxes(NamedTuple):
    """Boxes in the unit cube, from ``low`` to ``high``, both (boxes, dim), alike often drawn."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def around(cls, centres: FloatArray, half: FloatArray) -> "_Boxes":
        return cls(np.maximum(centres - half, 0), np.minimum(centres + half, 1))

    def points(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return points of the boxes, (shifts * size, dim)."""
        places = _shifted(size, self.low.shape[1] + 1, rng)
        box = (places[:, -1] * len(self.low)).astype(np.int64)
        inside = self.low[box] + (self.high - self.low)[box] * places[:, :-1]
        return np.clip(inside, _TAIL, 1 - _TAIL)

    def density(self, places: FloatArray) -> FloatArray:
        """Return the density of such points at places (n, dim)."""
        inside = ((places[:, None] >= self.low) & (places[:, None] <= self.high)).all(axis=2)
        return np.asarray((inside / (self.high - self.low).prod(axis=1)).mean(axis=1))


def _drawn(
    values: FloatArray,
    selection: Scalarization,
    step: int,
    rng: np.random.Generator,
    chosen: Chosen | None,
) -> Probabilities:
    """Return estimates for a scalarisation that is not mogro's, by draws of its own."""
    arms, objectives = values.shape
    draws = int(np.clip(_WORK[0] // values.size, *_DRAWS))
    drawn = selection.weights(objectives, step=step, batch=(draws,), rng=rng)
    weights = floats(drawn, "weights", shape=(..., objectives)).astype(np.float64)
    weights = np.broadcast_to(weights, (draws, objectives))
    if not is_nonlinear(selection):
        sizes = np.abs(values[_unbeaten(values)]).max(axis=0)
        kinds, kind, copies = _kinds(_snapped(values, _SLACK * sizes))
        won = _race(_Scores(kinds, 0.0, 1.0, sizes), weights).won[0]
        return counted((won / copies)[kind], draws, chosen)
    won = np.zeros(arms)
    block = max(1, _BLOCK // values.size)
    for start in range(0, draws, block):
        some = weights[start : start + block]
        table = selection.score(np.broadcast_to(values, (len(some), *values.shape)), some)
        table = floats(table, "scores", shape=(len(some), arms))
        top = table.max(axis=1, keepdims=True)
        tied = table >= top - _SLACK * np.abs(top)
        won += (1 / np.count_nonzero(tied, axis=1)) @ tied
    return counted(won, draws, chosen)


def _in_pieces(scores: _Scores, law: _Law) -> FloatArray:
    """Return the probabilities (K,) of arms with two objectives, exactly."""
    edges = np.empty((0, 2))
    if scores.bend:  # an arm's score has a kink where both terms are equal
        kinks = np.abs(scores.values[np.prod(scores.values, axis=1) > 0, ::-1])
        edges = kinks / kinks.sum(axis=1, keepdims=True)
    if min(law.concentration) < _ROUGH:
        near = np.stack([_CORNER, 1 - _CORNER], axis=1)
        edges = np.concatenate([edges, near, near[:, ::-1]])
    ends = _pieces(scores, edges)
    below, above = law.below(ends)
    sizes = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    return _shares(scores, (ends[1:] + ends[:-1]) / 2, sizes)


def _pieces(scores: _Scores, edges: FloatArray) -> FloatArray:
    """Return rising weights (n, 2), from (0, 1) to (1, 0), between which one arm is best.

    ``edges`` (k, 2) are weights at which pieces have to end. Scores are linear between kinks, and
    their maximum is convex there: if one arm is best at both ends it is best throughout. If not,
    the lines of the two arms that are best at the ends cross in between; whichever arm is best
    there either is one of the two, or cuts the interval into two of the same kind.
    """
    edges = np.append(edges, [[0.0, 1.0], [1.0, 0.0]], axis=0)
    edges = edges[np.lexsort((-edges[:, 1], edges[:, 0]))]
    best = _best(scores, edges)
    low, high, first, last = edges[:-1], edges[1:], best[:-1], best[1:]
    ends = [edges]
    while True:
        cut = (first != last) & (low != high).any(axis=1)
        low, high, first, last = low[cut], high[cut], first[cut], last[cut]
        if not len(low):
            break
        before = _score(scores, low, first) - _score(scores, low, last)
        after = _score(scores, high, last) - _score(scores, high, first)
        total = before + after
        share = np.where(total > 0, before / np.where(total > 0, total, 1), 0.5)[:, None]
        middle = low * (1 - share) + high * share
        ends.append(middle)
        best = _best(scores, middle)
        rival = np.maximum(_score(scores, middle, first), _score(scores, middle, last))
        lead = _score(scores, middle, best) - rival
        inside = (middle != low).any(axis=1) & (middle != high).any(axis=1)
        new = (lead > scores.slack(middle, rival) / 4) & inside & (best != first) & (best != last)
        low, high = (
            np.append(low[new], middle[new], axis=0),
            np.append(middle[new], high[new], axis=0),
        )
        first, last = np.append(first[new], best[new]), np.append(best[new], last[new])
    whole = np.concatenate(ends)
    return np.asarray(whole[np.lexsort((-whole[:, 1], whole[:, 0]))])


def _best(scores: _Scores, weights: FloatArray) -> IntArray:
    """Return the best arms (n,) at weights (n, 2)."""
    best = np.empty(len(weights), dtype=np.int64)
    for part, table in scores.tables(weights):
        table.argmax(axis=1, out=best[part])
    return best


def _score(scores: _Scores, weights: FloatArray, arms: IntArray) -> FloatArray:
    """Return the score (n,) of one arm for each of the weights (n, 2)."""
    terms = weights * scores.values[arms]
    return np.asarray(scores.bend * terms.min(axis=1) + scores.total * terms.sum(axis=1))
