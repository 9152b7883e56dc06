"""What can go wrong in live use, each with an exception of its own; all are ``ValueError``."""


class UnknownDecision(ValueError):  # noqa: N818
    """No decision of this id: never made, or forgotten."""


class UnknownObjective(ValueError):  # noqa: N818
    """A reward for an objective that the agent does not have."""


class BadReward(ValueError):  # noqa: N818
    """A reward that is no finite number of a usable size."""


class ConflictingReward(ValueError):  # noqa: N818
    """A second value for an objective of a decision that differs from the first."""


class NoArmClears(ValueError):  # noqa: N818
    """No arm on offer has estimates that clear the floors.

    Attributes
    ----------
    best
        For every objective with a floor, the best estimate among the arms on offer.
    """

    def __init__(self, floors: dict[str, float], best: dict[str, float]) -> None:
        super().__init__(f"floors: no arm clears {floors}; the best estimates are {best}")
        self.best = best


class DamagedSnapshot(ValueError):  # noqa: N818
    """A file that is no whole snapshot of an agent."""


class CannotMerge(ValueError):  # noqa: N818
    """Agents that differ in kind, share a past, or hold decisions of the same id."""
