"""Evaluation from the logs of agents: log and policy in, values out."""

from mogro.evaluation.evaluating import evaluate
from mogro.evaluation.whatif import Recommendation, WhatIf, what_if

__all__ = ["Recommendation", "WhatIf", "evaluate", "what_if"]
