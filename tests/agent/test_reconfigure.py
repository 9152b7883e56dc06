"""Other features, priors and half-lives while an agent is running: it learns again from records."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.replaying import replayed
from tests.properties import mostly_slow

import mogro
from mogro.agent import Reconfiguration
from mogro.agent.config import AgentChanges, AgentOptions
from mogro.agent.events import Event, from_plain, to_plain

OBJECTIVES = [
    mogro.Objective("click", window=20.0, default=0.0),
    mogro.Objective("read", unit=60.0, given="click"),
]
PRICE, TOPIC = mogro.Number(10.0, 5.0), mogro.Category("news", "sport")
USERS = mogro.Encoder(age=mogro.Number(40.0, 15.0), country=mogro.Category("DE", "FR"))
FIRST = AgentOptions(
    arms=mogro.Encoder(price=PRICE, topic=TOPIC),
    context=USERS,
    seed=3,
    prior=mogro.priors.Flat(),
)
FADING = mogro.HalfLife(time=30.0)
WIDER = mogro.Category("sport", "war", "news")
CHANGES: dict[str, AgentChanges] = {
    "a category that was unknown": {"arms": mogro.Encoder(price=PRICE, topic=WIDER)},
    "a category goes": {"arms": mogro.Encoder(price=PRICE, topic=mogro.Category("sport"))},
    "a column goes": {"arms": mogro.Encoder(topic=TOPIC)},
    "a column comes": {"arms": mogro.Encoder(size=mogro.Number(), price=PRICE, topic=TOPIC)},
    "another scale": {"arms": mogro.Encoder(price=mogro.Number(3.0, 0.5), topic=TOPIC)},
    "no context": {"context": None},
    "no interactions": {"interactions": False},
    "some interactions": {"interactions": [("topic", "age")]},
    "another context": {"context": mogro.Encoder(country=mogro.Category("FR", "XX"))},
    "a half-life": {"half_life": FADING},
    "a half-life in updates": {"half_life": mogro.HalfLife(updates=7.0)},
    "a prior": {"prior": mogro.priors.Fixed(2.0)},
    "the default prior": {"prior": mogro.priors.Learned()},
    "all at once": {
        "objectives": [replace(OBJECTIVES[1], unit=10.0, given="click"), OBJECTIVES[0]],
        "arms": mogro.Encoder(price=mogro.Number(5.0, 1.0), topic=WIDER),
        "context": mogro.Encoder(country=mogro.Category("XX", "DE")),
        "interactions": [("topic", "country")],
        "half_life": FADING,
        "epsilon": 0.1,
    },
}


def make(**changes: Any) -> mogro.Agent:
    options: dict[str, Any] = {**FIRST, **changes}
    return mogro.Agent(OBJECTIVES, **options)


def stories(n: int) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng([1, n])
    topics = ("news", "sport", "war")
    return {
        f"story {n} {k}": {"price": float(rng.integers(1, 20)), "topic": topics[rng.integers(3)]}
        for k in range(4)
    }


def user(n: int) -> dict[str, Any]:
    return {"age": 20 + n * 7 % 50, "country": ("DE", "FR", "XX")[n % 3]}


def known(record: dict[str, Any], side: Any) -> dict[str, Any]:
    """Return what an encoder knows of a record."""
    return {name: value for name, value in record.items() if name in side.columns}


def asked(agent: mogro.Agent, n: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return arms and context, as far as an agent has columns for them."""
    features = agent.config.features
    arms = {id: known(record, features.arms) for id, record in stories(n).items()}
    return arms, None if features.context is None else known(user(n), features.context)


def live(agent: mogro.Agent, start: int, rounds: int) -> None:
    """Let an agent take over decisions, the same ones whoever it is, and learn from most."""
    for n in range(start, start + rounds):
        rng = np.random.default_rng([2, n])
        arms, context = asked(agent, n)
        arm = list(arms)[rng.integers(4)]
        agent.observe(arms, arm=arm, context=context, id=str(n), now=float(n))
        if n % 4:
            values = {"click": float(rng.integers(2)), "read": 60.0 * rng.random()}
            agent.reward(str(n), values, now=float(n))


