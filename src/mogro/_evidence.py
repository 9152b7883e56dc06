"""How strong a prior should be: the precisions that make what was observed most likely.

MacKay's fixed point, for each group of features::

    used      gamma = sum of 1 - Lambda_j S_jj      parameters that the data determine
    strength  lambda = gamma / (sum of size_j theta_j^2 / s^2)
    noise     s^2 = (squares of residuals + sum of Lambda_j theta_j^2) / n

where ``Lambda_j = lambda size_j``, and size_j is the mean square of a feature where it is not zero,
so that no unit decides anything. It begins with a weak belief, which keeps the strength of a group
finite of which little is known: that all features of a group together, as many as an observation
has on average, explain a fifth of what the noise and the largest effect do. Beside effects that
large, no noise is below a hundredth: where rewards have none, what was never tried stays uncertain.
"""

from typing import Any

import numpy as np

from mogro._algebra import diagonals, dot, inverse_root, matvec, vecmat
from mogro._validation import FloatArray, IntArray

START = 5.0  # the strength that is believed in of a group with one feature in an observation
BELIEF = 0.5  # worth so many parameters
_ITERATIONS = 3  # from the same start always: the result depends on the sums alone
# A prior that is too strong costs more than one that is too weak: it hides what it shrinks.
CAUTION = 1.5
_FREE_PRECISION = 1e-9  # precision of features that belong to no group, relative to their size
_NOISE_FLOOR = 1e-12  # variance, relative to the mean squared reward, without any effects
# Noise variance, relative to the largest squared effect, where rewards have none.
LEAST_NOISE = 1e-4
_SMALLEST = float(np.finfo(np.float64).tiny)


def feature_sizes(diagonal: FloatArray, uses: FloatArray, groups: IntArray) -> FloatArray:
    """Return mean squares of features where they are not zero, (..., d).

    ``diagonal`` is that of V, ``uses`` how often each was not zero. A feature never seen is as
    large as those of its group are on average, or 1.
    """
    members, observed = _members(groups), uses > 0
    sizes = np.where(observed, diagonal / np.where(observed, uses, 1.0), 0.0)
    means = _group_sums(sizes, members) / np.maximum(_group_sums(observed * 1.0, members), 1.0)
    means = np.concatenate([means, np.ones((*means.shape[:-1], 1))], axis=-1)
    sizes = np.where(sizes > 0, sizes, means[..., groups])
    return np.asarray(np.where(sizes > 0, sizes, 1.0))


def precisions(posterior: Any, groups: IntArray) -> FloatArray:
    """Return Lambda, (*batch, G, d), from the sums of a ``Posterior`` with one objective each.

    Features of group -1, a constant, are left free.
    """
    d, n, uses, V = posterior.dim, posterior.n, posterior.uses, posterior.V
    b, y2 = posterior.sums()[..., d, :d], posterior.sums()[..., d, d]
    members, sizes = _members(groups), feature_sizes(diagonals(V), uses, groups)
    density = _group_sums(uses, members) / np.maximum(n, _SMALLEST)[..., None]
    strengths = start = START * np.maximum(density, 1.0)
    freedom = np.maximum(n - np.count_nonzero(groups < 0), 0.5)
    for _ in range(_ITERATIONS):
        Lambda = _by_feature(strengths, sizes, groups)
        W = inverse_root(V, Lambda)
        theta = vecmat(matvec(W, b), W)
        shares_used = 1 - Lambda * np.add.reduce(W * W, axis=-2)
        squares = posterior.residual(theta[..., None, :])[..., 0] + (Lambda * np.square(theta)).sum(
            axis=-1
        )
        effects = sizes * np.square(theta)
        largest = (effects * (groups >= 0)).max(axis=-1)
        noise = np.maximum(squares, _NOISE_FLOOR * y2 + _SMALLEST) / freedom
        noise = np.maximum(noise, LEAST_NOISE * largest)[..., None]
        used = np.maximum(_group_sums(shares_used, members), 0.0)
        believed = (noise + largest[..., None]) / start
        explained = (_group_sums(effects, members) + BELIEF * believed) / noise
        strengths = (used + BELIEF) / explained
    return _by_feature(strengths / CAUTION, sizes, groups)


def _by_feature(strengths: FloatArray, sizes: FloatArray, groups: IntArray) -> FloatArray:
    """Return Lambda (..., d) for the strengths of groups (..., G)."""
    ungrouped = np.full((*strengths.shape[:-1], 1), _FREE_PRECISION)
    strengths = np.concatenate([strengths, ungrouped], axis=-1)
    return np.asarray(np.maximum(strengths, _FREE_PRECISION)[..., groups] * sizes)


def _members(groups: IntArray) -> FloatArray:
    """Return which features belong to which group, (G, d): 1 or 0."""
    return np.asarray(groups == np.arange(groups.max() + 1)[:, None], dtype=np.float64)


def _group_sums(values: FloatArray, members: FloatArray) -> FloatArray:
    """Return sums of values (..., d) over each group, (..., G)."""
    return dot(values[..., None, :], members)
