"""The values of many small matrix games at once, each with its proof.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. Games are solved in
chunks that step together; those that need many steps wait and are then taken together, so that
chunks stay full.
"""

import math
from typing import NamedTuple

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.pareto import _simplex
from mogro.pareto._simplex import Columns, SimplexState

_NEGLIGIBLE_GAIN = 1e-13  # gains below this part of a game's size are rounding
_CERTIFIED = 1e-11  # accepted distance between the bounds of a value, in units of the game's size
_NUDGES = (1e-9, 1e-6, 1e-12)
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are well spread
_MAX_GAMES, _MAX_BYTES = 512, 1 << 25  # games in a chunk, and its memory
_BLOCK = 1 << 16
_EXTREME = 80  # powers of two beyond which products might overflow
_MAX_OFFSET = 16.0  # spreads from the origin beyond which rounding would show


class Games(NamedTuple):
    """Solved games: what the weights and the mixtures found guarantee of each value."""

    lower: FloatArray  # (G,) the mixture beats the point by this much
    upper: FloatArray  # (G,) under the weights no column beats the point by more
    weights: FloatArray  # (G, M)
    support: IntArray  # (G, M) the columns of the mixture
    shares: FloatArray  # (G, M) their shares, 0 for fillers
    size: FloatArray  # (G,) the unit of all tolerances


def solve(columns: FloatArray, points: FloatArray, *, problem: IntArray | None = None) -> Games:
    """Solve G games until the bounds of each value meet.

    Degenerate games can leave the simplex at a wrong vertex, or going round in circles. It shows:
    the bounds stay apart. Then other perturbations are tried, and HiGHS in the end, whose bounds
    are taken as they are.

    Parameters
    ----------
    columns
        (L, M), the same for all games, or (P, L, M).
    points
        (G, M).
    problem
        (G,) which of the P column sets each game has; needed with (P, L, M) only.
    """
    columns, points, size, exponent = _rescaled(columns, points, problem)
    games = _by_simplex(Columns(columns, problem), points, size, nudge=_NUDGES[0])
    for nudge in _NUDGES[1:]:
        open_ = _unsolved(games)
        if not len(open_):
            break
        source = Columns(columns, None if problem is None else problem[open_])
        _improve(games, open_, _by_simplex(source, points[open_], size[open_], nudge=nudge))
    for i in _unsolved(games):
        its_columns = columns if problem is None else columns[problem[i]]
        _improve(games, np.array([i]), _by_highs(its_columns, points[i]))
    lower, upper, size = (np.ldexp(x, exponent) for x in (games.lower, games.upper, games.size))
    return games._replace(lower=lower, upper=upper, size=size)


