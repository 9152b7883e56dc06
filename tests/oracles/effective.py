"""Effective gaps and effective fronts, one linear program per arm, obvious and slow."""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from mogro._validation import BoolArray, FloatArray


def effective_gap(means: FloatArray, arm: int) -> float:
    """Value of min over weights w of max_j w . (mu_j - mu_arm), by HiGHS, scaled by the spread."""
    lead = means - means[arm]
    size = float(np.abs(lead).max()) or 1.0
    arms, objectives = lead.shape
    result = linprog(
        np.append(np.zeros(objectives), 1.0),
        A_ub=np.column_stack([lead / size, -np.ones(arms)]),
        b_ub=np.zeros(arms),
        A_eq=np.append(np.ones(objectives), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * objectives + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(result.fun or 0.0) * size


def effective_front_exactly(means: FloatArray) -> BoolArray:
    """Membership in rational arithmetic: no mixture is >= everywhere and > somewhere."""
    rows = [[Fraction(float(value)) for value in row] for row in means]
    return np.array([_is_member(rows, arm) for arm in range(len(rows))])


def _is_member(rows: list[list[Fraction]], arm: int) -> bool:
    """Maximise sum_m s_m with sum_j p_j (mu_jm - mu_im) - s_m = 0, sum p = 1: member if it is 0.

    Substituting the s_m and dropping the arm's own share (its column is 0) leaves
    maximise sum_j p_j sum_m d_jm subject to -sum_j p_j d_jm <= 0 for all m and sum_j p_j <= 1,
    which starts feasible at p = 0. Bland's rule ends every cycle.
    """
    lead = [[a - b for a, b in zip(row, rows[arm], strict=True)] for row in rows]
    objectives = len(rows[0])
    table = [
        [-d[m] for d in lead]
        + [Fraction(int(k == m)) for k in range(objectives + 1)]
        + [Fraction(0)]
        for m in range(objectives)
    ]
    table.append(
        [Fraction(1) for _ in lead]
        + [Fraction(int(k == objectives)) for k in range(objectives + 1)]
        + [Fraction(1)]
    )
    cost = [sum(d, Fraction(0)) for d in lead] + [Fraction(0)] * (objectives + 2)
    basis = [len(lead) + k for k in range(objectives + 1)]
    while True:
        enters = next((j for j, c in enumerate(cost[:-1]) if c > 0), None)
        if enters is None:
            return cost[-1] == 0
        ratios = [
            (row[-1] / row[enters], basis[k], k) for k, row in enumerate(table) if row[enters] > 0
        ]
        _, _, leaves = min(ratios)
        pivot = table[leaves][enters]
        table[leaves] = [value / pivot for value in table[leaves]]
        for k, row in enumerate(table):
            if k != leaves and row[enters]:
                table[k] = [a - row[enters] * b for a, b in zip(row, table[leaves], strict=True)]
        factor = cost[enters]
        cost = [a - factor * b for a, b in zip(cost, table[leaves], strict=True)]
        basis[leaves] = enters
