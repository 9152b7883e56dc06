"""Worlds whose values are known, and logs of them: for coverage, in tests and benchmarks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mogro import MOGRO, RoundRobin, WeakestDirection


@dataclass(frozen=True, eq=False)
class Log:
    """One log: rewards (n, M), logged arms and propensities (n,), the target (n, K), features."""

    rewards: np.ndarray
    arms: np.ndarray
    logged: np.ndarray
    probabilities: np.ndarray
    features: np.ndarray  # (n, K, d)

    @property
    def target(self) -> np.ndarray:
        return np.asarray(self.probabilities[np.arange(len(self.arms)), self.arms])


@dataclass(frozen=True)
class World:
    """Finitely many contexts, drawn evenly; means (C, K, M) are linear in features (C, K, d)."""

    name: str
    features: np.ndarray
    means: np.ndarray
    logging: np.ndarray  # (C, K)
    target: np.ndarray  # (C, K)
    rows: int
    rewards: str  # "clicks", "normal" or "lognormal", of which the means are given

    @property
    def value(self) -> np.ndarray:
        """The true value of the target, (M,)."""
        return np.asarray(np.einsum("ck,ckm->m", self.target, self.means) / len(self.means))

    @property
    def size(self) -> float:
        """The effective size to be expected."""
        squares = (self.target**2 / self.logging).sum(axis=1).mean()
        return float(self.rows / squares)

    def draw(self, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw rewards with these means."""
        if self.rewards == "clicks":
            return np.asarray(rng.random(means.shape) < means, dtype=float)
        if self.rewards == "normal":
            return np.asarray(means + 0.5 * rng.standard_normal(means.shape))
        return np.asarray(means * rng.lognormal(-0.5, 1.0, means.shape))

    def log(self, rng: np.random.Generator) -> Log:
        """Draw a log of independent rows."""
        contexts = rng.integers(len(self.means), size=self.rows)
        shares = self.logging.cumsum(axis=1)
        arms = (rng.random(self.rows)[:, None] > shares[contexts]).sum(axis=1)
        arms = np.minimum(arms, self.logging.shape[1] - 1)
        rewards = self.draw(self.means[contexts, arms], rng)
        logged = self.logging[contexts, arms]
        return Log(rewards, arms, logged, self.target[contexts], self.features[contexts])

    def learning_logs(
        self, runs: int, rng: np.random.Generator, *, uniform: float
    ) -> Iterator[Log]:
        """Let MOGRO agents learn, with a share of uniform draws; yield the log of each.

        Propensities are exact: given the past, the greedy arm is known, for round robin draws
        no weights.
        """
        contexts_count, arm_count, dim = self.features.shape
        policy = MOGRO(
            dim=dim,
            objectives=self.means.shape[-1],
            scalarization=RoundRobin(),
            exploration=WeakestDirection(),
            batch=(runs,),
        )
        every = np.arange(runs)
        contexts = rng.integers(contexts_count, size=(self.rows, runs))
        arms = np.empty((self.rows, runs), dtype=int)
        logged = np.empty((self.rows, runs))
        rewards = np.empty((self.rows, runs, self.means.shape[-1]))
        for step, now in enumerate(contexts):
            offered = self.features[now]
            greedy = np.asarray(policy.select(offered, rng=rng))
            mixed = rng.random(runs) < uniform
            arm = np.where(mixed, rng.integers(arm_count, size=runs), greedy)
            reward = self.draw(self.means[now, arm], rng)
            policy.update(offered[every, arm], reward)
            arms[step], rewards[step] = arm, reward
            logged[step] = uniform / arm_count + (1 - uniform) * (arm == greedy)
        for run in range(runs):
            run_contexts = contexts[:, run]
            yield Log(
                rewards[:, run],
                arms[:, run],
                logged[:, run],
                self.target[run_contexts],
                self.features[run_contexts],
            )


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def make(
    name: str,
    *,
    seed: int,
    rows: int,
    rewards: str,
    top: float,
    sharpness: float,
    uniform: float,
    objectives: int = 2,
    arms: int = 6,
) -> World:
    """Draw a world: logged by one softmax mixed with uniform draws, the target another.

    ``top`` is the largest mean, ``sharpness`` says how far the two policies are apart.
    """
    rng = np.random.default_rng(seed)
    features = rng.random((10, arms, 4))
    theta = rng.dirichlet(np.ones(4), objectives) * top
    means = features @ theta.T
    scores = rng.standard_normal((2, 10, arms))
    logging = (1 - uniform) * _softmax(sharpness * scores[0]) + uniform / arms
    target = _softmax(sharpness * scores[1])
    return World(name, features, means, logging, target, rows, rewards)


def worlds() -> list[World]:
    """Return the worlds of the coverage table."""
    linear = make(
        "clicks, 25 %",
        seed=1, rows=1000, rewards="clicks", top=0.5, sharpness=1.0, uniform=0.3,
    )  # fmt: skip
    heavy = make(
        "heavy weights",
        seed=2, rows=4000, rewards="clicks", top=0.5, sharpness=2.5, uniform=0.1,
    )  # fmt: skip
    rare = make(
        "rare clicks, 2 %",
        seed=3, rows=4000, rewards="clicks", top=0.04, sharpness=1.0, uniform=0.2, objectives=3,
    )  # fmt: skip
    skewed = make(
        "lognormal rewards",
        seed=4, rows=1500, rewards="lognormal", top=1.0, sharpness=1.0, uniform=0.2,
    )  # fmt: skip
    few = replace(linear, name="clicks, 25 %, few rows", rows=450)
    return [linear, few, heavy, rare, skewed]


def learning_worlds() -> list[World]:
    """Return worlds for logs of learning agents: a soft target, and one greedy for a trade-off."""
    soft = make(
        "learning agent, soft target",
        seed=5, rows=5000, rewards="clicks", top=0.6, sharpness=1.0, uniform=0.0,
    )  # fmt: skip
    best = (soft.means @ np.array([1.0, 4.0])).argmax(axis=1)
    greedy = np.eye(soft.means.shape[1])[best]
    return [soft, replace(soft, name="learning agent, greedy target", target=greedy)]
