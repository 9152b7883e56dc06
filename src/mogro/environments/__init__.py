"""Worlds to learn in: they draw features and rewards, and judge nothing."""

from mogro.environments import wine
from mogro.environments.bilinear import BilinearContexts
from mogro.environments.lower_bound import lower_bound_instance
from mogro.environments.protocol import Environment
from mogro.environments.synthetic import FixedArms, VaryingContexts

__all__ = [
    "BilinearContexts",
    "Environment",
    "FixedArms",
    "VaryingContexts",
    "lower_bound_instance",
    "wine",
]
