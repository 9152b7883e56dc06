"""What a choice asks for, and what it answers."""

from typing import NamedTuple, Protocol

import numpy as np

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.choice.beliefs import Beliefs
from mogro.exploration import Exploration
from mogro.selection import Selection


class Rule(Protocol):
    """What a choice asks of a policy: settings, and what arms are worth to it."""

    @property
    def selection(self) -> Selection:
        """How to select by the values of the arms."""

    @property
    def exploration(self) -> Exploration | None:
        """How to explore, if the policy does."""

    @property
    def uniform(self) -> float:
        """Probability of a uniformly random arm instead."""

    @property
    def values_are_estimates(self) -> bool:
        """Whether ``values`` are the plain estimates, so that weights can meet them first."""

    @property
    def threshold(self) -> float | None:
        """Down to which V a direction counts as unknown; None for a default."""

    @property
    def optimistic(self) -> bool:
        """Whether some rounds are optimistic, because no threshold was given."""

    def values(self, arms: FloatArray, beliefs: Beliefs, *, rng: Rng) -> FloatArray:
        """Return what arms (..., K, d) are worth, (..., K, M), to be maximised."""


class Listing(Protocol):
    """Arms on offer to one learner that know a faster way to the best one: those of a catalogue."""

    def __len__(self) -> int:
        """Return how many they are."""

    @property
    def features(self) -> FloatArray:
        """The arms, (K, d), finite."""

    def best(self, direction: FloatArray) -> IntArray:
        """Return the positions of the arms that are best for a direction, up to rounding."""


Arms = FloatArray | Listing


class Choice(NamedTuple):
    """What was chosen, for every learner.

    Attributes
    ----------
    arm
        (...), integers.
    weights
        Those drawn for the choice, (..., M) up to broadcasting; None unless all drew some.
    exploring
        (...), whether the arm was chosen to explore.
    uniform
        (...), whether it was drawn from all arms alike.
    """

    arm: IntArray
    weights: FloatArray | None
    exploring: BoolArray
    uniform: BoolArray


def listed(arms: Arms) -> FloatArray:
    """Return the features of arms, (..., K, d)."""
    return arms if isinstance(arms, np.ndarray) else arms.features
