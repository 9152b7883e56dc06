"""How often an agent raises an alarm where nothing is wrong.

    python -m benchmarks.alarms [--runs 20]

Agents live in worlds that do not change, with rewards as they should be, and are asked for alarms
every 50 decisions. The table has looks with an alarm of each kind, in all looks.
"""

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np

from mogro import Agent, Objective

DECISIONS, EVERY = 2500, 50
ARMS = 8


def clicks(rate: float, **options: float) -> Callable[[int], tuple[Agent, np.ndarray]]:
    """Return agents whose arms have clicks of about a rate."""

    def make(seed: int) -> tuple[Agent, np.ndarray]:
        rng = np.random.default_rng(seed)
        means = np.clip(rate * np.exp(0.5 * rng.standard_normal(ARMS)), 0, 0.95)
        objectives = [Objective("click", **options)]  # type: ignore[arg-type]
        return Agent(objectives, arms=ARMS, seed=seed, epsilon=0.05), means[:, None]

    return make


def two(seed: int) -> tuple[Agent, np.ndarray]:
    """Return an agent with clicks, and subscriptions that are rare."""
    rng = np.random.default_rng(seed)
    objectives = [Objective(n, window=40.0, default=0.0) for n in ("click", "subscribe")]
    means = np.column_stack([0.3 * rng.random(ARMS), 0.02 * rng.random(ARMS)])
    return Agent(objectives, arms=ARMS, seed=seed, epsilon=0.05), means


WORLDS = {
    "clicks 1 %, default": clicks(0.01, window=40.0, default=0.0),
    "clicks 20 %, default": clicks(0.2, window=40.0, default=0.0),
    "clicks 20 %, window, no default": clicks(0.2, window=40.0),
    "clicks 20 %, no window": clicks(0.2),
    "two objectives": two,
}


def live(make: Callable[[int], tuple[Agent, np.ndarray]], seed: int) -> Counter[str]:
    """Return the alarms of an agent in a world where all is well."""
    agent, means = make(seed)
    rng, features = np.random.default_rng([1, seed]), np.eye(ARMS)
    ids, names = [str(arm) for arm in range(ARMS)], [o.name for o in agent.objectives]
    defaults = all(objective.default is not None for objective in agent.objectives)
    raised: Counter[str] = Counter()
    mail: list[tuple[float, str, dict[str, float]]] = []
    for n in range(DECISIONS):
        decision = agent.decide(ids, features, now=float(n))
        outcomes = (rng.random(len(names)) < means[int(decision.arm)]).astype(float)
        reported = {
            name: v for name, v in zip(names, outcomes.tolist(), strict=True) if v or not defaults
        }
        mail.append((n + float(rng.exponential(5)), decision.id, reported))
        for _, name, values in (each for each in mail if each[0] <= n):
            agent.reward(name, values, now=float(n))
        mail = [each for each in mail if each[0] > n]
        if n % EVERY == EVERY - 1:
            raised.update({alarm.name for alarm in agent.alarms()})
    return raised


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    for name, make in WORLDS.items():
        raised = sum((live(make, seed) for seed in range(runs)), Counter())
        print(f"{name:<34}{runs * DECISIONS // EVERY:>8,} looks: {dict(raised)}", flush=True)


if __name__ == "__main__":
    main()
