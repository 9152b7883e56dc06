"""What a newcomer gets wrong: the message names the argument, and nothing has changed."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.stories import worth

import mogro
from mogro.agent import BadReward

ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0]}
OBJECTIVES = [mogro.Objective("click"), mogro.Objective("watch")]


@pytest.fixture
def agent() -> mogro.Agent:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0, prior=mogro.priors.Flat())
    agent.decide(ARMS, id="v1")
    return agent


def refused(call: Callable[..., object], *given: Any, says: str, **named: Any) -> None:
    """Expect a refusal whose message begins so."""
    with pytest.raises(ValueError, match="^" + re.escape(says)):
        call(*given, **named)


@pytest.mark.parametrize(
    "value",
    ["1", b"1", np.str_("1"), np.array("1"), [1.0], np.array([1.0]), None, 1j, Decimal("sNaN")],
)
def test_a_reward_that_is_no_number_is_not_learned(agent: mogro.Agent, value: Any) -> None:
    before = agent.counters
    says = f"values: expected a finite number for 'click', got {value!r}"
    refused(agent.reward, "v1", {"watch": 1.0, "click": value}, says=says)
    with pytest.raises(BadReward):
        agent.reward("v1", {"click": value})
    assert agent.counters == before
    assert not agent.theta.any()


@pytest.mark.parametrize(
    "value", [1, 1.0, True, np.True_, np.float32(1), np.int8(1), np.float64(1), Decimal(1)]
)
def test_every_kind_of_number_is_learned_as_that_number(agent: mogro.Agent, value: Any) -> None:
    assert agent.reward("v1", {"click": value}).learned == 1
    assert agent.reward("v1", {"click": 1.0}).repeated == 1
    x = ARMS[agent.decision("v1").decision.arm]
    assert worth(agent, *x)[0] == pytest.approx(1)


def test_what_can_be_read_only_once_is_refused_for_what_it_held(agent: mogro.Agent) -> None:
    says = "arms: expected different strings, got some twice"
    refused(agent.decide, iter(["x", "x"]), [[1.0, 0.0], [0.0, 1.0]], says=says)


@pytest.mark.parametrize("values", [[1, 2], (1.0, 2.0), 1.0, None, "click", np.ones(2)])
def test_rewards_come_under_names(agent: mogro.Agent, values: Any) -> None:
    says = f"values: expected a mapping of objective name to number, got {values!r}"
    refused(agent.reward, "v1", values, says=says)
    assert agent.counters["learned"] == 0


def test_a_decision_is_rewarded_by_its_id(agent: mogro.Agent) -> None:
    decision = agent.decide(ARMS, id="v2")
    for id in (decision, 2, None, ["v2"]):
        says = f"id: expected the id of a decision (decision.id), got {id!r}"
        refused(agent.reward, id, {"click": 1.0}, says=says)
    assert agent.counters["learned"] == 0
    assert agent.reward(np.str_("v2"), {"click": 1.0}).learned == 1


def test_objects_of_another_kind(agent: mogro.Agent) -> None:
    refused(agent.explain, "v1", says="decision: expected a Decision, got 'v1'")


def test_arms_are_named_when_they_are_wrong(agent: mogro.Agent) -> None:
    before = agent.counters
    wanted = "arms: expected a mapping of id to features, ids with features, or a Catalogue"
    rows = [[1.0, 0.0], [0.0, 1.0]]
    wanted += "; ids are strings, one or more, got "
    wrong: list[Any] = [{}, {1: [1.0, 0.0]}, rows, None, "ab", [], 5, ["a", 1], np.eye(2)]
    for arms in wrong:
        refused(agent.decide, arms, says=f"{wanted}{arms}")
        refused(agent.decide_top, arms, says=f"{wanted}{arms}", top=2)
        refused(agent.front, arms, says=f"{wanted}{arms}")
        refused(agent.decide, arms, rows, says=f"{wanted}{arms}")
    refused(agent.decide, ["a", "a"], rows, says="arms: expected different strings, got some twice")
    refused(agent.decide, ["a", "b"], says="features: expected one row for each arm, got None")
    refused(mogro.Catalogue(2).add, [], [], says="ids: expected strings, one or more, got []")
    refused(mogro.Catalogue(2).add, None, [], says="ids: expected strings, one or more, got None")
    assert agent.counters == before


def test_what_an_agent_is_made_of() -> None:
    one = mogro.Objective("a")
    for given in (one, "a", ["a"], 3, None, {"a": one}):
        says = f"objectives: expected a list of mogro.Objective, got {given!r}"
        refused(mogro.Agent, given, says=says, arms=2, seed=0)
    says = "objectives: expected at least one mogro.Objective, got []"
    refused(mogro.Agent, [], says=says, arms=2, seed=0)
    says = (
        "policy: expected a function that makes a policy from the numbers of features and "
        "objectives, such as mogro.MOGRO, got 5"
    )
    refused(mogro.Agent, [one], says=says, arms=2, seed=0, policy=5)
    says = "policy: expected a function of two numbers, of features and of objectives, got "
    for factory in (lambda d: mogro.MOGRO(d, 1), mogro.UCB, lambda: None):  # UCB asks for more
        refused(mogro.Agent, [one], says=says, arms=2, seed=0, policy=factory)
    agent = mogro.Agent([one], arms=2, seed=0)
    both = [one, mogro.Objective("b")]
    refused(agent.reconfigure, says=says, objectives=both, policy=lambda d: mogro.MOGRO(d, 2))
    says = "pending: expected True, False or None, got array"
    refused(agent.decisions, says=says, pending=np.array([True, False]))


def test_a_path_that_cannot_be_written_is_named_as_given(
    agent: mogro.Agent, tmp_path: Path
) -> None:
    missing, folder = tmp_path / "missing" / "a.mogro", tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=re.escape(repr(str(missing))) + "$"):
        agent.save(missing)
    with pytest.raises(IsADirectoryError, match=re.escape(repr(str(folder))) + "$"):
        agent.save(str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]  # no drafts are left


def test_a_reward_needs_the_time_where_there_is_a_window() -> None:
    sale = mogro.Objective("sale", window=10.0, default=0.0)
    agent = mogro.Agent([sale], arms=1, seed=0, clock=None)
    agent.decide({"x": [1.0]}, id="a", now=0.0)
    refused(agent.reward, "a", {"sale": 1.0}, says="now: expected the time, because of a window")
    refused(agent.reward, "a", {}, says="now: expected a finite number, got nan", now=math.nan)
    assert agent.counters["learned"] == 0
    assert agent.reward("a", {"sale": 1.0}, now=99.0) == (0, 0, 1, 0, 0)  # late


def test_places_recalled_among_other_arms() -> None:
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0)
    first = agent.decide_top({"a": [1.0], "b": [2.0]}, top=2, id="x")
    again = agent.decide_top({"c": [1.0], "d": [2.0]}, top=2, id="x")
    assert [one.arm for one in again] == [one.arm for one in first]


def test_thompson_sampling_with_huge_features() -> None:
    agent = mogro.Agent(
        [mogro.Objective("click")],
        arms=3,
        seed=0,
        policy=lambda dim, m: mogro.ThompsonSampling(dim, m, noise=0.1, delta=0.1),
    )
    for _ in range(6):
        decision = agent.decide({"a": [123456789.0, 987654321.0, 55555555.0]})
        agent.reward(decision.id, {"click": 5.0})


def saved(agent: mogro.Agent, folder: Path) -> bytes:
    agent.save(folder / "agent")
    return (folder / "agent").read_bytes()


class Broken:
    """A scalarisation that has lost its numbers."""

    def weights(self, objectives: int, *, batch: tuple[int, ...], **_: object) -> np.ndarray:
        return np.full((*batch, objectives), np.nan)


class Raising:
    """A scalarisation that fails."""

    def weights(self, objectives: int, **_: object) -> np.ndarray:
        raise RuntimeError("out of order")


@pytest.mark.parametrize("half_life", [None, mogro.HalfLife(time=1.0), mogro.HalfLife(updates=5.0)])
def test_refused_decisions_leave_nothing_behind(
    half_life: mogro.HalfLife | None, tmp_path: Path
) -> None:
    objectives = [
        mogro.Objective("click"),
        mogro.Objective("sale", window=10.0, default=0.0),
        mogro.Objective("stars", window=20.0),
    ]
    agent = mogro.Agent(objectives, arms=2, seed=0, half_life=half_life)
    for n in range(12):
        decision = agent.decide(ARMS, now=float(n))
        agent.reward(decision.id, {"click": 1.0, "sale": 1.0}, now=float(n))
        if n < 8:
            agent.reward(decision.id, {"stars": 3.0}, now=float(n))
    before, observed = saved(agent, tmp_path), agent.observations
    calls: list[Callable[[], object]] = [
        lambda: agent.decide(ARMS, at_least={"click": 5.0}, weights=[1, 0, 0], now=1000.0),
        lambda: agent.decide(ARMS, weights=Broken(), now=1000.0),
        lambda: agent.decide(ARMS, weights=Raising(), now=1000.0),
        lambda: agent.decide(ARMS, weights=[-1.0, 1.0, 1.0], now=1000.0),
        lambda: agent.decide({"x": [np.inf, 1.0]}, now=1000.0),
        lambda: agent.decide(ARMS, eligible=[False, False], now=1000.0),
        lambda: agent.decide(ARMS, at_most={"likes": 1.0}, now=1000.0),
        lambda: agent.decide(ARMS, id="", now=1000.0),
        lambda: agent.decide_top(ARMS, top=2, weights=Broken(), now=1000.0),
        lambda: agent.reward("nobody", {"click": 1.0}, now=1000.0),
        lambda: agent.reward("0-11", {"click": 2.0}, now=1000.0),
        lambda: agent.reward("0-11", {"click": np.nan}, now=1000.0),
        lambda: agent.expire(np.nan),
    ]
    refusals = 0
    for call in calls:
        try:
            call()
        except (ValueError, RuntimeError):
            refusals += 1
            assert saved(agent, tmp_path) == before
        else:  # far in the future all may have faded: then it explores, and nothing is refused
            assert half_life is not None
            agent = mogro.Agent.load(tmp_path / "agent")
    assert agent.observations == observed
    assert refusals >= (len(calls) if half_life is None else 9)
    assert agent.decide(ARMS, now=12.0).id == "0-12"  # no id was used up


def test_an_estimate_that_is_refused_does_not_fade(tmp_path: Path) -> None:
    agent = mogro.Agent(
        [mogro.Objective("click")],
        arms=1,
        seed=0,
        half_life=mogro.HalfLife(time=1.0),
        policy=mogro.EpsilonGreedy,
    )
    agent.reward(agent.decide({"x": [1.0]}, now=0.0).id, {"click": 1.0})
    before = saved(agent, tmp_path)
    with pytest.raises(mogro.agent.InfeasibleConstraints):
        agent.decide({"x": [1.0]}, at_least={"click": 2.0}, now=50.0)
    assert agent.observations == {"click": 1.0}
    assert saved(agent, tmp_path) == before


def test_infinite_features_are_refused_whatever_the_scalarisation() -> None:
    agent = mogro.Agent(
        OBJECTIVES,
        arms=2,
        seed=0,
        policy=lambda dim, m: mogro.MOGRO(
            dim, m, scalarization=mogro.RandomHypervolume([0.0, 0.0])
        ),
    )
    for _ in range(4):
        agent.reward(agent.decide(ARMS).id, {"click": 1.0, "watch": 2.0})
    for bad in (np.inf, -np.inf, np.nan):
        says = f"features: expected finite values, got {bad} at (0, 1)"
        refused(agent.decide, {"x": [1.0, bad], "y": [0.0, 1.0]}, says=says)


def test_several_at_once_under_ids_of_others() -> None:
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0)
    arms = {"a": [1.0], "b": [2.0], "c": [3.0]}
    agent.decide(arms, id="v/2")
    refused(
        agent.decide_top, arms, says="id: expected a new one, but there is a decision 'v/2'",
        top=2, id="v",
    )  # fmt: skip
    agent.decide(arms, id="w")
    of_decide = "id: expected a decision of decide_top, got 'w'"
    refused(agent.decide_top, arms, says=of_decide, top=2, id="w")
    first = agent.decide_top(arms, top=2, id="x")
    assert agent.decide_top(arms, top=2, id="x") == first
    more = agent.decide_top(arms, top=3, id="x")
    assert more[:2] == first
    assert len({one.arm for one in more}) == 3


def test_equal_scores_are_drawn_and_copies_stay_with_the_first() -> None:
    """Before the first reward greedy decisions know no better: any arm, each alike."""
    agent = mogro.Agent(
        OBJECTIVES, arms=2, seed=0, policy=lambda d, m: mogro.EpsilonGreedy(d, m, epsilon=0.0)
    )
    arms = {"a": [1.0, 0.0], "b": [0.0, 1.0], "copy": [1.0, 0.0], "c": [1.0, 1.0]}
    weighted = [agent.decide(arms, weights=[1.0, 1.0]) for _ in range(300)]
    counts = {arm: sum(d.arm == arm for d in weighted) for arm in arms}
    assert counts["copy"] == 0
    assert min(counts[arm] for arm in "abc") > 60
    found = dict(zip(arms, weighted[0].propensities.values.tolist(), strict=True))
    assert found == pytest.approx({"a": 1 / 3, "b": 1 / 3, "copy": 0.0, "c": 1 / 3})


def test_several_at_once_are_distinct_also_where_one_was_erased() -> None:
    agent = mogro.Agent([mogro.Objective("sales")], arms=3, seed=0)
    arms = dict(zip("abc", np.eye(3), strict=True))

    def sell(arm: str, value: float) -> None:
        agent.observe(arms, arm=arm, rewards={"sales": value})

    for _ in range(40):
        for arm, value in (("a", 3.0), ("b", 2.0), ("c", 1.0)):
            sell(arm, value)
    made = agent.decide_top(arms, top=3, id="page")
    assert {one.arm for one in made} == set("abc")
    agent.erase("page/2")
    for _ in range(400):
        sell(made[2].arm, 9.0)  # it would be chosen in place of the one erased
    again = agent.decide_top(arms, top=3, id="page")
    assert [one.id for one in again] == ["page", "page/2", "page/3"]
    assert {one.arm for one in again} == set("abc")
    others = agent.decide_top(
        {made[0].arm: [1.0, 0.0, 0.0], "z": [0.0, 1.0, 0.0]}, top=2, id="page"
    )
    assert [one.id for one in others] == ["page", "page/2"]


class Weights:
    """A scalarisation of one's own that gives what it was told to."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def weights(self, objectives: int, **_: object) -> Any:
        return self.given


