"""The values of many small matrix games at once.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. Games are solved in
chunks that step together; those that need many steps wait and are then taken together, so that
chunks stay full. Where each game has columns of its own, reading them is what costs: then single
precision serves until it sees nothing more to gain, and double precision finishes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.pareto import _simplex
from mogro.pareto._simplex import Columns, State

_ROUGH, _FINE = 1e-6, 1e-13  # gains below these parts of a game's size are rounding
_CLOSE = 1e-14  # bounds that are nearer than this need no polish
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are well spread
_MOST, _BYTES = 512, 1 << 25  # games in a chunk, and its memory
_MANY = 64  # columns from which single precision pays


class Games(NamedTuple):
    """Solved games: what the weights and the mixtures found guarantee of each value."""

    lower: FloatArray  # (G,) the mixture beats the point by this much
    upper: FloatArray  # (G,) under the weights no column beats the point by more
    weights: FloatArray  # (G, M)
    support: IntArray  # (G, M) the columns of the mixture
    shares: FloatArray  # (G, M) their shares, 0 for fillers
    size: FloatArray  # (G,) the unit of all tolerances


def solve(
    columns: FloatArray,
    points: FloatArray,
    *,
    size: FloatArray,
    problem: IntArray | None = None,
    nudge: float = 1e-9,
) -> Games:
    """Solve G games.

    Parameters
    ----------
    columns
        (L, M), the same for all games, or (P, L, M).
    points
        (G, M).
    size
        (G,) the unit of length and of all tolerances: at least the largest number in the columns
        and the point of the game. The origin should be near them, or rounding grows.
    problem
        (G,) which of the P column sets each game has; needed with (P, L, M) only.
    nudge
        Points are lowered by about this part of the size, differently in each objective, while
        pivots are chosen. The final basis is evaluated at the true points, so ``lower`` and
        ``upper`` hold whatever the nudge.
    """
    games, objectives = points.shape
    floats, integers = np.empty((games, objectives)), np.empty((games, objectives), dtype=np.int64)
    out = Games(np.empty(games), np.empty(games), floats, integers, np.empty_like(floats), size)
    shift = nudge * (1 + np.arange(1, objectives + 1) * _GOLDEN % 1)
    source = Columns(columns, problem)
    rough: list[State] = []
    unclear: list[State] = []

    def begin(places: slice, prices: FloatArray) -> State:
        place = np.arange(games)[places]
        return _simplex.start(source, prices, place, points[place], size[place], shift)

    def finish(state: State) -> None:
        _write(state.place, _evaluated(state, source), out)
        apart = out.upper[state.place] - out.lower[state.place] > _CLOSE * state.size
        unclear.append(state.part(apart))

    everywhere = np.arange(games)
    if problem is None or columns.shape[1] < _MANY or not games:
        _solve(source, everywhere, begin, finish, _exact_prices, _FINE)
    else:
        _solve(source, everywhere, begin, rough.append, _Rough(), _ROUGH)
        state = _simplex.joined(rough)
        state = state.part(state.place.argsort())  # neighbours in memory need no copy
        _solve(source, state.place, _resumed(state), finish, _exact_prices, _FINE)
    if unclear:
        _polish(_simplex.joined(unclear), source, shift, out)
    return out


def _solve(
    columns: Columns,
    places: IntArray,
    begin: Callable[[slice, FloatArray], State],
    finish: Callable[[State], None],
    prices_of: Callable[[Columns, IntArray], FloatArray],
    tolerance: float,
) -> None:
    """Solve games chunk by chunk: ``begin`` gives their states, ``finish`` takes them solved."""
    length, objectives = columns.values.shape[-2:]
    width = 8 * length * (1 if columns.problem is None else objectives)
    chunk = max(1, min(_MOST, _BYTES // width))
    while len(places):
        left = []
        for first in range(0, len(places), chunk):
            which = slice(first, first + chunk)
            prices = prices_of(columns, places[which])
            state = begin(which, prices)
            patience = len(places) > chunk
            solved, more = _simplex.run(
                state, columns, prices, tolerance=tolerance, patience=patience
            )
            if len(solved.place):
                finish(solved)
            left.append(more)
        rest = _simplex.joined(left)
        places, begin = rest.place, _resumed(rest)


def _resumed(state: State) -> Callable[[slice, FloatArray], State]:
    return lambda which, _: state.part(which)


def _exact_prices(columns: Columns, place: IntArray) -> FloatArray:
    if columns.problem is None:
        return columns.values.T
    which = columns.problem[place]
    if (np.diff(which) == 1).all():
        return columns.values[which[0] : which[-1] + 1].transpose(0, 2, 1)
    return np.asarray(columns.values[which]).transpose(0, 2, 1)


class _Rough:
    """Columns in single precision, always in the same memory."""

    def __init__(self) -> None:
        self.memory = np.empty((0, 0, 0), dtype=np.float32)

    def __call__(self, columns: Columns, place: IntArray) -> FloatArray:
        exact = _exact_prices(columns, place)
        if len(self.memory) < len(exact):
            self.memory = np.empty(exact.shape, dtype=np.float32)
        rough = self.memory[: len(exact)]
        np.copyto(rough, exact, casting="same_kind")
        return rough


@np.errstate(divide="ignore", invalid="ignore")
def _evaluated(state: State, columns: Columns) -> Games:
    """Evaluate final bases at the true points."""
    place, points, size, rows, basis, gain = state
    length = columns.values.shape[-2]
    right = np.append(points, np.ones((len(points), 1)), axis=1)
    values = np.matmul(rows[:, :, :-1], right[:, :, None])[:, :, 0]
    shares = np.where(basis < length, np.maximum(values[:, 1:], 0), 0)
    shares /= shares.sum(1, keepdims=True)
    support = np.where(basis < length, basis, basis.min(1, keepdims=True))
    lead = np.matmul(shares[:, None, :], columns.pick(place, support) - points[:, None, :])[:, 0]
    weights = np.maximum(-rows[:, 0, :-2], 0)
    weights /= weights.sum(1, keepdims=True)
    upper = (values[:, 0] + np.maximum(gain, 0)) * size
    return Games(lead.min(1), upper, weights, support, shares, size)


def _write(place: IntArray, games: Games, out: Games) -> None:
    for values, target in zip(games[:-1], out[:-1], strict=True):
        target[place] = values


def _polish(state: State, columns: Columns, shift: FloatArray, out: Games) -> None:
    """Solve again, around the point and from a fresh inverse, where rounding keeps bounds apart."""
    length, objectives = columns.values.shape[-2:]
    chunk = max(1, _BYTES // (8 * length * objectives))
    for first in range(0, len(state.place), chunk):
        part = state.part(slice(first, first + chunk))
        near = _exact_prices(columns, part.place).swapaxes(-1, -2) - part.points[:, None, :]
        around = Columns(near, np.arange(len(near)))
        try:
            fresh = _simplex.rebuilt(
                part._replace(place=np.arange(len(near)), points=np.zeros_like(part.points)),
                around,
                shift,
            )
        except np.linalg.LinAlgError:  # of one of them: the others must not suffer
            each = range(len(part.place)) if len(part.place) > 1 else ()
            for i in each:
                _polish(part.part(slice(i, i + 1)), columns, shift, out)
            continue
        solved, _ = _simplex.run(
            fresh, around, near.transpose(0, 2, 1), tolerance=_CLOSE, patience=False
        )
        games = _evaluated(solved, around)
        exact = np.matmul(near[solved.place], games.weights[:, :, None])[:, :, 0].max(1)
        improve(out, part.place[solved.place], games._replace(upper=exact))


def improve(games: Games, place: IntArray, found: Games) -> None:
    """Keep the better of the old and the newly found mixtures and weights."""
    higher = (found.lower > games.lower[place]) | np.isnan(games.lower[place])
    lower = (found.upper < games.upper[place]) | np.isnan(games.upper[place])
    for better, names in ((higher, ("lower", "support", "shares")), (lower, ("upper", "weights"))):
        for name in names:
            getattr(games, name)[place[better]] = getattr(found, name)[better]
