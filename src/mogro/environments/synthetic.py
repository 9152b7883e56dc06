"""Synthetic linear worlds: arms that stay, and arms that are drawn anew in each round.

Instances drawn by ``sample`` are those of the paper's experiments; what the paper leaves open is
settled in the docstrings.
"""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base


@final
@dataclass(frozen=True, eq=False, repr=False)
class FixedArms(_base.FixedFeatures, _base.LinearWorld):
    """K arms with the same features in every round.

    Parameters
    ----------
    features
        Features of the arms, (K, d).
    theta
        True parameters of the objectives, (M, d).
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Attributes
    ----------
    means
        Mean rewards of the arms, (K, M).

    Notes
    -----
    Arrays are copied to float64 and are read-only. Features and parameters may have any scale:
    the paper's assumption of unit length is not checked here.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> world = FixedArms([[1, 0], [0, 1], [0.6, 0.6]], np.eye(2), noise=0.0)
    >>> world
    FixedArms(dim=2, arms=3, objectives=2, noise=0)
    >>> world.reward(2, rng=rng)
    array([0.6, 0.6])
    >>> world.reward([0, 1], rng=rng)
    array([[1., 0.],
           [0., 1.]])
    """

    features: FloatArray
    theta: FloatArray
    noise: float = field(kw_only=True)
    means: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        features = _base.read_only(check.floats(self.features, "features", shape=("K", "d")))
        check.floats(self.theta, "theta", shape=("M", features.shape[1]))
        self._check()
        means = _base.read_only(_base.mean_rewards(features, self.theta))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "means", means)

    @classmethod
    def sample(
        cls,
        dim: int,
        arms: int,
        objectives: int,
        *,
        noise: float,
        rng: np.random.Generator,
        conflict: float | None = None,
    ) -> "FixedArms":
        """Draw an instance of the paper's experiments with fixed arms.

        - Parameters: uniform on the positive part of the unit sphere, unless there is a conflict.
        - The first M arms: near the parameter of their objective, N(theta_m, 0.1 I), then scaled
          to a length from U(3/4, 1).
        - The next M arms: uniform directions, length from U(3/4, 1).
        - All others: uniform in the ball of radius 3/4.

        The paper has K > 2M. With fewer arms the list is cut off after K, so that below M arms
        only the first K objectives have an arm of their own.

        The paper's objectives agree more than they differ: with 5 features their mean cosine is
        0.7, and a front is often a single arm. ``conflict`` sets all cosines instead, from 0 (all
        parameters equal) to 1 (opposed: ``-1 / (M - 1)``, the least that all pairs can have).

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> world = FixedArms.sample(5, 50, 2, noise=0.1, rng=rng, conflict=1.0)
        >>> (world.theta @ world.theta.T).round(6)
        array([[ 1., -1.],
               [-1.,  1.]])
        >>> FixedArms.sample(5, 50, 5, noise=0.1, rng=np.random.default_rng(0))
        FixedArms(dim=5, arms=50, objectives=5, noise=0.1)
        """
        d, K, M = check.counts(dim=dim, arms=arms, objectives=objectives)
        check.generator(rng, "rng")
        theta = _parameters(d, M, conflict, rng)
        near_objectives = theta[:K] + np.sqrt(0.1) * rng.standard_normal((min(K, M), d))
        others = rng.standard_normal((min(K - len(near_objectives), M), d))
        long_arms = unit_vectors(np.concatenate([near_objectives, others]))
        long_arms *= 1 - rng.random((len(long_arms), 1)) / 4
        short_arms = uniform_ball((K - len(long_arms), d), rng)
        short_arms *= 3 / 4
        return cls(np.concatenate([long_arms, short_arms]), theta, noise=noise)

    def reward(self, arm: ArrayLike, *, rng: Rng) -> FloatArray:
        """Return noisy reward vectors (*batch, M) of one arm, or of an array of arms (*batch).

        The same numbers as ``observe(features[arm])``.
        """
        chosen = check.indices(arm, "arm", below=self.arms)
        return _base.with_noise(self.means[chosen], self.noise, rng)


@final
@dataclass(frozen=True, eq=False, repr=False)
class VaryingContexts(_base.ChangingFeatures):
    """K fresh arms in each round, drawn independently and uniformly from the unit ball.

    Parameters
    ----------
    theta
        True parameters of the objectives, (M, d).
    arms
        Number of arms in each round, K.
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> world = VaryingContexts(np.eye(3), arms=4, noise=0.1)
    >>> world
    VaryingContexts(dim=3, arms=4, objectives=3, noise=0.1)
    >>> features = world.contexts(rng=rng, batch=(2,))
    >>> features.shape, world.means(features).shape
    ((2, 4, 3), (2, 4, 3))
    >>> world.observe(features[:, 0], rng=rng).shape
    (2, 3)
    """

    theta: FloatArray
    arms: int = field(kw_only=True)
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "arms", check.count(self.arms, "arms"))

    @classmethod
    def sample(
        cls,
        dim: int,
        arms: int,
        objectives: int,
        *,
        noise: float,
        rng: np.random.Generator,
        conflict: float | None = None,
    ) -> "VaryingContexts":
        """Draw the parameters uniformly from the positive part of the unit sphere.

        With the same ``rng`` and ``conflict`` they are those of :meth:`FixedArms.sample`.

        Examples
        --------
        >>> import numpy as np
        >>> VaryingContexts.sample(5, 50, 5, noise=0.1, rng=np.random.default_rng(0))
        VaryingContexts(dim=5, arms=50, objectives=5, noise=0.1)
        """
        d, K, M = check.counts(dim=dim, arms=arms, objectives=objectives)
        theta = _parameters(d, M, conflict, check.generator(rng, "rng"))
        return cls(theta, arms=K, noise=noise)

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the features of K fresh arms for each learner, (*batch, K, d)."""
        return uniform_ball((*batch, self.arms, self.dim), rng)


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """Return vectors (..., d) with norm 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _parameters(
    dim: int, objectives: int, conflict: float | None, rng: np.random.Generator
) -> FloatArray:
    """Draw unit parameters (M, d): positive ones, or with the cosines that a conflict asks for."""
    if conflict is None:
        return unit_vectors(np.abs(rng.standard_normal((objectives, dim))))
    conflict_share = check.share(conflict, "conflict")
    cosine = 1 - conflict_share * objectives / max(objectives - 1, 1)
    products = np.full((objectives, objectives), cosine) + (1 - cosine) * np.eye(objectives)
    sizes, axes = np.linalg.eigh(products)
    rank = int((sizes > 1e-9).sum())
    if dim < rank:
        raise ValueError(
            f"conflict: expected at least {rank} features for {objectives} objectives with "
            f"conflict {conflict_share:g}, got {dim}"
        )
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    lengths = np.sqrt(np.maximum(sizes[objectives - rank :], 0))
    return unit_vectors(axes[:, objectives - rank :] * lengths @ rotation[:rank])


def uniform_ball(shape: tuple[int, ...], rng: Rng) -> FloatArray:
    """Draw points uniformly from the unit ball; the last axis of ``shape`` is its dimension."""
    points: FloatArray = rng.standard_normal(shape)
    radius = rng.random(shape[:-1])
    radius **= 1 / shape[-1]
    radius /= np.sqrt(np.einsum("...d,...d->...", points, points))
    points *= radius[..., None]
    return points
