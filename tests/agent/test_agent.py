import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agent.stories import worth

import mogro
from mogro.agent import (
    BadReward,
    ConflictingReward,
    InfeasibleConstraints,
    UnknownDecision,
    UnknownObjective,
)
from mogro.agent.decision_inputs import DecisionInputs

Floats = NDArray[np.float64]
NAMES = ("click", "watch", "cost")
OBJECTIVES = [
    mogro.Objective("click"),
    mogro.Objective("watch", unit=60.0, offset=30.0),
    mogro.Objective("cost", direction="min", unit=0.5),
]
GREEDY = partial(mogro.MOGRO, threshold=0.1)  # without optimistic rounds


def ball(arms: int, dim: int, *, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((arms, dim))
    return np.asarray(features / np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True)))


def taught(agent: mogro.Agent, features: Floats, truth: Floats, *, rounds: int) -> mogro.Agent:
    """Let an agent play with rewards (K, M) that are certain and come at once."""
    ids = [f"arm {k}" for k in range(len(features))]
    for n in range(rounds):
        decision = agent.decide(ids, features, id=f"taught {n}", now=0.0)
        values = truth[ids.index(decision.arm)].tolist()
        names = [objective.name for objective in agent.objectives]
        agent.reward(decision.id, dict(zip(names, values, strict=True)))
    return agent


def test_everything_visible_is_in_the_users_units() -> None:
    features = ball(20, 4)
    slopes = np.random.default_rng(1).standard_normal((3, 4))
    truth = features @ slopes.T + [0.0, 30.0, 0.0]
    agent = taught(
        mogro.Agent(OBJECTIVES, arms=4, seed=1, prior=mogro.priors.Flat()),
        features,
        truth,
        rounds=40,
    )
    assert agent.theta == pytest.approx(slopes)
    assert agent.intercept == pytest.approx([0.0, 30.0, 0.0], abs=1e-8)
    decision = agent.decide([f"arm {k}" for k in range(20)], features, weights=[0, 0, 1])
    best = int(truth[:, 2].argmin())  # the cheapest
    assert decision.arm == f"arm {best}"
    assert list(decision.estimates.values()) == pytest.approx(truth[best])
    assert decision.weights == {"click": 0.0, "watch": 0.0, "cost": 1.0}


def test_a_weight_is_importance_per_unit() -> None:
    arms = {"short": [1.0, 0.0], "long": [0.0, 1.0]}
    truth = np.array([[1.0, 100.0], [0.0, 190.0]])  # one click against 90 seconds
    for unit, winner in ((60.0, "long"), (120.0, "short")):
        objectives = [mogro.Objective("click"), mogro.Objective("watch", unit=unit)]
        agent = mogro.Agent(objectives, arms=2, seed=0)
        for n, (name, rewards) in enumerate(zip(arms, truth.tolist(), strict=True)):
            id = agent.decide({name: arms[name]}, id=str(n)).id
            agent.reward(id, dict(zip(["click", "watch"], rewards, strict=True)))
        assert agent.decide(arms, weights={"click": 1.0, "watch": 1.0}).arm == winner


def test_raw_features_need_no_scaling() -> None:
    rng = np.random.default_rng(2)
    raw = np.column_stack([rng.uniform(1950, 2020, 50), rng.uniform(0, 1e-3, 50)])
    truth = np.column_stack([0.02 * (raw[:, 0] - 2000) + 400 * raw[:, 1] + 7, 5 - raw[:, 1] * 900])
    agent = taught(
        mogro.Agent(OBJECTIVES[:2], arms=2, seed=3, prior=mogro.priors.Flat()),
        raw,
        truth,
        rounds=60,
    )
    assert agent.counters["explored"] < 25
    assert raw @ agent.theta.T + agent.intercept == pytest.approx(truth, abs=1e-5)
    front = [f"arm {k}" for k in np.flatnonzero(mogro.pareto.effective_front(truth))]
    last = [agent.decide([f"arm {k}" for k in range(50)], raw) for _ in range(30)]
    assert {d.arm for d in last if not d.exploring and not d.uniform} <= set(front)


