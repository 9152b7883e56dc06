"""Fronts, gaps and fairness of arms with several objectives, all maximised."""

from mogro.pareto.dominance import front, gaps
from mogro.pareto.effective import (
    Certificates,
    effective_certificates,
    effective_front,
    effective_gaps,
)
from mogro.pareto.fairness import fairness_index
from mogro.pareto.learned import LearnedFront, learned_front
from mogro.pareto.random_members import random_effective_member, random_member

__all__ = [
    "Certificates",
    "LearnedFront",
    "effective_certificates",
    "effective_front",
    "effective_gaps",
    "fairness_index",
    "front",
    "gaps",
    "learned_front",
    "random_effective_member",
    "random_member",
]
