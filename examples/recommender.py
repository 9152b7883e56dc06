"""A recommender whose rewards come at three speeds.

Every visitor is offered twenty articles. Clicks come after a second, watch time after an hour,
satisfaction after a week and from one visitor in five only; who does not answer within eight days
teaches nothing about satisfaction. The agent decides all the while, on what it knows and on what is
on its way, is saved and loaded in the middle, and in the end shows the trade-off that it has found.

Run with ``python examples/recommender.py [picture.png]``.
"""

import heapq
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mogro

SECOND, HOUR, DAY = 1.0, 3600.0, 86400.0
OBJECTIVES = [
    # Ten clicks in a hundred visits weigh as much as a minute or as a star. No news within the
    # window is bad news for the first two, and no news at all for the third.
    mogro.Objective("click", unit=0.1, window=HOUR, default=0.0),
    mogro.Objective("watch", unit=60.0, window=DAY, default=0.0),
    mogro.Objective("satisfaction", unit=1.0, offset=3.0, window=8 * DAY),
]
DIM, ARTICLES, OFFERED = 6, 60, 20


class World:
    """What the agent does not see: how articles fare on average."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.features = rng.standard_normal((ARTICLES, DIM)) / np.sqrt(DIM)
        self.names = [f"article {k}" for k in range(ARTICLES)]
        # Loud articles are clicked, long ones watched, and good ones liked.
        self.slopes = np.array([
            [0.15, 0.05, 0.0, 0.0, 0.1, -0.05],
            [-40.0, 80.0, 20.0, 0.0, 0.0, 0.0],
            [-0.8, 0.0, 0.9, 0.5, 0.0, 0.2],
        ])  # fmt: skip
        self.base = np.array([0.3, 150.0, 3.2])
        self.means = self.features @ self.slopes.T + self.base
        self.rng = rng

    def visit(self, arm: str) -> list[tuple[float, str, float]]:
        """Return what a visitor does with an article: delays, objectives, values."""
        click, watch, liking = self.means[self.names.index(arm)]
        rng = self.rng
        events = [(SECOND, "click", float(rng.random() < click))]
        events.append((HOUR, "watch", max(0.0, float(watch + 60 * rng.standard_normal()))))
        if rng.random() < 0.2:
            events.append((7 * DAY, "satisfaction", float(liking + 0.5 * rng.standard_normal())))
        return events


class Result(NamedTuple):
    """What came out."""

    agent: mogro.Agent
    world: World
    front: mogro.agent.Front


def run(*, visitors: int, every: float = 10 * 60.0, seed: int = 0) -> Result:
    """Serve visitors, one every so many seconds."""
    world = World(seed)
    agent = mogro.Agent(OBJECTIVES, arms=DIM, seed=seed)
    mail: list[tuple[float, str, str, float]] = []  # rewards on their way, soonest first
    rng = np.random.default_rng(seed + 1)
    for visitor in range(visitors):
        now = visitor * every
        while mail and mail[0][0] <= now:
            arrived, visit, name, value = heapq.heappop(mail)
            agent.reward(visit, {name: value}, now=arrived)
        agent.expire(now)
        offered = rng.choice(ARTICLES, OFFERED, replace=False)
        ids = [world.names[k] for k in offered]
        decision = agent.decide(ids, world.features[offered], id=f"visitor {visitor}", now=now)
        for delay, name, value in world.visit(decision.arm):
            heapq.heappush(mail, (now + delay, decision.id, name, value))
        if visitor == visitors // 2:  # the process restarts
            with tempfile.TemporaryDirectory() as folder:
                agent.save(Path(folder) / "agent")
                agent = mogro.Agent.load(Path(folder) / "agent")
    return Result(agent, world, agent.front(world.names, world.features))


def draw(result: Result, path: str) -> None:
    """Draw all articles, and the front, in the plane of watch time and satisfaction."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    world, front = result.world, result.front
    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    axes.scatter(world.means[:, 1], world.means[:, 2], s=12, color="0.7", label="articles (truth)")
    points = axes.scatter(
        front.values[:, 1],
        front.values[:, 2],
        s=40 + 600 * front.shares,
        c=front.values[:, 0],
        cmap="viridis",
        alpha=0.8,
        label="front as learned; size: share of trade-offs won",
    )
    for arm, value in zip(front.arms, front.values, strict=True):
        true = world.means[world.names.index(arm)]
        axes.plot([value[1], true[1]], [value[2], true[2]], color="0.5", linewidth=0.8)
    figure.colorbar(points, label="clicks per visit")
    axes.set_xlabel("watch time, seconds")
    axes.set_ylabel("satisfaction, stars")
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    result = run(visitors=4000)
    print(result.agent)
    print(result.front)
    decision = result.agent.decide(result.world.names, result.world.features, now=4000 * 600.0)
    print(result.agent.explain(decision))
    print(f"chosen with probability {decision.propensity:.3f} +- {decision.propensity_error:.3f}")
    path = sys.argv[1] if len(sys.argv) > 1 else "recommender.png"
    try:
        draw(result, path)
    except ImportError:
        sys.exit("for the picture: pip install matplotlib")
    print(f"the trade-off is drawn in {path}")


if __name__ == "__main__":
    main()
