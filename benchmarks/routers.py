"""Who routes prompts to language models in :mod:`benchmarks.routing`, each as its library says.

A router is made for one trade-off: the price of a cent in quality. Those with one scalar reward
learn quality less price times cost; mogro learns both objectives, and is told the weights when it
decides; ParetoBandit learns the quality and knows the list prices of the models beforehand.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import mogro
from mogro.agent.config import MakePolicy

MODELS = (
    "meta-llama/llama-3.1-8b-instruct",
    "mistralai/mistral-large-2512",
    "google/gemini-2.5-pro",
)
PRICES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.5, 3.0, 20.0)  # quality that a cent is worth


class Router(Protocol):
    """Chooses a model for a prompt, and learns what came of it."""

    def choose(self, prompt: np.ndarray) -> int:
        """Return the model for a prompt (d,)."""
        ...

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        """Take the quality and the cost, in cents, of the model chosen."""
        ...


Make = Callable[[float, int, int], Router]  # price of a cent, number of features, seed


class AgentRouter:
    """mogro.Agent with a block of parameters for each model."""

    def __init__(self, price: float, dim: int, seed: int, policy: MakePolicy = mogro.MOGRO) -> None:
        self._agent = mogro.Agent(
            [mogro.Objective("quality"), mogro.Objective("cost", direction="min", unit=0.01)],
            arms=len(MODELS),
            context=dim,
            seed=seed,
            policy=policy,
            retention=mogro.Retention(decisions=1000),
        )
        self._weights = {"quality": 1.0, "cost": price}
        self._arms = np.eye(len(MODELS))
        self._last = ""

    def choose(self, prompt: np.ndarray) -> int:
        decision = self._agent.decide(MODELS, self._arms, context=prompt, weights=self._weights)
        self._last = decision.id
        return MODELS.index(decision.arm)

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        self._agent.reward(self._last, {"quality": quality, "cost": cost / 100})

    @property
    def explored(self) -> int:
        """How many decisions explored."""
        return self._agent.counters["explored"]


class PolicyRouter:
    """The policy alone, over features that are written out."""

    def __init__(self, price: float, dim: int, seed: int) -> None:
        weights = mogro.FixedWeights([1 / (1 + price), price / (1 + price)])
        self._policy = mogro.MOGRO(len(MODELS) * (1 + dim), 2, scalarization=weights)
        self._rng = np.random.default_rng(seed)

    def choose(self, prompt: np.ndarray) -> int:
        return self.select(blocks(prompt))

    def select(self, arms: np.ndarray) -> int:
        """Return the model by what is known of the arms."""
        return int(self._policy.select(arms, rng=self._rng))

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        self._policy.update(blocks(prompt)[model], np.array([quality, -cost]))


def blocks(prompts: np.ndarray) -> np.ndarray:
    """Return prompts (..., d) as arms (..., K, K (1 + d)): a block of features for each model."""
    *shape, dim = prompts.shape
    count = len(MODELS)
    features = np.zeros((*shape, count, count, 1 + dim))
    for model in range(count):
        features[..., model, model, 0], features[..., model, model, 1:] = 1.0, prompts
    return features.reshape(*shape, count, count * (1 + dim))


class ParetoBanditRouter:
    """Its policy as its router uses it, with the list prices of its registry."""

    def __init__(self, price: float, dim: int, seed: int, **settings: Any) -> None:
        from pareto_bandit.config import BEST_K3_HPARAMS
        from pareto_bandit.policy import DisjointLinUCBPolicy

        chosen = {
            "alpha": BEST_K3_HPARAMS["alpha"],
            "forgetting_factor": BEST_K3_HPARAMS["forgetting_factor"],
        }
        self._policy = DisjointLinUCBPolicy(
            list(MODELS), dim=1 + dim, seed=seed, **(chosen | settings)
        )
        self._penalties = {model: price * cost for model, cost in list_prices().items()}

    def choose(self, prompt: np.ndarray) -> int:
        model, _ = self._policy.select_arm(_with_one(prompt), cost_penalties=self._penalties)
        self._policy.mark_selected(model)
        return MODELS.index(model)

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        self._policy.update(MODELS[model], _with_one(prompt), quality, advance_time=False)


def list_prices() -> dict[str, float]:
    """Return what ParetoBandit takes for the cost of each model, from 0 to 1, by its registry."""
    import json

    from pareto_bandit.config import DEFAULT_MODEL_REGISTRY_PATH
    from pareto_bandit.costs import log_normalize_cost
    from pareto_bandit.types import RouterConfig

    config = RouterConfig()
    ends = {"floor": config.market_cost_floor, "ceiling": config.market_cost_ceiling}
    costs = {}
    for entry in json.loads(DEFAULT_MODEL_REGISTRY_PATH.read_text())["models"]:
        blend = (entry["input_cost_per_m"] + entry["output_cost_per_m"]) / 2
        costs[entry["model_id"]] = log_normalize_cost(blend / 1000, **ends)
    return {model: costs[model] for model in MODELS}


class MabwiserRouter:
    """Its LinUCB, with a tenth of the default width, which explores less and does better."""

    def __init__(self, price: float, dim: int, seed: int, alpha: float = 0.1) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self._price, self._seed = price, seed
        self._bandit = MAB(list(range(len(MODELS))), LearningPolicy.LinUCB(alpha=alpha), seed=seed)
        self._new = True

    def choose(self, prompt: np.ndarray) -> int:
        if self._new:  # it has to be fitted before it predicts
            return self._seed % len(MODELS)
        return int(self._bandit.predict(_with_one(prompt)[None]))

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        rows = np.array([model]), np.array([quality - self._price * cost]), _with_one(prompt)[None]
        (self._bandit.fit if self._new else self._bandit.partial_fit)(*rows)
        self._new = False


class ContextualRouter:
    """LinUCB of contextualbandits likewise; it wants rewards of 0 or 1, but works with any."""

    def __init__(self, price: float, dim: int, seed: int, alpha: float = 0.1) -> None:
        from contextualbandits.online import LinUCB

        self._price = price
        self._bandit = LinUCB(len(MODELS), alpha=alpha, random_state=1 + seed)
        self._seed, self._new = seed, True

    def choose(self, prompt: np.ndarray) -> int:
        return self._seed % len(MODELS) if self._new else int(self._bandit.predict(prompt[None])[0])

    def learn(self, prompt: np.ndarray, model: int, quality: float, cost: float) -> None:
        rows = prompt[None], np.array([model]), np.array([quality - self._price * cost])
        (self._bandit.fit if self._new else self._bandit.partial_fit)(*rows)
        self._new = False


def _with_one(prompt: np.ndarray) -> np.ndarray:
    return np.append(prompt, 1.0)
