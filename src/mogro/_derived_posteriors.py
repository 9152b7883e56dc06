"""Posteriors made from others: of more observations, other features, other objectives.

All of it is done to the sums, and exact: what was never observed is a zero. S and theta follow.
"""

from collections.abc import Sequence

import numpy as np

from mogro._algebra import diagonals
from mogro._validation import FloatArray
from mogro.posterior import STATE, Posterior
from mogro.priors import Learned, Prior

_ROUNDING = 1e-9  # a weight below is what is left of observations that were taken out


def corrected(
    posterior: Posterior, x: FloatArray, n: FloatArray, y: FloatArray, y2: FloatArray
) -> Posterior:
    """Return the posterior with other observations of x (d,): what is below 0 was taken out.

    The changes of their weights, ``n``, of their weighted rewards, ``y``, and of the squares of
    these, ``y2``, are of shape (M,). For one learner.
    """
    before, other = posterior.copy(), posterior.copy()
    if (n != n[0]).any():
        before.separate()
        other.separate()
    each = (n, y, y2)
    if other.apart:
        each = (n[:, None], y[:, None], y2[:, None])
    weight: FloatArray = np.asarray(each[0][..., 0] if other.apart else n[0])
    other._n = other._n + weight
    left = np.asarray(other._n > _ROUNDING)  # otherwise nothing is, but for rounding
    d, sums = other.dim, other._sums
    sums[..., :d, :d] += weight[..., None, None] * np.outer(x, x)
    sums[..., d:, :d] += each[1][..., None] * x
    diagonals(sums)[..., d:] = np.maximum(diagonals(sums)[..., d:] + each[2], 0)
    sums *= left[..., None, None]
    other._n = other._n * left
    if isinstance(other.prior, Learned):
        uses = other._uses + weight[..., None] * (x != 0)
        other._uses = np.maximum(uses, 0) * left[..., None]
        other._count, other._looks_in = np.maximum(other._count + np.sign(weight), 0), 0
    other._renew()
    fitted = other._theta @ x
    residual = before._residual(other._theta) + each[2] - (2 * each[1] - each[0] * fitted) * fitted
    other._set_residual(residual * left[..., None])
    return other


def with_pending(posterior: Posterior, V: FloatArray, n: FloatArray) -> Posterior:
    """Return the posterior with observations in S whose rewards have not come yet.

    ``V`` is the sum of x x' of these, (*batch, G, d, d), and ``n`` says how many, (*batch, G).
    """
    other = posterior.copy()
    V_now = other._V
    V_now += V.reshape(V_now.shape)
    other._n = other._n + n.reshape(np.shape(other._n))
    other._renew()
    return other


def without(posterior: Posterior, x: FloatArray, y: FloatArray, weights: FloatArray) -> Posterior:
    """Return the posterior less observations (n, d) and (n, M) that it was given, of some weights.

    For one learner. Where nothing but rounding is left, nothing is.
    """
    other = posterior.copy()
    other.separate()
    before, d = other.copy(), other.dim
    for m in range(other.objectives):
        both = np.column_stack([x, y[:, m]])
        removed = (weights[:, m, None] * both).T @ both
        other._sums[m] -= removed
        other._n[m] -= weights[:, m].sum()
        if isinstance(other.prior, Learned):
            other._uses[m] -= weights[:, m] @ (x != 0)
            other._count[m] -= np.sign(weights[:, m]).sum()
        gone = diagonals(other._sums[m])[:d] <= _ROUNDING * diagonals(removed)[:d]
        nothing = other._n[m] <= _ROUNDING * before._n[m]
        vanished = np.append(gone, False) | nothing
        other._sums[m][vanished], other._sums[m][:, vanished] = 0, 0
        other._n[m] *= not nothing
    for array in (diagonals(other._sums), other._uses, other._count):
        np.maximum(array, 0, out=array)
    other._renew()
    errors = weights * np.square(y - x @ other._theta[:, 0].T)
    left = before._residual(other._theta) - errors.sum(axis=0)[:, None]
    other._set_residual(left * (other._n > 0)[:, None])
    return other


def reshaped(
    posterior: Posterior,
    matrix: FloatArray,
    places: Sequence[int | None],
    factors: FloatArray,
    prior: Prior,
) -> Posterior:
    """Return the posterior of features ``matrix @ x``, (d', d), of other objectives, by a prior.

    Objectives and their factors are as for :func:`with_objectives`. A learned prior is due again.
    For one learner.
    """
    known = posterior.copy()
    known.separate()
    other = Posterior(len(matrix), len(places), prior=prior)
    other.separate()
    new, old = _matched(places)
    factor, d = factors[new, None, None], known.dim
    sums = known._sums[old]
    b = factor * (sums[:, d:, :d] @ matrix.T)
    other._sums[new] = np.block(
        [
            [matrix @ sums[:, :d, :d] @ matrix.T, np.swapaxes(b, 1, 2)],
            [b, factor**2 * sums[:, d:, d:]],
        ]
    )
    other._n[new] = known._n[old]
    if isinstance(prior, Learned):
        n, counted = known._n[old, None], isinstance(known.prior, Learned)
        uses = known._uses[old] if counted else n * (diagonals(sums)[:, :d] > 0)
        several = np.count_nonzero(matrix, axis=1) > 1  # a number that was moved: seldom zero
        other._uses[new] = np.where(several, n, uses @ (matrix != 0).T)
        other._count[new] = known._count[old] if counted else known._n[old]
        _learn_prior_again(other)
    other._renew()
    theta = known._theta.copy()
    theta[old] = other._theta[new] @ matrix / factor
    residual = np.zeros_like(other._squares)
    residual[new] = factor[..., 0] ** 2 * known._residual(theta)[old]
    other._set_residual(residual)
    return other


def with_objectives(
    posterior: Posterior, places: Sequence[int | None], factors: FloatArray | float = 1.0
) -> Posterior:
    """Return the posterior of the objectives at some places; None is a new one, never seen.

    Rewards are multiplied by factors, one for each, as if they had been so all along.
    """
    known, dim = posterior.copy(), posterior.dim
    other = Posterior(dim, len(places), prior=posterior.prior, batch=posterior.batch)
    known.separate()
    other.separate()
    new, old = _matched(places)
    factor = np.broadcast_to(np.asarray(factors, dtype=np.float64), len(places))[:, None]
    before = (slice(None),) * len(posterior.batch)
    for name in STATE:
        getattr(other, name)[(*before, new)] = getattr(known, name)[(*before, old)]
    other._squares *= factor**2
    for array in (other._sums, other._solution):
        array[..., dim:, :] *= factor[..., None]
    other._sums[..., dim:] *= factor[..., None]
    other._mean *= factor[..., None]
    if not posterior.prior.relative:  # the mean of the prior is not in the unit of the rewards
        scaled = other.copy()
        other._renew()
        other._set_residual(scaled._residual(other._theta))
    return other


def _learn_prior_again(posterior: Posterior) -> None:
    if isinstance(posterior.prior, Learned):
        posterior._due = np.asarray(posterior._count)


def _matched(places: Sequence[int | None]) -> tuple[list[int], list[int]]:
    """Return the new and the old positions of what stays."""
    kept = [(new, old) for new, old in enumerate(places) if old is not None]
    return [new for new, _ in kept], [old for _, old in kept]
