"""The values of many small matrix games at once, each with its proof.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. It is a linear
program,

    maximise v   subject to   sum_j p_j c_jm - v - s_m = q_m,   sum_j p_j = 1,   p >= 0,   s >= 0,

with M + 1 rows, so a basis is tiny. A revised simplex steps many games together, in NumPy: the
inverse of each basis is kept and updated, and most of the work is pricing, one product of the
columns with the dual variables, which are minus the weights and the value of the mixture.
"""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray

_MAX_BOUND_GAP = 1e-11  # accepted between the bounds of a value, in units of the game's size
_PERTURBATION = 1e-9
_GOLDEN_RATIO = 0.6180339887498949  # its multiples modulo 1 are well spread
_MAX_GAMES, _MAX_BYTES = 512, 1 << 25  # games in a chunk, and its memory
_MAX_DISTANCE = 16.0  # spreads from the origin beyond which rounding would show
_NEGLIGIBLE_GAIN = 1e-13  # gains below this part of a game's size are rounding
_MIN_PIVOT = 1e-9  # a smaller pivot would ruin the basis
_MAX_STEPS = 60  # per objective; games that need more have lost their way


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
    game_set = np.zeros(len(points), dtype=np.int64) if problem is None else problem
    sets = columns[None] if problem is None else columns
    program, points, size, exponent = _program(sets, points, game_set)
    sets = program[:, : sets.shape[1], :-1]
    games = _by_simplex(program, points, size, game_set, shared=problem is None)
    for i in np.flatnonzero(~(games.upper - games.lower <= _MAX_BOUND_GAP * size)):
        for array, value in zip(games[:-1], _by_highs(sets[game_set[i]], points[i]), strict=True):
            array[i] = value
    lower, upper, size = (np.ldexp(x, exponent) for x in (games.lower, games.upper, size))
    return games._replace(lower=lower, upper=upper, size=size)


