"""Tables as ``Agent.log`` makes them, of agents in worlds whose values are known."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mogro import MOGRO, Objective, RoundRobin, WeakestDirection
from mogro._codec import to_plain
from mogro.agent.objective_set import ObjectiveSet

OBJECTIVES = (Objective("click"), Objective("subscribe", unit=0.1))


def make_table(
    objectives: Sequence[Objective],
    *,
    rewards: np.ndarray,
    propensities: np.ndarray,
    chosen: np.ndarray,
    offered: list[list[str]],
    estimates: list[np.ndarray] | np.ndarray,
    features: list[np.ndarray] | np.ndarray,
    times: np.ndarray | None = None,
    uniform: np.ndarray | None = None,
    contexts: np.ndarray | None = None,
    errors: np.ndarray | None = None,
    status: dict[str, list[str]] | None = None,
) -> pa.Table:
    n = len(rewards)
    columns: dict[str, Any] = {
        "id": [f"visit {i}" for i in range(n)],
        "time": pa.array(np.arange(n, dtype=float) if times is None else times),
        "arm": [ids[k] for ids, k in zip(offered, chosen.tolist(), strict=True)],
        "position": np.arange(n),
        "basis": np.arange(n),
        "context": pa.nulls(n, pa.list_(pa.float64())) if contexts is None else list(contexts),
        "weights": pa.nulls(n, pa.list_(pa.float64())),
        "propensity": pa.array(propensities, from_pandas=True),
        "propensity_error": np.zeros(n) if errors is None else errors,
        "exploring": np.zeros(n, dtype=bool),
        "uniform": np.zeros(n, dtype=bool) if uniform is None else uniform,
        "grouped": np.zeros(n, dtype=bool),
        "observed": np.isnan(propensities),
        "holdout": np.zeros(n, dtype=bool),
        "offered": offered,
        "offered_features": _lists(features),
        "offered_estimates": _lists(estimates),
    }
    for m, one in enumerate(objectives):
        values = rewards[:, m]
        columns[f"reward_{one.name}"] = pa.array(values, from_pandas=True)
        known = ["missing" if np.isnan(value) else "learned" for value in values]
        columns[f"status_{one.name}"] = (status or {}).get(one.name, known)
    about = {"version": 2, "objectives": to_plain(tuple(objectives))}
    return pa.table(columns).replace_schema_metadata({b"mogro": json.dumps(about).encode()})


def _lists(values: list[np.ndarray] | np.ndarray) -> Any:
    """Return a column with the numbers of every row, one after the other."""
    flat = [np.ravel(value) for value in values]
    ends = np.cumsum([0, *(len(each) for each in flat)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.concatenate(flat, dtype=float)))


def one_sided_table(rows: int = 300) -> pa.Table:
    """Return a log in which one of two arms was always chosen, for certain."""
    return make_table(
        OBJECTIVES,
        rewards=np.ones((rows, 2)),
        propensities=np.ones(rows),
        chosen=np.zeros(rows, dtype=int),
        offered=[["a", "b"]] * rows,
        estimates=np.tile([[1.0, 0.0], [0.0, 1.0]], (rows, 1, 1)),
        features=np.tile(np.eye(2), (rows, 1, 1)),
    )


class Run(NamedTuple):
    """A log, and the parameters (n, M, d) that were believed at each decision, per unit."""

    table: pa.Table
    theta: np.ndarray


@dataclass(frozen=True)
class World:
    """Contexts drawn evenly; arms (C, K, d) of each; clicks with means linear in them."""

    features: np.ndarray
    theta: np.ndarray  # (M, d), in the user's units
    objectives: tuple[Objective, ...] = OBJECTIVES

    @property
    def objective_set(self) -> ObjectiveSet:
        return ObjectiveSet(self.objectives)

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.features @ self.theta.T)  # (C, K, M)

    def value(self, run: Run, weights: Sequence[float]) -> np.ndarray:
        """Return what the arms that were best for the weights, by beliefs, are worth, (M,)."""
        tilted = np.asarray(weights) @ run.theta  # (n, d)
        best = np.einsum("ckd,nd->nck", self.features, tilted).argmax(axis=-1)
        contexts = np.arange(len(self.features))
        return np.asarray(self.means[contexts, best].mean(axis=(0, 1)))

    def runs(
        self, count: int, rows: int, rng: np.random.Generator, *, uniform: float
    ) -> Iterator[Run]:
        """Let MOGRO agents learn side by side; round robin, so that propensities are known."""
        contexts_count, arms, dim = self.features.shape
        objectives = len(self.objectives)
        policy = MOGRO(
            dim=dim,
            objectives=objectives,
            scalarization=RoundRobin(),
            exploration=WeakestDirection(),
            batch=(count,),
        )
        every = np.arange(count)
        contexts = rng.integers(contexts_count, size=(rows, count))
        chosen, greedy = np.empty((2, rows, count), dtype=int)
        rewards = np.empty((rows, count, objectives))
        mixed = rng.random((rows, count)) < uniform
        theta = np.empty((rows, count, objectives, dim))
        for step, now in enumerate(contexts):
            offered = self.features[now]
            theta[step] = policy.theta
            greedy[step] = np.asarray(policy.select(offered, rng=rng))
            arm = np.where(mixed[step], rng.integers(arms, size=count), greedy[step])
            reward = self._draw(now, arm, rng)
            policy.update(offered[every, arm], self.objective_set.to_learner_units(reward))
            chosen[step], rewards[step] = arm, reward
        logged = uniform / arms + (1 - uniform) * (chosen == greedy)
        for run in range(count):
            own = (each[:, run] for each in (contexts, chosen, logged, rewards, mixed, theta))
            yield self._run(*own, uniform=uniform)

    def steady_runs(
        self, count: int, rows: int, rng: np.random.Generator, *, uniform: float
    ) -> Iterator[Run]:
        """Go round robin by beliefs that are wrong and wander, but do not follow the rewards."""
        contexts_count, arms, dim = self.features.shape
        objectives = len(self.objectives)
        for _ in range(count):
            contexts = rng.integers(contexts_count, size=rows)
            wander = rng.standard_normal((rows, objectives, dim)).cumsum(axis=0) / np.sqrt(rows)
            theta = self.theta / self.objective_set.scale[:, None] + 0.05 * wander
            values = np.einsum("nkd,nmd->nmk", self.features[contexts], theta)
            greedy = values[np.arange(rows), np.arange(rows) % objectives].argmax(axis=-1)
            mixed = rng.random(rows) < uniform
            chosen = np.where(mixed, rng.integers(arms, size=rows), greedy)
            logged = uniform / arms + (1 - uniform) * (chosen == greedy)
            rewards = self._draw(contexts, chosen, rng)
            yield self._run(contexts, chosen, logged, rewards, mixed, theta, uniform=uniform)

    def _draw(self, contexts: np.ndarray, arms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        means = self.means[contexts, arms]
        return np.asarray(rng.random(means.shape) < means, dtype=float)

    def _run(
        self,
        contexts: np.ndarray,
        chosen: np.ndarray,
        logged: np.ndarray,
        rewards: np.ndarray,
        mixed: np.ndarray,
        theta: np.ndarray,
        *,
        uniform: float,
    ) -> Run:
        features = self.features[contexts]
        names = [[f"{c}/{k}" for k in range(features.shape[1])] for c in range(len(self.features))]
        table = make_table(
            self.objectives,
            rewards=rewards,
            propensities=logged,
            chosen=chosen,
            offered=[names[c] for c in contexts],
            estimates=self.objective_set.to_user_units(features @ theta.swapaxes(1, 2)),
            features=features,
            uniform=mixed,
        )
        return Run(table, theta)


def small_world(seed: int = 5, *, contexts: int = 6, arms: int = 5, dim: int = 4) -> World:
    rng = np.random.default_rng(seed)
    features = rng.random((contexts, arms, dim))
    theta = rng.dirichlet(0.5 * np.ones(dim), 2) * 0.7
    return World(features, theta)


def other_direction(world: World) -> World:
    """Return the world with a second objective that is to be small."""
    first, second = world.objectives
    return replace(world, objectives=(first, replace(second, direction="min")))
