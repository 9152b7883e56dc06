"""The values of many small matrix games at once: a revised simplex over a batch, in NumPy.

A game has columns c_1 .. c_L in R^M (arms) and a point q in R^M. Its value

    max over mixtures p of min_m (sum_j p_j c_jm - q_m) = min over weights w of max_j w . (c_j - q)

says by how much some mixture of the columns beats the point in every objective. The linear program

    maximise v   subject to   sum_j p_j c_jm - v - s_m = q_m,   sum_j p_j = 1,   p >= 0,   s >= 0

has M + 1 rows, so a basis is tiny and all the work is pricing: one product of the columns with the
weights. All games of a chunk step together, and each enters the column that violates optimality
most; games that need many steps wait and are then taken together, so that chunks stay full.
"""

from typing import NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray

_TOLERANCE = 1e-13  # violations of optimality below this part of a game's size are rounding
_PIVOT = 1e-9  # a smaller pivot would ruin the basis
_STEPS = 60  # per objective; games that need more have lost their way
_FEWEST, _MOST, _BYTES = 16, 256, 1 << 25  # games that step together, and their memory
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are well spread


class Games(NamedTuple):
    """Solved games: what the weights and the mixtures found guarantee of each value."""

    lower: FloatArray  # (G,) the mixture beats the point by this much
    upper: FloatArray  # (G,) under the weights no column beats the point by more
    weights: FloatArray  # (G, M)
    support: IntArray  # (G, M) the columns of the mixture
    shares: FloatArray  # (G, M) their shares, 0 for fillers
    size: FloatArray  # (G,) the largest distance in an objective, the unit of all tolerances


class _State(NamedTuple):
    """Games in work."""

    place: IntArray  # (G,) in the batch
    rows: FloatArray  # (G, M+1, M+2) inverse of the basis | perturbed solution; v is in row 0
    basis: IntArray  # (G, M+1) the column of each row


def solve(
    columns: FloatArray, points: FloatArray, *, problem: IntArray | None = None, nudge: float = 1e-9
) -> Games:
    """Solve G games.

    Parameters
    ----------
    columns
        (L, M), the same for all games, or (P, L, M).
    points
        (G, M).
    problem
        (G,) which of the P column sets each game has; needed with (P, L, M) only.
    nudge
        Points are lowered by about this part of a game's size, differently in each objective, while
        pivots are chosen: ties, and with them cycles, are then unlikely. The final basis is
        evaluated at the true points, so ``lower`` and ``upper`` hold whatever the nudge.
    """
    games, objectives = points.shape
    out = Games(
        np.empty(games),
        np.empty(games),
        np.empty((games, objectives)),
        np.empty((games, objectives), dtype=np.int64),
        np.empty((games, objectives)),
        np.empty(games),
    )
    shift = nudge * (1 + np.arange(1, objectives + 1) * _GOLDEN % 1)
    source = _Source(columns, points, problem)
    waiting = []
    for index in source.chunks(games):
        program = source.take(index)
        state = _start(program, index, shift)
        waiting.append(_work(state, program, out, patience=games > len(index)))
    while waiting:
        rest = _State(*map(np.concatenate, zip(*waiting, strict=True)))
        waiting = []
        for part in source.chunks(len(rest.place)):
            state = _State(*(x[part] for x in rest))
            program = source.take(state.place)
            left = _work(state, program, out, patience=len(rest.place) > len(part))
            waiting += [left] if len(left.place) else []
    return out


class _Program(NamedTuple):
    """The linear programs of a chunk of games. Lengths count in units of the size of the game."""

    columns: FloatArray  # (G or none, M+1, L+M): arms with a last row of ones, then the slacks
    points: FloatArray  # (G, M)
    size: FloatArray  # (G,)

    def part(self, which: BoolArray) -> "_Program":
        columns = self.columns if self.columns.ndim == 2 else self.columns[which]
        return _Program(columns, self.points[which], self.size[which])

    def pick(self, arm: IntArray) -> FloatArray:
        """Return the column of each game's arm, (G, M+1), or of several arms, (G, n, M+1)."""
        if self.columns.ndim == 2:
            return self.columns.T[arm]
        each = np.arange(len(arm)).reshape(-1, *[1] * (arm.ndim - 1))
        return self.columns[each, :, arm]

    def scores(self, dual: FloatArray) -> FloatArray:
        if self.columns.ndim == 2:
            return np.matmul(dual, self.columns)
        return np.matmul(dual[:, None, :], self.columns)[:, 0]


