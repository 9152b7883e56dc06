"""One way to choose: beliefs, a choice, and the probabilities of it.

``policy.select``, ``simulate`` and ``Agent`` all call :func:`choose` and :func:`probabilities`.
"""

from mogro.choice.beliefs import Beliefs, Coverage
from mogro.choice.best import check_finite
from mogro.choice.choosing import choose, explorers
from mogro.choice.optimism import is_optimistic
from mogro.choice.probabilities import probabilities
from mogro.choice.rule import Choice, Listing, Rule

__all__ = [
    "Beliefs",
    "Choice",
    "Coverage",
    "Listing",
    "Rule",
    "check_finite",
    "choose",
    "explorers",
    "is_optimistic",
    "probabilities",
]
