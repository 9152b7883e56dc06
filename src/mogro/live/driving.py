"""How a policy of the library drives an agent.

A policy's ``select`` knows one Gram matrix for all objectives; here every objective has its own. So
a policy is taken apart into what it consists of: when it explores, what an arm is worth to it
(estimates, optimistic ones, sampled ones), and how it selects among arms by these values. The
policy object serves as a set of hyper-parameters; its own model stays empty.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mogro._streams import Rng
from mogro._validation import FloatArray
from mogro.exploration import Exploration
from mogro.live.learning import Learner
from mogro.live.offer import Offer
from mogro.policies import (
    MOGRO,
    UCB,
    EffectiveFront,
    EpsilonGreedy,
    ExploreThenCommit,
    LinearPolicy,
    Oracle,
    RandomArm,
    ThompsonSampling,
)
from mogro.policies.thompson import roots_of
from mogro.scalarization import Scalarization


@dataclass(frozen=True)
class ParetoFront:
    """Select a uniformly random member of the Pareto front."""


Selection = Scalarization | ParetoFront | EffectiveFront


class Beliefs(NamedTuple):
    """What a decision is based on; copies, so that learning does not change them."""

    theta: FloatArray  # (M, p)
    inverse: FloatArray | None  # of V, (M, p, p), for policies with widths
    radius: FloatArray | None  # of the confidence ellipsoids, (M,)


Values = Callable[[Offer, Beliefs, Rng], FloatArray]  # -> (K, M), to be maximised


def estimated(offer: Offer, beliefs: Beliefs, rng: Rng) -> FloatArray:
    """Return the estimates, (K, M)."""
    slopes, constants = offer.mapping.lines(beliefs.theta)
    values = offer.features @ slopes.T.astype(offer.features.dtype, copy=False)
    return np.asarray(values.astype(np.float64, copy=False) + constants)


def optimistic(offer: Offer, beliefs: Beliefs, rng: Rng) -> FloatArray:
    """Return estimates plus their widths, each objective with its own, (K, M)."""
    assert beliefs.inverse is not None
    assert beliefs.radius is not None
    arms = offer.mapped
    variances = np.vecdot(arms @ beliefs.inverse, arms)  # (M, K)
    widths = beliefs.radius[:, None] * np.sqrt(np.maximum(variances, 0))
    return np.asarray(estimated(offer, beliefs, rng) + widths.T)


@dataclass(frozen=True)
class Sampled:
    """The largest of several draws around the estimates, each objective with its own spread."""

    draws: int

    def __call__(self, offer: Offer, beliefs: Beliefs, rng: Rng) -> FloatArray:
        """Return the values, (K, M)."""
        assert beliefs.inverse is not None
        assert beliefs.radius is not None
        objectives, size = beliefs.theta.shape
        roots = beliefs.radius[:, None, None] * roots_of(beliefs.inverse)
        noise = np.matvec(roots, rng.standard_normal((self.draws, objectives, size)))
        thetas = (beliefs.theta + noise).reshape(-1, size)
        values = (offer.mapped @ thetas.T).reshape(-1, self.draws, objectives)
        return np.asarray(values.max(axis=1))


@dataclass(frozen=True, eq=False)
class Known:
    """The true values, for the oracle."""

    theta: FloatArray

    def __call__(self, offer: Offer, beliefs: Beliefs, rng: Rng) -> FloatArray:
        """Return the values, (K, M)."""
        return estimated(offer, beliefs._replace(theta=self.theta), rng)


@dataclass(frozen=True, eq=False)
class Driver:
    """A policy taken apart.

    Attributes
    ----------
    policy
        Where it comes from.
    selection
        How to select by the arms' values, unless the caller brings weights.
    values
        What arms are worth.
    epsilon
        Probability of a uniformly random arm instead.
    exploration, threshold
        Exploration before that, if the policy has one.
    commits
        Whether only rewards of exploring decisions are learned.
    confidence
        The constants of the radius, for policies with widths.
    """

    policy: LinearPolicy
    selection: Selection
    values: Values = estimated
    epsilon: float = 0.0
    exploration: Exploration | None = None
    threshold: float | None = None
    commits: bool = False
    confidence: UCB | ThompsonSampling | None = None

    def beliefs(self, learner: Learner) -> Beliefs:
        """Copy what a decision needs of what has been learned."""
        theta = learner.theta.copy()
        if self.confidence is None:
            return Beliefs(theta, None, None)
        return Beliefs(theta, learner.model.inverse.copy(), _radius(self.confidence, learner))


def driver_of(policy: LinearPolicy) -> Driver:
    """Take a policy apart."""
    match policy:
        case MOGRO():
            return Driver(
                policy,
                policy.scalarization,
                exploration=policy.exploration,
                threshold=policy.threshold,
            )
        case ExploreThenCommit():
            return Driver(
                policy,
                policy.scalarization,
                exploration=policy.exploration,
                threshold=policy.threshold,
                commits=True,
            )
        case EpsilonGreedy():
            return Driver(policy, ParetoFront(), epsilon=policy.epsilon)
        case UCB():
            return Driver(policy, ParetoFront(), values=optimistic, confidence=policy)
        case ThompsonSampling():
            values = Sampled(policy.draws)
            return Driver(policy, policy.selection, values=values, confidence=policy)
        case RandomArm():
            return Driver(policy, ParetoFront(), epsilon=1.0)
        case Oracle():
            return Driver(policy, policy.scalarization, values=Known(policy.truth))
    raise ValueError(f"policy: expected one of mogro's, got {policy!r}")


def _radius(policy: UCB | ThompsonSampling, learner: Learner) -> FloatArray:
    """Return the radius for every objective, by its own number of observations, (M,)."""
    size = policy.dim
    volume = 1 + learner.effective / (policy.ridge * size)
    spread = np.sqrt(size * np.log(volume * policy.objectives / policy.delta))
    return np.asarray(policy.noise * spread + math.sqrt(policy.ridge) * policy.norm)