def test_partial_rewards_are_learned_by_objective() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0, prior=mogro.priors.Flat())
    first = agent.decide({"a": [1.0, 0.0]})
    second = agent.decide({"b": [1.0, 1.0]})
    agent.reward(first.id, {"click": 1})
    agent.reward(second.id, {"watch": 90.0})
    assert worth(agent, 1.0, 0.0)[0] == pytest.approx(1.0)
    assert worth(agent, 1.0, 1.0)[1] == pytest.approx(90.0)
    assert not agent.theta[2].any()
    assert agent.observations == {"click": 1.0, "watch": 1.0, "cost": 0.0}


def test_rewards_a_week_late_do_not_keep_the_first_decisions_from_spanning_the_arms() -> None:
    features = ball(100, 8)
    ids = [str(k) for k in range(100)]
    agent = mogro.Agent(OBJECTIVES, arms=8, seed=5, prior=mogro.priors.Flat())
    chosen = [int(agent.decide(ids, features).arm) for _ in range(100)]
    assert np.linalg.matrix_rank(features[chosen[:8]]) == 8
    gram = features[chosen].T @ features[chosen]
    assert np.linalg.eigvalsh(gram)[0] >= 0.1 * np.square(features).sum(axis=1).max()
    explored = agent.counters["explored"]
    assert 8 <= explored < 40  # and it stops: more of the same would teach nothing


def test_a_window_that_closes_unobserved_takes_the_decision_out_again() -> None:
    objectives = [mogro.Objective("click"), mogro.Objective("survey", window=10.0)]
    agent = mogro.Agent(objectives, arms=2, seed=0, prior=mogro.priors.Flat())
    arms = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    for now in range(4):
        decision = agent.decide(arms, now=now)
        agent.reward(decision.id, {"click": 1.0}, now=now)
    assert not agent.decide(arms, now=5.0).exploring
    assert agent.expire(now=100.0) == 5  # nobody answered
    assert [agent.decide(arms, now=100.0).arm for _ in range(2)] == ["a", "b"]
    assert agent.counters["missing"] == 5
    assert agent.counters["explored"] == 4


@pytest.mark.slow
def test_taking_many_out_leaves_nothing_that_looks_like_a_direction() -> None:
    rng = np.random.default_rng(0)
    agent = mogro.Agent([mogro.Objective("survey", window=1.0)], arms=4, seed=0)
    for n in range(3000):
        x = rng.standard_normal(4) * 10.0 ** rng.integers(-2, 4)
        agent.decide({"a": x}, now=float(n))
        agent.expire(n - 5.0)
    assert agent.decide({"a": [1e-9, 0.0, 0.0, 0.0]}, now=3e3).arm == "a"
    agent.expire(now=1e9, confirm=True)
    assert agent.counters["pending"] == 0
    spans = [agent.decide(dict(zip("wxyz", np.eye(4), strict=True)), now=1e9) for _ in range(4)]
    assert sorted(decision.arm for decision in spans) == list("wxyz")


def test_the_same_id_gives_the_same_decision_and_is_learned_once() -> None:
    features = ball(30, 3)
    ids = [str(k) for k in range(30)]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=1)
    taught(agent, features, features @ np.ones((3, 3)), rounds=20)
    decision = agent.decide(ids, features, id="one")
    agent.reward("one", {"click": 1.0})
    again = agent.decide(["other"], ball(1, 3, seed=9), id="one", weights=[1, 0, 0])
    assert again == decision
    assert (again.weights, again.estimates) == (decision.weights, decision.estimates)
    before = agent.theta
    assert agent.reward("one", {"click": 1.0}) == (0, 0, 0, 1, 0)
    assert (agent.theta == before).all()
    with pytest.raises(ValueError, match="only to the Decision that the first call"):
        _ = again.propensity


