"""How to select by the values of arms without weights: a uniform draw from a front.

A selection is a scalarisation (see :mod:`mogro.scalarization`), or any object with a method
``members``.
"""

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np

from mogro._streams import Rng
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.pareto import effective_front, front, random_effective_member, random_member
from mogro.scalarization import Scalarization, check_scalarization


class FrontSelection(Protocol):
    """Selects a uniformly random one of some arms."""

    def members(self, values: FloatArray) -> BoolArray:
        """Tell which arms, (K,), with values (K, M) may be selected; at least one."""


Selection = Scalarization | FrontSelection


@dataclass(frozen=True)
class ParetoFront:
    """Select a uniformly random member of the Pareto front.

    Examples
    --------
    >>> ParetoFront().members(np.array([[1.0, 0.0], [0.3, 0.3], [0.0, 1.0], [0.2, 0.2]]))
    array([ True,  True,  True, False])
    """

    def members(self, values: FloatArray) -> BoolArray:
        """Tell which arms, (K,), are on the front."""
        return front(values)

    def draw(self, values: FloatArray, *, rng: Rng) -> IntArray:
        """Return a random member for each learner, (...)."""
        return random_member(values, rng=rng)


@dataclass(frozen=True)
class EffectiveFront:
    """Select a uniformly random member of the effective Pareto front.

    Examples
    --------
    >>> EffectiveFront().members(np.array([[1.0, 0.0], [0.3, 0.3], [0.0, 1.0]]))
    array([ True, False,  True])
    """

    def members(self, values: FloatArray) -> BoolArray:
        """Tell which arms, (K,), are on the effective front."""
        return effective_front(values)

    def draw(self, values: FloatArray, *, rng: Rng) -> IntArray:
        """Return a random member for each learner, (...)."""
        return random_effective_member(values, rng=rng)


def draw_member(selection: FrontSelection, values: FloatArray, *, rng: Rng) -> IntArray:
    """Return a random member for each learner, (...): the one with the smallest random key.

    mogro's own fronts know faster ways to the same arm.
    """
    if isinstance(selection, ParetoFront | EffectiveFront):
        return selection.draw(values, rng=rng)
    keys = rng.random(values.shape[:-1])
    learners = values.reshape(-1, *values.shape[-2:])
    members = np.stack([selection.members(estimates) for estimates in learners])
    if not members.any(axis=-1).all():
        raise ValueError(f"selection: expected at least one member from {selection!r}")
    return np.asarray(np.where(members.reshape(keys.shape), keys, 2.0).argmin(axis=-1))


def is_front(selection: object) -> TypeGuard[FrontSelection]:
    """Tell whether a selection is a front and not a scalarisation."""
    return hasattr(selection, "members")


def check_selection(selection: object, name: str, *, objectives: int) -> None:
    """Refuse what can neither weigh objectives nor tell members of a front."""
    if isinstance(selection, type) or not callable(getattr(selection, "members", None)):
        check_scalarization(selection, name, objectives=objectives)
