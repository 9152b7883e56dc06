"""The paper's conditions, constants and bounds as functions, and a diagnosis for real problems."""

from mogro.theory._problem import span_coordinates
from mogro.theory.bounds import (
    fairness_bound,
    regret_bound_random_weights,
    regret_bound_round_robin,
)
from mogro.theory.conditions import (
    distance_bound,
    diversity_left,
    eigenvalue_increment,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import context_goodness
from mogro.theory.diagnosis import Assumption, Diagnosis, diagnose
from mogro.theory.goodness import Goodness, goodness, goodness_level
from mogro.theory.guarantees import Guarantees
from mogro.theory.regularity import Regularity, regularity
from mogro.theory.thresholds import (
    eigenvalue_threshold,
    initial_rounds_bound,
    noise_sum_bound,
    threshold_random_weights,
    threshold_round_robin,
)

__all__ = [
    "Assumption",
    "Diagnosis",
    "Goodness",
    "Guarantees",
    "Regularity",
    "context_goodness",
    "diagnose",
    "distance_bound",
    "diversity_left",
    "eigenvalue_increment",
    "eigenvalue_threshold",
    "fairness_bound",
    "goodness",
    "goodness_level",
    "goodness_needed",
    "initial_rounds_bound",
    "noise_sum_bound",
    "objective_diversity",
    "radius_cap",
    "regret_bound_random_weights",
    "regret_bound_round_robin",
    "regularity",
    "span_coordinates",
    "threshold_random_weights",
    "threshold_round_robin",
]