def test_a_replay_decides_the_same_whatever_happened_between() -> None:
    features = ball(40, 3)
    ids = [str(k) for k in range(40)]
    truth = features @ np.random.default_rng(3).standard_normal((3, 3))
    one, two = (mogro.Agent(OBJECTIVES, arms=3, seed=4, policy=GREEDY) for _ in range(2))
    for agent in (one, two):
        taught(agent, features, truth, rounds=30)
    for n in range(50):
        two.decide(ids, features, id=f"other {n}")  # draws that the first agent never made
    arms = [[a.decide(ids, features, id=f"d{n}").arm for n in range(30)] for a in (one, two)]
    assert arms[0] == arms[1]
    assert len(set(arms[0])) > 1
    other = mogro.Agent(OBJECTIVES, arms=3, seed=5, policy=GREEDY)
    taught(other, features, truth, rounds=30)
    assert [other.decide(ids, features, id=f"d{n}").arm for n in range(30)] != arms[0]


def test_made_ids_are_unique_and_made_around_given_ones() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=1, seed=7)
    agent.decide({"a": [1.0]}, id="7-1")
    assert [agent.decide({"a": [1.0]}).id for _ in range(3)] == ["7-0", "7-2", "7-3"]


def test_preferences_change_and_nothing_is_forgotten() -> None:
    features = ball(50, 3)
    ids = [str(k) for k in range(50)]
    truth = features @ np.random.default_rng(0).standard_normal((3, 3))
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=4, policy=GREEDY)
    taught(agent, features, truth, rounds=30)
    before = agent.theta
    inward = (truth - [0, 30, 0]) / [1, 60, -0.5]
    for weights in ([1.0, 0.0, 0.0], [0.2, 0.5, 0.3], {"cost": 2.0, "click": 2.0}):
        decision = agent.decide(ids, features, weights=weights)
        shown = np.array(list((decision.weights or {}).values()))
        assert shown.sum() == pytest.approx(1)
        assert int(decision.arm) == int((inward @ shown).argmax())
    corners = agent.decide(ids, features, weights=mogro.RandomWeights(1e-3)).weights or {}
    assert max(corners.values()) > 0.99
    assert (agent.theta == before).all()


def test_constraints() -> None:
    features = ball(50, 3)
    ids = [str(k) for k in range(50)]
    truth = features @ np.random.default_rng(0).standard_normal((3, 3)) + [0, 30, 0]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=4, prior=mogro.priors.Flat())
    taught(agent, features, truth, rounds=30)
    level = float(np.median(truth[:, 2]))
    chosen = {int(agent.decide(ids, features, at_most={"cost": level}).arm) for _ in range(40)}
    assert (truth[sorted(chosen), 2] <= level + 1e-9).all()
    counted = agent.counters
    with pytest.raises(
        InfeasibleConstraints, match="no arm has click >= 1e\\+06, cost <= 0"
    ) as caught:
        agent.decide(ids, features, at_least={"click": 1e6}, at_most={"cost": 0.0})
    assert caught.value.best["click"] == pytest.approx(truth[:, 0].max())
    assert caught.value.best["cost"] == pytest.approx(truth[:, 2].min())
    assert agent.counters == counted
    with pytest.raises(ValueError, match="at_least"):
        agent.decide(ids, features, at_least={"likes": 1.0})


def test_eligible_arms_only() -> None:
    features = ball(20, 3)
    ids = [str(k) for k in range(20)]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=0)
    mask = np.arange(20) % 3 == 1
    for _ in range(30):
        decision = agent.decide(ids, features, eligible=mask)
        assert int(decision.arm) % 3 == 1
        agent.reward(decision.id, dict.fromkeys(NAMES, 1.0))
    assert set(decision.propensities.arms) == {ids[k] for k in range(20) if mask[k]}
    for bad in (np.zeros(20, bool), mask[:-1], mask.astype(int)):
        with pytest.raises(ValueError, match="eligible"):
            agent.decide(ids, features, eligible=bad)


def test_top_arms() -> None:
    features = ball(50, 3)
    ids = [str(k) for k in range(50)]
    truth = features @ np.random.default_rng(0).standard_normal((3, 3)) + [0, 30, 0]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=4, prior=mogro.priors.Flat())
    taught(agent, features, truth, rounds=30)
    best = agent.decide_top(ids, features, top=4, id="page", weights=[1, 0, 0])
    assert [int(d.arm) for d in best] == np.argsort(-truth[:, 0])[:4].tolist()
    assert [d.id for d in best] == ["page", "page/2", "page/3", "page/4"]
    mixed = agent.decide_top(ids, features, top=10)
    assert len({d.arm for d in mixed}) == 10
    few = agent.decide_top(ids[:3], features[:3], top=10)
    assert sorted(d.arm for d in few) == ids[:3]
    level = float(np.sort(truth[:, 0])[-3])
    assert len(agent.decide_top(ids, features, top=9, at_least={"click": level - 1e-9})) == 3
    agent.reward("page/3", {"click": 1.0})


