"""What callers gave stays on record: in events, ledger, snapshot, journal and log."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.replaying import replayed

import mogro
from mogro.agent.events import Decided, Event, Offered
from mogro.agent.features.encoder import parse_record, record_text

ARMS = mogro.Encoder(
    price=mogro.Number(10.0, 5.0),
    topic=mogro.Category("news", "sport"),
    tags=mogro.Tags("long", "new"),
    taste=mogro.Vector(2),
)
USERS = mogro.Encoder(age=mogro.Number(40.0, 15.0), country=mogro.Category("DE", "FR"))
STORIES: dict[str, dict[str, Any]] = {
    "a": {"price": np.float32(3.3), "topic": "news", "tags": {"new", "long"}},
    "b": {"price": Fraction(1, 3), "topic": "war", "taste": np.array([0.1, 0.7])},
    "c": {"price": float("nan"), "topic": None, "tags": ("old", "new")},
    "d": {},
}
SALES = [mogro.Objective("sales")]


def user(n: int) -> dict[str, Any]:
    return {"age": 20 + n, "country": ("DE", "XX", "FR")[n % 3]}


def live(agent: mogro.Agent, start: int = 0, rounds: int = 12) -> None:
    for n in range(start, start + rounds):
        decision = agent.decide(STORIES, context=user(n), id=f"visit {n}")
        if n % 4:
            agent.reward(decision.id, {"sales": float(n % 5)})


@pytest.mark.parametrize("record", STORIES.values())
def test_a_record_encodes_to_the_same_bits_from_its_text(record: dict[str, Any]) -> None:
    plain = parse_record(record_text(record))
    assert plain is not None
    assert record_text(plain) == record_text(record)
    assert ARMS(plain).tobytes() == ARMS(record).tobytes()


def test_other_encoders_read_what_they_know() -> None:
    fewer = mogro.Encoder(topic=mogro.Category("war", "news"))
    assert fewer.encode_known_columns([{"price": 3.0, "topic": "war"}, {}]).tolist() == [
        [1, 0],
        [0, 0],
    ]
    assert list(ARMS.unknown_values(STORIES["b"])) == [("topic", "war")]
    assert list(ARMS.unknown_values(STORIES["c"])) == [("tags", "old")]
    assert list(ARMS.unknown_values(STORIES["a"])) == list(ARMS.unknown_values({})) == []


def test_decisions_keep_them_and_replay_gives_the_same_bits(tmp_path: Path) -> None:
    events: list[Event] = []
    agent = mogro.Agent(SALES, arms=ARMS, context=USERS, seed=0, on_event=events.append)
    live(agent)
    made = [event for event in events if isinstance(event, Decided)]
    for n, event in enumerate(made):
        assert event.context == user(n)
        assert event.record == parse_record(record_text(STORIES[event.arm]))
    agent.save(tmp_path / "one")
    replayed(mogro.Agent(SALES, arms=ARMS, context=USERS, seed=0), events, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    again = mogro.Agent.load(tmp_path / "one")
    assert again.decision("visit 3").decision.event.context == user(3)
    rows = agent.log().to_pylist()
    assert [json.loads(row["context_record"]) for row in rows] == [user(n) for n in range(12)]
    assert rows == again.log().to_pylist()


def test_a_journal_has_records_in_place_of_features(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with mogro.Agent.open(path, SALES, arms=ARMS, context=USERS, seed=0) as agent:
        live(agent)
        offers = [event for _, event in agent.events() if isinstance(event, Offered)]
        assert len(offers) == 1
        assert offers[0].features is None
        assert offers[0].records is not None
        assert [record_text(record) for record in offers[0].records] == [
            record_text(value) for value in STORIES.values()
        ]
        changed = STORIES | {
            "b": STORIES["b"] | {"topic": "peace"}
        }  # unknown, too: alike in numbers
        decision = agent.decide(changed, context=user(0))
        assert len([1 for _, event in agent.events() if isinstance(event, Offered)]) == 2
        log = agent.log().to_pylist()
        assert agent.decision(decision.id).decision.propensity == decision.propensity
        assert log[-1]["propensity"] == decision.propensity
        assert log[-1]["offered_records"] == [record_text(value) for value in changed.values()]
        assert log[-1]["offered_features"] == ARMS(list(changed.values())).ravel().tolist()
        assert log[-1]["context"] == USERS(user(0)).tolist()
        agent.save(tmp_path / "one")
    with mogro.Agent.open(path) as agent:
        agent.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numbers_beside_an_encoder_are_no_records(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", SALES, arms=ARMS, context=USERS, seed=0) as agent:
        decision = agent.decide(["x"], ARMS([STORIES["a"]]), context=USERS(user(1)))
        assert decision.event.record is decision.event.context is None
        row = agent.log().to_pylist()[0]
    assert row["record"] is row["context_record"] is row["offered_records"] is None
    assert row["context"] == USERS(user(1)).tolist()


def test_erasing_reaches_records(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with mogro.Agent.open(path, SALES, arms=ARMS, context=USERS, seed=0, snapshot_every=5) as agent:
        live(agent)
        private = {"age": 33, "country": "Atlantis"}
        alone = {"z": {"topic": "Lemuria"}}
        agent.decide(alone, context=private, id="private")
        live(agent, 12)
        agent.erase("private")
        agent.save(tmp_path / "saved")
        held = (tmp_path / "saved").read_bytes()
        texts = agent.log().to_pylist()
    for content in (path.read_bytes(), held, str(texts).encode()):
        assert b"Atlantis" not in content
        assert b"Lemuria" not in content


def test_unknown_categories_are_named_and_counted() -> None:
    agent = mogro.Agent(SALES, arms=ARMS, context=USERS, seed=0)
    for n in range(9):
        agent.observe(STORIES, arm="b" if n < 2 else "c", context=user(n), id=str(n))
    assert agent.unknown_categories() == {
        "topic": {"war": 2},
        "tags": {"old": 7},
        "country": {"XX": 3},
    }
    agent.erase("0", "1", "4")
    assert agent.unknown_categories() == {"tags": {"old": 6}, "country": {"XX": 1}}
    agent.reconfigure(context=mogro.Encoder(country=mogro.Category("XX")))
    assert agent.unknown_categories()["country"] == {"FR": 3, "DE": 2}