def _program(
    sets: FloatArray, points: FloatArray, game_set: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return the columns of the programs, (P, L + M, M + 1): those of arms, then those of slacks.

    Column sets far from the origin are moved there, and all are scaled by powers of two to about
    size 1. Also return the points, the sizes of the games, and the powers taken out of each.
    """
    problems, length, objectives = sets.shape
    size = np.abs(sets).max((1, 2))
    half_spread = np.abs(sets[:, length // 2] / 2 - sets[:, 0] / 2).max(1)  # or less; no overflow
    is_far = size / (2 * _MAX_DISTANCE) > half_spread
    origin = np.where(is_far[:, None], sets[:, 0], 0)
    if is_far.any():
        sets = sets - origin[:, None]
        size = np.abs(sets).max((1, 2))
    exponent = np.maximum(np.frexp(size)[1], -1000)
    scale = np.ldexp(1.0, -exponent)
    program = np.zeros((problems, length + objectives, objectives + 1))
    program[:, :length, :-1] = sets * scale[:, None, None]
    program[:, :length, -1] = 1
    program[:, length:, :-1] = -np.eye(objectives)
    points = (points - origin[game_set]) * scale[game_set, None]
    size = np.maximum((size * scale)[game_set], np.abs(points).max(1))
    return program, points, np.where(size > 0, size, 1.0), exponent[game_set]


def _by_simplex(
    program: FloatArray, points: FloatArray, size: FloatArray, game_set: IntArray, *, shared: bool
) -> Games:
    """Solve games, chunk by chunk.

    While pivots are chosen, points are perturbed: lowered a little, in units of size, differently
    in each objective, so that ties, and with them cycles, are unlikely. The final basis is
    evaluated at the true points, so that bounds hold all the same.
    """
    number, objectives = points.shape
    perturbation = _PERTURBATION * (1 + np.arange(1, objectives + 1) * _GOLDEN_RATIO % 1)
    numbers_per_game = program.shape[1] * (1 if shared else objectives)
    chunk_size = max(1, min(_MAX_GAMES, _MAX_BYTES // (8 * numbers_per_game)))
    shares, support = np.empty((number, objectives)), np.empty((number, objectives), dtype=np.int64)
    games = Games(np.empty(number), np.empty(number), np.empty_like(shares), support, shares, size)
    for first in range(0, number, chunk_size):
        chunk_slice = slice(first, first + chunk_size)
        columns = program if shared else program[game_set[chunk_slice]]
        bases = _optimise(columns, points[chunk_slice] - perturbation * size[chunk_slice, None])
        results = _evaluate(columns, points[chunk_slice], *bases)
        for array, values in zip(games[:-1], results, strict=True):
            array[chunk_slice] = values
    return games


@np.errstate(divide="ignore", invalid="ignore")
def _optimise(columns: FloatArray, points: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Pivot until all games are solved; ``columns`` are those of each, or one set for all.

    Return the inverses of the bases (G, M + 1, M + 1), with v in row 0; the columns that the
    further rows belong to, (G, M); and by how much a column may still beat v under the weights,
    (G,), which is infinite for games that have lost their way.
    """
    rows, basis = _start(columns, points)
    final = rows[:, :, :-1].copy(), basis.copy(), np.full(len(points), np.inf)
    game = np.arange(len(points))
    for _ in range(_MAX_STEPS * rows.shape[1]):
        enters, gain = _price(columns, rows)
        active = gain > _NEGLIGIBLE_GAIN
        unsolved = np.count_nonzero(active)
        if unsolved <= len(active) * 2 // 3:
            for array, solved in zip(final, (rows[:, :, :-1], basis, gain), strict=True):
                array[game[~active]] = solved[~active]
            if not unsolved:
                break
            columns = columns if len(columns) == 1 else columns[active]
            game, rows, basis = game[active], rows[active], basis[active]
            enters, active = enters[active], active[active]
        _pivot(rows, basis, columns, enters, active)
    return final


def _pick(columns: FloatArray, indices: IntArray) -> FloatArray:
    """Return a column of each game, (G, M + 1), or several, (G, n, M + 1)."""
    if len(columns) == 1:
        return np.asarray(columns[0].take(indices, axis=0))
    first_rows = np.arange(0, columns.shape[0] * columns.shape[1], columns.shape[1])
    rows = first_rows.reshape(-1, *[1] * (indices.ndim - 1)) + indices
    return np.asarray(columns.reshape(-1, columns.shape[2]).take(rows, axis=0))


def _start(columns: FloatArray, points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return bases of one arm each, the best under equal weights: inverse | solution, and columns.

    All slacks are in the basis, but the one of the objective where the arm beats the point least.
    """
    games, objectives = points.shape
    game, length = np.arange(games), columns.shape[1] - objectives
    arm = np.broadcast_to((columns[:, :length, :-1] @ np.ones(objectives)).argmax(-1), games)
    arm_columns = _pick(columns, arm)[:, :-1]
    weakest = (arm_columns - points).argmin(1)
    least_lead = arm_columns[game, weakest]
    rows = np.zeros((games, objectives + 1, objectives + 2))
    rows[:, 1:, :-2] = -np.eye(objectives)
    rows[game, 1:, weakest] = 1
    rows[:, 1:, -2] = arm_columns - least_lead[:, None]
    rows[game, 0, weakest], rows[:, 0, -2] = -1, least_lead
    rows[game, weakest + 1] = np.append(np.zeros(objectives), [1, 0])
    right_side = np.append(points, np.ones((games, 1)), axis=1)
    rows[:, :, -1] = np.matmul(rows[:, :, :-1], right_side[:, :, None])[:, :, 0]
    basis = np.tile(length + np.arange(objectives), (games, 1))
    basis[game, weakest] = arm
    return rows, basis


def _price(columns: FloatArray, rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the best column to enter each basis, and what it gains over v."""
    if len(columns) == 1:
        scores = np.matmul(rows[:, 0, :-1], columns[0].T)
    else:
        scores = np.matmul(rows[:, :1, :-1], columns.transpose(0, 2, 1))[:, 0]
    enters = scores.argmin(1)
    return enters, -scores[np.arange(len(rows)), enters]


def _pivot(
    rows: FloatArray, basis: IntArray, columns: FloatArray, enters: IntArray, active: BoolArray
) -> None:
    """Let a column enter each active basis, in place."""
    game = np.arange(len(rows))
    entering = _pick(columns, enters)
    change = np.matmul(rows[:, :, :-1], entering[:, :, None])[:, :, 0]
    usable = change > _MIN_PIVOT
    usable[:, 0] = False  # v is free and stays
    leaving = np.where(usable, rows[:, :, -1] / change, np.inf).argmin(1)
    active &= usable[game, leaving]
    row = rows[game, leaving] / np.where(active, change[game, leaving], 1)[:, None]
    change[game, leaving] -= 1
    change[~active] = 0
    basis[game[active], leaving[active] - 1] = enters[active]
    rows -= np.einsum("gi,gj->gij", change, row)


@np.errstate(divide="ignore", invalid="ignore")
def _evaluate(
    columns: FloatArray, points: FloatArray, inverse: FloatArray, basis: IntArray, gain: FloatArray
) -> tuple[FloatArray | IntArray, ...]:
    """Evaluate final bases at the true points: what ``Games`` hold, but for their sizes."""
    is_arm = basis < columns.shape[1] - points.shape[1]
    right_side = np.append(points, np.ones((len(points), 1)), axis=1)
    values = np.matmul(inverse, right_side[:, :, None])[:, :, 0]
    shares = np.where(is_arm, np.maximum(values[:, 1:], 0), 0)
    shares /= shares.sum(1, keepdims=True)
    support = np.where(is_arm, basis, basis.min(1, keepdims=True))
    leads = _pick(columns, support)[:, :, :-1] - points[:, None, :]
    weights = np.maximum(-inverse[:, 0, :-1], 0)
    weights /= weights.sum(1, keepdims=True)
    lower = np.matmul(shares[:, None, :], leads)[:, 0].min(1)
    return lower, values[:, 0] + np.maximum(gain, 0), weights, support, shares


def _by_highs(columns: FloatArray, point: FloatArray) -> tuple[Any, ...]:
    """Solve a game: lower, upper, weights, support and shares."""
    from scipy.optimize import linprog

    leads = columns - point
    size = np.abs(leads).max() or 1.0
    arms, objectives = leads.shape
    result = linprog(
        np.append(np.zeros(objectives), 1.0),
        A_ub=np.column_stack([leads / size, -np.ones(arms)]),
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
    lower, upper = (shares @ leads[support]).min(), (leads @ weights).max()
    return lower, upper, weights, support, shares
