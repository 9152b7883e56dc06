"""What an agent would do, what it believes, and what it remembers, without a decision."""

import math

import numpy as np
import pytest

import mogro

ARMS = {"x": [1.0, 0.0], "y": [0.0, 1.0], "z": [1.0, 1.0]}
OBJECTIVES = [mogro.Objective("a"), mogro.Objective("b", unit=10.0, offset=5.0, direction="min")]


def lived(rounds: int = 40, **config: float) -> mogro.Agent:
    agent = mogro.Agent(OBJECTIVES, arms=2, seed=3, **config)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        decision = agent.decide(ARMS)
        x, y = ARMS[decision.arm]
        noise = rng.standard_normal(2)
        agent.reward(decision.id, {"a": 2 * x + y + noise[0], "b": 5 + 30 * y + 4 * noise[1]})
    return agent


@pytest.mark.parametrize("rounds", [0, 1, 40])
@pytest.mark.parametrize("weights", [None, [0.5, 0.5], mogro.RandomWeights([2.0, 1.0])])
def test_probabilities_are_those_of_the_next_decision(
    rounds: int, weights: list[float] | mogro.RandomWeights | None
) -> None:
    agent = lived(rounds, epsilon=0.1)
    before = agent.counters
    would = agent.probabilities(ARMS, weights=weights)
    assert agent.counters == before
    does = agent.decide(ARMS, weights=weights).propensities
    assert would.arms == does.arms
    assert would.values == pytest.approx(does.values, abs=1e-12)
    assert would.values.sum() == pytest.approx(1.0)


def test_probabilities_know_who_is_eligible_and_clears() -> None:
    agent = lived()
    assert agent.probabilities(ARMS, eligible=[True, False, True]).arms == ("x", "z")
    assert agent.probabilities(ARMS, at_most={"b": 10.0}).arms == ("x",)
    with pytest.raises(mogro.errors.InfeasibleConstraints):
        agent.probabilities(ARMS, at_least={"a": 1e6})


def test_estimates_have_standard_errors() -> None:
    agent = lived(400)
    estimates = agent.estimate(ARMS)
    assert estimates.arms == tuple(ARMS)
    assert estimates.objectives == ("a", "b")
    truth = np.array([[2 * x + y, 5 + 30 * y] for x, y in ARMS.values()])
    assert (np.abs(estimates.values - truth) < 5 * estimates.errors).all()
    assert (estimates.errors[0] < [0.1, 0.4]).all()  # the arm that was chosen most
    assert "z" in str(estimates)


def test_errors_are_those_of_least_squares() -> None:
    agent = mogro.Agent([mogro.Objective("a", unit=2.0)], arms=2, seed=0, prior=mogro.priors.Flat())
    rng = np.random.default_rng(1)
    features, values = rng.standard_normal((12, 2)), rng.standard_normal(12)
    for x, y in zip(features, values, strict=True):
        agent.reward(agent.decide({"arm": x}).id, {"a": y})
    seen = np.column_stack([np.ones(12), features])
    theta, (squares,), *_ = np.linalg.lstsq(seen, values, rcond=None)
    at = np.array([1.0, 0.3, -0.7])
    spread = math.sqrt(at @ np.linalg.inv(seen.T @ seen) @ at * squares / 9)
    estimates = agent.estimate({"arm": at[1:]})
    assert estimates.values[0, 0] == pytest.approx(at @ theta)
    assert estimates.errors[0, 0] == pytest.approx(spread)


def test_what_was_never_seen_is_uncertain() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=2, seed=0, prior=mogro.priors.Flat())
    for value in (1.0, 2.0, 3.0):
        agent.reward(agent.decide({"x": [1.0, 0.0]}).id, {"a": value})
    errors = agent.estimate({"x": [1.0, 0.0], "y": [0.0, 1.0]}).errors[:, 0]
    assert 0 < errors[0] < 1
    assert errors[1] > 1000


def test_decisions_and_what_became_of_them() -> None:
    agent = mogro.Agent(
        [
            mogro.Objective("click"),
            mogro.Objective("sale", window=9.0, default=0.0),
            mogro.Objective("stars", window=5.0),
        ],
        arms=1,
        seed=0,
    )
    made = [agent.decide({"x": [1.0]}, id=str(n), now=float(n)) for n in range(3)]
    agent.reward("0", {"click": 1.0, "stars": 4.0}, now=2.0)
    record = agent.decision("0")
    assert record.decision == made[0]
    assert record.rewards == {"click": 1.0, "stars": 4.0}
    assert record.status == {"click": "learned", "sale": "pending", "stars": "learned"}
    agent.expire(9.0)
    record = agent.decision("0")
    assert record.status == {"click": "learned", "sale": "defaulted", "stars": "learned"}
    assert not record.pending
    assert agent.decision("1").status["stars"] == "missing"
    assert [record.decision.id for record in agent.decisions()] == ["0", "1", "2"]
    assert [record.decision.id for record in agent.decisions(pending=True)] == ["1", "2"]
    assert [record.decision.id for record in agent.decisions(pending=False)] == ["0"]
    with pytest.raises(mogro.errors.UnknownDecision):
        agent.decision("nobody")


def test_a_decision_that_failed_does_not_settle_exploration() -> None:
    """What was known at a time that did not come says nothing of what fades until a later one."""
    agent = mogro.Agent(
        [mogro.Objective("a")],
        arms=2,
        seed=0,
        prior=mogro.priors.Flat(),
        half_life=mogro.HalfLife(time=10.0),
    )
    for now in range(20):
        agent.reward(agent.decide(ARMS, now=float(now)).id, {"a": 1.0}, now=float(now))
    with pytest.raises(mogro.errors.InfeasibleConstraints):
        agent.decide(ARMS, at_least={"a": 100.0}, now=20.0)
    assert agent.decide(ARMS, now=1000.0).exploring
