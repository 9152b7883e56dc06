"""What every policy offers."""

from typing import Protocol

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray


class Policy(Protocol):
    """Chooses an arm, and learns from its reward vector. All objectives are maximised.

    A policy that learns about every arm separately gives ``update`` a parameter ``arm``, and
    simulations call ``update(features, reward, arm=arm)`` with what ``select`` returned: an
    integer, or integers (*batch). Such a policy needs worlds whose arms stay the same.

    Examples
    --------
    >>> import numpy as np
    >>> class BestSoFar:
    ...     def __init__(self, dim, objectives):
    ...         self.sums = self.pulls = None
    ...
    ...     def select(self, features, *, rng):
    ...         if self.pulls is None:
    ...             self.pulls, self.sums = np.zeros(len(features)), np.zeros(len(features))
    ...         return int((self.sums / np.maximum(self.pulls, 1) + (self.pulls == 0)).argmax())
    ...
    ...     def update(self, features, reward, *, arm):
    ...         self.pulls[arm] += 1
    ...         self.sums[arm] += reward.sum()
    >>> from mogro.testing import check_policy
    >>> check_policy(BestSoFar, rounds=100)
    """

    def select(self, features: FloatArray, *, rng: Rng) -> int | IntArray:
        """Choose among arms (*batch, K, d): an arm, or one for each learner of the batch."""

    def update(self, features: FloatArray, reward: FloatArray) -> None:
        """Learn the reward (*batch, M) of the arm with these features (*batch, d)."""
