"""Worlds to learn in: they draw features and rewards, say their means, and judge nothing."""

from mogro.environments import wine
from mogro.environments.bilinear import BilinearContexts
from mogro.environments.binary import BernoulliArms, LogisticArms
from mogro.environments.drifting import DriftingArms
from mogro.environments.lower_bound import lower_bound_instance
from mogro.environments.protocol import Environment, LinearEnvironment
from mogro.environments.replay import Replay
from mogro.environments.sleeping import SleepingArms
from mogro.environments.synthetic import FixedArms, VaryingContexts

__all__ = [
    "BernoulliArms",
    "BilinearContexts",
    "DriftingArms",
    "Environment",
    "FixedArms",
    "LinearEnvironment",
    "LogisticArms",
    "Replay",
    "SleepingArms",
    "VaryingContexts",
    "lower_bound_instance",
    "wine",
]
