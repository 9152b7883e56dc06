"""The theory's formulas written out once more, as they stand in the paper and the notes."""

from math import acos, asin, ceil, exp, floor, log, sin, sqrt

import numpy as np

from mogro._validation import FloatArray


def distance(alpha: float, gamma: float) -> float:
    return sqrt(2 + 2 * alpha * sqrt(1 - gamma**2) - 2 * gamma * sqrt(1 - alpha**2))


def distance_xmax(alpha: float, gamma: float, x: float) -> float:
    return sqrt(
        1 + (x / gamma) ** 2 + 2 * alpha * sqrt((x / gamma) ** 2 - 1) - 2 * sqrt(1 - alpha**2)
    )


def cap(lam: float, gamma: float) -> float:
    first = sqrt(lam**2 / 9 - lam**4 / 324) * gamma
    return first - (1 - lam**2 / 18) * sqrt(1 - gamma**2)


def cap_by_angles(lam: float, gamma: float) -> float:
    return sin(acos(1 - lam**2 / 18) - acos(gamma))


def distance_by_angles(alpha: float, gamma: float) -> float:
    return 2 * sin((asin(alpha) + acos(gamma)) / 2)


def left_xmax(lam: float, alpha: float, gamma: float, x: float) -> float:
    root = sqrt(
        gamma**2
        + x**2
        + 2 * alpha * gamma * sqrt(x**2 - gamma**2)
        - 2 * gamma**2 * sqrt(1 - alpha**2)
    )
    return lam * gamma**2 - 2 * x * root


def threshold_rw(alpha: float, sigma: float, d: int, T: int) -> float:
    first = 2 * sigma / alpha * sqrt(2 * d * T * log(d * T**2))
    second = 16 * sigma**2 / alpha**2 * (d / 2 * log(1 + 2 * T / d) + log(T))
    return min(first, max(1.0, second))


def threshold_rr(alpha: float, sigma: float, d: int, T: int) -> float:
    first = sigma / alpha * sqrt(2 * d * T * log(d * T**2))
    second = 4 * sigma**2 / alpha**2 * (d / 2 * log(1 + 2 * T / d) + log(T))
    return min(first, max(1.0, second))


def threshold(a: float, delta: float, sigma: float, d: int, T: int, x: float) -> float:
    first = sigma * x / a * sqrt(2 * d * T * log(d * T / delta))
    second = 4 * sigma**2 / a**2 * (d / 2 * log(1 + 2 * T * x**2 / d) + log(1 / delta))
    return min(first, max(1.0, second))


def rounds_bound(basis: FloatArray, B: float) -> int:
    return ceil(B / float(np.linalg.eigvalsh(basis.T @ basis)[0])) * len(basis)


def rounds_by_hand(basis: FloatArray, B: float) -> int:
    gram, t = np.zeros((basis.shape[1],) * 2), 0
    while np.linalg.eigvalsh(gram)[0] < B:
        gram += np.outer(basis[t % len(basis)], basis[t % len(basis)])
        t += 1
    return t


def regret_rw(inc: float, sigma: float, d: int, M: int, T: int, T0: int) -> float:
    return 16 * sigma / inc * sqrt(2 * d * T * log(d * T)) + 4 * T0 + 6 * M + 20 * d / inc


def regret_rw_by_rounds(
    inc: float, sigma: float, d: int, M: int, T: int, T0: int, x: float, L: float
) -> float:
    """The sum in the proof before it is bounded by an integral: never above the theorem."""
    worst, total = 2 * x * L, 0.0
    for t in range(2 * T0, T):
        if t == T0:
            total += worst
            continue
        error = 4 * sigma * x / inc * sqrt(d * log(d * max(t, 1) * T) / (t - T0))
        failure = 3 * M / T + d * exp(-inc * (t - T0) / (10 * x**2))
        total += 2 * x * error + failure * worst
    return total + 2 * T0 * worst


def regret_rr(left: float, sigma: float, d: int, M: int, T: int, T0: int) -> float:
    return 8 * sigma / left * sqrt(2 * d * T * log(d * T)) + 4 * T0 + 10 * M


def settled(eps: float, inc: float, sigma: float, d: int, T: int, T0: int) -> int:
    """Return T_eps."""
    wait = floor(1152 * sigma**2 * d * log(d * T) / (inc**2 * eps**2))
    return max(wait + T0, 2 * T0)


def fairness(
    eps: float, psi: float, inc: float, sigma: float, d: int, M: int, T: int, T0: int
) -> float:
    start = settled(eps, inc, sigma, d, T, T0)
    return psi * (T - start) / T * (1 - 3 * M / T - d * exp(-inc * (start - T0) / 10))
