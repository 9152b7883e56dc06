"""MOGLM-UCB: optimism for logistic rewards, learned by online Newton steps."""

from dataclasses import KW_ONLY, dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.league.policies.own_learner import OwnLearner
from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray, real
from mogro.pareto import random_member

_STEPS = 12  # from far outside; the last ones change rounding only


@dataclass
class _Newton:
    theta: FloatArray  # (*batch, M, d)
    metric: FloatArray  # Z, (*batch, d, d)
    inverse: FloatArray  # of Z
    growth: FloatArray  # log det Z, less its value at the start, (*batch)


@final
@dataclass(frozen=True, eq=False)
class MOGLMUCB(OwnLearner):
    """Optimism for every objective of a generalised linear model, with the logistic link.

    The mean reward of objective m is ``1 / (1 + exp(-x . theta_m))``. After each reward comes one
    online Newton step, ``theta_m - Z^-1 x (mean_m - reward_m)`` with
    ``Z = ridge I + kappa / 2 sum x x^T``, projected onto the ball of radius ``norm``; kappa is the
    least slope of the link for features of norm 1. An arm's index is
    ``x . theta_m + sqrt(width log(det Z / det Z_1)) |x|_{Z^-1}``, for the link is monotone; pull a
    uniformly random member of the Pareto front of the index vectors.

    Lu, Wang, Hu and Zhang, Multi-objective generalized linear bandits, IJCAI 2019. The steps, the
    indices and the random member of their front are the paper's; Z grows as in its forerunner for
    one logistic objective (Zhang et al. 2016, OL2M). The squared radius of such theorems is
    ``c log(det Z / det Z_1)`` plus terms in the failure probability, the ridge and D; in Theorem 1
    of 2016 c is 2 over a bound on the slope, 15 for D = 1, with which the benchmark has four times
    the regret. So these constants are ours: c is ``width`` = 0.1, the other terms are left out,
    ridge and D are 1.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    width
        How wide the confidence regions are: c, above.
    ridge
        Z before the first round.
    norm
        Bound D on the norms of the true parameters.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = MOGLMUCB(dim=2, objectives=2)
    >>> for _ in range(500):
    ...     arm = policy.select(np.eye(2), rng=rng)
    ...     policy.update(np.eye(2)[arm], [arm, arm])
    >>> policy.select(np.eye(2), rng=rng)
    1
    """

    dim: int
    objectives: int
    _: KW_ONLY
    width: float = 0.1
    ridge: float = 1.0
    norm: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", real(self.width, "width", minimum=0))
        object.__setattr__(self, "ridge", real(self.ridge, "ridge", above=0))
        object.__setattr__(self, "norm", real(self.norm, "norm", above=0))
        eye = np.broadcast_to(np.eye(self.dim), (*self.batch, self.dim, self.dim))
        theta = np.zeros((*self.batch, self.objectives, self.dim))
        learned = _Newton(theta, self.ridge * eye, eye / self.ridge, np.zeros(self.batch))
        object.__setattr__(self, "learned", learned)

    @property
    def kappa(self) -> float:
        """The least slope of the link for features of norm 1."""
        mean = float(_link(np.array(self.norm)))
        return mean * (1 - mean)

    @property
    def theta(self) -> FloatArray:
        """The estimated parameters, (*batch, M, d)."""
        return self.learned.theta.copy()  # type: ignore[no-any-return]

    def _choose(self, arms: FloatArray, rng: Rng) -> IntArray:
        learned = self.learned
        sizes = np.sqrt(np.maximum(np.vecdot(arms @ learned.inverse, arms), 0))
        radius = np.sqrt(self.width * learned.growth)[..., None]
        values = arms @ np.swapaxes(learned.theta, -1, -2)
        return random_member(values + (radius * sizes)[..., None], rng=rng)

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        """Learn the reward (*batch, M) of the arm with these features (*batch, d)."""
        x, y = self._observed(features, reward)
        learned = self.learned
        means = _link(np.matvec(learned.theta, x))
        rate = self.kappa / 2
        turned = np.matvec(learned.inverse, x)
        size = rate * np.maximum(np.vecdot(turned, x), 0)
        learned.metric = learned.metric + rate * x[..., :, None] * x[..., None, :]
        shrunk = turned / (1 + size[..., None])
        learned.inverse = learned.inverse - rate * shrunk[..., :, None] * turned[..., None, :]
        learned.growth = learned.growth + np.log1p(size)
        step = (means - y)[..., None] * shrunk[..., None, :]  # Z^-1 x with the new Z is shrunk
        learned.theta = _in_ball(learned.theta - step, learned.metric, self.norm)


def _link(values: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(values / 2))


def _in_ball(theta: FloatArray, metric: FloatArray, radius: float) -> FloatArray:
    """Return, for theta (..., M, d), the nearest vectors in a ball, by the norm of metric Z.

    They are ``(Z + c I)^-1 Z theta`` with the c at which they reach the sphere.
    """
    outside = np.nonzero(np.sqrt(np.vecdot(theta, theta)) > radius)
    if not outside[0].size:
        return theta
    values, vectors = np.linalg.eigh(metric[outside[:-1]])
    values = np.maximum(values, np.finfo(np.float64).tiny)
    coordinates = values * np.matvec(np.swapaxes(vectors, -1, -2), theta[outside])
    c = np.zeros((*coordinates.shape[:-1], 1))
    for _ in range(_STEPS):  # of Newton, for one over the length: c rises, never too far
        parts = coordinates / (values + c)
        lengths = np.sqrt(np.vecdot(parts, parts))[..., None]
        slope = np.vecdot(parts, parts / (values + c))[..., None]
        c = c + np.maximum(lengths / radius - 1, 0) * lengths**2 / slope
    parts = coordinates / (values + c)
    parts *= np.minimum(radius / np.sqrt(np.vecdot(parts, parts))[..., None], 1)
    nearest = theta.copy()
    nearest[outside] = np.matvec(vectors, parts)
    return nearest
