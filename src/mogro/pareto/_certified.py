"""Games whose answer is proven: the simplex first, and a careful solver where it fails."""

import math

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.pareto import _games
from mogro.pareto._games import Games, improve

_CERTIFIED = 1e-11  # accepted distance between the bounds of a value, in units of the game's size
_BLOCK = 1 << 16
_EXTREME = 80  # powers of two beyond which products might leave the range of single precision
_FAR = 16.0  # spreads from the origin beyond which rounding would show
_NUDGES = (1e-9, 1e-6, 1e-12)


def solve(columns: FloatArray, points: FloatArray, *, problem: IntArray | None = None) -> Games:
    """Solve games as :func:`mogro.pareto._games.solve` does, until the bounds of each value meet.

    Degenerate games can leave the simplex at a wrong vertex, or going round in circles. It shows:
    the bounds stay apart. Then other perturbations are tried, and HiGHS in the end, whose bounds
    are taken as they are.
    """
    columns, points, size, exponent = _normalised(columns, points, problem)
    games = _games.solve(columns, points, size=size, problem=problem, nudge=_NUDGES[0])
    for nudge in _NUDGES[1:]:
        open_ = _open(games)
        if not len(open_):
            break
        own = None if problem is None else problem[open_]
        found = _games.solve(columns, points[open_], size=size[open_], problem=own, nudge=nudge)
        improve(games, open_, found)
    for i in _open(games):
        own_columns = columns if problem is None else columns[problem[i]]
        improve(games, np.array([i]), _by_highs(own_columns, points[i]))
    lower, upper, size = (np.ldexp(x, exponent) for x in (games.lower, games.upper, games.size))
    return games._replace(lower=lower, upper=upper, size=size)


def _normalised(
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
    far = size > _FAR * spread
    if far.any():
        origin = np.where(far[:, None], sets[:, 0], 0)
        sets = sets - origin[:, None]
        points = points - origin[where]
        size = _largest(sets)
    size = size[where]
    if problem is None:
        size = np.maximum(size, np.abs(points).max(1))
    columns = sets[0] if problem is None else sets
    return columns, points, np.where(size > 0, size, 1.0), exponent[where]


def _largest(sets: FloatArray) -> FloatArray:
    # One long axis is much faster than two short ones.
    flat = sets.reshape(len(sets), math.prod(sets.shape[1:]))
    blocks = np.array_split(flat, 1 + flat.size // _BLOCK)  # read from memory once, not twice
    return np.concatenate([np.maximum(block.max(1), -block.min(1)) for block in blocks])


def _open(games: Games) -> IntArray:
    closed = games.upper - games.lower <= _CERTIFIED * games.size
    return np.flatnonzero(~closed)


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
