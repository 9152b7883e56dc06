from pathlib import Path

import numpy as np
import pytest

import mogro

NAMES = ("click", "watch", "stars")


@pytest.mark.slow
def test_a_hundred_thousand_rewards_in_any_order(tmp_path: Path) -> None:
    """Shuffled, duplicated and split arrival ends in the estimates of in-order arrival."""
    rng = np.random.default_rng(0)
    decisions = 33_334
    objectives = [mogro.Objective("click"), mogro.Objective("watch", unit=60.0, offset=30.0)]
    objectives.append(mogro.Objective("stars", direction="min"))
    agent = mogro.Agent(objectives, arms=5, seed=0, prior=mogro.priors.Flat())
    features = rng.standard_normal((50, 5))
    ids = [str(k) for k in range(50)]
    arms = [int(agent.decide(ids, features, id=str(n)).arm) for n in range(decisions)]
    slopes = rng.standard_normal((3, 5))
    rewards = features[arms] @ slopes.T + rng.standard_normal((decisions, 3))
    agent.save(tmp_path / "waiting")

    for n, row in enumerate(rewards.tolist()):
        agent.reward(str(n), dict(zip(NAMES, row, strict=True)))

    other = mogro.Agent.load(tmp_path / "waiting")
    extra = rng.integers(3 * decisions, size=10_000)  # these come twice
    order = rng.permutation(np.concatenate([np.arange(3 * decisions), extra]))
    repeated = 0
    for n, m in zip((order // 3).tolist(), (order % 3).tolist(), strict=True):
        repeated += other.reward(str(n), {NAMES[m]: float(rewards[n, m])}).repeated
    assert repeated == 10_000
    assert other.counters["learned"] == agent.counters["learned"] == 3 * decisions
    assert other.theta == pytest.approx(agent.theta, abs=1e-9)
    seen = np.column_stack([np.ones(decisions), features[arms]])
    expected = np.linalg.lstsq(seen, rewards, rcond=None)[0].T
    assert agent.theta == pytest.approx(expected[:, 1:], abs=1e-9)
    assert agent.intercept == pytest.approx(expected[:, 0], abs=1e-9)
