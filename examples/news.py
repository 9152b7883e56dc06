"""A news site from its first day: articles come and go, and rewards take from seconds to days.

Each visitor is shown one of two hundred articles, a quarter of which are new every day. A click
comes at once, the time spent reading within the hour and from those who click only, a subscription,
which few visits lead to, after some days. Visitors and articles are records; the agent learns what
suits whom. A new article has features that others had before, so it is known before it is shown.

Run with ``python examples/news.py [picture.png]``.
"""

import heapq
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import mogro

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
DAYS, VISITS, ARTICLES, NEW = 12, 250, 200, 50
TOPICS = ("politics", "sport", "culture")
OBJECTIVES = [
    # Two clicks in a hundred visits, two minutes of those who click and five subscriptions in a
    # thousand visits weigh alike. What has not come when its window closes counts as 0; reading
    # time is reported again and again, and the largest report counts.
    mogro.Objective("click", unit=0.02, window=10 * MINUTE, default=0.0),
    mogro.Objective("reading", unit=2 * MINUTE, window=HOUR, given="click", revise="max"),
    mogro.Objective("subscription", unit=0.005, window=4 * DAY, default=0.0),
]
VISITORS = mogro.Encoder(
    age=mogro.Number(mean=45, std=15),
    device=mogro.Category("phone"),
    taste=mogro.Vector(len(TOPICS)),  # shares of topics among what was read before
)
FEATURES = mogro.Encoder(
    topic=mogro.Category(*TOPICS), minutes=mogro.Number(mean=5, std=3), exclusive=mogro.Number()
)


class Visit(NamedTuple):
    """What the article shown, any article, and the best for each objective alone are worth."""

    article: np.ndarray
    any: np.ndarray
    best: np.ndarray


class World:
    """Articles, visitors, and what the agent does not see: who likes what."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shelf: dict[str, Mapping[str, Any]] = {}

    def publish(self, day: int, count: int) -> dict[str, Mapping[str, Any]]:
        """Return new articles, which take the place of the oldest ones."""
        new: dict[str, Mapping[str, Any]] = {}
        for number in range(count):
            topic, minutes = TOPICS[self.rng.integers(3)], 1 + self.rng.gamma(2.0, 2.0)
            record = {"topic": topic, "minutes": minutes, "exclusive": self.rng.random() < 0.2}
            new[f"article {day}-{number}"] = record
        self.shelf = dict([*self.shelf.items(), *new.items()][-ARTICLES:])
        return new

    def visitor(self) -> dict[str, Any]:
        device, age = self.rng.choice(["phone", "desktop"]), self.rng.uniform(18, 80)
        return {"age": age, "device": device, "taste": self.rng.dirichlet([0.5] * 3)}

    def means(self, visitor: Mapping[str, Any]) -> np.ndarray:
        """Return chances of a click, seconds of those who click, chances of a subscription."""
        likes = dict(zip(TOPICS, visitor["taste"].tolist(), strict=True))
        phone, old = visitor["device"] == "phone", visitor["age"] > 45
        rows = []
        for one in self.shelf.values():
            click = 0.08 + 0.25 * likes[one["topic"]] - 0.003 * one["minutes"]
            serious = one["exclusive"] * (0.05 if old and not phone else 0.01)
            rows.append((max(click, 0.01), one["minutes"] * (15 if phone else 40), 0.002 + serious))
        return np.array(rows)

    def rewards(self, means: np.ndarray) -> list[tuple[float, str, float]]:
        """Return what a visitor does: delays, objectives, values."""
        events = []
        if self.rng.random() < means[0]:
            seconds = means[1] * self.rng.uniform(0.5, 1.5)
            events = [(2.0, "click", 1.0)]
            events += [(2 + time, "reading", time) for time in (seconds / 2, seconds)]
        if self.rng.random() < means[2]:
            events.append((self.rng.uniform(0.1, 3.5) * DAY, "subscription", 1.0))
        return events


def run(seed: int = 0) -> tuple[mogro.Agent, list[Visit]]:
    """Serve visitors for some days."""
    world = World(seed)
    agent = mogro.Agent(OBJECTIVES, arms=FEATURES, context=VISITORS, seed=seed)
    catalogue = mogro.Catalogue(FEATURES.size)
    mail: list[tuple[float, str, str, float]] = []  # rewards on their way, soonest first
    history = []
    for number in range(DAYS * VISITS):
        day, now = number // VISITS, number * DAY / VISITS
        if number % VISITS == 0:
            new = world.publish(day, NEW if day else ARTICLES)
            catalogue.add(list(new), FEATURES(list(new.values())))
            old = [name for name in catalogue.version().ids if name not in world.shelf]
            if old:
                catalogue.remove(old)
        while mail and mail[0][0] <= now:
            arrived, visit, name, value = heapq.heappop(mail)
            agent.reward(visit, {name: value}, now=arrived)
        visitor = world.visitor()
        decision = agent.decide(catalogue, context=visitor, now=now)
        truth = world.means(visitor)
        shown = truth[list(world.shelf).index(decision.arm)]
        for delay, name, value in world.rewards(shown):
            heapq.heappush(mail, (now + delay, decision.id, name, value))
        history.append(Visit(shown, truth.mean(axis=0), truth.max(axis=0)))
    return agent, history


def draw(history: list[Visit], path: str) -> None:
    import matplotlib.pyplot as plt

    worth = np.array(history).reshape(DAYS, VISITS, 3, 3).mean(axis=1)  # (days, who, objectives)
    titles = ("clicks, %", "reading, seconds a click", "subscriptions, ‰, known after 4 days")
    names = ("shown by the agent", "any article", "best for this objective alone")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for m, (title, scale, ax) in enumerate(zip(titles, (100, 1, 1000), axes, strict=True)):
        lines = ax.plot(np.arange(1, DAYS + 1), scale * worth[..., m], marker=".")
        ax.set(title=title, xlabel="day", ylim=(0, None))
    figure.legend(lines, names, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=120)


def main() -> None:
    agent, history = run()
    print(agent)
    print("means of click, reading, subscription")
    for when, visits in (("first", history[:VISITS]), ("last", history[-VISITS:])):
        for name, values in zip(Visit._fields, np.mean(visits, axis=0), strict=True):
            print(f"{when} day, {name:5}", *(f"{value:8.4g}" for value in values))
    path = sys.argv[1] if len(sys.argv) > 1 else "news.png"
    try:
        draw(history, path)
    except ImportError:
        sys.exit("for the picture: pip install matplotlib")
    print(f"what visits were worth is drawn in {path}")


if __name__ == "__main__":
    main()
