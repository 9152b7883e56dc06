"""A share of decisions that go to any arm."""

from functools import partial

import numpy as np
import pytest

import mogro

FEATURES = np.random.default_rng(0).standard_normal((12, 3))
IDS = [str(k) for k in range(12)]
TRUTH = FEATURES @ np.random.default_rng(1).standard_normal((3, 2))


def taught(agent: mogro.Agent, rounds: int = 40) -> mogro.Agent:
    for n in range(rounds):
        decision = agent.decide(IDS, FEATURES, id=f"taught {n}")
        values = TRUTH[int(decision.arm)].tolist()
        agent.reward(decision.id, dict(zip("ab", values, strict=True)))
    return agent


def make(**options: object) -> mogro.Agent:
    objectives = [mogro.Objective("a"), mogro.Objective("b")]
    return mogro.Agent(objectives, arms=3, seed=2, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy",
    [
        mogro.MOGRO,
        partial(mogro.EpsilonGreedy, epsilon=0.2),
        partial(mogro.UCB, noise=0.1, delta=0.1),
    ],
)
def test_propensities_know_the_share_and_choices_keep_it(policy: object) -> None:
    agent = taught(make(policy=policy, epsilon=0.3))
    decisions = [agent.decide(IDS, FEATURES) for _ in range(1500)]
    found = decisions[0].propensities
    assert found.values.min() >= 0.3 / 12 - 1e-12
    assert found.values.sum() == pytest.approx(1)
    wins = np.bincount([int(d.arm) for d in decisions], minlength=12) / len(decisions)
    spread = np.hypot(found.errors, np.sqrt(found.values / len(decisions)))
    assert (np.abs(wins - found.values) < 5 * spread).all()
    assert 0.2 < np.mean([d.uniform for d in decisions]) < 0.55  # with a policy's own


def test_the_share_keeps_to_eligible_arms_that_clear_the_constraints() -> None:
    agent = taught(make(epsilon=1.0))
    level = float(np.median(TRUTH[:, 0]))
    mask = np.arange(12) % 2 == 0
    wanted = {IDS[k] for k in range(12) if mask[k] and TRUTH[k, 0] >= level}
    decisions = [
        agent.decide(IDS, FEATURES, eligible=mask, at_least={"a": level - 1e-9}) for _ in range(200)
    ]
    assert {d.arm for d in decisions} == wanted
    assert decisions[0].propensity == pytest.approx(1 / len(wanted))
    assert decisions[0].weights is None
    assert "a uniform draw" in str(agent.explain(decisions[0]))


def test_an_exploring_decision_has_its_share_too() -> None:
    agent = make(epsilon=0.25)
    first = agent.decide(["x", "y", "z"], np.diag([1.0, 2.0, 3.0]), id="b")
    values = sorted(first.propensities.values.tolist())
    assert values == pytest.approx([0.25 / 3, 0.25 / 3, 0.75 + 0.25 / 3])


def test_what_is_no_share() -> None:
    for bad in (-0.1, 1.1, None, "much"):
        with pytest.raises(ValueError, match="epsilon"):
            make(epsilon=bad)
