"""Weights that serve the pulled arms worst: a mixed-integer program by branch and bound.

Where member j is best, arm a is excluded by the weights w if w . (mu_j - mu_a) >= epsilon.
Relaxed, z_a in [0, 1] says how far arm a is from being excluded, and a linear program minimises the
pulls of the sum of z. Whether a set of arms can be excluded together is decided by a game, to
rounding: mu_j against the members and the arms of the set, these lifted by epsilon in every
objective; if it loses nothing under some weights, these weights exclude the set.
"""

import heapq
from typing import Literal, NamedTuple

import numpy as np

from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto import _matrix_games
from mogro.pareto.effective import mixing_arms

_ROUNDING = 1e-12
_TOLERANCE = 1e-6  # far more than the tolerance of a linear program, far less than an arm matters
_NEGLIGIBLE = 1e-9  # part of all pulls by which an answer may be too high
_SAMPLES = 64  # weights per objective that give a first answer


class _Cell(NamedTuple):
    """Where one member is best: the arms that some weights may exclude and some may not."""

    best: FloatArray  # (M,)
    members: FloatArray  # (J, M)
    arms: FloatArray  # (n, M) undecided arms
    pulls: FloatArray  # (n,)
    base: float  # pulls of arms that no weights of the cell exclude
    epsilon: float


def least_served_pulls(means: FloatArray, pulls: FloatArray, *, epsilon: float) -> float:
    """Return the least sum, over weights, of ``pulls`` of arms within ``epsilon`` of the best."""
    size = max(float(np.ptp(means, axis=0).max()), epsilon)
    means, epsilon = (means - means[0]) / size, epsilon / size
    members = means[mixing_arms(means)]
    means, pulls = means[pulls > 0], pulls[pulls > 0]
    fewest = _sampled(members, means, pulls, epsilon)
    for best in members[np.argsort(-members.sum(1), kind="stable")]:
        lead = best - means
        always = lead.max(1) < epsilon
        open_ = ~always & (lead.min(1) < epsilon)
        base = float(pulls[always].sum())
        if base < fewest:
            cell = _Cell(best, members, means[open_], pulls[open_], base, epsilon)
            fewest = _search(cell, fewest)
    return fewest


def _sampled(members: FloatArray, means: FloatArray, pulls: FloatArray, epsilon: float) -> float:
    objectives = members.shape[1]
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(objectives, 0.5), _SAMPLES * objectives)
    weights = np.concatenate([np.eye(objectives), weights])
    behind = (members @ weights.T).max(0) - means @ weights.T
    return float((pulls @ (behind < epsilon)).min())


def _search(cell: _Cell, fewest: float) -> float:
    """Return the smaller of ``fewest`` and the fewest served pulls in the cell."""
    relaxation = _Relaxation(cell)
    enough = _NEGLIGIBLE * (float(cell.pulls.sum()) + cell.base)
    nodes = [(cell.base, 0, np.zeros(len(cell.arms)), np.ones(len(cell.arms)))]
    born = 0
    while nodes:
        bound, _, low, high = heapq.heappop(nodes)
        if bound >= fewest - enough:
            break
        solution = relaxation.solve(low, high)
        if solution is None:
            continue
        excluded, served = solution
        bound = max(bound, cell.base + float(cell.pulls @ served))
        if bound >= fewest - enough:
            continue
        conflict = _conflict(cell, excluded)
        if conflict is None:
            fewest = min(fewest, cell.base + float(cell.pulls[~excluded].sum()))
        branch = _branch(cell, low < high, served, conflict)
        if branch is not None:
            for side in (0.0, 1.0):
                born += 1
                lower, upper = low.copy(), high.copy()
                lower[branch] = upper[branch] = side
                heapq.heappush(nodes, (bound, born, lower, upper))
    return fewest


def _branch(
    cell: _Cell, open_: BoolArray, served: FloatArray, conflict: IntArray | None
) -> int | None:
    """Return the arm to decide next: the one whose relaxation hides the most pulls."""
    if not open_.any():
        return None
    hidden = np.where(open_, cell.pulls * np.minimum(served, 1 - served), 0)
    arm = int(hidden.argmax())
    if hidden[arm] > _TOLERANCE * cell.pulls[arm]:
        return arm
    if conflict is None:
        return None
    left = conflict[open_[conflict]]
    return int(left[0]) if len(left) else None


def _conflict(cell: _Cell, excluded: BoolArray) -> IntArray | None:
    """Return arms that cannot be excluded together, or None if all of ``excluded`` can."""
    chosen = np.flatnonzero(excluded)
    columns = np.concatenate([cell.members, cell.arms[chosen] + cell.epsilon])
    game = _matrix_games.solve(columns, cell.best[None])
    if game.upper[0] <= _ROUNDING:
        return None
    support = game.support[0][game.shares[0] > 0]
    return np.asarray(chosen[support[support >= len(cell.members)] - len(cell.members)])


class _Relaxation:
    """The linear program over (w, z) of one cell; nodes of the search bound z differently."""

    def __init__(self, cell: _Cell) -> None:
        lead = cell.best - cell.arms
        arms, objectives = lead.shape
        rivals = cell.members - cell.best
        slack = cell.epsilon - np.maximum(lead.min(1), 0)
        self.objectives, self.lead, self.epsilon = objectives, lead, cell.epsilon
        self.cost = np.append(np.zeros(objectives), cell.pulls / cell.pulls.max(initial=1e-300))
        self.rows = np.block([[rivals, np.zeros((len(rivals), arms))], [-lead, -np.diag(slack)]])
        self.right = np.concatenate([np.zeros(len(rivals)), np.full(arms, -cell.epsilon)])
        self.total = np.concatenate([np.ones(objectives), np.zeros(arms)])[None]

    def solve(self, low: FloatArray, high: FloatArray) -> tuple[BoolArray, FloatArray] | None:
        """Return which arms the best weights seem to exclude, and z; None if none is feasible."""
        from scipy.optimize import linprog

        free = np.zeros(self.objectives)
        bounds = list(zip(np.append(free, low), np.append(free + 1, high), strict=True))
        methods: tuple[Literal["highs-ds", "highs-ipm"], ...] = ("highs-ds", "highs-ipm")
        for method in methods:
            result = linprog(
                self.cost,
                A_ub=self.rows,
                b_ub=self.right,
                A_eq=self.total,
                b_eq=[1.0],
                bounds=bounds,
                method=method,
            )
            if result.status == 2:
                return None
            if result.status == 0 and result.x is not None:
                weights, served = np.split(result.x, [self.objectives])
                return self.lead @ weights >= self.epsilon - _TOLERANCE, np.clip(served, low, high)
        return high == 0, low  # no help from the solver: decide the arms one by one
