"""What if: five trade-offs from the log of one agent, against the truth by running each.

``python -m benchmarks.run whatif``; ``MOGRO_WHATIF_RUNS`` sets the number of agents. The world is a
small page of news: ten of forty stories on offer at a time, clicks and subscriptions linear in
their features.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.common import Line, Ratio, short
from mogro import MOGRO, Agent, FixedWeights, Objective, WhatIf, what_if

SECTION = "whatif"
RUNS = int(os.environ.get("MOGRO_WHATIF_RUNS", "40"))
ROWS = 1500
UNIFORM = 0.02
TRADE_OFFS = [{"click": 1 - share, "subscribe": share} for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


class News:
    """Stories with features; what readers do is linear in them."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.stories = rng.random((40, 4))
        self.theta = np.array([[0.5, 0.2, 0.05, 0.05], [0.05, 0.1, 0.5, 0.1]])

    def offer(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return ten stories."""
        return {f"story {k}": self.stories[k] for k in rng.choice(40, size=10, replace=False)}

    def run(self, agent: Agent, rng: np.random.Generator) -> None:
        """Let an agent decide, and learn from what readers do."""
        for row in range(ROWS):
            decision = agent.decide(self.offer(rng), id=f"visit {row}")
            means = self.theta @ self.stories[int(decision.arm.split()[1])]
            happened = (rng.random(2) < means).astype(float)
            values = dict(zip(("click", "subscribe"), happened.tolist(), strict=True))
            agent.reward(decision.id, values)


def objectives() -> list[Objective]:
    """Return what counts."""
    return [Objective("click"), Objective("subscribe")]


def truth(world: News, runs: int = 200) -> np.ndarray:
    """Return what trade-offs are worth when they are run, (W, 2): means of learners side by side.

    An agent whose rewards come at once chooses as its policy does.
    """
    values = []
    for place, weights in enumerate(TRADE_OFFS):
        policy = MOGRO(
            dim=4,
            objectives=2,
            scalarization=FixedWeights(list(weights.values())),
            batch=(runs,),
        )
        rng, total, every = np.random.default_rng([1, place]), np.zeros(2), np.arange(runs)
        for _ in range(ROWS):
            arms = world.stories[rng.permuted(np.tile(np.arange(40), (runs, 1)), axis=1)[:, :10]]
            chosen = arms[every, np.asarray(policy.select(arms, rng=rng))]
            means = chosen @ world.theta.T
            policy.update(chosen, (rng.random(means.shape) < means).astype(float))
            total += means.mean(axis=0)
        values.append(total / ROWS)
    return np.array(values)


def estimate(world: News, seed: int) -> WhatIf:
    """Return what one log says of all trade-offs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "news.db")
        with Agent.open(path, objectives(), dim=4, seed=seed, uniform=UNIFORM) as agent:
            world.run(agent, np.random.default_rng([2, seed]))
            return what_if(agent, TRADE_OFFS)


def lines() -> Iterator[Line]:
    """Measure."""
    world = News()
    values = truth(world)
    yield from judged(values, [estimate(world, seed) for seed in range(RUNS)])


def judged(values: np.ndarray, found: list[WhatIf]) -> Iterator[Line]:
    """Yield how often intervals hold the truth, one by one and all together."""
    alone = [np.stack([own.interval() for own in one.evaluations]) for one in found]
    together = [one.interval() for one in found]
    trusted = np.array([one.trusted.all() for one in found])
    sizes = np.mean([[own.effective_size.min() for own in one.evaluations] for one in found])
    for name, bounds, whole in (("each", alone, False), ("all together", together, True)):
        inside = np.array([(b[..., 0] <= values) & (values <= b[..., 1]) for b in bounds])
        held = inside.all(axis=(1, 2)).reshape(-1, 1) if whole else inside.reshape(len(found), -1)
        share = float(held.mean())
        # Trade-offs share their rows: a log is one observation.
        spread = held.mean(axis=1).std(ddof=1) / np.sqrt(len(found))
        width = np.mean([np.ptp(b, axis=-1) for b in bounds])
        yield Line(
            SECTION,
            Ratio(share, share - 1.96 * spread, min(share + 1.96 * spread, 1.0)),
            f"coverage at 95 %: five trade-offs, {name}",
            f"news, {ROWS:,} decisions, uniform = {UNIFORM}, effective size {sizes:.0f}",
            f"mean width {short(float(width))}; {len(found)} logs",
            ">= 0.93",
            share + 1.96 * spread >= 0.93,
            f"{trusted.mean():.0%} of logs trusted for all five",
        )