def test_refusals_of_rewards_change_nothing() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0)
    id = agent.decide({"a": [1.0, 2.0]}).id
    agent.reward(id, {"click": 1.0})
    before, counted = agent.theta, agent.counters
    for values, error in (
        ({"watch": 1.0, "likes": 1.0}, UnknownObjective),
        ({"watch": 1.0, "cost": math.nan}, BadReward),
        ({"watch": math.inf}, BadReward),
        ({"watch": 1e300}, BadReward),
        ({"watch": 10**400}, BadReward),
        ({"watch": "much"}, BadReward),
        ({"watch": None}, BadReward),
        ({"watch": 1.0, "click": 0.5}, ConflictingReward),
    ):
        with pytest.raises(error):
            agent.reward(id, values)  # type: ignore[arg-type]
    with pytest.raises(UnknownDecision):
        agent.reward("other", {"click": 1.0})
    assert (agent.theta == before).all()
    assert agent.counters == counted
    assert agent.reward(id, {"watch": 1.0, "click": True}) == (1, 0, 0, 1, 0)


def test_late_rewards_may_be_recorded_not_learned() -> None:
    objectives = [
        mogro.Objective("sale", window=10.0, default=0.0),
        mogro.Objective("stars", window=20.0),
    ]
    agent = mogro.Agent(objectives, arms=1, seed=0, prior=mogro.priors.Flat(), correct_within=0.0)
    for id in ("a", "b"):
        agent.decide({"x": [1.0]}, id=id, now=0.0)
    assert agent.expire(now=9.9) == 0
    assert agent.expire(now=10.0) == 2
    assert agent.reward("a", {"sale": 5.0, "stars": 3.0}, now=10.0) == (1, 0, 0, 0, 1)
    assert agent.reward("a", {"sale": 5.0}, now=10.0) == (0, 0, 0, 1, 0)
    with pytest.raises(ConflictingReward):
        agent.reward("a", {"sale": 6.0}, now=10.0)
    assert agent.reward("b", {"stars": 4.0}, now=20.0) == (
        0,
        0,
        0,
        0,
        1,
    )  # told the time, it closes
    assert worth(agent, 1.0) == pytest.approx([0.0, 3.0])
    counted = agent.counters
    assert (counted["late"], counted["defaulted"], counted["missing"]) == (2, 2, 1)
    with pytest.raises(ValueError, match="now"):
        agent.decide({"x": [1.0]})


def test_the_last_completed_decisions_are_kept() -> None:
    last = mogro.Retention(decisions=3)
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0, retention=last)
    for n in range(6):
        agent.decide({"x": [1.0]}, id=str(n), now=float(n))
    for n in (5, 0, 1, 2):
        agent.reward(str(n), {"click": 1.0})
    with pytest.raises(UnknownDecision):
        agent.reward("5", {"click": 1.0})  # completed first
    assert agent.reward("0", {"click": 1.0}) == (0, 0, 0, 1, 0)
    assert agent.reward("3", {"click": 0.0}) == (1, 0, 0, 0, 0)  # pending ones stay
    with pytest.raises(UnknownDecision):
        agent.reward("0", {"click": 1.0})
    assert agent.counters["forgotten"] == 2
    assert agent.decide({"y": [2.0]}, id="0").arm == "y"  # the id is free again


def test_decisions_are_kept_up_to_an_age() -> None:
    agent = mogro.Agent([mogro.Objective("click")], arms=1, seed=0, retention=10.0)
    for n in range(6):
        agent.decide({"x": [1.0]}, id=str(n), now=float(n))
    for n in (5, 0, 1):
        agent.reward(str(n), {"click": 1.0}, now=6.0)
    agent.expire(10.5)
    assert "0" in [record.decision.id for record in agent.decisions()]  # 5 was completed before it
    agent.expire(15.0)
    assert agent.counters["forgotten"] == 0
    agent.expire(15.5)
    assert [record.decision.id for record in agent.decisions()] == ["2", "3", "4"]  # they wait
    assert agent.counters["forgotten"] == 3


