"""Posteriors made from others: of more observations, other features, other objectives.

All of it is done to the sums, and exact: what was never observed is a zero. S and theta follow.
"""

from collections.abc import Sequence

import numpy as np

from mogro._algebra import diagonals
from mogro._validation import FloatArray
from mogro.posterior import STATE, Posterior
from mogro.priors import Learned

_ROUNDING = 1e-9  # a weight below is what is left of observations that were taken out


def merged(one: Posterior, other: Posterior) -> Posterior:
    """Return the posterior of all that two of the same features and objectives have observed."""
    one, other, both = one.copy(), other.copy(), one.copy()
    if one.apart or other.apart:
        for posterior in (one, other, both):
            posterior.separate()
    both._n, both._sums = one._n + other._n, one._sums + other._sums
    both._uses, both._count = one._uses + other._uses, one._count + other._count
    _learn_prior_again(both)
    both._renew()
    both._set_residual(one._residual(both._theta) + other._residual(both._theta))
    return both


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


def with_features(posterior: Posterior, places: Sequence[int | None]) -> Posterior:
    """Return the posterior of the features at some places; None is a new one, never seen."""
    other = Posterior(
        len(places), posterior.objectives, prior=posterior.prior, batch=posterior.batch
    )
    if posterior.apart:
        other.separate()
    new, old = _matched(places)
    rows = [*new, *range(other.dim, other._sums.shape[-1])]
    former = [*old, *range(posterior.dim, posterior._sums.shape[-1])]
    other._sums[(..., *np.ix_(rows, rows))] = posterior._sums[(..., *np.ix_(former, former))]
    other._n, other._count = posterior._n, posterior._count
    if other._uses.size:
        other._uses[..., new] = posterior._uses[..., old]
        other._learned[..., new] = posterior._learned[..., old]
    _learn_prior_again(other)
    other._renew()
    theta = np.zeros_like(posterior._theta)
    theta[..., old] = other._theta[..., new]
    other._set_residual(posterior._residual(theta))
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
