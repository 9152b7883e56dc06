"""The policies: one algorithm, one file."""

from mogro.policies.base import LinearPolicy, Policy
from mogro.policies.epsilon_greedy import EpsilonGreedy
from mogro.policies.explore_then_commit import ExploreThenCommit
from mogro.policies.frank_wolfe import AlphaFairness, FrankWolfe, Utility
from mogro.policies.gini_ogde import GiniOGDE
from mogro.policies.moglm_ucb import MOGLMUCB
from mogro.policies.mogro import MOGRO
from mogro.policies.oracle import Oracle
from mogro.policies.pareto_thompson import ParetoThompsonSampling
from mogro.policies.pareto_ucb1 import ParetoUCB1
from mogro.policies.random_arm import RandomArm
from mogro.policies.single_objective import single_objective_greedy
from mogro.policies.thompson import ThompsonSampling
from mogro.policies.ucb import UCB

__all__ = [
    "MOGLMUCB",
    "MOGRO",
    "UCB",
    "AlphaFairness",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FrankWolfe",
    "GiniOGDE",
    "LinearPolicy",
    "Oracle",
    "ParetoThompsonSampling",
    "ParetoUCB1",
    "Policy",
    "RandomArm",
    "ThompsonSampling",
    "Utility",
    "single_objective_greedy",
]
