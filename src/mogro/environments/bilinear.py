"""Arms that stay, and a context that is new in each round."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from mogro import _validation as check
from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.environments import _base
from mogro.environments.synthetic import uniform_ball, unit_vectors


@final
@dataclass(frozen=True, eq=False, repr=False)
class BilinearContexts(_base.ChangingFeatures):
    """K arms that stay, and in each round a context, drawn uniformly from the unit ball.

    What is on offer are the products of (1, context) and (1, arm), as :class:`mogro.Agent` makes
    them, so that rewards are linear in them, and regret is exact.

    Parameters
    ----------
    arm_features
        Features of the arms, (K, A).
    theta
        True parameters of the objectives, (M, (1 + C)(1 + A)).
    noise
        Standard deviation of the normal noise, the same for all objectives and independent.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> world = BilinearContexts.sample(2, 3, 10, 2, noise=0.1, rng=rng)
    >>> world
    BilinearContexts(dim=12, arms=10, objectives=2, noise=0.1)
    >>> world.contexts(rng=rng).shape
    (10, 12)
    >>> c = world.context(rng=rng)
    >>> world.products(c).shape, c.shape
    ((10, 12), (3,))
    """

    arm_features: FloatArray
    theta: FloatArray
    noise: float = field(kw_only=True)

    def __post_init__(self) -> None:
        arm_features = check.floats(self.arm_features, "arm_features", shape=("K", "A"))
        theta = check.floats(self.theta, "theta", shape=("M", "d"))
        contexts, remainder = divmod(theta.shape[1], 1 + arm_features.shape[1])
        if remainder or contexts < 2:
            raise ValueError(
                f"theta: expected (1 + C)(1 + A) columns with A = {arm_features.shape[1]} features "
                f"of an arm and C from 1, got {theta.shape[1]}"
            )
        object.__setattr__(self, "arm_features", _base.read_only(arm_features))
        self._check()

    @classmethod
    def sample(
        cls,
        arm: int,
        context: int,
        arms: int,
        objectives: int,
        *,
        noise: float,
        rng: np.random.Generator,
    ) -> "BilinearContexts":
        """Draw arms uniformly from the unit ball, and parameters from the unit sphere."""
        A, C, K, M = check.counts(arm=arm, context=context, arms=arms, objectives=objectives)
        check.generator(rng, "rng")
        theta = unit_vectors(rng.standard_normal((M, (1 + C) * (1 + A))))
        return cls(uniform_ball((K, A), rng), theta, noise=noise)

    @property
    def context_dim(self) -> int:
        """The number of features of a context, C."""
        return self.dim // (1 + int(self.arm_features.shape[1])) - 1

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.arm_features.shape[0])

    def context(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Draw the contexts of a round, (*batch, C)."""
        return uniform_ball((*batch, self.context_dim), rng)

    def products(self, context: ArrayLike) -> FloatArray:
        """Return the products of all arms with contexts (*batch, C), (*batch, K, d)."""
        vectors = check.floats(context, "context", shape=(..., self.context_dim))
        context_terms, arm_terms = _extended(vectors), _extended(self.arm_features)
        grid = context_terms[..., None, :, None] * arm_terms[:, None, :]
        return np.asarray(grid.reshape(*vectors.shape[:-1], self.arms, self.dim))

    def contexts(self, *, rng: Rng, batch: tuple[int, ...] = ()) -> FloatArray:
        """Return the products of all arms with a new context for each learner, (*batch, K, d)."""
        return self.products(self.context(rng=rng, batch=batch))


def _extended(vectors: FloatArray) -> FloatArray:
    """Return (1, x) for vectors x, (..., n)."""
    return np.concatenate([np.ones((*vectors.shape[:-1], 1)), vectors], axis=-1)
