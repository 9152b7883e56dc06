"""A simulated news site that drives a service: ``mogro serve --demo``."""

import itertools
import random
import time
from pathlib import Path
from typing import Any

from mogro.service.client import RemoteAgent, ServiceError, connect
from mogro.service.config import ServiceConfig, read_config

_VISITS_PER_SECOND = 25.0


def demo_config(folder: Path, *, port: int) -> ServiceConfig:
    """Return the settings of the demo, kept in a folder."""
    config = read_config(Path(__file__).with_name("demo.toml"))
    config.path, config.port = folder / "demo.toml", port
    return config


def send_visitors(url: str) -> None:
    """Let visitors come to a service for ever."""
    rng, ids = random.Random(11), (f"{time.time():.0f}-{visit}" for visit in itertools.count(1))
    while True:
        try:
            with connect(url, retries=3) as agent:
                articles = agent.arms
                for id in ids:
                    time.sleep(1 / _VISITS_PER_SECOND)
                    values = _visit(agent, articles, id, rng)
                    if values:
                        agent.reward(id, values)
        except ServiceError:
            time.sleep(1.0)


def _visit(
    agent: RemoteAgent, articles: dict[str, Any], id: str, rng: random.Random
) -> dict[str, float]:
    """Show an article to a visitor, and return what comes of it."""
    device, age = rng.choice(["phone", "desktop"]), rng.randint(16, 80)
    subject = f"reader {rng.randint(1, 5000)}"
    decision = agent.decide(context={"device": device, "age": age}, id=id, subject=subject)
    article, phone = articles[decision.arm], device == "phone"
    click_probability = (
        0.05 + 0.25 * article["shrill"] + 0.04 * (article["topic"] == "sport") * phone
    )
    if rng.random() >= click_probability:
        return {}
    patience = (1.2 - article["shrill"]) * (0.5 if phone else 1.0)
    minutes = rng.expovariate(1 / (article["minutes"] * patience))
    return {"click": 1.0, "minutes": min(minutes, 60.0)}
