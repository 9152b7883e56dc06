"""How fast an agent forgets."""

from dataclasses import KW_ONLY, dataclass

from mogro._validation import real


@dataclass(frozen=True)
class HalfLife:
    """How fast old observations fade: after this much an observation counts for half.

    Parameters
    ----------
    updates
        In further observations of the same objective.
    time
        In the caller's time, from decision to now. Give one of the two.

    Examples
    --------
    >>> HalfLife(updates=1000)
    HalfLife(updates=1000.0, time=None)
    """

    _: KW_ONLY
    updates: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if (self.updates is None) == (self.time is None):
            raise ValueError(
                f"half_life: expected updates or time, got updates={self.updates}, time={self.time}"
            )
        for name in ("updates", "time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), name, above=0))
