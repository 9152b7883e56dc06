"""The policies: one algorithm, one file."""

from mogro.policies.base import LinearPolicy, Policy
from mogro.policies.epsilon_greedy import EpsilonGreedy
from mogro.policies.explore_then_commit import ExploreThenCommit
from mogro.policies.mogro import MOGRO
from mogro.policies.oracle import Oracle
from mogro.policies.random_arm import RandomArm
from mogro.policies.single_objective import single_objective_greedy
from mogro.policies.thompson import ThompsonSampling
from mogro.policies.ucb import UCB

__all__ = [
    "MOGRO",
    "UCB",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "LinearPolicy",
    "Oracle",
    "Policy",
    "RandomArm",
    "ThompsonSampling",
    "single_objective_greedy",
]
