"""Events that are taken back."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.stories import ARMS, OBJECTIVES, go_on

import mogro
from mogro.agent import ImplausibleTime, JournalError, UnknownDecision
from mogro.agent.config import AgentConfig
from mogro.agent.events import Decided, Event, Expired, Offered, PriorLearned, Rewarded, Voided
from mogro.agent.journal import queue, removal, replay
from mogro.agent.journal.queue import CommitQueue
from mogro.agent.journal.snapshots import SnapshotWriter
from mogro.agent.state.snapshot import write_snapshot
from mogro.agent.state.state import State

LIVE = (mogro.HalfLife(time=30.0), None)


def saved(agent: mogro.Agent, path: Path) -> bytes:
    agent.save(path)
    return path.read_bytes()


def without(events: tuple[tuple[int, Event], ...], *void: int) -> list[Event]:
    """Return the events that are left, without those about a decision that is void, and priors."""
    gone = {event.id for place, event in events if place in void and isinstance(event, Decided)}
    return [
        event
        for place, event in events
        if place not in void
        and not (isinstance(event, Rewarded) and event.id in gone)
        and not isinstance(event, PriorLearned)
    ]


def relived(config: AgentConfig, events: list[Event], path: Path) -> bytes:
    """Return the state of an agent to which events happened, and which learned its own priors."""
    state = State(config)
    for event in events:
        assert not isinstance(state.apply(event), Exception)
        while state.learner.observed.due:
            state.apply(PriorLearned(state.learner.observed.evidence()))
    write_snapshot(path, state)
    return path.read_bytes()


@pytest.mark.parametrize("half_life", LIVE)
@pytest.mark.parametrize("every", [1000, 40])  # with the snapshot before it, and without
def test_the_state_is_what_replay_without_the_event_gives(
    shop: str, tmp_path: Path, half_life: mogro.HalfLife | None, every: int
) -> None:
    options = {"arms": 3, "seed": 1, "half_life": half_life, "snapshot_every": every}
    with (
        mogro.Agent.open(shop, OBJECTIVES, **options) as agent,  # type: ignore[arg-type]
        mogro.Agent.open(shop, OBJECTIVES, **options) as other,  # type: ignore[arg-type]
    ):
        go_on(agent, start=0, rounds=30)
        events = agent.events()
        rng, void = np.random.default_rng(0), []
        for kind in (Rewarded, Decided, Expired):
            places = [place for place, event in events if isinstance(event, kind)]
            void.append(int(rng.choice(places)))
            (agent if kind is Rewarded else other).void(void[-1])
            expected = relived(agent.config, without(events, *void), tmp_path / "c")
            assert saved(agent, tmp_path / "a") == saved(other, tmp_path / "b") == expected
        assert agent.events()[-1][1] == Voided(void[-1])
        arms = [go_on(each, start=30, rounds=1) for each in (agent, other)]
        assert len(arms) == 2
        assert agent.log().num_rows == 31  # 30, one void, and two more
        last = saved(agent, tmp_path / "a")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "b") == last
        again._store.journal._execute("DELETE FROM mogro_snapshots")  # type: ignore[union-attr]
    with mogro.Agent.open(shop) as again:  # from the first event on
        assert saved(again, tmp_path / "b") == last


@pytest.mark.parametrize("every", [1000, 40])
def test_no_prior_remembers_what_is_void(shop: str, tmp_path: Path, every: int) -> None:
    """Neither those learned before it was void, nor, later on, those learned after."""
    sale, rng = mogro.Objective("sale"), np.random.default_rng(0)
    with mogro.Agent.open(shop, [sale], arms=3, seed=0, snapshot_every=every) as agent:
        for n in range(60):
            x = rng.standard_normal(3)
            agent.observe({"x": x}, arm="x", id=str(n), rewards={"sale": float(x @ [1, 2, 3])})
            if n == 10:
                agent.observe({"x": x}, arm="x", id="bad", rewards={"sale": 1e6})
        position, _ = agent.events("bad")[-1]
        events = agent.events()
        assert max(p for p, event in events if isinstance(event, PriorLearned)) > position
        agent.void(position)
        expected = relived(agent.config, without(events, position), tmp_path / "c")
        assert saved(agent, tmp_path / "a") == expected
        for n in range(60, 120):
            x = rng.standard_normal(3)
            agent.observe({"x": x}, arm="x", id=str(n), rewards={"sale": float(x @ [1, 2, 3])})
        expected = relived(agent.config, without(agent.events(), position), tmp_path / "c")
        assert saved(agent, tmp_path / "a") == expected
        agent._store.journal._execute("DELETE FROM mogro_snapshots")  # type: ignore[union-attr]
        with mogro.Agent.open(shop) as again:  # from the first event on
            assert saved(again, tmp_path / "b") == expected


def test_two_are_voided_at_the_same_time(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes first is void for the other, too."""
    plain = replay.replay_all
    with (
        mogro.Agent.open(shop, OBJECTIVES, arms=3, seed=1) as agent,
        mogro.Agent.open(shop, OBJECTIVES, arms=3, seed=1) as other,
    ):
        go_on(agent, start=0, rounds=30)
        events = agent.events()
        first, second, *_ = (p for p, event in events if isinstance(event, Rewarded))

        def slowly(*about: Any) -> None:
            plain(*about)
            monkeypatch.setattr(removal, "replay_all", plain)
            other.void(first)

        monkeypatch.setattr(removal, "replay_all", slowly)
        agent.void(second)
        expected = relived(agent.config, without(events, first, second), tmp_path / "c")
        assert saved(agent, tmp_path / "a") == saved(other, tmp_path / "b") == expected


