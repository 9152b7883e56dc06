"""What an exploring learner goes by, and what chooses for it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mogro._streams import Rng
from mogro._validation import FloatArray, IntArray
from mogro.exploration.needs import Study


@dataclass(frozen=True, eq=False)
class ExplorationContext:
    """What some exploring learners of a batch, n of them, know and have on offer.

    Attributes
    ----------
    arms
        Arms on offer, (n, K, d).
    inverse
        ``V^+``, (n, d, d).
    unseen
        Projectors on directions never seen, (n, d, d); None if there are none.
    learners
        Flat positions of these learners in their batch, (n,).
    batch
        Shape of that batch.
    step
        Number of arms selected before.
    """

    arms: FloatArray
    inverse: FloatArray
    unseen: FloatArray | None
    learners: NDArray[np.intp]
    batch: tuple[int, ...]
    step: int
    _study: Study | None = field(default=None, repr=False)  # if these were looked at before

    @cached_property
    def gains(self) -> FloatArray:
        """Squared projections of the arms on the weakest eigenspace, (n, K): see :func:`gains`."""
        return (self._study or Study(self.arms, self.inverse, self.unseen)).gains()

    def only(self, places: IntArray) -> "ExplorationContext":
        """Return the context of some of these learners."""
        unseen = None if self.unseen is None else self.unseen[places]
        return ExplorationContext(
            self.arms[places],
            self.inverse[places],
            unseen,
            self.learners[places],
            self.batch,
            self.step,
        )


class Exploration(Protocol):
    """Chooses arms for learners that explore."""

    def choose(self, context: ExplorationContext, *, rng: Rng) -> IntArray:
        """Return one arm for each of the n learners.

        An exploration that knows the probabilities of its arms, (n, K), may say so in a method
        ``probabilities(context)``; else they are counted.
        """
        ...


def check_exploration(exploration: object, name: str) -> None:
    """Refuse what cannot choose."""
    if isinstance(exploration, type) or not callable(getattr(exploration, "choose", None)):
        raise ValueError(f"{name}: expected an object with a method choose, got {exploration!r}")
