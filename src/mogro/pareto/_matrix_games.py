"""The values of many small matrix games at once, each with its proof.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. Games are solved in
chunks that step together.
"""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.pareto import _simplex
from mogro.pareto._simplex import Columns, SimplexState

_CERTIFIED = 1e-11  # accepted distance between the bounds of a value, in units of the game's size
_NUDGE = 1e-9
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are well spread
_MAX_GAMES, _MAX_BYTES = 512, 1 << 25  # games in a chunk, and its memory
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
    the bounds stay apart. Then HiGHS solves them, whose bounds are taken as they are.

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
    games = _by_simplex(Columns(columns, problem), points, size)
    closed = games.upper - games.lower <= _CERTIFIED * size
    for i in np.flatnonzero(~closed):
        its_columns = columns if problem is None else columns[problem[i]]
        for part, value in zip(games[:-1], _by_highs(its_columns, points[i]), strict=True):
            part[i] = value
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
    size = np.abs(sets).max(axis=(1, 2))
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
        size = np.abs(sets).max(axis=(1, 2))
    size = np.maximum(size[where], np.abs(points).max(1))
    columns = sets[0] if problem is None else sets
    return columns, points, np.where(size > 0, size, 1.0), exponent[where]


def _by_simplex(columns: Columns, points: FloatArray, size: FloatArray) -> Games:
    """Solve games, chunk by chunk.

    Points are lowered by about a nudge, in sizes, differently in each objective, while pivots are
    chosen. The final basis is evaluated at the true points, so that bounds hold all the same.
    """
    games, objectives = points.shape
    shares, support = np.empty((games, objectives)), np.empty((games, objectives), dtype=np.int64)
    out = Games(np.empty(games), np.empty(games), np.empty_like(shares), support, shares, size)
    nudge = _NUDGE * (1 + np.arange(1, objectives + 1) * _GOLDEN % 1)
    numbers = columns.values.shape[-2] * (1 if columns.problem is None else objectives)
    chunk = max(1, min(_MAX_GAMES, _MAX_BYTES // (8 * numbers)))
    for first in range(0, games, chunk):
        place = np.arange(first, min(first + chunk, games))
        prices = columns.prices(place)
        state = _simplex.start(columns, prices, place, points[place], size[place], nudge)
        solved = _simplex.run(state, columns, prices)
        for values, target in zip(_evaluate(solved, columns)[:-1], out[:-1], strict=True):
            target[solved.place] = values
    return out


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


def _by_highs(columns: FloatArray, point: FloatArray) -> tuple[Any, ...]:
    """Solve a game: lower, upper, weights, support and shares."""
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
    lower, upper = (shares @ lead[support]).min(), (lead @ weights).max()
    return lower, upper, weights, support, shares
