"""Random logs for tests."""

from typing import NamedTuple

import numpy as np


class Log(NamedTuple):
    rewards: np.ndarray
    logged: np.ndarray
    arms: np.ndarray
    probabilities: np.ndarray
    predictions: np.ndarray

    @property
    def target(self) -> np.ndarray:
        return np.asarray(self.probabilities[np.arange(len(self.arms)), self.arms])

    @property
    def weighted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.rewards, self.logged, self.target


def draw(seed: int, rows: int, arms: int = 4, objectives: int = 3) -> Log:
    """Draw a log in which every arm could have been chosen."""
    rng = np.random.default_rng(seed)
    behaviour = 0.9 * rng.dirichlet(np.ones(arms), rows) + 0.1 / arms
    chosen = (rng.random(rows)[:, None] > behaviour.cumsum(axis=1)).sum(axis=1)
    chosen = np.minimum(chosen, arms - 1)
    return Log(
        rng.standard_normal((rows, objectives)) + np.arange(objectives),
        behaviour[np.arange(rows), chosen],
        chosen,
        rng.dirichlet(np.ones(arms), rows),
        rng.standard_normal((rows, arms, objectives)),
    )
