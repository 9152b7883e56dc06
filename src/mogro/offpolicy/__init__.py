"""Evaluation from logs: what another policy would have been worth, for every objective.

Arrays in, one small result out. Rewards are vectors throughout.
"""

from mogro.offpolicy._columns import Cap, Clip, Switch
from mogro.offpolicy.capping import least_error
from mogro.offpolicy.estimators import doubly_robust, ips, snips, switch_doubly_robust
from mogro.offpolicy.evaluation import Evaluation, Region
from mogro.offpolicy.regression import cross_fitted, direct
from mogro.offpolicy.rows import Rows, predicted_rows, weighted_rows
from mogro.offpolicy.sums import Sums

__all__ = [
    "Cap",
    "Clip",
    "Evaluation",
    "Region",
    "Rows",
    "Sums",
    "Switch",
    "cross_fitted",
    "direct",
    "doubly_robust",
    "ips",
    "least_error",
    "predicted_rows",
    "snips",
    "switch_doubly_robust",
    "weighted_rows",
]
