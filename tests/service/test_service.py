"""What a service answers: the same as an agent in this process, and refusals by name."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.running import SHOP, Running, running

import mogro
from mogro.service import calls
from mogro.service.client import ServiceError

ARMS = SHOP["catalogue"]
OBJECTIVES = [mogro.Objective("click"), mogro.Objective("cost", direction="min", unit=0.5)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("shop")) as service, service.connect() as agent:
        agent.reward(agent.decide(id="the first").id, {"click": 1.0, "cost": 0.3})
        yield service


def fields(decision: Any) -> tuple[Any, ...]:
    names = ("id", "arm", "exploring", "uniform", "time", "weights", "estimates")
    return tuple(getattr(decision, name) for name in names)


def outcome(call: Any) -> Any:
    """Return what a call gives, or its exception, to compare."""
    try:
        result = call()
    except ValueError as error:
        kind = type(error)
        return (ValueError if kind is mogro.errors.InfeasibleConstraints else kind), str(error)
    if isinstance(result, tuple) and hasattr(result[0], "arm"):
        return [fields(each) for each in result]
    return fields(result) if hasattr(result, "estimates") else result


CALLS = st.lists(
    st.one_of(
        st.tuples(
            st.just("decide"),
            st.integers(0, 6),
            st.sampled_from([None, {"click": 1.0}, {"click": 1.0, "cost": 2.0}, [0.0, 0.0]]),
            st.sampled_from([None, [True, False, True], [False] * 3]),
            st.sampled_from([None, {"cost": 0.1}, {"nothing": 1.0}]),
        ),
        st.tuples(st.just("top"), st.integers(0, 6), st.integers(1, 4)),
        st.tuples(
            st.just("reward"),
            st.integers(0, 6),
            st.dictionaries(
                st.sampled_from(["click", "cost", "other"]), st.floats(-1e60, 1e60), max_size=2
            ),
        ),
        st.tuples(st.just("activate"), st.integers(0, 6)),
        st.tuples(st.just("withdraw"), st.integers(0, 6)),
        st.tuples(st.just("observe"), st.integers(0, 6), st.sampled_from(["news", "none"])),
        st.tuples(st.just("weights"), st.sampled_from([None, {"cost": 1.0}, {"click": -1.0}])),
    ),
    max_size=12,
)


def carry_out(agent: Any, call: Any) -> Any:
    kind, *rest = call
    if kind == "decide":
        number, weights, eligible, at_most = rest
        return agent.decide(
            ARMS, id=f"v{number}", weights=weights, eligible=eligible, at_most=at_most
        )
    if kind == "top":
        return agent.decide_top(ARMS, top=rest[1], id=f"v{rest[0]}")
    if kind == "reward":
        return agent.reward(f"v{rest[0]}", rest[1])
    if kind == "observe":
        return agent.observe(ARMS, arm=rest[1], id=f"v{rest[0]}", rewards={"click": 1.0})
    if kind == "weights":
        return agent.set_weights(rest[0])
    return getattr(agent, kind)(f"v{rest[0]}")


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, mogro.Agent]]:
    """An agent behind a service and one in this process; what is done to one is to the other."""
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=7, epsilon=0.1)
    with running(tmp_path_factory.mktemp("twins")) as service, service.connect() as remote:
        yield remote, agent


@settings(max_examples=30)
@given(CALLS)
def test_a_client_is_answered_as_by_an_agent_in_this_process(
    twins: tuple[Any, mogro.Agent], calls: list[Any]
) -> None:
    remote, agent = twins
    for call in calls:
        there = outcome(lambda call=call: carry_out(remote, call))
        here = outcome(lambda call=call: carry_out(agent, call))
        assert there == here
    assert remote.counters == agent.counters
    assert remote.observations == agent.observations
    assert remote.weights == agent.weights
    assert remote.objectives == agent.objectives
    assert remote.feature_names == agent.feature_names
    assert np.array_equal(remote.theta, agent.theta)
    assert np.array_equal(remote.intercept, agent.intercept)
    assert remote.alarms() == agent.alarms()
    for there, here in (
        (remote.estimate(), agent.estimate(ARMS)),
        (remote.front(), agent.front(ARMS)),
    ):
        assert there.arms == here.arms
        assert np.array_equal(there.values, here.values)
    for noise in (0.01, {"click": 0.5, "cost": 2.0}):
        certain = agent.front(ARMS, confidence=0.9, noise=noise)
        assert str(remote.front(confidence=0.9, noise=noise)) == str(certain)
    with pytest.raises(ValueError, match="noise: expected the standard deviation"):
        remote.front(confidence=0.9)
    chances, known = remote.probabilities(weights=[1, 1]), agent.probabilities(ARMS, weights=[1, 1])
    assert chances.arms == known.arms
    assert np.array_equal(chances.values, known.values)


def test_a_decision_and_its_reasons_can_be_asked_for(shop: Running) -> None:
    with shop.connect() as agent:
        decision = agent.decide(id="a/b?c=d&é")
        agent.reward(decision.id, {"click": 1.0})
        record = agent.decision(decision.id)
        assert record.decision == decision
        assert record.rewards == {"click": 1.0}
        assert record.status == {"click": "learned", "cost": "pending"}
        assert record.pending
        assert record.propensity is not None
        assert 0 < record.propensity <= 1
        assert agent.explain(decision).decision == decision
        assert len(agent.explain(decision.id).rivals) == 2


def test_numbers_that_are_not_finite_are_refused(shop: Running) -> None:
    before = shop.decisions_made()
    with shop.connect() as agent:
        for asked in ({"now": float("nan")}, {"at_most": {"cost": float("inf")}}):
            with pytest.raises(ValueError, match="numbers: expected finite ones"):
                agent.decide(**asked)
        with pytest.raises(ValueError, match="numbers: expected finite ones"):
            agent.decide({"a": np.array([np.nan, 1.0])})
        with pytest.raises(TypeError, match="expected plain values and arrays, got object"):
            agent.decide({"a": object()})
        with pytest.raises(TypeError, match="wieghts"):
            agent.decide(wieghts=[1, 1])  # type: ignore[call-arg]
    assert shop.decisions_made() == before


def test_a_client_refuses_what_it_cannot_send(shop: Running) -> None:
    with shop.connect() as agent:
        before = agent.counters
        wrong: list[tuple[str, Any]] = [
            (
                "features: expected one row for each of 1 arms, got None",
                lambda: agent.decide(["a"]),
            ),
            (
                "features: expected one row for each of 2 arms, got 1",
                lambda: agent.decide(["a", "b"], [[1.0, 0.0]]),
            ),
            (
                "arms: expected different strings",
                lambda: agent.decide(["a", "a"], [[1.0, 0.0], [0.0, 1.0]]),
            ),
            (
                "arms: expected strings",
                lambda: agent.decide("ab", [[1.0, 0.0], [0.0, 1.0]]),
            ),
            ("id: expected", lambda: agent.decide(id="")),
            ("values: expected a mapping", lambda: agent.reward("a", [1])),  # type: ignore[arg-type]
            ("values: expected a mapping", lambda: agent.reward("a", None)),  # type: ignore[arg-type]
            ("trade_offs: expected a list", lambda: agent.what_if(3)),  # type: ignore[arg-type]
            ("trade_offs: expected a list", lambda: agent.what_if([3])),  # type: ignore[list-item]
        ]
        for message, call in wrong:
            with pytest.raises(ValueError, match=f"^{message}"):
                call()
        assert agent.counters == before


@pytest.mark.parametrize("url", [3, None, "", "http://[::1", "http://localhost:99999", "ftp://a"])
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(ValueError, match="url: expected http://host:port or https://host, got"):
        mogro.connect(url)


def test_every_keyword_of_a_call_goes_over_the_wire() -> None:
    """What is new in an agent's method has to be new in the service, too."""
    for method, kind in (
        (mogro.Agent.decide, calls.Decide),
        (mogro.Agent.decide_top, calls.DecideTop),
        (mogro.Agent.observe, calls.Observe),
        (mogro.Agent.reward, calls.Reward),
        (mogro.Agent.activate, calls.Activate),
        (mogro.Agent.withdraw, calls.Withdraw),
        (mogro.Agent.estimate, calls.FindEstimates),
        (mogro.Agent.front, calls.FindFront),
        (mogro.Agent.probabilities, calls.FindProbabilities),
    ):
        names = set(inspect.signature(method).parameters) - {"self", "features"}
        assert set(kind.__struct_fields__) == names, kind


