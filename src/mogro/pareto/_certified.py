"""Games whose answer is proven: the simplex first, and a careful solver where it fails."""

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.pareto import _games
from mogro.pareto._games import Games

_CERTIFIED = 1e-11  # accepted distance between the bounds of a value, in units of the game's size
_NUDGES = (1e-9, 1e-6, 1e-12)


def solve(columns: FloatArray, points: FloatArray, *, problem: IntArray | None = None) -> Games:
    """Solve games as :func:`mogro.pareto._games.solve` does, until the bounds of each value meet.

    Degenerate games can leave the simplex at a wrong vertex, or going round in circles. It shows:
    the bounds stay apart. Then other perturbations are tried, and HiGHS in the end.
    """
    games = _games.solve(columns, points, problem=problem, nudge=_NUDGES[0])
    for nudge in _NUDGES[1:]:
        open_ = _open(games)
        if not len(open_):
            return games
        own = None if problem is None else problem[open_]
        _improve(games, open_, _games.solve(columns, points[open_], problem=own, nudge=nudge))
    for i in _open(games):
        own_columns = columns if problem is None else columns[problem[i]]
        _improve(games, np.array([i]), _by_highs(own_columns, points[i]))
    return games


def _open(games: Games) -> IntArray:
    closed = games.upper - games.lower <= _CERTIFIED * games.size
    return np.flatnonzero(~closed)


def _improve(games: Games, index: IntArray, found: Games) -> None:
    """Keep the better of the old and the new mixtures and weights."""
    higher = ~(found.lower <= games.lower[index])
    lower = ~(found.upper >= games.upper[index])
    for name, better in (
        ("lower", higher),
        ("support", higher),
        ("shares", higher),
        ("upper", lower),
        ("weights", lower),
    ):
        getattr(games, name)[index[better]] = getattr(found, name)[better]


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
    shares = np.append(mixture, np.zeros(objectives))[: len(mixture)][support]
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
