"""What rewards are that come in parts, again or late; nothing changes here."""

from collections.abc import Mapping
from typing import NamedTuple

from mogro.agent.errors import ConflictingReward, UnknownObjective
from mogro.agent.events import Rewarded
from mogro.agent.objective import DEFAULTED, LEARNED, PENDING, UNMET, WITHDRAWN
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.counters import Outcome


class Rewards(NamedTuple):
    """What came for a decision so far.

    Attributes
    ----------
    states
        What became of each objective.
    values
        As the user gave them; NaN before.
    stamps
        The times of these values, where they matter; else empty.
    start
        When windows began; infinity before that.
    """

    states: list[int]
    values: list[float]
    stamps: list[float]
    start: float


class Received(NamedTuple):
    """What values that came for a decision are.

    Attributes
    ----------
    values, stamps
        Of all objectives, with what came.
    new
        Objectives that had no value, and are not final.
    corrected
        Final objectives, by values that came late.
    revised, repeated, late
        How many values replaced others; were known; came too late to be learned.
    """

    values: list[float]
    stamps: list[float]
    new: list[int]
    corrected: set[int]
    revised: int
    repeated: int
    late: int

    def outcome(self, before: list[int], timely: list[int], final: list[int]) -> Outcome:
        """Return what became of the values, by the states of the objectives.

        ``before`` it, by what came in time, and with what was corrected.
        """
        learned, pending, revised, late = 0, 0, self.revised, self.late
        for m in self.new:
            was_pending = before[m] == PENDING
            learned += was_pending and timely[m] == LEARNED
            pending += was_pending and timely[m] == PENDING
            late += not was_pending or timely[m] not in (PENDING, LEARNED)
        for before_state, final_state in ((before[m], final[m]) for m in self.corrected):
            learned += final_state == LEARNED and before_state not in (LEARNED, DEFAULTED)
            revised += final_state == LEARNED and before_state in (LEARNED, DEFAULTED)
            pending += final_state == PENDING
            late += final_state not in (LEARNED, PENDING)
        return Outcome(learned, pending, revised, self.repeated, late)


def find_conflict(
    objective_set: ObjectiveSet, stored: list[float], received: Mapping[str, float]
) -> ValueError | None:
    """Return why values are refused beside those stored; None if they are not."""
    for name, value in received.items():
        m = objective_set.index.get(name)
        if m is None:
            return UnknownObjective(
                f"values: expected objectives {list(objective_set.names)}, got {name!r}"
            )
        has_value = stored[m] == stored[m]
        if has_value and stored[m] != value and objective_set.revise[m] is None:
            return ConflictingReward(
                f"values: {name!r} was {stored[m]!r} for this decision before, now {value!r}"
            )
    return None


def receive(
    objective_set: ObjectiveSet, rewards: Rewards, event: Rewarded, now: float, correction: float
) -> Received:
    """Find out what values are that come now, and for so long after their windows correct."""
    states, values, stamps = rewards.states, rewards.values.copy(), rewards.stamps.copy()
    new, corrected, revised, repeated, late = list[int](), set[int](), 0, 0, 0
    for name, value in event.values.items():
        m = objective_set.index[name]
        before, end = values[m], rewards.start + objective_set.windows[m]
        rule, has_value = objective_set.revise[m], values[m] == values[m]
        closed = states[m] != PENDING or end <= now
        if closed and not (states[m] != WITHDRAWN and end <= now < end + correction):
            repeated += before == value
            late += before != value
            if states[m] == PENDING:
                continue
            met_later = states[m] == UNMET and end > now  # its condition may still come to be met
            if has_value and not met_later:
                continue
            if has_value and not _revises(rule, value, before, event.time, stamps, m):
                continue
        elif has_value and not _revises(rule, value, before, event.time, stamps, m):
            repeated += 1
            continue
        elif states[m] != PENDING:
            corrected.add(m)
        elif has_value:
            revised += 1
        else:
            new.append(m)
        values[m] = value
        if stamps and event.time is not None:
            stamps[m] = max(event.time, stamps[m])
    return Received(values, stamps, new, corrected, revised, repeated, late)


def _revises(
    rule: str | None, value: float, before: float, time: float | None, stamps: list[float], m: int
) -> bool:
    """Tell whether a value takes the place of an earlier one, and note its time."""
    if rule == "max":
        return value > before
    if rule == "last" and time is not None:
        stamp = stamps[m]
        stamps[m] = max(stamp, time)
        return value != before and (time, value) > (stamp, before)
    return False


def reopen(
    objective_set: ObjectiveSet, before: list[int], corrected: set[int]
) -> tuple[list[int], set[int]]:
    """Return states in which corrected objectives, and what follows from them, are open again.

    And which these are: not those whose condition is not met all the same.
    """
    states, affected = before.copy(), corrected.copy()
    for m in objective_set.order:
        follows = objective_set.conditions[m] in affected and before[m] != WITHDRAWN
        if before[m] == UNMET and not follows:
            affected.discard(m)
        elif m in affected or follows:
            affected.add(m)
            states[m] = PENDING
    return states, affected