class Scores(Weights):
    """One that is not linear, either."""

    def weights(self, objectives: int, **_: object) -> Any:
        return np.full(objectives, 1 / objectives)

    def score(self, values: np.ndarray, weights: np.ndarray) -> Any:
        return self.given(values)


def test_weights_beyond_all_numbers_are_refused_by_name(agent: mogro.Agent) -> None:
    says = "weights: expected numbers >= 0, not all 0, with a finite sum, got"
    for call in (partial(agent.decide, ARMS), partial(agent.probabilities, ARMS)):
        refused(call, weights=[1e308] * len(agent.objectives), says=says)
    refused(agent.set_weights, [1e308] * len(agent.objectives), says=says)
    refused(mogro.FixedWeights, [1e308, 1e308], says="weights: expected weights >= 0 that sum to 1")
    refused(agent.to_prior, weight=1e308, says="weight: expected a number in (0, 1e+48]")


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (mogro.RandomWeights, "weights: expected an object with a method weights, got <class"),
        (Weights(np.ones(3)), "weights: expected weights for 2 objectives, got 3 of them"),
        (Weights("ab"), "weights: expected an array of real numbers, got 'ab'"),
        (Weights(1.0), "weights: expected shape (M,), got ()"),
        (Weights(np.ones((3, 2))), "weights: expected shape (M,), got (3, 2)"),
        (Scores(lambda values: 1.0), "score: expected shape (2,), got ()"),
        (Scores(lambda values: values), "score: expected shape (2,), got (2, 2)"),
        (Scores(lambda values: values[:-1, 0]), "score: expected shape (2,), got (1,)"),
    ],
)
def test_what_is_no_scalarisation(agent: mogro.Agent, weights: Any, says: str) -> None:
    before = agent.counters
    refused(agent.decide, ARMS, weights=weights, says=says)
    assert agent.counters == before


