"""Agents with a past, for the tests: all kinds of things have happened to them."""

from functools import partial

import numpy as np

import mogro
from mogro._validation import FloatArray
from mogro.agent.config import MakePolicy

OBJECTIVES = [
    mogro.Objective("click"),
    mogro.Objective("watch", unit=60.0, offset=30.0, window=50.0),
    mogro.Objective("cost", direction="min", window=80.0, default=0.25),
]
ARMS = {
    f"arm {k} \u00e9\u4e2d": np.random.default_rng([3, k]).standard_normal(3) for k in range(12)
}


def lived(
    *, seed: int = 1, half_life: mogro.HalfLife | None = None, rounds: int = 120
) -> mogro.Agent:
    """Return an agent with pending, completed, late and forgotten decisions."""
    agent = mogro.Agent(
        OBJECTIVES,
        arms=3,
        seed=seed,
        half_life=half_life,
        policy=partial(mogro.MOGRO, scalarization=mogro.RandomWeights([2.0, 1.0, 1.0])),
        retention=mogro.Retention(decisions=40),
    )
    go_on(agent, start=0, rounds=rounds)
    return agent


def go_on(agent: mogro.Agent, *, start: int, rounds: int) -> list[str]:
    """Let an agent decide and learn, and return the arms it chose."""
    rng = np.random.default_rng([start, rounds])
    arms = []
    for n in range(start, start + rounds):
        decision = agent.decide(ARMS, now=float(n))
        arms.append(decision.arm)
        draw = rng.random(4)
        if draw[0] < 0.8:
            agent.reward(decision.id, {"click": float(draw[1] < 0.3)}, now=float(n))
        if draw[2] < 0.5:
            agent.reward(decision.id, {"watch": 100 * draw[1], "cost": draw[3]}, now=float(n))
        if n % 10 == 9:
            agent.expire(now=float(n))
    return arms


def worth(agent: mogro.Agent, *features: float) -> FloatArray:
    """Return what an agent expects of an arm with these features, (M,)."""
    return np.asarray(agent.intercept + agent.theta @ np.array(features))


def add(
    agent: mogro.Agent, objective: mogro.Objective, *, policy: MakePolicy | None = None
) -> None:
    """Let an agent have one more objective."""
    _reconfigure(agent, [*agent.objectives, objective], policy)


def retire(agent: mogro.Agent, name: str, *, policy: MakePolicy | None = None) -> None:
    """Let an agent go on without an objective."""
    _reconfigure(agent, [each for each in agent.objectives if each.name != name], policy)


def change(agent: mogro.Agent, objective: mogro.Objective) -> None:
    """Let an agent have another objective of the same name."""
    named = {each.name: each for each in agent.objectives} | {objective.name: objective}
    _reconfigure(agent, list(named.values()), None)


def _reconfigure(
    agent: mogro.Agent, objectives: list[mogro.Objective], policy: MakePolicy | None
) -> None:
    if policy is None:
        agent.reconfigure(objectives=objectives)
    else:
        agent.reconfigure(objectives=objectives, policy=policy)
