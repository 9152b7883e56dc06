"""A revised simplex on a batch of small linear programs, in NumPy.

The program of a game with columns c_1 .. c_L in R^M and a point q in R^M (:mod:`._matrix_games`):

    maximise v   subject to   sum_j p_j c_jm - v - s_m = q_m,   sum_j p_j = 1,   p >= 0,   s >= 0.

It has M + 1 rows, so a basis is tiny, its inverse is kept and updated, and most of the work is
pricing: one product of the columns with the weights, minus the dual variables of the first M rows.
Lengths count in units of the size of a game. ``prices`` are the columns as pricing reads them: (M,
L) of all games or (G, M, L) of each.
"""

from typing import Any, NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray

_NEGLIGIBLE_GAIN = 1e-13  # gains below this part of a game's size are rounding
_PIVOT = 1e-9  # a smaller pivot would ruin the basis
_MAX_STEPS = 60  # per objective; games that need more have lost their way


class SimplexState(NamedTuple):
    """Games in work."""

    place: IntArray  # (G,) in the batch
    points: FloatArray  # (G, M)
    size: FloatArray  # (G,)
    rows: FloatArray  # (G, M+1, M+2) inverse of the basis | perturbed solution; v is in row 0
    basis: IntArray  # (G, M) the column of each further row; L + m is slack m
    gain: FloatArray  # (G,) by how much, in sizes, the best column beats v under the weights

    def part(self, which: BoolArray) -> "SimplexState":
        """Return some of the games."""
        parts: list[Any] = [each[which] for each in self]
        return SimplexState(*parts)


class Columns(NamedTuple):
    """The columns of all games of a batch: (L, M), or (P, L, M) with the problem of each game."""

    values: FloatArray
    problem: IntArray | None

    def pick(self, place: IntArray, arm: IntArray) -> FloatArray:
        """Return the column of each game's arm, (G, M), or of several arms, (G, n, M)."""
        if self.problem is None:
            return np.asarray(self.values.take(arm, axis=0))
        length, objectives = self.values.shape[1:]
        first = (self.problem[place] * length).reshape(-1, *[1] * (arm.ndim - 1))
        return np.asarray(self.values.reshape(-1, objectives).take(first + arm, axis=0))

    def prices(self, place: IntArray) -> FloatArray:
        """Return the columns of some games as pricing reads them."""
        if self.problem is None:
            return self.values.T
        return np.asarray(self.values[self.problem[place]]).transpose(0, 2, 1)


def start(
    columns: Columns,
    prices: FloatArray,
    place: IntArray,
    points: FloatArray,
    size: FloatArray,
    nudge: FloatArray,
) -> SimplexState:
    """Return bases of one arm each: the best under equal weights.

    All slacks are in the basis, but the one of the objective where the arm beats the point least.
    Points are lowered by ``nudge`` (M,) sizes while pivots are chosen, so that ties, and with them
    cycles, are unlikely.
    """
    games, objectives = points.shape
    each, diagonal = np.arange(games), np.arange(objectives)
    equal = np.matmul(np.ones(objectives), prices)
    arm = np.broadcast_to(equal.argmax(-1), (games,))
    chosen = columns.pick(place, arm)
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
    return SimplexState(place, points, size, rows, basis, np.full(games, np.inf))


@np.errstate(divide="ignore", invalid="ignore")
def run(state: SimplexState, columns: Columns, prices: FloatArray) -> SimplexState:
    """Pivot until all games are solved; return them in another order.

    Games that lose their way count as solved: their ``gain`` shows it.
    """
    solved = []
    for _ in range(_MAX_STEPS * state.rows.shape[1]):
        best = _price(prices, state)
        active = np.maximum(best.gain, best.slack_gain) > _NEGLIGIBLE_GAIN
        left = np.count_nonzero(active)
        if left <= len(active) * 2 // 3:
            solved.append(state._replace(gain=best.gain).part(~active))
            state = state.part(active)
            if not left:
                break
            prices = prices if prices.ndim == 2 else prices[active]
            best, active = best.part(active), active[active]
        _pivot(state, columns, best, active)
    else:
        solved.append(state._replace(gain=best.gain))
    return SimplexState(*map(np.concatenate, zip(*solved, strict=True)))


class _Entering(NamedTuple):
    """The best arm and the best slack to enter each basis, and what they gain over v."""

    arm: IntArray
    gain: FloatArray
    slack: IntArray
    slack_gain: FloatArray

    def part(self, which: BoolArray) -> "_Entering":
        parts: list[Any] = [each[which] for each in self]
        return _Entering(*parts)


def _price(prices: FloatArray, state: SimplexState) -> _Entering:
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


def _pivot(state: SimplexState, columns: Columns, best: _Entering, active: BoolArray) -> None:
    """Let one variable enter each active basis, in place."""
    rows, basis = state.rows, state.basis
    each = np.arange(len(rows))
    enters = best.arm
    entering = columns.pick(state.place, enters)
    change = np.matmul(rows[:, :, :-2], entering[:, :, None])[:, :, 0]
    change += rows[:, :, -2]
    slack = np.flatnonzero(best.slack_gain > best.gain)
    if len(slack):
        which = best.slack[slack]
        change[slack] = -rows[slack, :, which] * state.size[slack, None]
        enters[slack] = columns.values.shape[-2] + which
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
