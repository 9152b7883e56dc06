"""The trade-off that a log recommends, in words."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Recommendation:
    """The best trade-off of a grid under constraints.

    Attributes
    ----------
    weights
        Per unit, by objective; None if no trade-off is known to meet the constraints.
    confidence
        That it meets the constraints, counted for all trade-offs of the grid together. Of the one
        that comes nearest, if none is known to.
    values, intervals
        By objective, in the user's units; intervals hold for all of the grid together, so also for
        the one that was picked.
    constraints
        In words.
    """

    weights: dict[str, float] | None
    confidence: float
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    constraints: str

    def __str__(self) -> str:
        if self.weights is None and not self.constraints:
            return "NO TRADE-OFF has an estimate that can be trusted"
        if self.weights is None:
            return (
                f"NO TRADE-OFF is known to reach {self.constraints}: "
                f"the nearest does with confidence {self.confidence:.1%}"
            )
        values = ", ".join(
            f"{name} {value:.4g} [{self.intervals[name][0]:.4g}, {self.intervals[name][1]:.4g}]"
            for name, value in self.values.items()
        )
        constraints = f"; {self.constraints} with confidence {self.confidence:.1%}"
        return f"{format_weights(self.weights)}: {values}{constraints if self.constraints else ''}"

    __repr__ = __str__


def format_weights(weights: Mapping[str, float]) -> str:
    """Return weights as text."""
    return ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
