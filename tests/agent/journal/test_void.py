"""Events that are taken back."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.agent.replaying import replayed
from tests.agent.stories import ARMS, OBJECTIVES, go_on

import mogro
from mogro.agent import ImplausibleTime, JournalError, UnknownDecision
from mogro.agent.events import Decided, Event, Expired, Offered, Rewarded, Voided

LIVE = (mogro.HalfLife(time=30.0), None)


def saved(agent: mogro.Agent, path: Path) -> bytes:
    agent.save(path)
    return path.read_bytes()


def without(events: tuple[tuple[int, Event], ...], *void: int) -> list[Event]:
    """Return the events that are left, without those about a decision that is void."""
    gone = {event.id for place, event in events if place in void and isinstance(event, Decided)}
    return [
        event
        for place, event in events
        if place not in void and not (isinstance(event, Rewarded) and event.id in gone)
    ]


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
            replayed(agent, without(events, *void), tmp_path / "replayed")
            expected = (tmp_path / "replayed").read_bytes()
            assert saved(agent, tmp_path / "a") == saved(other, tmp_path / "b") == expected
        assert agent.events()[-1][1] == Voided(void[-1])
        arms = [go_on(each, start=30, rounds=1) for each in (agent, other)]
        assert len(arms) == 2
        assert agent.log().num_rows == 31  # 30, one void, and two more
        last = saved(agent, tmp_path / "a")
    with mogro.Agent.open(shop) as again:
        assert saved(again, tmp_path / "b") == last
        again._queue._journal._execute("DELETE FROM mogro_snapshots")  # type: ignore[union-attr]
    with mogro.Agent.open(shop) as again:  # from the first event on
        assert saved(again, tmp_path / "b") == last


def test_the_way_back_from_a_clock_that_was_confirmed_by_mistake(tmp_path: Path) -> None:
    sale = mogro.Objective("sale", window=10.0, default=0.0)
    with mogro.Agent.open(tmp_path / "a.db", [sale], arms=1, seed=0) as agent:
        for n in range(20):
            agent.decide({"x": [1.0]}, id=str(n), now=float(n))
        agent.expire(23_000.0, confirm=True)
        with pytest.raises(ImplausibleTime):
            agent.reward("19", {"sale": 1.0}, now=23.0)
        assert agent.counters["defaulted"] == 20
        agent.void(*[place for place, event in agent.events() if isinstance(event, Expired)])
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
        with pytest.raises(JournalError, match="has gone out since, so that 2 cannot be voided"):
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