def test_a_batch_has_an_answer_each(shop: Running) -> None:
    with shop.connect() as agent:
        commits = shop.service.agents["shop"].writer.commits
        answers = agent.batch(
            [
                {"call": "decide", "id": "batch 1"},
                {"call": "reward", "id": "batch 1", "values": {"click": 1}},
                {"call": "reward", "id": "batch 1", "values": {"click": 2}},
                {"call": "reward", "id": "nobody", "values": {"click": 2}},
                {"call": "decide-top", "id": "batch 2", "top": 2},
                {"call": "withdraw", "id": "batch 2"},
            ]
        )
    assert shop.service.agents["shop"].writer.commits == commits + 1
    assert answers[0].id == "batch 1"
    assert answers[1].learned == 1
    assert isinstance(answers[2], mogro.errors.ConflictingReward)
    assert isinstance(answers[3], mogro.errors.UnknownDecision)
    assert [answer.id for answer in answers[4]] == ["batch 2", "batch 2/2"]
    assert answers[5] == 2


@pytest.mark.parametrize(
    ("name", "body", "status", "argument"),
    [
        ("decide", b"{", 400, "body"),
        ("decide", b'{"id": "\xff"}', 400, "body"),
        ("decide", {"now": 1e300}, 422, "now"),
        ("batch", {"calls": [{"call": "decide"}, {"call": "expire", "now": 1e12}]}, 422, "now"),
        ("batch", {"calls": [{"call": "decide"}, {"call": "reward", "id": 5}]}, 422, "calls[1].id"),
        ("decide", [], 422, "body"),
        ("decide", {"armz": 1}, 422, "armz"),
        ("decide", {"id": ""}, 422, "id"),
        ("decide", {"id": "x" * 201}, 422, "id"),
        ("decide", {"context": [1.0]}, 422, "context"),
        ("decide", {"arms": {}}, 422, "arms"),
        ("decide", {"arms": {"a": [1.0]}}, 422, "features"),
        ("decide", {"arms": {"a": [1.0, "x"]}}, 422, "arms[...][1]"),
        ("decide", {"arms": {"a": {"topic": "x"}}}, 422, "features"),
        ("decide", {"weights": {"none": 1}}, 422, "weights"),
        ("decide", {"eligible": ["none"]}, 422, "eligible"),
        ("decide", {"eligible": []}, 422, "eligible"),
        ("decide", {"at_most": {"none": 1}}, 422, "at_most"),
        ("decide-top", {}, 422, "top"),
        ("decide-top", {"top": 0}, 422, "top"),
        ("reward", {"id": "v"}, 422, "values"),
        ("reward", {"id": "nobody", "values": {"click": 1}}, 404, "id"),
        ("reward", {"id": "v", "values": {"none": 1}}, 422, "values"),
        ("reward", b'{"id": "v", "values": {"click": 1e999}}', 422, "values[...]"),
        ("batch", {"calls": []}, 422, "calls"),
        ("batch", {"calls": [{"call": "none"}]}, 422, "calls[0].call"),
        ("batch", {"calls": [{"call": "expire"}] * 101}, 413, "calls"),
        ("what-if", {"trade_offs": [{"none": 1}]}, 422, "weights"),
        ("erase", {"ids": ["nobody"]}, 404, "id"),
        ("decide", b'{"arms": ' * 2000, 422, "arms[...][...]"),
    ],
)
def test_refusals_name_the_argument(
    shop: Running, name: str, body: Any, status: int, argument: str
) -> None:
    before = shop.service.agents["shop"].agent.counters
    answer = shop.post(name, body)
    assert answer.status == status, answer.body
    assert answer.json["argument"] == argument, answer.json
    assert answer.json["message"].startswith(f"{argument}: ")
    assert shop.service.agents["shop"].agent.counters == before