def assert_same(agent: mogro.Agent, other: mogro.Agent, digits: float = 1e-9) -> None:
    """Expect that both know the same, but for how long their learned priors are in force."""
    mine, theirs = (each._state.learner for each in (agent, other))
    assert agent.feature_names == other.feature_names
    assert agent.observations == pytest.approx(other.observations, rel=digits)
    for name in ("n", "V", "b", "y2", "uses"):
        known = [getattr(each.observed, name).squeeze() for each in (mine, theirs)]
        one, two = np.broadcast_arrays(*known)
        assert one == pytest.approx(two, rel=digits, abs=digits), name
    assert (mine.pending.counts == theirs.pending.counts).all()
    columns = [name for name in agent.log().column_names if name.startswith(("reward", "status"))]
    assert agent.log().select(columns) == other.log().select(columns)


@pytest.mark.parametrize("name", mostly_slow(CHANGES, fast=4))
def test_it_knows_what_it_would_had_it_always_been_so(name: str, tmp_path: Path) -> None:
    changes = CHANGES[name]
    events: list[Event] = []
    agent = mogro.Agent(OBJECTIVES, **FIRST, on_event=events.append)
    options = {**FIRST, **{k: v for k, v in changes.items() if k != "objectives"}}
    fresh = mogro.Agent(changes.get("objectives", OBJECTIVES), **options)  # type: ignore[arg-type]
    live(agent, 0, 50)
    reconfiguration = agent.reconfigure(**changes)
    assert set(changes) <= set(reconfiguration.changes) | {"epsilon"}
    assert reconfiguration.relearned == 30
    assert reconfiguration.unsure == 0
    live(fresh, 0, 50)
    assert_same(agent, fresh)
    live(agent, 50, 30)
    live(fresh, 50, 30)
    assert_same(agent, fresh)
    if changes.get("prior") != mogro.priors.Learned():
        for n in (3, 60):
            arms, context = asked(agent, n)
            chosen = {
                id: arms[id] for id in arms if id in {d.decision.arm for d in fresh.decisions()}
            }
            one, two = (each.estimate(chosen, context=context) for each in (agent, fresh))
            # With a short half-life little is left of some directions: their errors are thousands.
            assert (np.abs(one.values - two.values) <= 1e-6 * two.errors).all()
    agent.save(tmp_path / "one")
    again = [from_plain(json.loads(json.dumps(to_plain(event)))) for event in events]
    replayed(mogro.Agent(OBJECTIVES, **FIRST), again, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    mogro.Agent.load(tmp_path / "one").save(tmp_path / "three")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "three").read_bytes()


def assert_known(agent: mogro.Agent, other: mogro.Agent) -> None:
    """Expect the same sums."""
    for name in ("n", "V", "b", "y2"):
        one, two = (getattr(each._state.learner.observed, name) for each in (agent, other))
        one, two = np.broadcast_arrays(one.squeeze(), two.squeeze())
        assert one == pytest.approx(two, rel=1e-9, abs=1e-7), name


