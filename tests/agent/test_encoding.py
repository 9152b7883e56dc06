"""Records become numbers: each value by its column, whatever is missing, and errors by name."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mogro
from mogro._codec import by_name, from_plain, to_plain
from mogro.agent.config import KNOWN

USERS = mogro.Encoder(
    age=mogro.Number(mean=40, std=15),
    country=mogro.Category("DE", "FR", "US"),
    tags=mogro.Tags("sport", "news"),
    taste=mogro.Vector(2),
    floor=mogro.Category(1, 2),
)
RECORD = {"age": 31, "country": "FR", "tags": ["news"], "taste": [0.5, -1.0], "floor": 2}
NUMBERS = [-0.6, 0, 1, 0, 0, 1, 0.5, -1, 0, 1]
RECORDS: list[dict[str, Any]] = [
    RECORD,
    {"age": None, "country": None, "tags": None, "taste": None, "floor": None},
]

values: dict[str, st.SearchStrategy[Any]] = {
    "age": st.none() | st.just(np.nan) | st.floats(-1e6, 1e6) | st.integers(-99, 99),
    "country": st.none() | st.sampled_from(["DE", "FR", "US", "elsewhere"]),
    "tags": st.none() | st.lists(st.sampled_from(["sport", "news", "cats"])),
    "taste": st.none() | st.lists(st.floats(-9, 9), min_size=2, max_size=2),
    "floor": st.none() | st.integers(0, 4),
}
records = st.fixed_dictionaries({}, optional=values)


def test_every_column_has_its_numbers_and_names() -> None:
    assert USERS(RECORD).tolist() == NUMBERS
    assert USERS.size == len(USERS.names) == len(NUMBERS)
    assert USERS.names[:3] == ("age", "country=DE", "country=FR")
    assert USERS.names[4:8] == ("tags=sport", "tags=news", "taste[0]", "taste[1]")


@given(record=records)
def test_a_record_is_encoded_name_by_name(record: dict[str, Any]) -> None:
    whole = USERS(record)
    assert np.isfinite(whole).all()
    assert (
        whole.tolist()
        == sum((USERS({name: record[name]}) for name in record), start=0 * whole).tolist()
    )
    assert USERS([record, RECORD]).tolist() == [whole.tolist(), NUMBERS]
    assert USERS(dict(reversed(record.items()))).tolist() == whole.tolist()


@given(record=records)
def test_json_makes_it_again(record: dict[str, Any]) -> None:
    again = from_plain(json.loads(json.dumps(to_plain(USERS))), by_name(KNOWN))
    assert again == USERS
    assert hash(again) == hash(USERS)
    assert repr(again) == repr(USERS)
    assert again(record).tolist() == USERS(record).tolist()


def test_what_is_missing_or_unknown_is_zero() -> None:
    assert not USERS({}).any()
    assert not USERS(RECORDS[1]).any()
    assert not USERS({"age": np.nan, "country": "XX", "tags": ["cats"], "floor": 9}).any()
    assert USERS([]).shape == (0, USERS.size)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"agee": 3}, r"^agee: unknown; expected age, country"),
        ({"age": "31"}, "^age: expected a number, got '31'"),
        ({"age": np.inf}, "^age: expected a number"),
        ({"country": 3}, "^country: expected a string, got 3"),
        ({"country": ["DE"]}, "^country: expected a string"),
        ({"floor": "1"}, "^floor: expected an integer"),
        ({"floor": 1.5}, "^floor: expected an integer"),
        ({"tags": "news"}, "^tags: expected a list of tags"),
        ({"tags": [3]}, "^tags: expected a string"),
        ({"taste": [1.0]}, "^taste: expected 2 numbers"),
        ({"taste": 1.0}, "^taste: expected 2 numbers"),
        ({"taste": ["a", "b"]}, "^taste: expected 2 numbers"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_by_name(record: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        USERS(record)
    with pytest.raises(ValueError, match=f"^record 1: {message[1:]}"):
        USERS([{}, record])


@pytest.mark.parametrize("given", [3, [3], "x", None, np.ones(3)], ids=str)
def test_what_is_no_record_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"^record"):
        USERS(given)


def test_columns_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^columns:"):
        mogro.Encoder()
    with pytest.raises(ValueError, match=r"^age: .*mogro.Number"):
        mogro.Encoder(age=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^std:"):
        mogro.Number(std=0)
    for wrong in ((), ("a", "a"), ("a", 1), (1.5,)):
        with pytest.raises(ValueError, match=r"^values:"):
            mogro.Category(*wrong)
    with pytest.raises(ValueError, match=r"^size:"):
        mogro.Vector(0)
    with pytest.raises(ValueError, match=r"^types: expected the class Magic among them"):
        from_plain({"is": "Encoder", "arguments": [[], {"age": {"is": "Magic"}}]}, by_name(KNOWN))


def test_fit_standardises_and_lists() -> None:
    rng = np.random.default_rng(0)
    sample = [
        {
            "age": float(age),
            "country": country,
            "tags": ["a", "b"][: k % 3],
            "taste": [0.5, 1.0],
            "one": 7,
        }
        for k, (age, country) in enumerate(
            zip(rng.normal(40, 15, 50), rng.choice(["x", "y", "z"], 50).tolist(), strict=True)
        )
    ]
    fitted = mogro.Encoder.fit([*sample, {"age": None}])
    assert fitted.names == (
        "age", "country=x", "country=y", "country=z", "tags=a", "tags=b",
        "taste[0]", "taste[1]", "one",
    )  # fmt: skip
    encoded = fitted(sample)
    assert encoded[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert encoded[:, 0].std() == pytest.approx(1)
    assert not encoded[:, -1].any()  # a constant, whose spread is 0
    few = mogro.Encoder.fit([{"c": "b"}, {"c": "a"}, {"c": "b"}], categories=1)
    assert few.names == ("c=b",)


@pytest.mark.parametrize(
    "sample", [[{"a": None}], [{"a": 1}, {"a": "x"}], [{"a": [1]}, {"a": [1, 2]}], [{"a": {}}]]
)
def test_fit_refuses_a_mixture_by_name(sample: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"^a: expected"):
        mogro.Encoder.fit(sample)


def frame(kind: str) -> Any:
    """Records as a frame of one of the libraries."""
    pytest.importorskip("narwhals")
    library = pytest.importorskip(kind)
    columns = {name: [record.get(name) for record in RECORDS] for name in RECORD}
    return library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_read(kind: str) -> None:
    table = frame(kind)
    assert USERS(table).tolist() == [NUMBERS, [0] * USERS.size]
    fitted = mogro.Encoder.fit(table)
    assert fitted.names == (
        "age", "country=FR", "tags=news", "taste[0]", "taste[1]", "floor",
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^record 0: age: unknown"):
        mogro.Encoder(country=mogro.Category("DE"))(table)


class Frame:
    columns = ("age",)


def test_frames_without_narwhals_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "narwhals":
            raise ImportError(name)
        return usual(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install narwhals"):
        USERS(Frame())


def test_frames_of_others_are_refused() -> None:
    pytest.importorskip("narwhals")
    with pytest.raises(ValueError, match=r"^records: expected a frame"):
        USERS(Frame())


def test_an_agent_takes_records(tmp_path: Path) -> None:
    users = mogro.Encoder(age=mogro.Number(40, 15), country=mogro.Category("DE", "FR"))
    articles = mogro.Encoder(topic=mogro.Category("news", "sport"), words=mogro.Number(500, 200))
    objectives = [mogro.Objective("click"), mogro.Objective("time")]
    agent = mogro.Agent(objectives, arms=articles, context=users, seed=1, prior=mogro.priors.Flat())
    assert agent.feature_names[-1] == "country=FR * words"
    plain = mogro.Agent(objectives, arms=3, context=3, seed=1, prior=mogro.priors.Flat())
    offered: dict[str, dict[str, Any]] = {
        "a": {"topic": "news"},
        "b": {"topic": "sport", "words": 900},
        "c": {"words": 300},
    }
    rows = list(offered.values())
    for n in range(40):
        user = {"age": 20 + n, "country": ["DE", "FR", None][n % 3]}
        decision = agent.decide(offered, context=user)
        assert decision == plain.decide(list(offered), articles(rows), context=users(user))
        values = {"click": float(n % 2), "time": float(n % 5)}
        for each in (agent, plain):
            each.reward(decision.id, values)
    agent.save(tmp_path / "agent")
    again = mogro.Agent.load(tmp_path / "agent")
    assert again.decide(list(offered), rows, context=user) == agent.decide(offered, context=user)
    assert str(agent.front(offered, context=user)) == str(again.front(offered, context=user))
    with pytest.raises(ValueError, match=r"^context: agee: unknown"):
        agent.decide(offered, context={"agee": 3})
    with pytest.raises(ValueError, match=r"^features: record 1: topic: expected a string"):
        agent.decide({"a": {}, "b": {"topic": 3}}, context=user)
    with pytest.raises(ValueError, match=r"^features: .*no Encoder"):
        plain.decide(offered, context=users(user))