def test_arms_come_and_go_and_are_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as service, service.connect() as agent:
        agent.put_arms({"song": np.array([0.2, 0.2]), "news": [2.0, 0.0]})
        agent.drop_arms(["film", "quiz"])
        assert agent.arms == {"news": [2.0, 0.0], "song": [0.2, 0.2]}
        with pytest.raises(
            ValueError, match=r"arms: expected arms of the catalogue, got \['film'\]"
        ):
            agent.drop_arms(["film"])
        with pytest.raises(ValueError, match="features: expected an array"):
            agent.put_arms({"song": [1.0]})
        agent.decide(id="v1")
    with running(tmp_path) as service, service.connect() as agent:
        assert agent.arms == {"news": [2.0, 0.0], "song": [0.2, 0.2]}
        assert agent.decide(id="v1").arm in ("news", "song")
        assert agent.counters["decisions"] == 1
        changes = service.ask("GET", "/v1/audit").json["changes"]
        assert [change["what"] for change in changes] == ["arms", "arms"]
        assert {change["by"] for change in changes} == {"anyone"}


def test_records_of_arms_and_contexts(tmp_path: Path) -> None:
    agent = {
        "arms": {"topic": {"type": "category", "values": ["a", "b"]}},
        "context": {
            "age": {"type": "number", "mean": 40, "std": 10},
            "likes": {"type": "vector", "size": 2},
        },
        "objectives": [{"name": "click", "window": 60, "default": 0}],
        "catalogue": {"one": {"topic": "a"}, "two": {"topic": "b"}},
    }
    with running(tmp_path, {"agents": {"shop": agent}}) as service, service.connect() as remote:
        decision = remote.decide(context={"age": 31, "likes": [1, 0]})
        assert decision.time > 1e9  # the clock of the service
        with pytest.raises(ValueError, match="topic: expected a string, got 1"):
            remote.decide({"one": {"topic": 1}}, context={"age": 31})
        with pytest.raises(mogro.errors.ImplausibleTime, match="now: expected at most"):
            remote.decide(context={"age": 31}, now=decision.time * 1000)


def test_a_service_that_is_not_there() -> None:
    with pytest.raises(ServiceError, match="refused"):
        mogro.connect("http://127.0.0.1:9", retries=0)
    with pytest.raises(ValueError, match="url: expected http://host:port"):
        mogro.connect("localhost:80")


def test_agents_by_name(tmp_path: Path) -> None:
    with running(tmp_path, {"agents": {"a": SHOP, "b": SHOP}}) as service:
        with pytest.raises(ValueError, match=r"agent: expected one of \['a', 'b'\]"):
            service.connect()
        with pytest.raises(ValueError, match="agent: expected one of"):
            service.connect("c")
        with service.connect("a") as a, service.connect("b") as b:
            a.decide(id="v1")
            assert b.counters["decisions"] == 0
        assert service.ask("GET", "/v1/agents/c").status == 404
