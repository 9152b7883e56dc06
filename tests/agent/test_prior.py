"""Agents learn the prior of their features, and write down what they have learned."""

from pathlib import Path

import numpy as np
import pytest
from tests.agent.stories import add

import mogro
from mogro.agent.events import PriorLearned
from mogro.agent.state.state import State
from mogro.posterior import Posterior
from mogro.priors import Fixed, Flat, Learned

OBJECTIVES = [mogro.Objective("quality"), mogro.Objective("cost", direction="min")]
MODELS = ("small", "large", "other")
ROUNDS = 40


def lived(agent: mogro.Agent, rounds: int = ROUNDS) -> mogro.Agent:
    rng = np.random.default_rng(0)
    for n in range(rounds):
        prompt = rng.standard_normal(5)
        id = agent.decide(MODELS, np.eye(3), context=prompt, id=f"prompt {n}").id
        agent.reward(
            id, {"quality": float(prompt[0] + rng.standard_normal()), "cost": rng.random()}
        )
    return agent


def refuse(self: Posterior) -> None:
    raise AssertionError("computed again")


def test_groups_are_those_of_the_features() -> None:
    arms = mogro.Encoder(size=mogro.Number(), maker=mogro.Category("a", "b"), age=mogro.Number())
    context = mogro.Encoder(length=mogro.Number(), topics=mogro.Tags("x", "y"))
    agent = mogro.Agent(OBJECTIVES, arms=arms, context=context, seed=0)
    by_name = dict(zip(agent.config.features.names, agent.config.prior.groups, strict=True))
    assert by_name["1"] == -1
    named = dict.fromkeys(by_name.values())
    assert list(named) == sorted(named)  # as they come
    assert by_name["size"] == by_name["age"] != by_name["maker=a"] == by_name["maker=b"]
    topics = next(group for name, group in by_name.items() if name.startswith("topics"))
    assert by_name["length"] not in (by_name["size"], topics)
    assert by_name["length * size"] == by_name["length * age"] != by_name["length * maker=a"]


@pytest.mark.parametrize(
    ("given", "prior"),
    [
        ({"policy": mogro.MOGRO}, Flat()),  # a policy says what it believes
        ({"prior": Flat()}, Flat()),
        ({"prior": Fixed(2.0)}, Fixed(2.0)),
        ({}, Learned([-1, 0, 0])),
        ({"prior": Learned([-1, 0, 1])}, Learned([-1, 0, 1])),
        ({"policy": mogro.MOGRO, "prior": Learned()}, Learned([-1, 0, 0])),
        ({"policy": mogro.EpsilonGreedy, "prior": Learned()}, Learned([-1, 0, 0])),
    ],
)
def test_who_says_what_is_believed(given: dict[str, object], prior: object) -> None:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=0, **given)  # type: ignore[arg-type]
    assert agent.config.prior == prior
    if isinstance(agent.config.policy, mogro.MOGRO):
        assert agent.config.policy.prior == prior


def test_an_agent_chooses_and_learns_as_its_policy_does() -> None:
    told: list[object] = []
    agent = mogro.Agent(OBJECTIVES, arms=3, context=5, seed=0, on_event=told.append)
    lived(agent)
    groups = agent.config.prior.groups
    policy = mogro.MOGRO(24, 2, prior=Learned(groups))
    events = [event for event in told if type(event).__name__ == "Decided"]
    rewards = [event for event in told if type(event).__name__ == "Rewarded"]
    for decided, rewarded in zip(events, rewards, strict=True):
        values = rewarded.values  # type: ignore[attr-defined]
        policy.update(decided.features, [values["quality"], -values["cost"]])  # type: ignore[attr-defined]
    np.testing.assert_allclose(agent._state.learner.theta, policy.theta, rtol=1e-9)
    assert not any(event.exploring and n < 1 for n, event in enumerate(events))  # type: ignore[attr-defined]


