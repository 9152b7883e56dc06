"""What is asked of the policies while they run."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mogro.environments import LinearEnvironment
from mogro.policies import MOGRO
from paper.lab.arrays import FloatArray
from paper.lab.contenders import Counted

_WEIGHTS = 64


def explored(policy: Any, worlds: Sequence[LinearEnvironment]) -> FloatArray:
    """Probe: rounds that each learner has explored; policies without a first phase never do.

    Optimistic rounds of MOGRO at its default, which come later, do not count.
    """
    if isinstance(policy, MOGRO) and isinstance(policy.exploration, Counted):
        return policy.exploration.explored.astype(np.float64)
    return np.zeros(policy.batch)


def smallest_eigenvalue(policy: Any, worlds: Sequence[LinearEnvironment]) -> FloatArray:
    """Probe: the smallest eigenvalue of the sum V of what was learned from."""
    return np.asarray(np.maximum(np.linalg.eigvalsh(policy.posterior.V[..., 0, :, :])[..., 0], 0))


def eigenvalue_and_error(policy: Any, worlds: Sequence[LinearEnvironment]) -> FloatArray:
    """Probe: the smallest eigenvalue, and the largest error of an estimate, (I, R, 2)."""
    truth = np.stack([world.theta for world in worlds])[:, None]
    errors = np.linalg.norm(policy.theta - truth, axis=-1).max(axis=-1)
    return np.stack([smallest_eigenvalue(policy, worlds), errors], axis=-1)


def in_region(policy: Any, worlds: Sequence[LinearEnvironment]) -> FloatArray:
    """Probe (I, R, 4): rounds explored; weighted and single estimates in the region; eigenvalue.

    Estimates come as shares, the eigenvalue is the smallest of V.

    The objective region is the cone of the true parameters; an arm that is best for a direction in
    it is on the effective front. With M = d parameters a direction is in the cone if its
    coordinates in them are not negative.
    """
    truth = np.stack([world.theta for world in worlds])
    coordinates = np.asarray(policy.theta) @ np.linalg.inv(truth)[:, None]
    weights = np.random.default_rng(0).dirichlet(np.ones(truth.shape[1]), _WEIGHTS)
    weighted = (weights @ coordinates >= 0).all(axis=-1).mean(axis=-1)
    single = (coordinates >= 0).all(axis=-1).mean(axis=-1)
    smallest = smallest_eigenvalue(policy, worlds)
    return np.stack([explored(policy, worlds), weighted, single, smallest], axis=-1)
