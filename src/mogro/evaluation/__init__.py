"""Evaluation from the logs of agents: log and policy in, values out."""

from mogro.evaluation.evaluating import evaluate
from mogro.evaluation.page import make_page
from mogro.evaluation.replaying import ReplayResult, replay
from mogro.evaluation.whatif import Recommendation, WhatIf, what_if

__all__ = [
    "Recommendation",
    "ReplayResult",
    "WhatIf",
    "evaluate",
    "make_page",
    "replay",
    "what_if",
]
