"""Optimistic rounds, slow and obvious: from the whole log, one arm and one objective at a time."""

import math

import numpy as np

from mogro._validation import FloatArray


def is_optimistic(step: int, observed: float) -> bool:
    period = 1
    while (3 * (period + 1)) ** 2 <= observed:
        period += 1
    return step % period == 0


def optimistic_values(
    log: FloatArray, rewards: FloatArray, arms: FloatArray, step: int = 0
) -> FloatArray:
    """Return estimates of arms (K, d) plus standard errors, (K, M), from a log (n, d), (n, M).

    Of more than 256 arms only some get standard errors: every second, third, ..., which ones by the
    number of optimistic rounds before.
    """
    stride = math.ceil(len(arms) / 256)
    turn = step // max(1, math.isqrt(len(log)) // 3) % stride
    values = np.zeros((len(arms), rewards.shape[1]))
    inverse = np.linalg.pinv(log.T @ log)
    free = len(log) - np.linalg.matrix_rank(log)
    for m, column in enumerate(rewards.T):
        theta = np.linalg.lstsq(log, column, rcond=None)[0]
        squares = float(np.square(column - log @ theta).sum())
        for k, x in enumerate(arms):
            known = free >= 1 and k % stride == turn
            error = math.sqrt(squares / free * (x @ inverse @ x)) if known else 0.0
            values[k, m] = x @ theta + 2 * math.sqrt(2 / (rewards.shape[1] + 1)) * error
    return values
