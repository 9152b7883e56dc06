"""How often the intervals of ``agent.estimate`` hold the truth, in worlds that are known.

    python -m benchmarks.coverage [--runs 40]

Logs are drawn at random (``drawn``), or by the agent itself (``own``). Coverage is the share of
arms and contexts whose interval of 95 % holds their true mean, averaged over runs; a row counts
once its log has 20 positives on average (20 observations, for rewards that are not rates). The bar
is 90 to 98 % on logs that were drawn.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mogro import Agent, Objective

SIZES = (20, 60, 200, 600, 2000)


class World(NamedTuple):
    """Arms with features, contexts perhaps, true means of both, and rewards."""

    arms: np.ndarray  # (K, A)
    contexts: np.ndarray | None  # (n, C)
    means: np.ndarray  # (n, K)
    draw: Callable[[float, np.random.Generator], float]


def clicks(mean: float, rng: np.random.Generator) -> float:
    """Return a click."""
    return float(rng.random() < mean)


def noisy(mean: float, rng: np.random.Generator) -> float:
    """Return a reward with normal noise."""
    return mean + rng.standard_normal()


def heavy(mean: float, rng: np.random.Generator) -> float:
    """Return a time of reading: log-normal around its mean."""
    return mean * float(np.exp(rng.standard_normal() - 0.5))


def one_hot(rng: np.random.Generator, rate: float, spread: float = 0.5) -> World:
    """Return ten arms that have nothing in common but their usual rate."""
    means = np.clip(rate * np.exp(spread * rng.standard_normal(10)), 0, 1)
    return World(np.eye(10), None, means[None], clicks)


def linear(rng: np.random.Generator, draw: Callable[..., float], size: int = 6) -> World:
    """Return 30 arms whose means are linear in their features."""
    arms = rng.standard_normal((30, size))
    means = arms @ rng.standard_normal(size)
    if draw is heavy:  # times are above 0
        means = 3 + means / means.std()
        means = means + max(0.2 - float(means.min()), 0)
    return World(arms, None, means[None], draw)


def contextual(rng: np.random.Generator, rate: float) -> World:
    """Return 12 arms and 40 contexts; a few products matter, and clicks are linear in them."""
    arms, contexts = rng.random((12, 3)), rng.random((40, 4))
    theta = rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.3)
    means = contexts @ (theta.T @ arms.T)
    spread = max(float(np.abs(means - means.mean()).max()), 1e-9)
    return World(arms, contexts, rate * (1 + 0.9 * (means - means.mean()) / spread), clicks)


WORLDS: dict[str, Callable[[np.random.Generator], World]] = {
    "ten arms, clicks 1 %": lambda rng: one_hot(rng, 0.01),
    "ten arms, clicks 10 %": lambda rng: one_hot(rng, 0.1),
    "ten arms, clicks 50 %": lambda rng: one_hot(rng, 0.5, 0.2),
    "ten equal arms, clicks 5 %": lambda rng: one_hot(rng, 0.05, 0.0),
    "context, clicks 2 %": lambda rng: contextual(rng, 0.02),
    "context, clicks 10 %": lambda rng: contextual(rng, 0.1),
    "context, clicks 40 %": lambda rng: contextual(rng, 0.4),
    "linear, normal noise": lambda rng: linear(rng, noisy),
    "linear, 20 features": lambda rng: linear(rng, noisy, 20),
    "reading times": lambda rng: linear(rng, heavy),
}


def coverage(make: Callable[[np.random.Generator], World], seed: int, *, own: bool) -> np.ndarray:
    """Return coverage, mean width and positives at each size, (sizes, 3), of one log."""
    rng = np.random.default_rng(seed)
    world = make(rng)
    ids = [str(arm) for arm in range(len(world.arms))]
    sides = None if world.contexts is None else world.contexts.shape[1]
    agent = Agent(
        [Objective("reward")],
        arms=world.arms.shape[1],
        context=sides,
        seed=seed,
        epsilon=0.0 if own else 1.0,
    )
    rows, positives = [], 0
    for n in range(1, SIZES[-1] + 1):
        place = int(rng.integers(len(world.means)))
        context = None if world.contexts is None else world.contexts[place]
        decision = agent.decide(ids, world.arms, context=context)
        reward = world.draw(world.means[place, int(decision.arm)], rng)
        positives += reward > 0 if world.draw is clicks else 1
        agent.reward(decision.id, {"reward": reward})
        if n in SIZES:
            rows.append((*_held(agent, ids, world), positives))
    return np.array(rows)


def _held(agent: Agent, ids: list[str], world: World) -> tuple[float, float]:
    held, width = [], []
    for place, means in enumerate(world.means):
        context = None if world.contexts is None else world.contexts[place]
        bounds = agent.estimate(ids, world.arms, context=context).intervals[:, 0]
        held.append(((bounds[:, 0] <= means) & (means <= bounds[:, 1])).mean())
        width.append((bounds[:, 1] - bounds[:, 0]).mean())
    return float(np.mean(held)), float(np.mean(width))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print("Coverage of 95 % intervals in % (mean width), by the number of observations")
    print(f"{'world':<28}{'log':<7}" + "".join(f"{size:>18,}" for size in SIZES))
    for name, make in WORLDS.items():
        for own in (False, True):
            cells = np.stack([coverage(make, seed, own=own) for seed in range(runs)])
            columns = []
            for held, width, positives in cells.mean(axis=0):
                mark = "" if own or positives < 20 else " " if 0.9 <= held <= 0.98 else "*"
                few = "." if positives < 20 else " "
                columns.append(f"{100 * held:>8.1f}{mark or few} ({width:.2g})".rjust(18))
            print(f"{name:<28}{'own' if own else 'drawn':<7}" + "".join(columns), flush=True)
    print(". fewer than 20 positives; * outside 90 to 98 %")


if __name__ == "__main__":
    main()
