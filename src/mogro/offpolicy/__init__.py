"""Evaluation from logs: what another policy would have been worth, for every objective.

Arrays in, one small result out. Rewards are vectors throughout.
"""

from mogro.offpolicy.estimators import cross_fitted, doubly_robust, estimate, ips, snips
from mogro.offpolicy.result import Evaluation, Region
from mogro.offpolicy.rows import Rows, predicted_rows, weighted_rows

__all__ = [
    "Evaluation",
    "Region",
    "Rows",
    "cross_fitted",
    "doubly_robust",
    "estimate",
    "ips",
    "predicted_rows",
    "snips",
    "weighted_rows",
]
