"""Greedy for one objective: good regret, no fairness."""

import numpy as np

from mogro._validation import count
from mogro.exploration import Exploration, WeakestDirection
from mogro.policies.mogro import MOGRO
from mogro.scalarization import FixedWeights

_WEAKEST = WeakestDirection()


def single_objective_greedy(
    dim: int,
    objectives: int,
    *,
    objective: int = 0,
    threshold: float | None = None,
    exploration: Exploration = _WEAKEST,
    batch: tuple[int, ...] = (),
) -> MOGRO:
    """Make a policy that cares for one objective only.

    It may have as little effective Pareto regret as MOGRO, since the best arm of one objective is
    on the front; its fairness index tends to zero. That is why regret alone does not judge a
    multi-objective policy.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    objective
        The one it cares for, from 0.
    threshold, exploration, batch
        As for :class:`~mogro.MOGRO`.

    Examples
    --------
    >>> single_objective_greedy(5, 3, objective=1).scalarization
    FixedWeights(vector=(0.0, 1.0, 0.0))
    """
    count(objectives, "objectives")
    if count(objective, "objective", minimum=0) >= objectives:
        raise ValueError(f"objective: expected one of 0 to {objectives - 1}, got {objective}")
    corner = np.eye(objectives)[objective].tolist()
    return MOGRO(
        dim,
        objectives,
        threshold=threshold,
        scalarization=FixedWeights(corner),
        exploration=exploration,
        batch=batch,
    )