def test_a_list_of_weights_is_enough(agent: mogro.Agent) -> None:
    for _ in range(3):
        agent.reward(agent.decide(ARMS).id, {"click": 1, "watch": 1})
    assert agent.decide(ARMS, weights=Weights([0.5, 0.5])).arm in ARMS


@pytest.mark.parametrize("taken", ["page", "page/2", "page/3"])
def test_an_id_of_another_decision_is_refused_before_any_is_made(
    agent: mogro.Agent, taken: str
) -> None:
    """Else asking again would fail where asking did not."""
    arms = ARMS | {"z": [1.0, 1.0]}
    agent.decide(arms, id=taken)
    before = agent.counters
    for _ in range(2):
        with pytest.raises(ValueError, match=f"id: .*'{taken}'"):
            agent.decide_top(arms, top=3, id="page")
    assert agent.counters == before


@pytest.mark.parametrize("value", [1e50, 7.2e49])
def test_a_reward_that_cannot_be_learned_leaves_nothing_behind(
    agent: mogro.Agent, value: float
) -> None:
    refused(
        agent.reward,
        "v1",
        {"click": value, "watch": value},
        says="values: expected a number up to 1e+48",
    )
    assert agent.decision("v1").rewards == {}
    assert agent.reward("v1", {"click": 9e47, "watch": -9e47}).learned == 2


