"""The confidence radius that UCB and Thompson sampling share."""

import math
from abc import ABC

import numpy as np

from mogro._validation import FloatArray, real, share
from mogro.beliefs import Beliefs
from mogro.policies.base import LinearPolicy
from mogro.priors import Fixed, Prior


class ConfidentPolicy(LinearPolicy, ABC):
    """A policy that knows how far its ridge estimates may be off."""

    noise: float
    delta: float
    ridge: float
    norm: float

    def __post_init__(self) -> None:
        """Check the constants of the radius, and start with nothing learned."""
        object.__setattr__(self, "noise", real(self.noise, "noise", minimum=0))
        object.__setattr__(self, "ridge", real(self.ridge, "ridge", above=0))
        object.__setattr__(self, "norm", real(self.norm, "norm", minimum=0))
        object.__setattr__(self, "delta", share(self.delta, "delta", closed="(]"))
        super().__post_init__()

    @property
    def prior(self) -> Prior:
        """What is believed before the first observation: parameters near zero."""
        return Fixed(self.ridge)

    def radii(self, beliefs: Beliefs) -> FloatArray:
        """Return the radius c_t, (..., G), for features of norm at most 1.

        ``c_t = noise sqrt(d log((1 + (t - 1) / (ridge d)) M / delta)) + sqrt(ridge) norm`` with
        t - 1 observations. With d = 2 or more it is no less than the radius of Abbasi-Yadkori et
        al. (2011), Theorem 2, for all M objectives: with probability 1 - delta every estimate is
        that close, in the norm of V + ridge. With a single feature it is less, and may fail more
        often than that.
        """
        volume = 1 + beliefs.n / (self.ridge * self.dim)
        spread = np.sqrt(self.dim * np.log(volume * self.objectives / self.delta))
        return np.asarray(self.noise * spread + math.sqrt(self.ridge) * self.norm)

    @property
    def radius(self) -> float:
        """The radius now."""
        return float(self.radii(self.beliefs()).ravel()[0])