@pytest.mark.parametrize("reads", [True, False])
def test_others_read_and_write_snapshots_meanwhile(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: bool
) -> None:
    """One that is read just before an event is void does not count; drafts that go are replaced."""
    with (
        mogro.Agent.open(shop, OBJECTIVES, arms=3, seed=1) as agent,
        mogro.Agent.open(shop, OBJECTIVES, arms=3, seed=1) as other,
    ):
        go_on(agent, start=0, rounds=30)
        assert isinstance(other._store, CommitQueue)
        other._store.write_snapshot()
        events = agent.events()
        void = next(place for place, event in events if isinstance(event, Rewarded))
        if reads:  # again, and the event is void before that is done
            plain = replay.last_state

            def slowly(*about: Any, **options: Any) -> Any:
                state = plain(*about, **options)
                monkeypatch.setattr(queue, "last_state", plain)
                agent.void(void)
                return state

            monkeypatch.setattr(queue, "last_state", slowly)
            other._store._state_is_valid = False
        else:  # who writes a snapshot leaves drafts, who erases deletes them
            write = SnapshotWriter.write_draft

            def and_another(self: SnapshotWriter, *about: Any) -> int:
                draft = write(self, *about)
                assert draft in self._journal.unused_parts()
                assert draft not in self._journal.unused_parts(draft_age=1)
                self._journal.delete_parts([draft])
                return draft

            monkeypatch.setattr(SnapshotWriter, "write_draft", and_another)
            agent.void(void)
        expected = relived(agent.config, without(events, void), tmp_path / "c")
        assert saved(other, tmp_path / "b") == expected
        assert saved(agent, tmp_path / "a") == expected
        with mogro.Agent.open(shop) as again:
            assert saved(again, tmp_path / "d") == expected


