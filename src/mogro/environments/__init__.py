"""Worlds to learn in: they draw features and rewards, and state their true means."""

from mogro.environments.bernoulli import BernoulliArms
from mogro.environments.bilinear import BilinearContexts
from mogro.environments.protocol import Environment, LinearEnvironment
from mogro.environments.replay import Replay
from mogro.environments.synthetic import FixedArms, VaryingContexts

__all__ = [
    "BernoulliArms",
    "BilinearContexts",
    "Environment",
    "FixedArms",
    "LinearEnvironment",
    "Replay",
    "VaryingContexts",
]
