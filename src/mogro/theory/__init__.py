"""The paper's conditions, constants and bounds as functions, and a diagnosis for real problems."""

from mogro.theory._advice import Advice
from mogro.theory._conflict import Conflict
from mogro.theory._promises import Promises
from mogro.theory._sampling import ShareEstimate
from mogro.theory._versions import Assumption, Goodness
from mogro.theory.bounds import (
    FairnessBound,
    fairness_bound,
    is_vacuous,
    regret_bound_random_weights,
    regret_bound_round_robin,
    stochastic_increment,
)
from mogro.theory.conditions import (
    distance_bound,
    diversity_left,
    eigenvalue_increment,
    goodness_needed,
    objective_diversity,
    radius_cap,
)
from mogro.theory.contexts import (
    BetaRegularity,
    ContextDiversity,
    beta_regularity,
    context_diversity,
    context_goodness,
    uniform_ball_goodness,
)
from mogro.theory.diagnosis import Diagnosis, diagnose
from mogro.theory.goodness import Interval, goodness, goodness_level
from mogro.theory.growth import (
    estimation_error,
    estimation_error_round_robin,
    gram_growth,
    gram_growth_failure,
    gram_growth_round_robin,
    noise_sum_bound,
)
from mogro.theory.predictions import ProbableBound, eigenvalue_bound, estimate_bound
from mogro.theory.regularity import LogEstimate, Regularity, regularity
from mogro.theory.spans import span_coordinates
from mogro.theory.thresholds import (
    eigenvalue_threshold,
    initial_rounds,
    initial_rounds_bound,
    initial_rounds_round_robin,
    is_unreachable,
    threshold_random_weights,
    threshold_round_robin,
)

__all__ = [
    "Advice",
    "Assumption",
    "BetaRegularity",
    "Conflict",
    "ContextDiversity",
    "Diagnosis",
    "FairnessBound",
    "Goodness",
    "Interval",
    "LogEstimate",
    "ProbableBound",
    "Promises",
    "Regularity",
    "ShareEstimate",
    "beta_regularity",
    "context_diversity",
    "context_goodness",
    "diagnose",
    "distance_bound",
    "diversity_left",
    "eigenvalue_bound",
    "eigenvalue_increment",
    "eigenvalue_threshold",
    "estimate_bound",
    "estimation_error",
    "estimation_error_round_robin",
    "fairness_bound",
    "goodness",
    "goodness_level",
    "goodness_needed",
    "gram_growth",
    "gram_growth_failure",
    "gram_growth_round_robin",
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
    "stochastic_increment",
    "threshold_random_weights",
    "threshold_round_robin",
    "uniform_ball_goodness",
]