def _rescaled(
    columns: FloatArray, points: FloatArray, problem: IntArray | None
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Scale column sets of extreme size by powers of two, and move those far from the origin there.

    Return columns, points, the sizes of the games, and the powers taken out of each.
    """
    sets = columns[None] if problem is None else columns
    where = np.zeros(len(points), dtype=np.int64) if problem is None else problem
    size = _largest(sets)
    exponent = np.frexp(size)[1]
    exponent = np.where(np.abs(exponent) > _EXTREME, exponent, 0)
    if exponent.any():
        sets = np.ldexp(sets, -exponent[:, None, None])
        points = np.ldexp(points, -exponent[where][:, None])
        size = np.ldexp(size, -exponent)
    spread = np.abs(sets[:, sets.shape[1] // 2] - sets[:, 0]).max(1)  # or more
    far = size > _MAX_OFFSET * spread
    if far.any():
        origin = np.where(far[:, None], sets[:, 0], 0)
        sets = sets - origin[:, None]
        points = points - origin[where]
        size = _largest(sets)
    size = np.maximum(size[where], np.abs(points).max(1))
    columns = sets[0] if problem is None else sets
    return columns, points, np.where(size > 0, size, 1.0), exponent[where]


def _largest(sets: FloatArray) -> FloatArray:
    # One long axis is much faster than two short ones.
    flat = sets.reshape(len(sets), math.prod(sets.shape[1:]))
    blocks = np.array_split(flat, 1 + flat.size // _BLOCK)  # read from memory once, not twice
    return np.concatenate([np.maximum(block.max(1), -block.min(1)) for block in blocks])


def _unsolved(games: Games) -> IntArray:
    closed = games.upper - games.lower <= _CERTIFIED * games.size
    return np.flatnonzero(~closed)


def _by_simplex(columns: Columns, points: FloatArray, size: FloatArray, *, nudge: float) -> Games:
    """Solve games, chunk by chunk.

    Points are lowered by about a nudge, in sizes, differently in each objective, while pivots are
    chosen. The final basis is evaluated at the true points, so that bounds hold all the same.
    """
    games, objectives = points.shape
    shares, support = np.empty((games, objectives)), np.empty((games, objectives), dtype=np.int64)
    out = Games(np.empty(games), np.empty(games), np.empty_like(shares), support, shares, size)
    shift = nudge * (1 + np.arange(1, objectives + 1) * _GOLDEN % 1)
    length = columns.values.shape[-2]
    chunk = min(
        _MAX_GAMES, _MAX_BYTES // (8 * length * (1 if columns.problem is None else objectives))
    )
    chunk = max(1, chunk)
    waiting = None
    places = np.arange(games)
    while len(places):
        left = []
        for first in range(0, len(places), chunk):
            which = slice(first, first + chunk)
            place = places[which]
            prices = _prices(columns, place)
            if waiting is None:
                state = _simplex.start(columns, prices, place, points[place], size[place], shift)
            else:
                state = waiting.part(which)
            patience = len(places) > chunk
            solved, more = _simplex.run(
                state, columns, prices, tolerance=_NEGLIGIBLE_GAIN, patience=patience
            )
            if len(solved.place):
                for values, target in zip(_evaluate(solved, columns)[:-1], out[:-1], strict=True):
                    target[solved.place] = values
            left.append(more)
        waiting = _simplex.concatenate_states(left)
        places = waiting.place
    return out


def _prices(columns: Columns, place: IntArray) -> FloatArray:
    if columns.problem is None:
        return columns.values.T
    which = columns.problem[place]
    if (np.diff(which) == 1).all():  # neighbours in memory need no copy
        return columns.values[which[0] : which[-1] + 1].transpose(0, 2, 1)
    return np.asarray(columns.values[which]).transpose(0, 2, 1)


@np.errstate(divide="ignore", invalid="ignore")
def _evaluate(state: SimplexState, columns: Columns) -> Games:
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


def _improve(games: Games, place: IntArray, other: Games) -> None:
    """Keep the better of two mixtures, and of two vectors of weights."""
    higher = (other.lower > games.lower[place]) | np.isnan(games.lower[place])
    lower = (other.upper < games.upper[place]) | np.isnan(games.upper[place])
    for better, names in ((higher, ("lower", "support", "shares")), (lower, ("upper", "weights"))):
        for name in names:
            getattr(games, name)[place[better]] = getattr(other, name)[better]


def _by_highs(columns: FloatArray, point: FloatArray) -> Games:
    from scipy.optimize import linprog

    lead = columns - point
    size = np.abs(lead).max() or 1.0
    arms, objectives = lead.shape
    result = linprog(
        np.append(np.zeros(objectives), 1.0),
        A_ub=np.column_stack([lead / size, -np.ones(arms)]),
        b_ub=np.zeros(arms),
        A_eq=np.append(np.ones(objectives), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * objectives + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        raise RuntimeError(f"no solver could find an effective gap: {result.message}")
    weights = np.maximum(result.x[:-1], 0)
    weights /= weights.sum()
    mixture = np.maximum(-result.ineqlin.marginals, 0)
    support = np.argsort(-mixture, kind="stable")[:objectives]
    support = np.pad(support, (0, objectives - len(support)))
    shares = mixture[support]
    shares[min(arms, objectives) :] = 0
    shares /= shares.sum()
    return Games(
        np.atleast_1d((shares @ lead[support]).min()),
        np.atleast_1d((lead @ weights).max()),
        weights[None],
        support[None],
        shares[None],
        np.atleast_1d(size),
    )
