"""Slow, obvious versions of what is certain about fronts: one pair of arms after the other."""

import math

import numpy as np
from scipy.optimize import linprog

RIDGES = (1.0, 32.0, 1024.0)


def width(V: np.ndarray, u: np.ndarray, *, failure: float, ridge: float) -> float:
    """Return how far ``u . estimate`` may be off, for one ridge, in units of the noise."""
    seen = np.linalg.inv(V)
    d = len(V)
    bound = 2 * math.log(1 / failure) + np.linalg.slogdet(np.eye(d) + V / ridge)[1]
    return float(np.sqrt(bound * (u @ seen @ (V + ridge * np.eye(d)) @ seen @ u)))


def pair_width(
    V: np.ndarray, arms: np.ndarray, i: int, j: int, *, delta: float, claims: int, alone: bool
) -> float:
    """Return the width of the difference of two arms, for so many claims that share delta."""
    u, used = arms[j] - arms[i], np.arange(len(V))
    if alone:
        used = np.flatnonzero(arms[i] + arms[j])
        delta = 0.9 * delta
    failure = delta / (len(RIDGES) * claims)
    part = V[np.ix_(used, used)]
    return min(width(part, u[used], failure=failure, ridge=ridge) for ridge in RIDGES)


def classify(
    V: np.ndarray, theta: np.ndarray, arms: np.ndarray, *, delta: float, effective: bool
) -> tuple[list[bool], list[bool]]:
    """Return which arms are certainly on the front and off it; noise 1."""
    (K, _), M = arms.shape, len(theta)
    alone = ((arms != 0).sum(1) == 1).all() and ((arms != 0).sum(0) <= 1).all()
    counts = (K * M, K * (K - 1), K * (K - 1) * M) if alone else (M, M, M)
    means = arms @ theta.T
    on, off = [], []
    for i in range(K):
        rivals = [j for j in range(K) if not np.array_equal(arms[i], arms[j])]
        lead = {j: means[j] - means[i] for j in rivals}
        for_on, for_off, for_mixtures = (
            {j: pair_width(V, arms, i, j, delta=delta, claims=count, alone=alone) for j in rivals}
            for count in counts
        )
        if not effective:
            on.append(all((lead[j] + for_on[j] <= 0).any() for j in rivals))
            off.append(any((lead[j] > for_off[j]).all() for j in rivals))
            continue
        low = np.array([lead[j] - for_mixtures[j] for j in rivals])
        high = np.array([lead[j] + for_mixtures[j] for j in rivals])
        off.append(bool(rivals) and _value(low) > 1e-9)
        on.append(not rivals or _value(high) < -1e-9)
    return on, off


def _value(leads: np.ndarray) -> float:
    """Return the largest lead in all objectives that a mixture of rows has."""
    count, objectives = leads.shape
    rows = np.hstack([-leads.T, np.ones((objectives, 1))])
    solution = linprog(
        [0.0] * count + [-1.0],
        A_ub=rows,
        b_ub=np.zeros(objectives),
        A_eq=[[1.0] * count + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    assert solution.fun is not None
    return float(-solution.fun)
