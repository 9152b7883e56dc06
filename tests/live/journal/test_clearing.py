"""What stays in a journal reads as before, whatever goes out of it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.live.journal.worlds import ARMS, OBJECTIVES, in_memory

import mogro
from mogro.live.errors import ConflictingReward, UnknownDecision
from mogro.live.events import Event
from mogro.live.journal.clearing import held_positions, runs
from mogro.live.logs.log import replayed
from mogro.live.memory.state import State
from mogro.live.settings import make_settings

SETTINGS = make_settings(
    OBJECTIVES,
    dim=3,
    intercept=False,
    scaling=None,
    features=None,
    policy=mogro.MOGRO,
    half_life=None,
    capacity=None,
    retention=None,
    seed=7,
    uniform=0.0,
    patience=None,
)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 9), st.floats(0, 200)),
        st.tuples(st.just("reward"), st.integers(0, 9), st.floats(0, 200)),
        st.tuples(st.just("expire"), st.just(0), st.floats(0, 300)),
        st.tuples(st.just("forget"), st.just(0), st.floats(0, 200)),
        st.tuples(st.just("erase"), st.integers(0, 9), st.just(0.0)),
    ),
    max_size=30,
)


def happened(calls: list[tuple[str, int, float]]) -> tuple[State, list[tuple[int, Event]]]:
    """Return an agent's state and events after some calls; those that are refused do nothing."""
    events: list[Event] = []
    agent = in_memory(events=events.append)
    for kind, k, now in calls:
        try:
            if kind == "decide":
                agent.decide(ARMS, id=f"visit {k}", now=now)
            elif kind == "reward":
                agent.reward(f"visit {k}", {"click": 1.0, "watch": 5.0}, now=now)
            elif kind == "expire":
                agent.expire(now)
            elif kind == "forget":
                agent.forget(before=now)
            else:
                agent.erase(f"visit {k}")
        except (UnknownDecision, ConflictingReward):
            pass
    state = State(SETTINGS)
    for event in events:
        state.apply(event)
    return state, list(enumerate(events, 1))


def cleared(state: State, events: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    kept = dict(events)
    for run in runs(events, state):
        for position in range(run.first, run.last + 1):
            kept.pop(position, None)
        kept[run.last] = run.rest
    return sorted(kept.items())


def rows(events: list[tuple[int, Event]], held: set[int]) -> dict[int, Any]:
    """Return what a log knows of the decisions at some positions."""
    state, _ = replayed(SETTINGS, events)
    block = state.ledger.gather(state.ledger.written())
    columns = [column.tolist() for column in block]
    found = dict(zip(block.position.tolist(), zip(*columns, strict=True), strict=True))
    return {position: repr(found[position]) for position in held}


@given(CALLS, CALLS)
def test_what_stays_reads_as_before(
    calls: list[tuple[str, int, float]], later: list[tuple[str, int, float]]
) -> None:
    state, events = happened(calls)
    held = set(held_positions(state).values())
    once = cleared(state, events)
    assert rows(once, held) == rows(events, held)
    assert len(once) <= len(events)
    after, all_ = happened(calls + later)  # and a second time, when more has happened
    fresh = all_[len(events) :]
    still = set(held_positions(after).values())
    assert rows(cleared(after, once + fresh), still) == rows(all_, still)
