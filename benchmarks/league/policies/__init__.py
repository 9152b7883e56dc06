"""Baselines of other papers that only simulations use: one algorithm, one file."""

from benchmarks.league.policies.explore_then_commit import ExploreThenCommit
from benchmarks.league.policies.frank_wolfe import AlphaFairness, FrankWolfe
from benchmarks.league.policies.gini_ogde import GiniOGDE
from benchmarks.league.policies.moglm_ucb import MOGLMUCB
from benchmarks.league.policies.pareto_thompson import ParetoThompsonSampling
from benchmarks.league.policies.pareto_ucb1 import ParetoUCB1

__all__ = [
    "MOGLMUCB",
    "AlphaFairness",
    "ExploreThenCommit",
    "FrankWolfe",
    "GiniOGDE",
    "ParetoThompsonSampling",
    "ParetoUCB1",
]
