"""How fairly an algorithm serves all weighted objectives (Definition EPF of the paper).

With f_a the share of the pulls that arm a got, the effective Pareto fairness index is the least
share, over all weights w on the simplex, of pulls of arms within epsilon of the best under w:

    EPFI = min over w of the sum of f_a over arms a with max_k w . (mu_k - mu_a) < epsilon.

Pool the pulls of all repeats of an instance first: the mean of the indices of single runs is biased
downwards. A distance that equals epsilon up to rounding (1e-12 of the spread of the means) is not
within it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray, floats, real
from mogro.pareto import _matrix_games
from mogro.pareto.effective import mixing_arms

_ROUNDING = 1e-12
_TOLERANCE = 1e-6  # far more than the tolerance of a linear program, far less than an arm matters
_NEGLIGIBLE_SHARE = 1e-9  # part of all pulls by which an answer may be too high
_LARGEST_COST = 1e3  # of the arm with the most pulls; the solver is content with 1e-6
_SMALLEST = 1e-300
_WEIGHTS_PER_OBJECTIVE = 64  # that give a first answer


def fairness_index(means: ArrayLike, pulls: ArrayLike, *, epsilon: float) -> float:
    """Return the effective Pareto fairness index of fixed arms, exactly.

    The simplex is cut into the cells where one front member is best. In each cell a mixed-integer
    program finds the weights under which the pulled arms that are epsilon or more behind have the
    largest share. Each answer is checked by a game, so that no tolerance of a solver moves an arm
    across epsilon. 200 arms with 10 objectives of the paper's instances take a fraction of a
    second; in the worst case the time grows exponentially with the number of pulled arms whose
    distance is above epsilon for some weights and below for others.

    Parameters
    ----------
    means
        (K, M), all objectives maximised.
    pulls
        (K,) counts of the pulls (or their shares), not all 0.
    epsilon
        Positive.

    Examples
    --------
    >>> means = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    >>> fairness_index(means, [3, 2, 5], epsilon=0.1)
    0.2
    """
    points, counts, slack = _read_problem(means, pulls, epsilon)
    return _fewest_pulls(points, counts, epsilon=slack) / float(counts.sum())


def _read_problem(
    means: ArrayLike, pulls: ArrayLike, epsilon: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return means, pulls, and epsilon less what rounding may do to a distance."""
    points = floats(means, "means", shape=("K", "M")).astype(np.float64)
    counts = floats(pulls, "pulls", shape=(len(points),)).astype(np.float64)
    if (counts < 0).any():
        raise ValueError(f"pulls: expected numbers >= 0, got {counts.min():g}")
    slack = real(epsilon, "epsilon", above=0.0)
    if not counts.any():
        raise ValueError("pulls: expected at least one pull, got none")
    points = points - points[0]
    spread = float(np.ptp(points, axis=0).max())
    return points, counts, max(slack - _ROUNDING * spread, slack / 2)


class _Cell(NamedTuple):
    """Where one member is best: the arms that some weights may exclude and some may not."""

    best: FloatArray  # (M,)
    members: FloatArray  # (J, M)
    arms: FloatArray  # (n, M) undecided arms
    pulls: FloatArray  # (n,)
    base: float  # pulls of arms that no weights of the cell exclude
    epsilon: float


def _fewest_pulls(means: FloatArray, pulls: FloatArray, *, epsilon: float) -> float:
    """Return the least sum, over weights, of ``pulls`` of arms within ``epsilon`` of the best."""
    size = max(float(np.ptp(means, axis=0).max()), epsilon)
    means, epsilon = (means - means[0]) / size, epsilon / size
    members = means[mixing_arms(means)]
    means, pulls = means[pulls > 0], pulls[pulls > 0]
    fewest = _fewest_sampled(members, means, pulls, epsilon)
    for best in members[np.argsort(-members.sum(1), kind="stable")]:
        leads = best - means
        always = leads.max(1) < epsilon
        sometimes = ~always & (leads.min(1) < epsilon)
        base = float(pulls[always].sum())
        if base < fewest:
            cell = _Cell(best, members, means[sometimes], pulls[sometimes], base, epsilon)
            fewest = _search(cell, fewest)
    return fewest


def _fewest_sampled(
    members: FloatArray, means: FloatArray, pulls: FloatArray, epsilon: float
) -> float:
    objectives = members.shape[1]
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(objectives, 0.5), _WEIGHTS_PER_OBJECTIVE * objectives)
    weights = np.concatenate([np.eye(objectives), weights])
    behind = (members @ weights.T).max(0) - means @ weights.T
    return float((pulls @ (behind < epsilon)).min())


def _search(cell: _Cell, fewest: float) -> float:
    """Return the smaller of ``fewest`` and the fewest served pulls in the cell.

    Arm a is excluded by weights w if w . (best - mu_a) >= epsilon; the program has z_a = 0 for
    these and minimises the pulls of the others. It is relaxed by more than the solver's tolerance,
    so it finds every set of arms that can be excluded, and perhaps one that cannot: then these arms
    are ruled out together.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    leads, rivals = cell.best - cell.arms, cell.members - cell.best
    arms, objectives = leads.shape
    coefficients = cell.epsilon - np.maximum(leads.min(1), 0)
    cost_per_pull = _LARGEST_COST / cell.pulls.max(initial=_SMALLEST)
    cost = np.append(np.zeros(objectives), cell.pulls * cost_per_pull)
    margin = _NEGLIGIBLE_SHARE * (float(cell.pulls.sum()) + cell.base)
    rows = np.block([[-rivals, np.zeros((len(rivals), arms))], [leads, np.diag(coefficients)]])
    bounds = np.concatenate([np.zeros(len(rivals)), np.full(arms, cell.epsilon)]) - _TOLERANCE
    total = np.append(np.ones(objectives), np.zeros(arms))
    limits = [LinearConstraint(total, 1.0, 1.0), LinearConstraint(rows, bounds)]
    while True:
        better = LinearConstraint(cost, -np.inf, (fewest - cell.base - margin) * cost_per_pull)
        result = milp(
            cost,
            integrality=np.append(np.zeros(objectives), np.ones(arms)),
            bounds=Bounds(0.0, 1.0),
            constraints=[*limits, better],
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            return fewest
        excluded = result.x[objectives:] < 0.5
        conflict = _find_conflict(cell, excluded)
        if conflict is None:
            return min(fewest, cell.base + float(cell.pulls[~excluded].sum()))
        if not len(conflict):
            return fewest
        limits.append(LinearConstraint(np.bincount(objectives + conflict, minlength=len(cost)), 1))


def _find_conflict(cell: _Cell, excluded: BoolArray) -> IntArray | None:
    """Return arms that cannot be excluded together, or None if all of ``excluded`` can.

    A game decides, to rounding: the best arm against the members and the excluded arms, these
    lifted by epsilon in every objective. If it loses nothing under some weights, these exclude all.
    """
    chosen = np.flatnonzero(excluded)
    columns = np.concatenate([cell.members, cell.arms[chosen] + cell.epsilon])
    game = _matrix_games.solve(columns, cell.best[None])
    if game.upper[0] <= _ROUNDING:
        return None
    support = game.support[0][game.shares[0] > 0]
    return np.asarray(chosen[support[support >= len(cell.members)] - len(cell.members)])
