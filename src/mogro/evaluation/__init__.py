"""Evaluation from the logs of agents: log and policy in, values out."""

from mogro.agent.lift import Lift
from mogro.evaluation.holdout import lift
from mogro.evaluation.policy_value import evaluate
from mogro.evaluation.recommendation import Recommendation
from mogro.evaluation.sample_size import decisions_needed
from mogro.evaluation.trade_offs import WhatIf
from mogro.evaluation.whatif import what_if

__all__ = ["Lift", "Recommendation", "WhatIf", "decisions_needed", "evaluate", "lift", "what_if"]
