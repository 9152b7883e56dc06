"""Posteriors made from others, exactly: of other objectives, other features, another prior.

Every objective has sums of its own in them; what was never observed is a zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mogro._validation import FloatArray
from mogro.posterior import ARRAYS, Posterior
from mogro.priors import Fixed, Prior


def with_objectives(
    posterior: Posterior, indices: Sequence[int | None], factors: FloatArray | float = 1.0
) -> Posterior:
    """Return the posterior of the objectives at some indices; None is a new one, never seen.

    Rewards are multiplied by factors, one for each, as if they had been so all along.
    """
    source, d, batch = _apart(posterior), posterior.dim, posterior.batch
    result = _apart(Posterior(d, len(indices), prior=posterior.prior, batch=batch))
    new_indices = [m for m, index in enumerate(indices) if index is not None]
    old_indices = [index for index in indices if index is not None]
    batch_axes: Any = (slice(None),) * len(batch)
    result._updates = posterior._updates
    for name in ARRAYS:
        array = getattr(result, name).copy()  # two of them may be one
        array[(*batch_axes, new_indices)] = getattr(source, name)[(*batch_axes, old_indices)]
        setattr(result, name, array)
    scales = np.ones((len(indices), d + 1, 1))  # of (x, y)
    scales[:, d, 0] = factors
    result._sums *= scales * scales.mT
    result._solution *= scales
    result._squares *= np.square(scales[:, d])
    if isinstance(posterior.prior, Fixed):  # its mean is not in the unit of the rewards
        scaled = result.copy()
        scaled._center = result._center.copy()
        scaled._center[new_indices] = source._center[old_indices]
        scaled._center *= scales
        result.renew()
        result.set_residual(scaled.residual(result._solution[..., d:, :]))
    return result


def with_features(posterior: Posterior, matrix: FloatArray, prior: Prior) -> Posterior:
    """Return the posterior of features ``matrix @ x``, (d', d), by a prior.

    A learned one is due again.
    """
    source, (size, d) = _apart(posterior), matrix.shape
    result = _apart(Posterior(size, source.objectives, prior=prior, batch=source.batch))
    maps = np.zeros((size + 1, d + 1))  # of (x, y)
    maps[:size, :d], maps[size, d] = matrix, 1
    mixtures = np.count_nonzero(matrix, axis=1) > 1  # a number that was moved: seldom zero
    zeros = source.n[..., None] - source.uses @ (matrix != 0).T
    result.n, result._due = source.n, source.n
    result._sums, result._zeros = maps @ source._sums @ maps.T, np.where(mixtures, 0.0, zeros)
    result.renew()
    result.set_residual(source.residual((result.theta @ matrix)[..., None, :]))
    return result


def _apart(posterior: Posterior) -> Posterior:
    """Return a copy in which every objective has sums of its own."""
    result = posterior.copy()
    result.separate()
    result._sums, result._recent = result.sums(), ()
    return result