class _Source:
    """Builds the programs of chunks of games, always in the same memory."""

    def __init__(self, columns: FloatArray, points: FloatArray, problem: IntArray | None) -> None:
        self.columns = columns
        self.points = points
        self.problem = problem
        length, objectives = columns.shape[-2:]
        width = 8 * (length + objectives) * (objectives + 1 if problem is not None else 1)
        self.length = min(len(points), max(_FEWEST, min(_MOST, _BYTES // width)))
        games = () if problem is None else (self.length,)
        self.buffer = np.empty((*games, objectives + 1, length + objectives))
        self.buffer[..., :objectives, length:] = 0
        self.buffer[..., objectives, :length] = 1
        self.buffer[..., objectives, length:] = 0
        if problem is None:
            self.origin = columns[0]
            self.size = self._fill(self.buffer, columns, self.origin, points)

    def chunks(self, games: int) -> list[IntArray]:
        return [np.arange(i, min(i + self.length, games)) for i in range(0, games, self.length)]

    def take(self, index: IntArray) -> _Program:
        points = self.points[index]
        if self.problem is None:
            return _Program(
                self.buffer, points - self.origin, np.broadcast_to(self.size, len(index))
            )
        problem = self.problem[index]
        if (np.diff(problem) == 1).all():
            columns = self.columns[problem[0] : problem[-1] + 1]
        else:
            columns = self.columns[problem]
        own = self.buffer[: len(index)]
        return _Program(own, np.zeros_like(points), self._fill(own, columns, points, points))

    @staticmethod
    def _fill(
        out: FloatArray, columns: FloatArray, origin: FloatArray, points: FloatArray
    ) -> FloatArray:
        """Write arms and slacks, and return the size of the games."""
        length, objectives = columns.shape[-2:]
        arms = out[..., :objectives, :length]
        np.subtract(columns.swapaxes(-1, -2), origin[..., None], out=arms)
        size = np.maximum(arms.max((-1, -2)), -arms.min((-1, -2)))
        if arms.ndim == 2:
            size = np.maximum(size, np.abs(points - origin).max())
        size = np.where(size > 0, size, 1.0)
        diagonal = np.arange(objectives)
        out[..., diagonal, length + diagonal] = -size[..., None]
        return size


def _start(program: _Program, index: IntArray, shift: FloatArray) -> _State:
    """Return bases of one arm each: the best under equal weights.

    All slacks are in the basis, but the one of the objective where the arm beats the point least.
    """
    games, objectives = program.points.shape
    each, diagonal = np.arange(games), np.arange(objectives)
    arms = program.columns.shape[-1] - objectives
    equal = np.append(np.ones(objectives), 0.0)
    arm = np.broadcast_to(np.matmul(equal, program.columns)[..., :arms].argmax(-1), (games,))
    chosen = program.pick(arm)[:, :objectives]
    lead = chosen - program.points + shift * program.size[:, None]
    least = lead.argmin(1)
    unit = 1 / program.size
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
    basis = np.empty((games, objectives + 1), dtype=np.int64)
    basis[:, 1:] = arms + diagonal
    basis[each, least + 1] = arm
    return _State(index, rows, basis)


def _work(state: _State, program: _Program, out: Games, *, patience: bool) -> _State:
    """Pivot until all games are solved, or (with ``patience``) until few are left: return these."""
    enough = len(state.place) // 4 if patience else 0
    width = state.rows.shape[1]
    for _ in range(_STEPS * width):
        scores = program.scores(state.rows[:, 0, :width])
        enters = scores.argmin(1)
        active = scores[np.arange(len(scores)), enters] < -_TOLERANCE
        left = np.count_nonzero(active)
        if left <= max(len(active) // 2, enough):
            done = ~active
            _finish(_State(*(x[done] for x in state)), program.part(done), out)
            state = _State(*(x[active] for x in state))
            if left <= enough:
                return state
            program, enters, active = program.part(active), enters[active], active[active]
        _pivot(state, program.pick(enters), enters, active)
    _finish(state, program, out)
    return _State(*(x[:0] for x in state))


def _pivot(state: _State, entering: FloatArray, enters: IntArray, active: BoolArray) -> None:
    """Let one column enter each active basis, in place."""
    _, rows, basis = state
    games, width, _ = rows.shape
    each = np.arange(games)
    change = np.matmul(rows[:, :, :width], entering[:, :, None])[:, :, 0]
    usable = change > _PIVOT
    usable[:, 0] = False  # v is free and stays
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(usable, rows[:, :, width] / change, np.inf)
    leaving = ratio.argmin(1)
    pivot = (each, leaving)
    active &= usable[pivot]
    row = rows[pivot] / change[pivot][:, None]
    change[pivot] -= 1
    change[~active] = 0
    basis[pivot] = np.where(active, enters, basis[pivot])
    rows -= np.einsum("gi,gj->gij", change, row)


def _finish(state: _State, program: _Program, out: Games) -> None:
    """Evaluate the final bases at the true points."""
    place, rows, basis = state
    games, objectives = program.points.shape
    length = program.columns.shape[-1] - objectives
    weights = np.maximum(-rows[:, 0, :objectives], 0)
    weights /= weights.sum(1, keepdims=True)
    right = np.ones((games, objectives + 1, 1))
    right[:, :-1, 0] = program.points
    solution = np.matmul(rows[:, 1:, : objectives + 1], right)[:, :, 0]
    support = basis[:, 1:]
    shares = np.where(support < length, np.maximum(solution, 0), 0)
    shares /= shares.sum(1, keepdims=True)
    support = np.where(support < length, support, support.min(1, keepdims=True))
    chosen = program.pick(support)[:, :, :objectives] - program.points[:, None, :]
    lead = np.matmul(shares[:, None, :], chosen)[:, 0]
    dual = np.zeros((games, objectives + 1))
    dual[:, :objectives] = weights
    best = program.scores(dual)[:, :length].max(1) - (weights * program.points).sum(1)
    out.lower[place] = lead.min(1)
    out.upper[place] = best
    out.weights[place] = weights
    out.support[place] = support
    out.shares[place] = shares
    out.size[place] = program.size
