"""What a data set is: rounds with arms, a context, and rewards."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """Rounds that may be played in any order.

    Attributes
    ----------
    arms
        Features of the arms, (K, A), or (n, K, A) where they change; NaN where there is no arm.
    contexts
        Features of the contexts, (n, C).
    rewards
        Rewards of all arms, (n, K, M), larger is better; NaN where an objective was not observed.
    weights
        Three trade-offs, (3, M).
    arm_groups, context_groups
        What a feature belongs to, (A,) and (C,), numbered from 0: numbers, or one category.
    logged
        The arm that was pulled, (n,), where only its rewards are known; else None.
    propensities
        How likely that arm was, (n,); None without logged arms.
    ordered
        Whether rounds come in the order of the rows.
    means
        Expected rewards by which choices are judged, (n, K, M); None: the rewards themselves.
    ids
        Which arms these are, (n, K), numbered from 0, where the same arms come again.
    """

    name: str
    arms: np.ndarray
    contexts: np.ndarray
    rewards: np.ndarray
    weights: np.ndarray
    arm_groups: np.ndarray
    context_groups: np.ndarray
    logged: np.ndarray | None = None
    propensities: np.ndarray | None = None
    ordered: bool = False
    means: np.ndarray | None = None
    ids: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray:
        """Groups of the products (1, context) x (1, arm), ((1 + C)(1 + A),)."""
        rows = np.concatenate([[0], 1 + self.context_groups])
        columns = np.concatenate([[0], 1 + self.arm_groups])
        pairs = rows[:, None] * (1 + columns.max()) + columns
        return np.unique(pairs.ravel(), return_inverse=True)[1]


def standardised(columns: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Return columns (n, C) with mean 0 and standard deviation 1, as ``Number`` makes them."""
    values = np.asarray(columns, dtype=np.float64)
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def one_hot(labels: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return a column of 0 and 1 for each label, (n, L), as ``Category`` makes them."""
    names, places = np.unique(np.asarray(labels), return_inverse=True)
    return np.eye(len(names))[places]
