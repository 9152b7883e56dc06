"""The values of many small matrix games at once, each with its proof.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. It is a linear
program,

    maximise v   subject to   sum_j p_j c_jm - v - s_m = q_m,   sum_j p_j = 1,   p >= 0,   s >= 0,

with M + 1 rows, so a basis is tiny. A revised simplex steps many games together, in NumPy: the
inverse of each basis is kept and updated, and most of the work is pricing, one product of the
columns with the weights, minus the dual variables of the first M rows. Lengths count in units of
the size of a game.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray

_CERTIFIED = 1e-11  # accepted distance between the bounds of a value, in units of the game's size
_NUDGE = 1e-9
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are well spread
_MAX_GAMES, _MAX_BYTES = 512, 1 << 25  # games in a chunk, and its memory
_EXTREME = 80  # powers of two beyond which products might overflow
_MAX_OFFSET = 16.0  # spreads from the origin beyond which rounding would show
_NEGLIGIBLE_GAIN = 1e-13  # gains below this part of a game's size are rounding
_PIVOT = 1e-9  # a smaller pivot would ruin the basis
_MAX_STEPS = 60  # per objective; games that need more have lost their way


class Games(NamedTuple):
    """Solved games: what the weights and the mixtures found guarantee of each value."""

    lower: FloatArray  # (G,) the mixture beats the point by this much
    upper: FloatArray  # (G,) under the weights no column beats the point by more
    weights: FloatArray  # (G, M)
    support: IntArray  # (G, M) the columns of the mixture
    shares: FloatArray  # (G, M) their shares, 0 for fillers
    size: FloatArray  # (G,) the unit of all tolerances


class _Columns(NamedTuple):
    """The columns of all games of a batch: (P, L, M), and which of the P sets each game has."""

    values: FloatArray
    problem: IntArray
    shared: bool  # one set for all games: pricing is one product

    def pick(self, game: IntArray, arm: IntArray) -> FloatArray:
        """Return the column of each game's arm, (G, M), or of several arms, (G, n, M)."""
        if self.shared:
            return np.asarray(self.values[0].take(arm, axis=0))
        _, length, objectives = self.values.shape
        first = (self.problem[game] * length).reshape(-1, *[1] * (arm.ndim - 1))
        return np.asarray(self.values.reshape(-1, objectives).take(first + arm, axis=0))

    def prices(self, game: IntArray) -> FloatArray:
        """Return the columns of games as pricing reads them: (M, L) of all or (G, M, L) of each."""
        if self.shared:
            return np.asarray(self.values[0].T)
        return np.asarray(self.values[self.problem[game]]).transpose(0, 2, 1)


class _State(NamedTuple):
    """Games in work."""

    game: IntArray  # (G,) the number of each in the batch
    points: FloatArray  # (G, M)
    size: FloatArray  # (G,)
    rows: FloatArray  # (G, M+1, M+2) inverse of the basis | perturbed solution; v is in row 0
    basis: IntArray  # (G, M) the column of each further row; L + m is slack m
    gain: FloatArray  # (G,) by how much, in sizes, the best column beats v under the weights


class _Entering(NamedTuple):
    """The best arm and the best slack to enter each basis, and what they gain over v."""

    arm: IntArray
    gain: FloatArray
    slack: IntArray
    slack_gain: FloatArray


_Batch = TypeVar("_Batch", _State, _Entering)


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
    shared = problem is None
    which = np.zeros(len(points), dtype=np.int64) if problem is None else problem
    sets, points, size, exponent = _rescaled(columns[None] if shared else columns, points, which)
    games = _by_simplex(_Columns(sets, which, shared), points, size)
    for i in np.flatnonzero(games.upper - games.lower > _CERTIFIED * size):
        for part, value in zip(games[:-1], _by_highs(sets[which[i]], points[i]), strict=True):
            part[i] = value
    lower, upper, size = (np.ldexp(x, exponent) for x in (games.lower, games.upper, games.size))
    return games._replace(lower=lower, upper=upper, size=size)