def test_what_is_too_old_is_dropped_once_though_its_window_closes_with_it() -> None:
    """Its row is free then, and the next decision's: nothing more happens to it."""
    sale = mogro.Objective("sale", window=9.0)
    agent = mogro.Agent([sale], arms=1, seed=0, retention=20.0, max_step=1000.0)
    agent.decide({"x": [1.0]}, id="early", now=0.0)
    agent.reward("early", {"sale": 1.0}, now=1.0)
    for id, now in (("later", 100.0), ("last", 101.0)):
        agent.decide({"x": [1.0]}, id=id, now=now)
    assert {r.decision.id: r.status for r in agent.decisions()} == {
        "later": {"sale": "pending"},
        "last": {"sale": "pending"},
    }
    counters = agent.counters
    assert [counters[n] for n in ("learned", "forgotten", "pending", "completed")] == [1, 1, 2, 0]


def test_forgetting_in_updates_follows_a_change_and_reports_what_counts() -> None:
    arms = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    agent = mogro.Agent(
        [mogro.Objective("click")],
        arms=2,
        seed=0,
        prior=mogro.priors.Flat(),
        half_life=mogro.HalfLife(updates=20),
    )
    for n in range(300):
        decision = agent.decide(arms)
        good = "a" if n < 150 else "b"
        agent.reward(decision.id, {"click": 1.0 if decision.arm == good else 0.2})
    assert agent.observations["click"] == pytest.approx(1 / (1 - 0.5 ** (1 / 20)), rel=1e-3)
    assert agent.decide(arms, weights=[1.0]).arm == "b"
    assert agent.counters["explored"] >= 4  # exploration resumed, now and then


@pytest.mark.slow
def test_forgetting_for_a_long_time_ruins_nothing() -> None:
    arms = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    half_life = mogro.HalfLife(updates=100)
    agent = mogro.Agent(
        [mogro.Objective("click")], arms=2, seed=0, prior=mogro.priors.Flat(), half_life=half_life
    )
    for n in range(8000):
        decision = agent.decide(arms, eligible=[True, n < 2])
        agent.reward(decision.id, {"click": 1.0})
        assert np.abs(agent.theta).max() < 1.1
    later = [agent.decide(arms) for _ in range(8)]  # of which one looks
    explored = [decision.arm for decision in later if decision.exploring]
    assert explored == ["b"]  # faded below rounding: unseen, so explored


def test_forgetting_in_time_does_not_care_for_the_order_of_arrival() -> None:
    rng = np.random.default_rng(0)
    half_life = mogro.HalfLife(time=10.0)
    agents = [
        mogro.Agent(OBJECTIVES, arms=3, seed=0, prior=mogro.priors.Flat(), half_life=half_life)
        for _ in range(2)
    ]
    rewards = []
    for n in range(60):
        x = rng.standard_normal(3)
        for agent in agents:
            agent.decide({"x": x}, id=str(n), now=float(n))
        rewards += [(str(n), name, rng.standard_normal()) for name in NAMES]
    for agent in agents:
        for id, name, value in rewards:
            agent.reward(id, {name: value})
        rng.shuffle(rewards)
    assert agents[0].theta == pytest.approx(agents[1].theta, abs=1e-9)
    assert agents[0].observations == pytest.approx(agents[1].observations)
    agents[0].decide({"x": [1.0, 0.0, 0.0]}, now=70.0)
    expected = sum(0.5 ** ((70 - n) / 10) for n in range(60))
    assert agents[0].observations["click"] == pytest.approx(expected)


def test_exploration_resumes_when_all_has_faded_in_time() -> None:
    arms = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    agent = mogro.Agent(
        [mogro.Objective("click")],
        arms=2,
        seed=0,
        prior=mogro.priors.Flat(),
        half_life=mogro.HalfLife(time=1.0),
    )
    for now in (0.0, 0.1):
        agent.reward(agent.decide(arms, now=now).id, {"click": 1.0})
    assert not agent.decide(arms, now=0.2).exploring
    later = [agent.decide(arms, now=50.0) for _ in range(2)]  # its own in-flight one has faded too
    assert [d.exploring for d in later] == [True, True]
    agent.expire(1e6, confirm=True)
    assert agent.decide(arms, now=1e6).exploring


