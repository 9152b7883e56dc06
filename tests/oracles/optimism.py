"""Optimistic rounds, slow and obvious: from the whole log, one arm and one objective at a time."""

import math

import numpy as np

from mogro._validation import FloatArray


def turn_of_optimism(step: int, observed: float) -> int | None:
    """Return the number of optimistic rounds before; None in rounds that are not."""
    period = 1
    while (3 * (period + 1)) ** 2 <= observed:
        period += 1
    return None if step % period else step // period


def estimates_and_bonuses(
    log: FloatArray, rewards: FloatArray, arms: FloatArray, turn: int
) -> tuple[FloatArray, FloatArray]:
    """Return estimates of arms (K, d) and what to add to them, (K, M), from a log (n, d), (n, M).

    Every eighth optimistic round adds more errors, and more and more of them. Of more than 256 arms
    only some get standard errors: every second, third, ..., which ones by the turn.
    """
    objectives = rewards.shape[1]
    width, number = 4 / (objectives + 1), turn
    if turn % 8 == 0:
        width = (1.5 + math.log(len(log)) / 3) * math.sqrt(2 / (objectives + 1))
        number = turn // 8
    stride = math.ceil(len(arms) / 256)
    estimates, bonuses = np.zeros((2, len(arms), objectives))
    inverse = np.linalg.inv(log.T @ log)
    free = len(log) - log.shape[1]
    for m, column in enumerate(rewards.T):
        theta = np.linalg.lstsq(log, column, rcond=None)[0]
        noise = float(np.square(column - log @ theta).sum()) / free
        for k, x in enumerate(arms):
            estimates[k, m] = x @ theta
            if k % stride == number % stride:
                bonuses[k, m] = width * math.sqrt(noise * (x @ inverse @ x))
    return estimates, bonuses
