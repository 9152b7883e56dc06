"""Which arms of an agent are certainly on the front, and when nothing is left to learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mogro

OBJECTIVES = [mogro.Objective("taste"), mogro.Objective("price", direction="min", unit=10.0)]
ARMS = {"cake": [1.0, 0.0, 0.0], "bread": [0.0, 1.0, 0.0], "stone": [0.0, 0.0, 1.0]}
WORTH = {"cake": (5.0, 40.0), "bread": (1.0, 20.0), "stone": (-2.0, 60.0)}


def taught(rounds: int, **options: Any) -> mogro.Agent:
    agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, **options)
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        decision = agent.decide(ARMS)
        taste, price = WORTH[decision.arm]
        noise = rng.normal(size=2)
        agent.reward(decision.id, {"taste": taste + noise[0], "price": price + 10 * noise[1]})
    return agent


def test_arms_are_told_until_nothing_is_left_to_learn() -> None:
    noise = {"taste": 1.0, "price": 10.0}
    early = taught(5).front(ARMS, confidence=0.95, noise=noise)
    assert set(early.certain.values()) == {"open"}
    assert not early.finished
    assert "3 of 3 arms are open at 0.95 confidence" in str(early)
    agent = taught(100)
    for arm, (taste, price) in WORTH.items():
        for _ in range(200):
            agent.observe(ARMS, arm=arm, rewards={"taste": taste, "price": price})
    late = agent.front(ARMS, confidence=0.95, noise=noise)
    assert late.certain == {"cake": "on", "bread": "on", "stone": "off"}
    assert late.finished
    assert "nothing left to learn at 0.95 confidence" in str(late)
    assert not agent.front(ARMS).certain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.95}, "noise: expected the standard deviation of rewards"),
        ({"confidence": 0.95, "noise": {"taste": 1.0}}, "one for each of .'taste', 'price'"),
        ({"confidence": 1.0, "noise": 1.0}, r"confidence: expected a number in \(0, 1\)"),
        ({"confidence": 0.9, "noise": 0.0}, "noise: expected numbers above 0"),
    ],
)
def test_refusals(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        taught(3).front(ARMS, **options)


def test_agents_that_forget_are_never_certain() -> None:
    agent = taught(3, half_life=mogro.HalfLife(updates=100))
    with pytest.raises(ValueError, match="confidence: expected an agent that forgets nothing"):
        agent.front(ARMS, confidence=0.9, noise=1.0)


def test_the_page_says_what_is_left(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with mogro.Agent.open(tmp_path / "agent.db", OBJECTIVES, arms=3, seed=0) as agent:
        for _ in range(5):
            agent.reward(agent.decide(ARMS).id, {"taste": 1.0, "price": 1.0})
        agent.report(tmp_path / "agent.html", confidence=0.9, noise=10.0)
        agent.report(tmp_path / "plain.html")
    page = (tmp_path / "agent.html").read_text()
    assert "3 of 3 arms are open at 0.9 confidence" in page
    assert "confidence" not in (tmp_path / "plain.html").read_text()
