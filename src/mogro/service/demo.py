"""A simulated news site that drives a service: ``mogro serve --demo``."""

import heapq
import random
import threading
import time
from pathlib import Path
from typing import Any

from mogro.service.client import ServiceError, connect
from mogro.service.config import ServiceConfig, parse_config

_TOPICS = ("politics", "sport", "science", "culture", "local")
_ARTICLES = 40
_VISITS_PER_SECOND = 25.0  # visits a second
_HEADLINE_WORDS = ("Harbour", "Budget", "Derby", "Comet", "Opera", "Bridge", "Strike", "Market")


def demo_config(folder: Path, *, port: int) -> ServiceConfig:
    """Return the settings of the demo, kept in a folder."""
    articles = _articles()
    agent = {
        "seed": 7,
        "epsilon": 0.1,
        "holdout": 0.1,
        "objectives": [
            {"name": "click", "window": 10, "default": 0},
            {"name": "minutes", "unit": 8, "window": 10, "default": 0},
        ],
        "arms": {
            "topic": {"type": "category", "values": list(_TOPICS)},
            "minutes": {"type": "number", "mean": 6, "std": 3},
            "shrill": {"type": "number", "mean": 0.5, "std": 0.3},
        },
        "context": {
            "device": {"type": "category", "values": ["phone", "desktop"]},
            "age": {"type": "number", "mean": 40, "std": 15},
        },
        "retention": {"decisions": 50_000},
        "noise": {"click": 0.5, "minutes": 30.0},  # half of what rewards can differ by
        "catalogue": articles,
    }
    plain = {"agents": {"news": agent}, "port": port, "log": "changes"}
    return parse_config(plain, folder / "demo.toml")


def _articles() -> dict[str, dict[str, Any]]:
    """Return articles: shrill ones are clicked, long and serious ones are read."""
    rng = random.Random(3)
    return {
        f"{rng.choice(_HEADLINE_WORDS)} {rng.choice(_HEADLINE_WORDS).lower()} {number}": {
            "topic": rng.choice(_TOPICS),
            "minutes": round(rng.uniform(2, 14), 1),
            "shrill": round(rng.random(), 2),
        }
        for number in range(1, _ARTICLES + 1)
    }


class NewsSite:
    """Visitors who come, see an article, and perhaps click and read.

    Parameters
    ----------
    url
        Of the service.
    pace
        Visits a second.
    """

    def __init__(self, url: str, *, pace: float = _VISITS_PER_SECOND) -> None:
        self._url, self._pace = url, pace
        self._articles, self._rng = _articles(), random.Random(11)
        self._stop = threading.Event()
        self._due: list[tuple[float, str, dict[str, float]]] = []  # rewards that will come
        self._thread = threading.Thread(target=self._run, name="news site", daemon=True)

    def start(self) -> None:
        """Let visitors come."""
        self._thread.start()

    def stop(self) -> None:
        """Let no more come."""
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        begun = time.time()
        visit = 0
        while not self._stop.wait(1 / self._pace):
            try:
                with connect(self._url, retries=3) as agent:
                    while not self._stop.wait(1 / self._pace):
                        visit += 1
                        self._visit(agent, f"{begun:.0f}-{visit}")
                        self._reward(agent)
            except ServiceError:
                self._stop.wait(1.0)

    def _visit(self, agent: Any, id: str) -> None:
        rng = self._rng
        reader = {"device": rng.choice(["phone", "desktop"]), "age": rng.randint(16, 80)}
        decision = agent.decide(context=reader, id=id, subject=f"reader {rng.randint(1, 5000)}")
        article = self._articles[decision.arm]
        phone = reader["device"] == "phone"
        likes = 0.05 + 0.25 * article["shrill"] + 0.04 * (article["topic"] == "sport") * phone
        if rng.random() < likes:
            patience = (1.2 - article["shrill"]) * (0.5 if phone else 1.0)
            read = rng.expovariate(1 / (article["minutes"] * patience))
            due = time.monotonic() + rng.uniform(0.5, 6.0)
            heapq.heappush(self._due, (due, id, {"click": 1.0, "minutes": min(read, 60.0)}))

    def _reward(self, agent: Any) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            _, id, values = heapq.heappop(self._due)
            agent.reward(id, values)
