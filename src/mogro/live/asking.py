"""What a caller may ask of a decision, checked."""

from collections.abc import Mapping, Sequence

from mogro._validation import real
from mogro.live.driving import Selection
from mogro.live.objective import Units
from mogro.scalarization import FixedWeights, Scalarization

Weights = Sequence[float] | Mapping[str, float] | Scalarization


def selection_of(weights: Weights | None, units: Units, own: Selection) -> Selection:
    """Return how to select: as the caller says, or else the policy's own way."""
    if weights is None:
        return own
    if callable(getattr(weights, "weights", None)):
        return weights  # type: ignore[return-value]
    vector = units.vector(weights, "weights")  # type: ignore[arg-type]
    total = float(vector.sum())
    if (vector < 0).any() or not total > 0:
        raise ValueError(f"weights: expected numbers >= 0, not all 0, got {weights}")
    return FixedWeights((vector / total).tolist())


def floors_of(floors: Mapping[str, float] | None, units: Units) -> dict[str, float]:
    """Return the floors by objective, in the user's units."""
    if floors is None:
        return {}
    for name in floors:
        if name not in units.index:
            raise ValueError(f"floors: expected objectives {list(units.names)}, got {name!r}")
    return {name: real(floor, f"floors[{name!r}]") for name, floor in floors.items()}


def time_of(now: float | None, *, needed: bool) -> float:
    """Return the time of a decision; 0 where time plays no part and none is given."""
    if now is None:
        if needed:
            raise ValueError("now: expected the time, because of a window or a half-life in time")
        return 0.0
    return real(now, "now")


def id_of(id: str | None) -> str | None:
    """Return the id of a decision, if there is one."""
    if id is not None and (type(id) is not str or not id):
        raise ValueError(f"id: expected a string, not empty, got {id!r}")
    return id
