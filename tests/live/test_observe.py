"""Decisions that somebody else has made."""

from pathlib import Path

import numpy as np
import pytest

import mogro

FEATURES = np.random.default_rng(2).standard_normal((6, 3))
ARMS = dict(zip("abcdef", FEATURES, strict=True))
OBJECTIVES = [mogro.Objective("x"), mogro.Objective("y", direction="min", unit=2.0)]


def make(**options: float) -> mogro.Agent:
    return mogro.Agent(OBJECTIVES, dim=3, seed=1, **options)  # type: ignore[arg-type]


def test_an_apprentice_knows_what_its_master_knows() -> None:
    master, apprentice = make(), make()
    rng = np.random.default_rng(0)
    for n in range(60):
        decision = master.decide(ARMS, id=str(n))
        rewards = {"x": rng.random(), "y": rng.random()}
        master.reward(decision.id, rewards)
        if n % 2:
            apprentice.observe(ARMS, arm=decision.arm, rewards=rewards, id=str(n))
        else:
            apprentice.observe(ARMS, arm=decision.arm, id=str(n))
            apprentice.reward(str(n), rewards)
    assert apprentice.theta == pytest.approx(master.theta, abs=1e-12)
    assert apprentice.counters["observed"] == apprentice.counters["decisions"] == 60
    assert apprentice.decide(ARMS, id="60").arm == master.decide(ARMS, id="60").arm


def test_agreement_is_the_mean_probability_lately() -> None:
    agent, rng = make(), np.random.default_rng(0)
    assert agent.agreement() is None
    seen = []
    for _ in range(300):
        chances = agent.probabilities(ARMS)
        arm = str(rng.choice(list(ARMS)))
        seen.append(chances.values[chances.arms.index(arm)])
        agent.observe(ARMS, arm=arm, rewards={"x": rng.random(), "y": rng.random()})
        ages = np.arange(len(seen))[::-1]
        assert agent.agreement() == pytest.approx(np.average(seen, weights=0.5 ** (ages / 100)))
    assert len({round(float(one), 6) for one in seen}) > 3


def test_who_does_as_the_agent_would_agrees() -> None:
    """An agent that chooses by fixed weights is foreseen, up to its uniform share."""
    agent = mogro.Agent(
        OBJECTIVES,
        dim=3,
        seed=1,
        uniform=0.3,
        policy=lambda d, m: mogro.MOGRO(d, m, scalarization=mogro.FixedWeights([0.4, 0.6])),
    )
    rng = np.random.default_rng(3)
    for _ in range(400):
        chances = agent.probabilities(ARMS)
        arm = chances.arms[int(chances.values.argmax())]
        agent.observe(ARMS, arm=arm, rewards={"x": rng.random(), "y": rng.random()})
    assert agent.agreement() == pytest.approx(0.7 + 0.3 / 6, abs=1e-9)


def test_the_log_says_who_decided(tmp_path: Path) -> None:
    with mogro.Agent.open(tmp_path / "a.db", OBJECTIVES, dim=3, seed=1) as agent:
        agent.decide(ARMS, id="mine")
        agent.observe(ARMS, arm="b", propensity=0.25, id="told", rewards={"x": 1.0})
        agent.observe(ARMS, arm="c", id="unknown", eligible=[False, *[True] * 5])
        agreed = agent.agreement()
        agent.save(tmp_path / "one")
    with mogro.Agent.open(tmp_path / "a.db") as agent:
        mine, told, unknown = agent.log().to_pylist()
        assert [row["observed"] for row in (mine, told, unknown)] == [False, True, True]
        assert (told["propensity"], told["propensity_error"]) == (0.25, 0.0)
        assert unknown["propensity"] is None
        assert unknown["offered"] == list("bcdef")
        assert mine["propensity"] > 0
        assert agent.decision("told").decision.propensity == 0.25
        assert np.isnan(agent.decision("unknown").decision.propensity)
        assert agent.agreement() == agreed
        agent.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_refusals() -> None:
    agent = make()
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm, got 'z'"):
        agent.observe(ARMS, arm="z")
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm"):
        agent.observe(ARMS, arm="a", eligible=[False, *[True] * 5])
    with pytest.raises(ValueError, match="propensity"):
        agent.observe(ARMS, arm="a", propensity=1.5)
    with pytest.raises(ValueError, match="propensity: expected a number above 0"):
        agent.observe(ARMS, arm="a", propensity=0.0)
    with pytest.raises(ValueError, match="arm: expected the id of an eligible arm"):
        agent.observe(ARMS, arm=np.array(["a", "b"]))  # type: ignore[arg-type]
    with pytest.raises(mogro.live.BadReward, match="rewards: expected a finite number"):
        agent.observe(ARMS, arm="a", rewards={"x": np.nan})
    with pytest.raises(mogro.live.UnknownObjective, match="rewards: expected objectives"):
        agent.observe(ARMS, arm="a", rewards={"z": 1.0})
    with pytest.raises(ValueError, match="rewards: expected a mapping"):
        agent.observe(ARMS, arm="a", rewards=0)  # type: ignore[arg-type]
    assert agent.counters["decisions"] == 0
    assert agent.agreement() is None
    agent.observe(ARMS, arm="a", rewards={"x": 1.0}, id="one")
    agent.observe(ARMS, arm="a", rewards={"x": 1.0}, id="one")
    with pytest.raises(mogro.live.ConflictingReward):
        agent.observe(ARMS, arm="a", rewards={"x": 2.0}, id="one")
    assert agent.counters["decisions"] == 1
    assert agent.observations == {"x": 1.0, "y": 0.0}
