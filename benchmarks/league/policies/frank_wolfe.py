"""Concave utilities of the average reward, by Frank-Wolfe: its gradient weighs the objectives."""

from dataclasses import KW_ONLY, dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from mogro._streams import Rng
from mogro._validation import FloatArray, floats, real
from mogro.beliefs import Beliefs
from mogro.policies.confidence import ConfidentPolicy
from mogro.scalarization import FixedWeights


class Utility(Protocol):
    """A concave utility of an average reward vector that rises with every objective."""

    def gradient(self, rewards: FloatArray) -> FloatArray:
        """Return the gradient (..., M) at average rewards (..., M); no entry below 0."""


@dataclass(frozen=True)
class AlphaFairness:
    """``sum_m u(y_m + offset)`` with ``u(z) = z^(1 - alpha) / (1 - alpha)``, the logarithm for 1.

    0 is the plain sum, 1 proportional fairness; the larger, the more the worst objective counts.

    Parameters
    ----------
    alpha
        At least 0.
    offset
        Above 0. It keeps the gradient finite; average rewards below 0 count as 0.

    Examples
    --------
    >>> AlphaFairness(offset=0.1).gradient(np.array([0.9, 0.1]))
    array([1., 5.])
    """

    alpha: float = 1.0
    offset: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", real(self.alpha, "alpha", minimum=0))
        object.__setattr__(self, "offset", real(self.offset, "offset", above=0))

    def gradient(self, rewards: FloatArray) -> FloatArray:
        """Return the gradient (..., M) at average rewards (..., M)."""
        return np.asarray((np.maximum(rewards, 0) + self.offset) ** -self.alpha)


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrankWolfe(ConfidentPolicy):
    """Make a concave utility of the average reward large: Frank-Wolfe with optimistic estimates.

    Pull the arm with the largest ``sum_m g_m index_m``, where g is the gradient of the utility at
    the average reward so far and the indices are those of :class:`UCB`. What an objective already
    has decides how much more of it counts, so the average reward settles at a trade-off that no
    single arm need have.

    Do, Dohmatob, Pirotta, Lazaric and Usunier, Contextual bandits with concave rewards, and an
    application to fair ranking, 2022.

    Parameters
    ----------
    dim, objectives
        Number of features d and of objectives M.
    utility
        An object with a method ``gradient``, such as :class:`AlphaFairness`.
    noise
        Sub-Gaussian constant sigma of the rewards.
    delta
        Probability with which the radius may fail; 1 / T for T rounds.
    ridge
        Weight of the penalty of the estimates.
    norm
        Bound on the norms of the true parameters.
    batch
        Shape of a batch of independent learners that step together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> policy = FrankWolfe(dim=2, objectives=2, noise=0.1, delta=0.01)
    >>> policy.learn(np.eye(2).repeat([90, 10], axis=0), np.eye(2).repeat([90, 10], axis=0))
    >>> policy.select(np.eye(2), rng=rng)  # the second objective has had little so far
    1
    """

    dim: int
    objectives: int
    _: KW_ONLY
    noise: float
    delta: float
    utility: Utility = AlphaFairness()
    ridge: float = 1.0
    norm: float = 1.0
    batch: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.utility, type) or not callable(getattr(self.utility, "gradient", None)):
            raise ValueError(
                f"utility: expected an object with a method gradient, got {self.utility!r}"
            )
        start = self.utility.gradient(np.zeros(self.objectives))
        floats(start, "gradient", shape=(self.objectives,))
        object.__setattr__(self, "_totals", np.zeros((*self.batch, self.objectives)))

    def update(self, features: ArrayLike, reward: ArrayLike) -> None:
        """Learn from the arm that was pulled."""
        super().update(features, reward)
        self._totals[...] += np.asarray(reward)  # type: ignore[attr-defined]

    def learn(self, features: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from a log at once."""
        super().learn(features, rewards)
        self._totals[...] += np.sum(rewards, axis=-2)  # type: ignore[attr-defined]

    @property
    def selection(self) -> FixedWeights:
        """How to select: by the sum, since the values are weighed already."""
        return FixedWeights((1 / self.objectives,) * self.objectives)

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return the indices of arms (..., K, d) times the gradient, (..., K, M)."""
        width = self.radii(beliefs)[..., None, :] * np.sqrt(beliefs.variances(arms))
        means = self._totals / np.maximum(beliefs.n, 1)  # type: ignore[attr-defined]
        gradient = self.utility.gradient(means)[..., None, :]
        return np.asarray((beliefs.estimates(arms) + width) * gradient)
