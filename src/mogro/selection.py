"""How an arm is selected by its values: a scalarisation, or one of these fronts.

A front is any object with ``members(values) -> mask``; every member is equally likely.
"""

from dataclasses import dataclass
from typing import Protocol, TypeGuard

from mogro._validation import BoolArray, FloatArray
from mogro.pareto import effective_front, front
from mogro.scalarization import Scalarization


class Front(Protocol):
    """A selection that draws uniformly among some of the arms."""

    def members(self, values: FloatArray) -> BoolArray:
        """Return which arms with values (..., K, M) may be drawn, (..., K)."""
        ...


Selection = Scalarization | Front


def is_front(selection: object) -> TypeGuard[Front]:
    """Tell whether a selection draws among members."""
    return hasattr(selection, "members")


@dataclass(frozen=True)
class ParetoFront:
    """Select a uniformly random member of the Pareto front.

    Examples
    --------
    >>> import numpy as np
    >>> ParetoFront().members(np.array([[1.0, 0.0], [0.3, 0.3], [0.0, 1.0], [0.0, 0.2]]))
    array([ True,  True,  True, False])
    """

    def members(self, values: FloatArray) -> BoolArray:
        """Return which arms with values (..., K, M) are on the Pareto front, (..., K)."""
        return front(values)


@dataclass(frozen=True)
class EffectiveFront:
    """Select a uniformly random member of the effective front.

    Examples
    --------
    >>> import numpy as np
    >>> EffectiveFront().members(np.array([[1.0, 0.0], [0.3, 0.3], [0.0, 1.0], [0.0, 0.2]]))
    array([ True, False,  True, False])
    """

    def members(self, values: FloatArray) -> BoolArray:
        """Return which arms with values (..., K, M) are on the effective front, (..., K)."""
        return effective_front(values)
