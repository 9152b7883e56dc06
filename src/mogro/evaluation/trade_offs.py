"""Trade-offs: what is asked for, and which of them is recommended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from mogro._validation import FloatArray, count
from mogro.agent.objective import Units
from mogro.evaluation.targets import read_weights

_GRID = 21  # trade-offs at most, unless asked for more
_MOST = 200


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
        shown = ", ".join(
            f"{name} {value:.4g} [{self.intervals[name][0]:.4g}, {self.intervals[name][1]:.4g}]"
            for name, value in self.values.items()
        )
        sure = f"; {self.constraints} with confidence {self.confidence:.1%}"
        return f"{format_weights(self.weights)}: {shown}{sure if self.constraints else ''}"

    __repr__ = __str__


def read_trade_offs(
    trade_offs: Sequence[Mapping[str, float]] | int | None, units: Units
) -> list[FloatArray]:
    """Return weights (M,) of sum 1: those given, or a grid of so many steps."""
    if isinstance(trade_offs, Mapping | str):
        raise ValueError(f"trade_offs: expected a list of weights, or a number, got {trade_offs!r}")
    if not isinstance(trade_offs, Iterable):
        given = trade_offs
        steps = _steps(len(units)) if given is None else count(given, "trade_offs")
        vectors: list[FloatArray] = [
            np.array(part) / steps for part in _compositions(steps, len(units))
        ]
    else:
        vectors = [read_weights(weights, units) for weights in trade_offs]
    if not 1 <= len(vectors) <= _MOST:
        raise ValueError(f"trade_offs: expected 1 to {_MOST} trade-offs, got {len(vectors)}")
    return vectors


def grid(units: Units) -> list[FloatArray]:
    """Return the trade-offs that are tried unless asked for others."""
    return read_trade_offs(None, units)


def _steps(objectives: int) -> int:
    """Return the steps of the finest grid that is not too large."""
    steps = 1
    while objectives > 1 and comb(steps + objectives, objectives - 1) <= _GRID:
        steps += 1
    return steps


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share a total among parts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for others in _compositions(total - first, parts - 1):
            yield (first, *others)


def format_weights(weights: Mapping[str, float]) -> str:
    """Return weights as text."""
    return ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
