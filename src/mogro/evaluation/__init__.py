"""Evaluation from the logs of agents: log and policy in, values out."""

from mogro.agent.lift import Lift
from mogro.evaluation.evaluating import evaluate, lift
from mogro.evaluation.needs import decisions_needed
from mogro.evaluation.trade_offs import Recommendation, WhatIf
from mogro.evaluation.whatif import what_if

__all__ = ["Lift", "Recommendation", "WhatIf", "decisions_needed", "evaluate", "lift", "what_if"]
