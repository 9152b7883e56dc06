"""The effective Pareto fairness index by trying every set of arms."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from mogro._validation import FloatArray


def fairness_index(means: FloatArray, pulls: FloatArray, epsilon: float) -> float:
    """Least share of pulls that some weights leave within epsilon, over all excluded sets."""
    pulled: list[int] = np.flatnonzero(pulls > 0).tolist()
    fewest = float(pulls.sum())
    for size in range(len(pulled) + 1):
        for excluded in combinations(pulled, size):
            served = float(pulls.sum() - pulls[list(excluded)].sum())
            if served < fewest and _excludable(means, list(excluded), epsilon):
                fewest = served
    return fewest / float(pulls.sum())


def _excludable(means: FloatArray, excluded: list[int], epsilon: float) -> bool:
    """Whether under some weights every arm of the set is epsilon or more behind the best arm."""
    return any(_margin(means, best, excluded, epsilon) >= -1e-9 for best in range(len(means)))


def _margin(means: FloatArray, best: int, excluded: list[int], epsilon: float) -> float:
    lead = np.concatenate([means[best] - means, means[best] - means[excluded] - epsilon])
    objectives = means.shape[1]
    result = linprog(
        np.append(np.zeros(objectives), -1.0),
        A_ub=np.column_stack([-lead, np.ones(len(lead))]),
        b_ub=np.zeros(len(lead)),
        A_eq=np.append(np.ones(objectives), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * objectives + [(None, None)],
    )
    return -float(result.fun or 0.0)
