"""What has happened to an agent, and what became of a reward, in numbers."""

from dataclasses import dataclass
from typing import NamedTuple

from mogro.agent.objective import PENDING, STATUS


@dataclass
class Counters:
    """What has happened so far, in numbers."""

    decisions: int = 0
    explored: int = 0  # of them, decisions made to explore
    learned: int = 0  # rewards learned as they came, one for each objective
    defaulted: int = 0  # windows closed with the default learned
    missing: int = 0  # windows closed with nothing to learn
    unmet: int = 0  # objectives closed because their condition was not met
    revised: int = 0  # rewards that replaced an earlier value
    repeated: int = 0  # rewards that had come before
    late: int = 0  # rewards after their objective was closed, not learned
    corrected: int = 0  # observations learned, replaced or taken out by rewards that came late
    withdrawn: int = 0  # objectives of arms that were not shown
    observed: int = 0  # of the decisions, those that somebody else has made
    forgotten: int = 0  # completed decisions dropped

    def count(self, before: list[int], after: list[int]) -> None:
        """Count what became of the objectives of a decision; what they were before no longer is."""
        for old, new in zip(before, after, strict=True):
            if old != new:
                for status, more in ((old, -1), (new, 1)):
                    if status != PENDING:
                        name = STATUS[status]  # which is that of its counter, too
                        setattr(self, name, getattr(self, name) + more)


class Reconfiguration(NamedTuple):
    """What :meth:`Agent.reconfigure` did."""

    changes: tuple[str, ...] = ()  # keywords that differ now, sorted
    relearned: int = 0  # decisions from which it has learned again
    # Decisions in which features that came count as zero, although nobody knows: there is no record
    # of what was there. That is right for what did not exist then, and wrong for a category that
    # was there and unknown.
    unsure: int = 0


class Outcome(NamedTuple):
    """What became of the values given to :meth:`Agent.reward`, in numbers of objectives."""

    learned: int = 0  # observed now, for the first time
    pending: int = 0  # kept until the window closes, or a condition is known
    revised: int = 0  # replaced an earlier value, or a default that was learned
    repeated: int = 0  # had come before, or an earlier one counts: ignored
    late: int = 0  # after the window, or its condition was not met: recorded, not learned