def test_the_way_back_from_a_clock_that_was_confirmed_by_mistake(tmp_path: Path) -> None:
    sale = mogro.Objective("sale", window=10.0, default=0.0)
    with mogro.Agent.open(tmp_path / "a.db", [sale], arms=1, seed=0) as agent:
        for n in range(20):
            agent.decide({"x": [1.0]}, id=str(n), now=float(n))
        agent.expire(23_000.0, confirm=True)
        with pytest.raises(ImplausibleTime):
            agent.reward("19", {"sale": 1.0}, now=23.0)
        assert agent.counters["defaulted"] == 20
        (place,) = (place for place, event in agent.events() if isinstance(event, Expired))
        agent.void(place)
        with pytest.raises(ValueError, match=f"an event that is not void, got {place}"):
            agent.void(place)
        assert agent.counters["defaulted"] == 10
        assert agent.reward("19", {"sale": 1.0}, now=23.0).pending == 1


def test_an_id_that_was_made_up_for_a_void_decision_is_not_made_up_again(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", [mogro.Objective("sale")], arms=1, seed=0) as agent:
        first = agent.decide({"x": [1.0]})
        agent.void(2)
        with pytest.raises(UnknownDecision):
            agent.reward(first.id, {"sale": 1.0})
        assert agent.decide({"x": [1.0]}).id != first.id


def test_listeners_hear_of_what_is_void_or_erased(tmp_path: Path) -> None:
    told: list[Event] = []
    path = tmp_path / "a.db"
    with mogro.Agent.open(path, OBJECTIVES, arms=3, seed=1, on_event=told.append) as agent:
        agent.decide(ARMS, id="first", now=0.0)
        agent.decide(ARMS, id="second", now=1.0)
        (position,) = (place for place, event in agent.events("first"))
        agent.void(position)
        agent.erase("second")
    kinds = [type(event).__name__ for event in told]
    assert kinds == ["Offered", "Decided", "Decided", "Voided", "Erased"]


def test_refusals(tmp_path: Path) -> None:
    agent = mogro.Agent([mogro.Objective("sale")], arms=3, seed=0)
    for call in (agent.events, lambda: agent.void(1)):
        with pytest.raises(ValueError, match="expected an agent with a journal"):
            call()
    path = tmp_path / "a.db"
    sale = mogro.Objective("sale")
    keep = mogro.Retention(decisions=2)
    with mogro.Agent.open(path, [sale], arms=3, seed=0, retention=keep, snapshot_every=5) as agent:
        agent.decide(ARMS, id="waiting")
        assert [type(event) for _, event in agent.events()] == [Offered, Decided]
        for bad in (1, 3):
            with pytest.raises(ValueError, match="position: expected that of one of Decided"):
                agent.void(bad)
        with pytest.raises(ValueError, match="position"):
            agent.void("2")  # type: ignore[arg-type]
        for n in range(20):
            agent.reward(agent.decide(ARMS, id=str(n)).id, {"sale": 1.0})
        before = saved(agent, tmp_path / "saved")
        with pytest.raises(JournalError, match="was deleted, so that 2 cannot be voided"):
            agent.void(2)
        assert saved(agent, tmp_path / "saved") == before


def test_propensities_stay_those_of_then(shop: str) -> None:
    """The turn of a decision does not change because one before it is void."""
    objectives = [mogro.Objective(name) for name in ("click", "sale")]
    policy = partial(mogro.MOGRO, scalarization=mogro.scalarization.RoundRobin())
    arms = {"x": [1.0, 0.0], "y": [0.0, 1.0]}
    with mogro.Agent.open(shop, objectives, arms=2, seed=0, policy=policy, epsilon=0.2) as agent:
        for arm in ("x", "y") * 3:
            rewards = {"click": float(arm == "x"), "sale": float(arm == "y")}
            agent.observe(arms, arm=arm, rewards=rewards)
        chances = [agent.decide(arms, id=str(n)).propensity for n in range(6)]
        (position, _), *_ = agent.events("0")
        agent.void(position)
        assert agent.log()["propensity"].to_pylist()[6:] == chances[1:]
        assert [agent.decision(str(n)).decision.propensity for n in range(1, 6)] == chances[1:]
