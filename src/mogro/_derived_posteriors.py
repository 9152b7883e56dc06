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
    known, d, batch = _apart(posterior), posterior.dim, posterior.batch
    other = _apart(Posterior(d, len(indices), prior=posterior.prior, batch=batch))
    new = [m for m, index in enumerate(indices) if index is not None]
    old = [index for index in indices if index is not None]
    batch_axes: Any = (slice(None),) * len(batch)
    other._updates = posterior._updates
    for name in ARRAYS:
        array = getattr(other, name).copy()  # two of them may be one
        array[(*batch_axes, new)] = getattr(known, name)[(*batch_axes, old)]
        setattr(other, name, array)
    scales = np.ones((len(indices), d + 1, 1))  # of (x, y)
    scales[:, d, 0] = factors
    other._sums *= scales * scales.mT
    other._solution *= scales
    other._squares *= np.square(scales[:, d])
    if isinstance(posterior.prior, Fixed):  # its mean is not in the unit of the rewards
        scaled = other.copy()
        scaled._center = other._center.copy()
        scaled._center[new] = known._center[old]
        scaled._center *= scales
        other.renew()
        other.set_residual(scaled.residual(other._solution[..., d:, :]))
    return other


def with_features(posterior: Posterior, matrix: FloatArray, prior: Prior) -> Posterior:
    """Return the posterior of features ``matrix @ x``, (d', d), by a prior.

    A learned one is due again.
    """
    known, (size, d) = _apart(posterior), matrix.shape
    other = _apart(Posterior(size, known.objectives, prior=prior, batch=known.batch))
    maps = np.zeros((size + 1, d + 1))  # of (x, y)
    maps[:size, :d], maps[size, d] = matrix, 1
    several = np.count_nonzero(matrix, axis=1) > 1  # a number that was moved: seldom zero
    zeros = known.n[..., None] - known.uses @ (matrix != 0).T
    other.n, other._due = known.n, known.n
    other._sums, other._zeros = maps @ known._sums @ maps.T, np.where(several, 0.0, zeros)
    other.renew()
    other.set_residual(known.residual((other.theta @ matrix)[..., None, :]))
    return other


def _apart(posterior: Posterior) -> Posterior:
    """Return a copy in which every objective has sums of its own."""
    other = posterior.copy()
    other.separate()
    other._sums, other._recent = other.sums(), ()
    return other