def _rescaled(
    sets: FloatArray, points: FloatArray, which: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Scale column sets of extreme size by powers of two, and move those far from the origin there.

    Return the sets, the points, the sizes of the games, and the powers taken out of each.
    """
    size = np.abs(sets).max(axis=(1, 2))
    exponent = np.frexp(size)[1]
    exponent = np.where(np.abs(exponent) > _EXTREME, exponent, 0)
    if exponent.any():
        sets = np.ldexp(sets, -exponent[:, None, None])
        points = np.ldexp(points, -exponent[which][:, None])
        size = np.ldexp(size, -exponent)
    spread = np.abs(sets[:, sets.shape[1] // 2] - sets[:, 0]).max(1)  # or more
    far = size > _MAX_OFFSET * spread
    if far.any():
        origin = np.where(far[:, None], sets[:, 0], 0)
        sets = sets - origin[:, None]
        points = points - origin[which]
        size = np.abs(sets).max(axis=(1, 2))
    size = np.maximum(size[which], np.abs(points).max(1))
    return sets, points, np.where(size > 0, size, 1.0), exponent[which]


def _by_simplex(columns: _Columns, points: FloatArray, size: FloatArray) -> Games:
    """Solve games, chunk by chunk.

    Points are lowered by about a nudge, in sizes, differently in each objective, while pivots are
    chosen, so that ties, and with them cycles, are unlikely. The final basis is evaluated at the
    true points, so that bounds hold all the same.
    """
    games, objectives = points.shape
    nudge = _NUDGE * (1 + np.arange(1, objectives + 1) * _GOLDEN % 1)
    numbers = columns.values.shape[1] * (1 if columns.shared else objectives)
    chunk = max(1, min(_MAX_GAMES, _MAX_BYTES // (8 * numbers)))
    shares, support = np.empty((games, objectives)), np.empty((games, objectives), dtype=np.int64)
    out = Games(np.empty(games), np.empty(games), np.empty_like(shares), support, shares, size)
    for first in range(0, games, chunk):
        game = np.arange(first, min(first + chunk, games))
        prices = columns.prices(game)
        state = _start(columns, prices, game, points[game], size[game], nudge)
        state = _run(state, columns, prices)
        for target, values in zip(out[:-1], _evaluate(state, columns), strict=True):
            target[state.game] = values
    return out


def _start(
    columns: _Columns,
    prices: FloatArray,
    game: IntArray,
    points: FloatArray,
    size: FloatArray,
    nudge: FloatArray,
) -> _State:
    """Return bases of one arm each: the best under equal weights.

    All slacks are in the basis, but the one of the objective where the arm beats the point least.
    """
    games, objectives = points.shape
    each, diagonal = np.arange(games), np.arange(objectives)
    equal = np.matmul(np.ones(objectives), prices)
    arm = np.broadcast_to(equal.argmax(-1), (games,))
    chosen = columns.pick(game, arm)
    lead = chosen - points + nudge * size[:, None]
    least = lead.argmin(1)
    unit = 1 / size
    rows = np.zeros((games, objectives + 1, objectives + 2))
    rows[:, diagonal + 1, diagonal] = -unit[:, None]
    rows[each, 1:, least] = unit[:, None]
    rows[each, 0, least] = -unit
    for column, values in ((objectives, chosen), (objectives + 1, lead)):
        base = values[each, least]
        rows[:, 0, column] = base * unit
        rows[:, 1:, column] = (values - base[:, None]) * unit[:, None]
    rows[each, least + 1] = 0
    rows[each, least + 1, objectives:] = 1
    basis = np.empty((games, objectives), dtype=np.int64)
    basis[:] = prices.shape[-1] + diagonal
    basis[each, least] = arm
    return _State(game, points, size, rows, basis, np.full(games, np.inf))


@np.errstate(divide="ignore", invalid="ignore")
def _run(state: _State, columns: _Columns, prices: FloatArray) -> _State:
    """Pivot until all games are solved; return them in another order.

    Games that lose their way count as solved: their ``gain`` shows it.
    """
    solved = []
    for _ in range(_MAX_STEPS * state.rows.shape[1]):
        best = _price(prices, state)
        active = np.maximum(best.gain, best.slack_gain) > _NEGLIGIBLE_GAIN
        unsolved = np.count_nonzero(active)
        if unsolved <= len(active) * 2 // 3:
            solved.append(_some(state._replace(gain=best.gain), ~active))
            state = _some(state, active)
            if not unsolved:
                break
            prices = prices if columns.shared else prices[active]
            best, active = _some(best, active), active[active]
        _pivot(state, columns, best, active)
    else:
        solved.append(state._replace(gain=best.gain))
    return _State(*map(np.concatenate, zip(*solved, strict=True)))


def _some(batch: _Batch, which: BoolArray) -> _Batch:
    """Return some of the games."""
    parts: list[Any] = [each[which] for each in batch]
    return type(batch)(*parts)


def _price(prices: FloatArray, state: _State) -> _Entering:
    each = np.arange(len(state.rows))
    dual = state.rows[:, 0, :-2]
    if prices.ndim == 2:
        scores = np.matmul(dual, prices)
    else:
        scores = np.matmul(dual[:, None, :], prices)[:, 0]
    arm = scores.argmin(1)
    slack = dual.argmax(1)
    gain = -scores[each, arm] - state.rows[:, 0, -2]
    return _Entering(arm, gain, slack, dual[each, slack] * state.size)


def _pivot(state: _State, columns: _Columns, best: _Entering, active: BoolArray) -> None:
    """Let one variable enter each active basis, in place."""
    rows, basis = state.rows, state.basis
    each = np.arange(len(rows))
    enters = best.arm
    entering = columns.pick(state.game, enters)
    change = np.matmul(rows[:, :, :-2], entering[:, :, None])[:, :, 0]
    change += rows[:, :, -2]
    slack = np.flatnonzero(best.slack_gain > best.gain)
    if len(slack):
        which = best.slack[slack]
        change[slack] = -rows[slack, :, which] * state.size[slack, None]
        enters[slack] = columns.values.shape[1] + which
    usable = change > _PIVOT
    usable[:, 0] = False  # v is free and stays
    ratio = np.where(usable, rows[:, :, -1] / change, np.inf)
    leaving = ratio.argmin(1)
    active &= usable[each, leaving]
    row = rows[each, leaving] / np.where(active, change[each, leaving], 1)[:, None]
    change[each, leaving] -= 1
    change[~active] = 0
    basis[each[active], leaving[active] - 1] = enters[active]
    rows -= np.einsum("gi,gj->gij", change, row)


@np.errstate(divide="ignore", invalid="ignore")
def _evaluate(state: _State, columns: _Columns) -> tuple[FloatArray | IntArray, ...]:
    """Evaluate final bases at the true points: what ``Games`` hold, but for their sizes."""
    game, points, size, rows, basis, gain = state
    length = columns.values.shape[1]
    right = np.append(points, np.ones((len(points), 1)), axis=1)
    values = np.matmul(rows[:, :, :-1], right[:, :, None])[:, :, 0]
    shares = np.where(basis < length, np.maximum(values[:, 1:], 0), 0)
    shares /= shares.sum(1, keepdims=True)
    support = np.where(basis < length, basis, basis.min(1, keepdims=True))
    lead = np.matmul(shares[:, None, :], columns.pick(game, support) - points[:, None, :])[:, 0]
    weights = np.maximum(-rows[:, 0, :-2], 0)
    weights /= weights.sum(1, keepdims=True)
    upper = (values[:, 0] + np.maximum(gain, 0)) * size
    return lead.min(1), upper, weights, support, shares


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
