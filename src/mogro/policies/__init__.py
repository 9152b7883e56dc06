"""The policies: one algorithm, one file."""

from mogro.policies.base import LinearPolicy
from mogro.policies.epsilon_greedy import EpsilonGreedy
from mogro.policies.front_identification import FrontIdentification
from mogro.policies.mogro import MOGRO
from mogro.policies.protocol import Policy
from mogro.policies.random_arm import RandomArm
from mogro.policies.thompson import ThompsonSampling
from mogro.policies.ucb import UCB

__all__ = [
    "MOGRO",
    "UCB",
    "EpsilonGreedy",
    "FrontIdentification",
    "LinearPolicy",
    "Policy",
    "RandomArm",
    "ThompsonSampling",
]
