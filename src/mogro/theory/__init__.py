"""The paper's conditions, constants and bounds as functions, and a diagnosis for real problems."""

from mogro.theory._judgement import Assumption, Conflict, Goodness
from mogro.theory._promises import Promises
from mogro.theory.bounds import (
    FairnessBound,
    fairness_bound,
    is_vacuous,
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
from mogro.theory.contexts import ShareEstimate, context_goodness
from mogro.theory.diagnosis import Diagnosis, diagnose
from mogro.theory.goodness import goodness, goodness_level
from mogro.theory.regularity import LogEstimate, Regularity, regularity
from mogro.theory.spans import span_coordinates
from mogro.theory.thresholds import (
    eigenvalue_threshold,
    initial_rounds,
    initial_rounds_bound,
    initial_rounds_round_robin,
    is_unreachable,
    noise_sum_bound,
    threshold_random_weights,
    threshold_round_robin,
)

__all__ = [
    "Assumption",
    "Conflict",
    "Diagnosis",
    "FairnessBound",
    "Goodness",
    "LogEstimate",
    "Promises",
    "Regularity",
    "ShareEstimate",
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
    "initial_rounds",
    "initial_rounds_bound",
    "initial_rounds_round_robin",
    "is_unreachable",
    "is_vacuous",
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