@pytest.mark.parametrize("half_life", [None, FADING, mogro.HalfLife(updates=9.0)], ids=str)
def test_what_is_left_of_forgotten_decisions_is_mapped(half_life: mogro.HalfLife | None) -> None:
    """Exactly for what goes or is scaled; a category that comes is zero in what is forgotten."""
    keep = mogro.Retention(decisions=7)
    agents = [make(half_life=half_life, retention=keep) for _ in range(2)]
    narrow = mogro.Encoder(price=mogro.Number(3.0, 0.5), topic=mogro.Category("sport"))
    fresh = mogro.Agent(
        OBJECTIVES,
        arms=narrow,
        context=USERS,
        seed=3,
        prior=mogro.priors.Flat(),
        half_life=half_life,
        retention=keep,
    )
    for each in (*agents, fresh):
        live(each, 0, 50)
    reconfiguration = agents[0].reconfigure(arms=narrow)
    assert reconfiguration == Reconfiguration(("arms", "policy"), 7, 0)
    assert_known(agents[0], fresh)
    wide = mogro.Encoder(price=PRICE, topic=WIDER)
    reconfiguration = agents[1].reconfigure(arms=wide)
    assert reconfiguration.unsure == agents[1].counters["forgotten"]
    live(agents[1], 50, 5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_numbers_come_and_go(seed: int) -> None:
    """Without records features that come are zeros before, and it says for how many decisions."""
    rng = np.random.default_rng(seed)
    sizes = [(int(rng.integers(1, 4)), int(rng.integers(1, 3))) for _ in range(2)]
    both = [True, bool(rng.integers(2))]
    plain = mogro.priors.Flat()
    agent, fresh = (
        mogro.Agent(OBJECTIVES[:1], arms=a, context=c, interactions=i, seed=0, prior=plain)
        for (a, c), i in zip(sizes, both, strict=True)
    )
    for n in range(12):
        x, c = rng.standard_normal(4), rng.standard_normal(3)
        for each, (arms, contexts) in ((agent, sizes[0]), (fresh, sizes[1])):
            known = np.minimum(sizes[0], sizes[1]) if each is fresh else (arms, contexts)
            row, context = np.zeros(arms), np.zeros(contexts)
            row[: known[0]], context[: known[1]] = x[: known[0]], c[: known[1]]
            each.observe(["a"], row[None], arm="a", context=context, id=str(n), now=0.0)
            each.reward(str(n), {"click": float(n % 3)}, now=1.0)
    agent.expire(30.0)
    fresh.expire(30.0)
    reconfiguration = agent.reconfigure(arms=sizes[1][0], context=sizes[1][1], interactions=both[1])
    assert reconfiguration.unsure == (12 if np.less(sizes[0], sizes[1]).any() else 0)
    assert_known(agent, fresh)


def test_all_who_share_a_journal_follow(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    made = {"epsilon": 0.3, "snapshot_every": 25}
    new_agent = mogro.Agent.open(path, OBJECTIVES, **FIRST, **made)  # type: ignore[arg-type]
    two = mogro.Agent.open(path)
    wide = mogro.Encoder(price=PRICE, topic=WIDER)
    propensities = {}
    for n in range(20):
        propensities[str(n)] = new_agent.decide(
            stories(n), context=user(n), id=str(n), now=n
        ).propensity
    new_agent.reward("3", {"click": 1.0, "read": 60.0}, now=20.0)
    before = new_agent.decision("7").decision
    new_agent.reconfigure(
        arms=wide, objectives=[*OBJECTIVES, mogro.Objective("share")], epsilon=0.1
    )
    two.reconfigure(context=None)
    # In flight: rewards come to decisions of the first version, from whoever.
    two.reward("4", {"click": 1.0, "read": 30.0}, now=21.0)
    for n in range(20, 30):
        decision = two.decide(stories(n), id=str(n), now=float(n))
        propensities[str(n)] = decision.propensity
        assert len(decision.event.features) == 5
    two.expire(60.0)
    rows = {row["id"]: row for row in new_agent.log().to_pylist()}
    assert {id: row["propensity"] for id, row in rows.items()} == propensities
    assert [rows[id]["version"] for id in ("7", "25")] == [0, 2]
    for n in (7, 25):
        encoded = wide([stories(n)[id] for id in rows[str(n)]["offered"]])
        assert rows[str(n)]["offered_features"] == encoded.ravel().tolist()
        assert rows[str(n)]["context"] is None
        assert rows[str(n)]["features"] == [1.0, *wide(stories(n)[rows[str(n)]["arm"]])]
    after = new_agent.decision("7").decision
    assert after == before
    assert after.propensity == before.propensity
    assert str(new_agent.explain(after)) == str(new_agent.explain(before))
    versions = json.loads(new_agent.log().schema.metadata[b"mogro"])["versions"]
    assert [version["context"] is None for version in versions] == [False, False, True]
    for agent, name in ((new_agent, "one"), (two, "two")):
        agent.save(tmp_path / name)
        agent.close()
    # Old code, of whatever version, gets the present configuration.
    for options in (
        {**FIRST, **made},
        {**FIRST, **made, "arms": wide, "epsilon": 0.1, "context": None},
    ):
        named = OBJECTIVES if options["context"] else [*OBJECTIVES, mogro.Objective("share")]
        with mogro.Agent.open(path, named, **options) as again:  # type: ignore[arg-type]
            again.save(tmp_path / "three")
            assert [objective.name for objective in again.objectives] == ["click", "read", "share"]
    saved = {(tmp_path / name).read_bytes() for name in ("one", "two", "three")}
    assert len(saved) == 1


def test_voiding_an_event_before_a_change(tmp_path: Path) -> None:
    agents = []
    for wrong in (True, False):
        agent = mogro.Agent.open(tmp_path / f"{wrong}.db", OBJECTIVES, **FIRST)
        live(agent, 0, 10)
        if wrong:
            agent.reward("8", {"click": 1.0, "read": 6e5}, now=9.0)
            position = agent.events("8")[-1][0]
        agent.reconfigure(arms=mogro.Encoder(price=PRICE, topic=WIDER))
        live(agent, 10, 20)
        if wrong:
            agent.void(position)
        agents.append(agent)
    assert_same(agents[0], agents[1])
    for agent in agents:
        agent.close()


def test_what_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    agent = mogro.Agent(OBJECTIVES, **FIRST)
    live(agent, 0, 10)
    agent.save(tmp_path / "before")
    for changes, says in (
        (
            {"arms": mogro.Encoder(topic=mogro.Number())},
            "records so far: record 0: topic: expected a number",
        ),
        ({"arms": 0}, "arms: expected"),
        ({"interactions": [("size", "age")]}, "interactions: expected columns of arms"),
        ({"prior": mogro.priors.Fixed([1.0, 2.0])}, "precision: expected one number for each"),
        ({"half_life": 3.0}, "half_life: expected"),
        ({"epsilon": 2.0}, "epsilon: expected"),
        ({"policy": 3}, "policy: expected"),
        ({"colour": 3}, "colour: cannot be changed"),
    ):
        with pytest.raises(ValueError, match=says):
            agent.reconfigure(**changes)
    assert agent.reconfigure() == agent.reconfigure(arms=FIRST["arms"]) == Reconfiguration()
    agent.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    agent.reconfigure(arms=3)
    with pytest.raises(ValueError, match="features: expected numbers"):
        agent.decide(stories(0), context=user(0))


def test_a_policy_of_another_number_of_features() -> None:
    policy = partial(mogro.UCB, noise=1.0, delta=0.1)
    agent = make(policy=policy)
    live(agent, 0, 10)
    agent.reconfigure(context=None)
    assert agent.decide(stories(3), now=10.0).arm in stories(3)
    reconfiguration = agent.reconfigure(policy=mogro.MOGRO)
    assert reconfiguration.changes == ("policy",)
    assert agent.decide(stories(4), now=11.0).arm in stories(4)


def test_a_timeout_that_goes_closes_nothing_that_was_looked_at_before() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=1, seed=0, activation_timeout=5.0, clock=None)
    agent.decide({"a": [1.0]}, id="waits", activate=False, now=0.0)
    agent.probabilities({"a": [1.0]}, now=9.0)  # looks ahead, to where it has timed out
    agent.reconfigure(activation_timeout=None)
    agent.expire(9.0)
    assert agent.decision("waits").status == {"click": "pending", "read": "pending"}


@pytest.mark.parametrize("retention", [None, mogro.Retention(decisions=2)])
def test_what_is_in_flight_for_many_half_lives_weighs_nothing(
    retention: mogro.Retention | None,
) -> None:
    known = []
    for in_flight in (10, 1100):  # 0.5 ** -1100 is no number
        agent = mogro.Agent(
            [mogro.Objective("a")], arms=1, seed=0, half_life=mogro.HalfLife(updates=1.0),
            prior=mogro.priors.Fixed(1.0), retention=retention,
        )  # fmt: skip
        for n in range(5):
            agent.reward(agent.decide({"x": [1.0]}).id, {"a": float(n)})
        for _ in range(in_flight):
            agent.decide({"x": [1.0]})
        agent.reconfigure(prior=mogro.priors.Fixed(2.0))
        known.append((agent.theta.item(), agent.observations["a"]))
    assert known[0] == pytest.approx(known[1])