def test_events_hold_what_was_learned_and_replay_never_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    agent = lived(mogro.Agent(OBJECTIVES, arms=3, context=5, seed=0, on_event=told.append))
    learned = [event for event in told if isinstance(event, PriorLearned)]
    assert len(learned) == 4  # after 4, 8, 16, 32
    assert learned[0].precisions.shape == (2, 24)
    monkeypatch.setattr(Posterior, "evidence", refuse)
    state = State(agent.config)
    for event in told:
        state.apply(event)  # type: ignore[arg-type]
    kept, again = agent._state.learner.save_state(), state.learner.save_state()
    assert all(np.array_equal(kept[name], again[name]) for name in kept)


def test_a_journal_holds_what_was_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.db"
    with mogro.Agent.open(path, OBJECTIVES, arms=3, context=5, seed=0) as agent:
        theta = lived(agent).theta
    monkeypatch.setattr(Posterior, "evidence", refuse)
    with mogro.Agent.open(path, OBJECTIVES, arms=3, context=5, seed=0) as again:
        assert (again.theta == theta).all()


def test_a_saved_agent_goes_on_as_it_would_have(tmp_path: Path) -> None:
    agent = lived(mogro.Agent(OBJECTIVES, arms=3, context=5, seed=0))
    agent.save(tmp_path / "agent")
    again = mogro.Agent.load(tmp_path / "agent")
    for one in (agent, again):
        for n in range(30):
            id = one.decide(MODELS, np.eye(3), context=np.ones(5) * n, id=f"later {n}").id
            one.reward(id, {"quality": float(n % 3), "cost": 1.0})
    assert (agent.theta == again.theta).all()


def test_constraints_wait_for_the_first_observations() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=1, seed=0)
    for n in range(4):
        agent.reward(agent.decide({"x": [float(n)]}, at_least={"a": 2.0}).id, {"a": 1.0})
    with pytest.raises(mogro.agent.InfeasibleConstraints):
        agent.decide({"x": [1.0]}, at_least={"a": 2.0})


def test_an_objective_that_comes_later_has_its_own() -> None:
    agent = lived(mogro.Agent(OBJECTIVES, arms=3, context=5, seed=0))
    add(agent, mogro.Objective("speed"))
    rng = np.random.default_rng(1)
    for n in range(20):
        id = agent.decide(MODELS, np.eye(3), context=rng.standard_normal(5), id=f"new {n}").id
        agent.reward(id, {"quality": 1.0, "cost": 1.0, "speed": rng.random()})
    assert agent._state.learner.observed.informed.all()
    assert np.isfinite(agent.theta).all()


@pytest.mark.parametrize("prior", ["", 0, "flat", Flat])
def test_what_is_no_prior_is_refused(prior: object) -> None:
    with pytest.raises(ValueError, match="prior: expected one of"):
        mogro.Agent([mogro.Objective("a")], arms=1, seed=0, prior=prior)  # type: ignore[arg-type]


def test_the_past_of_an_agent_is_a_prior() -> None:
    old = lived(mogro.Agent(OBJECTIVES, arms=3, context=5, seed=0))
    arms, context = np.eye(3), np.ones(5)
    expected = old.estimate(MODELS, arms, context=context).values
    for weight in (1.0, 0.01):
        new = mogro.Agent(OBJECTIVES, arms=3, context=5, seed=1, prior=old.to_prior(weight=weight))
        np.testing.assert_allclose(new.theta, old.theta, rtol=1e-9)
        np.testing.assert_allclose(new.intercept, old.intercept, rtol=1e-9)
        for _ in range(5):
            rewards = {"quality": 50.0, "cost": 0.0}
            new.observe(MODELS, arms, context=context, arm="small", rewards=rewards)
        moved = new.estimate(MODELS, arms, context=context).values[0, 0] - expected[0, 0]
        assert (moved > 45) == (weight == 0.01)  # what counts for less gives way sooner
    with pytest.raises(ValueError, match="weight"):
        old.to_prior(weight=0)