def test_widths_are_per_objective() -> None:
    """An objective observed less often is explored for longer, by UCB."""
    agent = mogro.Agent(
        OBJECTIVES[:2], arms=2, seed=0, policy=partial(mogro.UCB, noise=1.0, delta=0.1)
    )
    for _ in range(30):
        agent.reward(agent.decide({"a": [1.0, 0.0]}).id, {"click": 1.0})
    for _ in range(30):
        agent.reward(agent.decide({"b": [0.0, 1.0]}).id, {"click": 1.0, "watch": 30.0})
    inputs = agent.decide(["a", "b"], np.eye(2)).inputs
    assert isinstance(inputs, DecisionInputs)
    beliefs = inputs.beliefs
    policy = mogro.UCB(3, 2, noise=1.0, delta=0.1)
    arms = np.column_stack([np.ones(2), np.eye(2)])
    values = policy.values(arms, beliefs, rng=np.random.default_rng(0))
    widths = values - beliefs.estimates(arms)
    assert widths[0, 0] == pytest.approx(widths[1, 0])
    assert widths[0, 1] > 3 * widths[1, 1]  # no watch time of the first arm was ever seen


def test_views_show_the_users_units() -> None:
    features = ball(30, 3)
    ids = [f"arm {k}" for k in range(30)]
    rng = np.random.default_rng(0)
    truth = features @ rng.standard_normal((3, 3)) + [0, 30, 0]
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=4, prior=mogro.priors.Flat())
    taught(agent, features, truth, rounds=30)
    front = agent.front(ids, features)
    inward = (truth - [0, 30, 0]) / [1, 60, -0.5]
    members = np.flatnonzero(mogro.pareto.effective_front(inward))
    assert [ids.index(arm) for arm in front.arms] == members.tolist()
    assert front.values == pytest.approx(truth[members])
    assert front.shares.sum() == pytest.approx(1)
    assert "share of weights" in repr(front)
    decision = agent.decide(ids, features)
    told = agent.explain(decision)
    rival = told.rivals[0]
    k, j = ids.index(decision.arm), ids.index(rival.arm)
    assert list(rival.leads.values()) == pytest.approx(inward[k] - inward[j])
    assert rival.total == min(r.total or 0.0 for r in told.rivals) >= 0
    assert "best for the weights click" in str(told)
    assert "<table" in agent._repr_html_()
    assert "watch" in repr(agent)
    assert decision.id in repr(decision)


def test_construction_is_checked() -> None:
    make = partial(mogro.Agent, arms=2, seed=0)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: mogro.Objective(""), "name"),
        (lambda: mogro.Objective("a", direction="up"), "direction"),  # type: ignore[arg-type]
        (lambda: mogro.Objective("a", unit=0.0), "unit"),
        (lambda: mogro.Objective("a", default=1.0), "default"),
        (lambda: mogro.Objective("a", window=-1.0), "window"),
        (lambda: mogro.HalfLife(), "half_life"),
        (lambda: mogro.HalfLife(updates=1.0, time=1.0), "half_life"),
        (lambda: make([]), "objectives"),
        (lambda: make([mogro.Objective("a"), mogro.Objective("a")]), "objectives"),
        (lambda: make(OBJECTIVES, seed=-1), "seed"),
        (lambda: make(OBJECTIVES, retention=-1), "retention"),
        (lambda: mogro.Retention(), "retention"),
        (lambda: mogro.Retention(age=-1.0), "age"),
        (lambda: mogro.Retention(decisions=0.5), "decisions"),  # type: ignore[arg-type]
        (lambda: make(OBJECTIVES, half_life=3.0), "half_life"),  # type: ignore[arg-type]
        (lambda: make(OBJECTIVES, policy=lambda d, m: mogro.MOGRO(d + 1, m)), "policy"),
    ]
    for call, argument in calls:
        with pytest.raises(ValueError, match=argument):
            call()


