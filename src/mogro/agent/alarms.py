"""What should be looked at, by what an agent has on record."""

import math
from typing import NamedTuple

import numpy as np

from mogro.agent.objective import DEFAULTED, LEARNED
from mogro.agent.state.ledger import OBSERVED, Block
from mogro.agent.state.state import State

_CHANCE = 1e-4  # of an alarm without a cause, about
_LATE = 0.05  # share of rewards that came after their window
_RECENT = 100  # decisions
_FEW = 20  # are not enough to say anything


class Alarm(NamedTuple):
    """One thing to look at.

    Attributes
    ----------
    name
        ``"silence"``, ``"late"``, ``"drift"``, ``"one arm"`` or ``"clock"``.
    number
        What is behind it: see the words.
    words
        What was seen, and what to do.
    """

    name: str
    number: float
    words: str


def find_alarms(state: State, refused: int) -> tuple[Alarm, ...]:
    """Look at the decisions that a state holds; so many times were refused."""
    block = state.ledger.gather(state.ledger.live())
    alarms = [_late(state), _one_arm(state, block)]
    for m in range(len(state.units)):
        alarms += [_silence(state, block, m), _drift(state, block, m)]
    if refused:
        words = f"{refused} calls had a time far from all others; see whose clock is wrong, or unit"
        alarms.append(Alarm("clock", refused, words))
    return tuple(alarm for alarm in alarms if alarm is not None)


def _silence(state: State, block: Block, m: int) -> Alarm | None:
    """Say that rewards which used to come come no longer."""
    states = block.state[:, m]
    came = (states == LEARNED)[np.isin(states, (LEARNED, DEFAULTED))]
    quiet = len(came) - 1 - int(np.flatnonzero(came).max(initial=-1))
    share = came[: len(came) - quiet].mean() if quiet < len(came) else 0.0
    if not share or (share < 1 and quiet * math.log1p(-share) > math.log(_CHANCE)):
        return None
    if quiet < (_FEW if share == 1 else 1):
        return None
    words = (
        f"{state.units.names[m]}: no reward for the last {quiet} decisions, where {share:.0%} had "
        "one before; see whether rewards still arrive"
    )
    return Alarm("silence", quiet, words)


def _late(state: State) -> Alarm | None:
    counters = state.counters
    late, came = counters.late + counters.corrected, counters.learned + counters.late
    if late < _FEW or late <= _LATE * came:
        return None
    words = f"{late / came:.0%} of rewards came after their window; mend their way, or widen it"
    return Alarm("late", late / came, words)


def _one_arm(state: State, block: Block) -> Alarm | None:
    rows = state.ledger.live()[block.flags & OBSERVED == 0].tolist()
    arms = [state.ledger.arms[row] for row in rows]
    recent, before = set(arms[-_RECENT:]), set(arms[:-_RECENT])
    if len(recent) != 1 or before <= recent:
        return None
    words = (
        f"the last {_RECENT} decisions chose {arms[-1]!r}, of {len(before | recent)} arms that "
        "were chosen before; epsilon= keeps the others in sight"
    )
    return Alarm("one arm", _RECENT, words)


def _drift(state: State, block: Block, m: int) -> Alarm | None:
    """Say that rewards are no longer what was expected when their arms were chosen."""
    states, default = block.state[:, m], state.units.defaults[m]
    values = np.where(
        states == DEFAULTED, np.nan if default is None else default, block.values[:, m]
    )
    known = np.isin(states, (LEARNED, DEFAULTED))
    expected = state.units.outward(block.estimates)[known, m][-_RECENT:]
    errors = values[known][-_RECENT:] - expected
    if len(errors) < _RECENT or known.sum() < 3 * _RECENT:  # it is still learning
        return None
    mean, spread = float(errors.mean()), float(errors.std() / math.sqrt(len(errors)))
    if abs(mean) <= 5 * spread + 1e-6 * float(np.abs(expected).max()):
        return None
    words = (
        f"{state.units.names[m]}: {abs(mean):.3g} {'more' if mean > 0 else 'less'} than expected, "
        f"on average over the last {_RECENT}; the world may have changed: half_life="
    )
    return Alarm("drift", mean, words)
