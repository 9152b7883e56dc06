"""Posteriors made from others: of more observations, other features, other objectives.

All of it is done to the sums, and exact: what was never observed is a zero. S and theta follow.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mogro._algebra import diagonals
from mogro._validation import FloatArray
from mogro.posterior import Posterior
from mogro.priors import Prior

_ROUNDING = 1e-9  # a weight below is what is left of observations that were taken out


def with_corrections(
    posterior: Posterior, x: FloatArray, n: FloatArray, y: FloatArray, y2: FloatArray
) -> Posterior:
    """Return the posterior with other observations of x (d,): what is below 0 was taken out.

    The changes of their weights, ``n``, of their weighted rewards, ``y``, and of the squares of
    these, ``y2``, are of shape (M,). For one learner.
    """
    other = posterior.copy()
    if (n != n[0]).any():
        other.separate()
    fit, d = other._fit, other.dim
    if other.apart:
        weight, y, y2 = n, y[:, None], y2[:, None]
    else:
        weight = n[0]
    before, sums, fit.n = fit.frozen(), fit.sums().copy(), np.asarray(fit.n + weight)
    left = np.asarray(fit.n > _ROUNDING)  # otherwise nothing is, but for rounding
    sums[..., :d, :d] += weight[..., None, None] * np.outer(x, x)
    sums[..., d:, :d] += y[..., None] * x
    diagonals(sums)[..., d:] = np.maximum(diagonals(sums)[..., d:] + y2, 0)
    fit.n = fit.n * left
    fit.set_sums(sums * left[..., None, None])
    if other._groups is not None:
        uses = other._uses + weight[..., None] * (x != 0)
        other._uses = np.maximum(uses, 0) * left[..., None]
        other._seen = np.maximum(other._seen + np.sign(weight), 0)
    fit.renew()
    fitted = fit.theta @ x
    residual = before.residual(fit.theta) + y2 - (2 * y - weight[..., None] * fitted) * fitted
    fit.set_residual(residual * left[..., None])
    return other


def with_more(posterior: Posterior, z: FloatArray, weights: FloatArray) -> Posterior:
    """Return the posterior with (x, y), (n, M, d + 1), of weights (n, M), in its sums.

    Weights below 0 take them out. They are not counted as observations. For one learner whose
    objectives are apart.
    """
    other, each = posterior.copy(), z.swapaxes(0, 1)
    fit = other._fit
    before = fit.frozen()
    fit.set_sums(fit.sums() + (weights.T[..., None] * each).mT @ each)
    fit.renew()
    errors = z[..., -1] - np.vecdot(z[..., :-1], fit.theta[:, 0])
    more = (weights * np.square(errors)).sum(axis=0)[:, None]
    fit.set_residual(before.residual(fit.theta) + more)
    return other


def with_pending(posterior: Posterior, V: FloatArray, n: FloatArray) -> Posterior:
    """Return the posterior with observations in S whose rewards have not come yet.

    ``V`` is the sum of x x' of these, (*batch, G, d, d), and ``n`` says how many, (*batch, G).
    """
    other = posterior.copy()
    fit, d = other._fit, other.dim
    sums, fit.n = fit.sums().copy(), fit.n + n.reshape(np.shape(fit.n))
    sums[..., :d, :d] += V.reshape(*np.shape(fit.n), d, d)
    fit.set_sums(sums)
    fit.renew()
    return other


def without_observations(
    posterior: Posterior, x: FloatArray, y: FloatArray, weights: FloatArray
) -> Posterior:
    """Return the posterior less observations (n, d) and (n, M) that it was given, of some weights.

    For one learner. Where nothing but rounding is left, nothing is.
    """
    other = posterior.copy()
    other.separate()
    fit, d = other._fit, other.dim
    before, sums = fit.copy(), fit.sums().copy()
    for m in range(other.objectives):
        both = np.column_stack([x, y[:, m]])
        removed = (weights[:, m, None] * both).T @ both
        sums[m] -= removed
        fit.n[m] -= weights[:, m].sum()
        if other._groups is not None:
            other._uses[m] -= weights[:, m] @ (x != 0)
            other._seen[m] -= np.sign(weights[:, m]).sum()
        gone = diagonals(sums[m])[:d] <= _ROUNDING * diagonals(removed)[:d]
        nothing = fit.n[m] <= _ROUNDING * before.n[m]
        vanished = np.append(gone, False) | nothing
        sums[m][vanished], sums[m][:, vanished] = 0, 0
        fit.n[m] *= not nothing
    for array in (diagonals(sums), other._uses, other._seen):
        np.maximum(array, 0, out=array)
    fit.set_sums(sums)
    fit.renew()
    errors = weights * np.square(y - x @ fit.theta[:, 0].T)
    left = before.residual(fit.theta) - errors.sum(axis=0)[:, None]
    fit.set_residual(left * (fit.n > 0)[:, None])
    return other


def with_features(
    posterior: Posterior,
    matrix: FloatArray,
    indices: Sequence[int | None],
    factors: FloatArray,
    prior: Prior,
) -> Posterior:
    """Return the posterior of features ``matrix @ x``, (d', d), of other objectives, by a prior.

    Objectives and their factors are as for :func:`with_objectives`. A learned prior is due again.
    For one learner.
    """
    known = posterior.copy()
    known.separate()
    other = Posterior(len(matrix), len(indices), prior=prior)
    other.separate()
    new, old = _kept_positions(indices)
    factor, d = factors[new, None, None], known.dim
    fit, sums, n = other._fit, known._fit.sums()[old], known._fit.n[old]
    b = factor * (sums[:, d:, :d] @ matrix.T)
    made = np.zeros_like(fit.sums())
    made[new] = np.block(
        [
            [matrix @ sums[:, :d, :d] @ matrix.T, np.swapaxes(b, 1, 2)],
            [b, factor**2 * sums[:, d:, d:]],
        ]
    )
    fit.set_sums(made)
    fit.n[new] = n
    if other._groups is not None:
        uses, seen = n[:, None] * (diagonals(sums)[:, :d] > 0), n
        if known._groups is not None:
            uses, seen = known._uses[old], known._seen[old]
        several = np.count_nonzero(matrix, axis=1) > 1  # a number that was moved: seldom zero
        other._uses[new] = np.where(several, n[:, None], uses @ (matrix != 0).T)
        other._seen[new] = seen
        other._due = other._seen.copy()
    fit.renew()
    theta = known._fit.theta.copy()
    theta[old] = fit.theta[new] @ matrix / factor
    residual = np.zeros_like(fit.squares)
    residual[new] = factor[..., 0] ** 2 * known._fit.residual(theta)[old]
    fit.set_residual(residual)
    return other


def with_objectives(
    posterior: Posterior, indices: Sequence[int | None], factors: FloatArray | float = 1.0
) -> Posterior:
    """Return the posterior of the objectives at some indices; None is a new one, never seen.

    Rewards are multiplied by factors, one for each, as if they had been so all along.
    """
    known, dim = posterior.copy(), posterior.dim
    other = Posterior(dim, len(indices), prior=posterior.prior, batch=posterior.batch)
    known.separate()
    other.separate()
    known._fit.set_sums(known._fit.sums())
    new, old = _kept_positions(indices)
    factor = np.broadcast_to(np.asarray(factors, dtype=np.float64), len(indices))[:, None]
    before: Any = (slice(None),) * len(posterior.batch)
    made, fit = other.arrays(), other._fit
    for name, kept in known.arrays().items():
        made[name][(*before, new)] = kept[(*before, old)]
    fit.squares *= factor**2
    for array in (made["past"], made["solution"]):
        array[..., dim:, :] *= factor[..., None]
    made["past"][..., dim:] *= factor[..., None]
    fit.mean *= factor[..., None]
    if not posterior.prior.relative:  # the mean of the prior is not in the unit of the rewards
        scaled = fit.copy()
        fit.renew()
        fit.set_residual(scaled.residual(fit.theta))
    return other


def _kept_positions(indices: Sequence[int | None]) -> tuple[list[int], list[int]]:
    """Return the new and the old positions of what stays."""
    kept = [(new, old) for new, old in enumerate(indices) if old is not None]
    return [new for new, _ in kept], [old for _, old in kept]
