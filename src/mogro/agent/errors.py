"""What can go wrong in live use, each with an exception of its own; all are ``ValueError``."""


class UnknownDecision(ValueError):  # noqa: N818
    """No decision of this id: never made, or forgotten."""


class UnknownObjective(ValueError):  # noqa: N818
    """A reward for an objective that the agent does not have."""


class BadReward(ValueError):  # noqa: N818
    """A reward that is no finite number of a usable size."""


class ConflictingReward(ValueError):  # noqa: N818
    """A second value for an objective of a decision that differs from the first."""


class ImplausibleTime(ValueError):  # noqa: N818
    """A time far from all that the agent was told so far: see ``max_step`` of an agent."""


class InfeasibleConstraints(ValueError):  # noqa: N818
    """No arm on offer has estimates that meet the constraints.

    Attributes
    ----------
    best
        For every objective with a constraint, the estimate that comes closest among the arms on
        offer.
    """

    def __init__(self, constraints: str, best: dict[str, float]) -> None:
        super().__init__(f"constraints: no arm has {constraints}; the closest are {best}")
        self.constraints = constraints
        self.best = best

    def __reduce__(self) -> tuple[type["InfeasibleConstraints"], tuple[str, dict[str, float]]]:
        return type(self), (self.constraints, self.best)


class DamagedSnapshot(ValueError):  # noqa: N818
    """A file that is no complete snapshot of an agent."""


class JournalError(ValueError):
    """A journal cannot be used as asked; the message names the file, and says why."""


class JournalUnavailable(JournalError):  # noqa: N818
    """The disk is full, the file read-only, or locked for too long: nothing of the call happened.

    Or perhaps all of it, where the disk failed in the middle of a commit: the same call with the
    same id is right in both cases. The agent goes on when the fault is over.
    """


class DamagedJournal(JournalError):  # noqa: N818
    """A file that is no journal, or has an event in it that is not as it was written."""


class NewerJournal(JournalError):  # noqa: N818
    """A journal that a later version of mogro has written."""


class DifferentConfig(JournalError):  # noqa: N818
    """An agent was opened with settings other than those it has."""


class ClosedAgent(JournalError):  # noqa: N818
    """The agent was closed, or opened before this process was forked: open it again."""