def test_offers_are_checked() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0)
    good = [[1.0, 0.0], [0.0, 1.0]]
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: agent.decide([], []), "arms"),
        (lambda: agent.decide("ab", good), "arms"),
        (lambda: agent.decide(["a", "a"], good), "arms"),
        (lambda: agent.decide(["a", 1], good), "arms"),  # type: ignore[list-item]
        (lambda: agent.decide(["a", "b"]), "features"),
        (lambda: agent.decide(["a"], good), "features"),
        (lambda: agent.decide(["a", "b"], [[1.0, np.nan], [0.0, 0.0]]), "features"),
        (lambda: agent.decide(["a", "b"], [[1e200, 1.0], [0.0, 0.0]]), "features"),
        (lambda: agent.decide({"a": [1.0, 2.0]}, good), "features"),
        (lambda: agent.decide({"a": [1.0]}), "features"),
        (lambda: agent.decide(["a", "b"], good, id=""), "id"),
        (lambda: agent.decide(["a", "b"], good, id=3), "id"),  # type: ignore[arg-type]
        (lambda: agent.decide(["a", "b"], good, weights=[1.0, 1.0]), "weights"),
        (lambda: agent.decide(["a", "b"], good, weights=[0.0, 0.0, 0.0]), "weights"),
        (lambda: agent.decide(["a", "b"], good, weights={"likes": 1.0}), "weights"),
        (lambda: agent.decide(["a", "b"], good, now=math.nan), "now"),
    ]
    for call, argument in calls:
        with pytest.raises(ValueError, match=argument):
            call()
    assert agent.counters["decisions"] == 0


def test_the_callers_arrays_are_copied() -> None:
    features = ball(10, 2)
    ids = [str(k) for k in range(10)]
    agent = mogro.Agent(OBJECTIVES[:2], arms=2, seed=0, policy=GREEDY)
    taught(agent, features, features @ np.array([[1.0, 0.5], [-1.0, 2.0]]), rounds=10)
    given = features.copy()
    decision = agent.decide(ids, given)
    expected = decision.propensities.values.copy()
    fresh = agent.decide(ids, given, id="fresh")
    given[:] = 0
    assert fresh.propensities.values == pytest.approx(expected)


@pytest.mark.parametrize("half_life", [mogro.HalfLife(updates=3.0), mogro.HalfLife(time=5.0)])
def test_windows_that_close_together_are_learned_one_after_the_other(
    half_life: mogro.HalfLife,
) -> None:
    objectives = [
        mogro.Objective("a", window=10.0, default=1.0),
        mogro.Objective("b", window=20.0, default=-2.0),
    ]
    features = ball(12, 3)
    one, two = (
        mogro.Agent(objectives, arms=3, seed=0, prior=mogro.priors.Flat(), half_life=half_life)
        for _ in range(2)
    )
    for n, x in enumerate(features):
        for agent in (one, two):
            agent.decide({"x": x}, id=str(n), now=float(n))
            if n % 3 == 0:
                agent.reward(str(n), {"a": float(n)}, now=float(n))
    for now in range(51):
        one.expire(float(now))
    two.expire(50.0)
    # The flat prior weighs a billionth of an observation, and what is left of them is a hundredth.
    assert one.theta == pytest.approx(two.theta, abs=1e-6)
    assert one.observations == pytest.approx(two.observations)


@pytest.mark.parametrize("seed", range(4))
def test_exploration_ends_when_arms_of_other_directions_are_gone(seed: int) -> None:
    """What is known of retired arms sticks out of the span of those that are left."""
    rng = np.random.default_rng(seed)
    agent = mogro.Agent([mogro.Objective("gain")], arms=4, seed=0, policy=GREEDY)
    retired = {f"old {i}": rng.standard_normal(4) for i in range(2)}
    plane = rng.standard_normal((2, 4))
    left = {f"new {i}": rng.standard_normal(2) @ plane for i in range(5)}
    for step in range(200):
        decision = agent.decide(retired if step < 2 else left)
        agent.reward(decision.id, {"gain": float(rng.standard_normal())})
    assert agent.counters["explored"] < 40