@pytest.mark.parametrize("bound", [{"at_most": 1e-300}, {"at_least": -1e308}])
def test_bounds_whose_squares_are_no_numbers_are_refused(bound: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(bound))}: expected a size from 1e-48 to"):
        mogro.Budget("click", **bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", [3, [1.0, 2.0], "ab"])
def test_bounds_come_under_names(agent: mogro.Agent, bounds: Any) -> None:
    before = agent.counters
    says = f"at_least: expected a mapping of objective name to number, got {bounds!r}"
    refused(agent.decide, ARMS, at_least=bounds, says=says)
    refused(agent.decide, ARMS, at_most=bounds, says=says.replace("least", "most"))
    assert agent.counters == before


def test_an_observed_id_stays_with_its_arm(agent: mogro.Agent) -> None:
    agent.observe(ARMS, arm="x", id="v2")
    before = agent.counters
    says = "arm: decision 'v2' chose 'x', got 'y'"
    refused(agent.observe, ARMS, arm="y", rewards={"click": 1.0}, id="v2", says=says)
    assert agent.counters == before
    agent.observe(ARMS, arm="x", rewards={"click": 1.0}, id="v2")
    assert agent.decision("v2").rewards == {"click": 1.0}


def test_settings_that_are_no_booleans_or_functions(agent: mogro.Agent) -> None:
    made = partial(mogro.Agent, OBJECTIVES, arms=2, seed=0)
    refused(made, arm_effects="no", says="arm_effects: expected True or False, got 'no'")
    refused(made, on_event=3, says="on_event: expected a function of an event, or None, got 3")
    refused(agent.expire, 1.0, confirm="no", says="confirm: expected True or False, got 'no'")


def test_files_and_classes_of_another_kind(agent: mogro.Agent, tmp_path: Path) -> None:
    agent.save(tmp_path / "agent")
    mogro.MOGRO(2, 2).save(tmp_path / "policy")
    for types in (3, [3], mogro.MOGRO):
        says = f"types: expected a list of classes, got {types!r}"
        refused(mogro.Agent.load, tmp_path / "agent", types=types, says=says)
        refused(mogro.Agent.open, tmp_path / "shop.db", types=types, says=says)
        refused(mogro.MOGRO.load, tmp_path / "policy", types=types, says=says)
    with pytest.raises(mogro.agent.DamagedSnapshot, match="something else than an agent is in it"):
        mogro.Agent.load(tmp_path / "policy")
    with pytest.raises(ValueError, match="something else than a policy is in it"):
        mogro.MOGRO.load(tmp_path / "agent")
    refused(mogro.Agent.open, tmp_path, says=f"{tmp_path}: expected a file, got a folder")
    says = "seed: expected it beside objectives, got none"
    refused(mogro.Agent.open, tmp_path / "shop.db", OBJECTIVES, arms=2, says=says)
    assert not (tmp_path / "shop.db").exists()


def test_a_number_beyond_every_float() -> None:
    encoder = mogro.Encoder(age=mogro.Number())
    refused(encoder, {"age": 10**400}, says="age: expected a number, got 1000")


def test_names_that_no_file_can_hold(tmp_path: Path) -> None:
    says = r"name: expected a string without lone surrogates, got 'a\ud800'"
    refused(mogro.Objective, "a\ud800", says=says)
    made = partial(mogro.Agent.open, tmp_path / "shop.db", OBJECTIVES, arms=2, seed=0)
    refused(made, name="a\ud800", says=says)
