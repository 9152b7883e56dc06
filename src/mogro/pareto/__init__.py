"""Fronts, gaps and fairness of arms with several objectives, all maximised."""

from mogro.pareto.dominance import front, gaps
from mogro.pareto.draws import random_effective_member, random_member
from mogro.pareto.effective import (
    Certificates,
    effective_certificates,
    effective_front,
    effective_gaps,
)

__all__ = [
    "Certificates",
    "effective_certificates",
    "effective_front",
    "effective_gaps",
    "front",
    "gaps",
    "random_effective_member",
    "random_member",
]
