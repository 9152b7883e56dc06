"""A small page of news, and logs of agents that choose its stories.

Ten of forty stories are on offer at a time; clicks and subscriptions are linear in their features.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from mogro import MOGRO, Agent, FixedWeights, Objective, WeakestDirection
from mogro._codec import to_plain
from mogro.valuation import values_in_round

ROWS = 1500
UNIFORM = 0.02
OFFERED = 10
NAMES = ("click", "subscribe")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_ROUNDING = 1e-12
TRADE_OFFS = [dict(zip(NAMES, (1 - share, share), strict=True)) for share in SHARES]


class News:
    """Stories with features; what readers do is linear in them."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.stories = rng.random((40, 4))
        self.features = np.column_stack([np.ones(40), self.stories])  # as the learner sees them
        self.theta = np.array([[0.5, 0.2, 0.05, 0.05], [0.05, 0.1, 0.5, 0.1]])

    @property
    def means(self) -> np.ndarray:
        """What every story is worth, (40, 2)."""
        return np.asarray(self.stories @ self.theta.T)

    def offers(self, runs: int, rng: np.random.Generator) -> np.ndarray:
        """Return ten stories for each run, (runs, 10)."""
        return rng.permuted(np.tile(np.arange(len(self.stories)), (runs, 1)), axis=1)[:, :OFFERED]

    def react(self, stories: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return what readers of stories (n,) do, (n, 2)."""
        return np.asarray(rng.random((len(stories), 2)) < self.means[stories], dtype=float)

    def agent_log(self, seed: int, rows: int = ROWS) -> pa.Table:
        """Return the log of an agent that keeps its journal in a file."""
        rng = np.random.default_rng([2, seed])
        objectives = [Objective(name) for name in NAMES]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "news.db")
            with Agent.open(path, objectives, arms=4, seed=seed, epsilon=UNIFORM) as agent:
                for row in range(rows):
                    offer = {f"story {k}": self.stories[k] for k in self.offers(1, rng)[0]}
                    decision = agent.decide(offer, id=f"visit {row}")
                    happened = self.react(np.array([_number(decision.arm)]), rng)[0].tolist()
                    agent.reward(decision.id, dict(zip(NAMES, happened, strict=True)))
                return agent.log()

    def quick_logs(self, runs: int, seed: int, rows: int = ROWS) -> Iterator[pa.Table]:
        """Yield what agents would log, many at once: an agent chooses as its policy does."""
        rng, every = np.random.default_rng([4, seed]), np.arange(runs)
        policy = MOGRO(dim=5, objectives=2, batch=(runs,))
        offers, arms = np.empty((rows, runs, OFFERED), dtype=int), np.empty((rows, runs), dtype=int)
        logged, rewards = np.empty((rows, runs)), np.empty((rows, runs, 2))
        estimates = np.empty((rows, runs, OFFERED, 2))
        for row in range(rows):
            offers[row] = self.offers(runs, rng)
            offered = self.features[offers[row]]
            estimates[row] = policy.beliefs().estimates(offered)
            chances = probabilities(policy, offered)
            chosen = np.asarray(policy.select(offered, rng=rng))
            uniform = rng.random(runs) < UNIFORM
            arms[row] = np.where(uniform, rng.integers(OFFERED, size=runs), chosen)
            logged[row] = UNIFORM / OFFERED + (1 - UNIFORM) * chances[every, arms[row]]
            rewards[row] = self.react(offers[row, every, arms[row]], rng)
            policy.update(offered[every, arms[row]], rewards[row])
        for run in every:
            parts = (offers[:, run], arms[:, run], logged[:, run], rewards[:, run])
            yield self._table(*parts, estimates[:, run])

    def _table(
        self,
        offers: np.ndarray,
        arms: np.ndarray,
        logged: np.ndarray,
        rewards: np.ndarray,
        estimates: np.ndarray,
    ) -> pa.Table:
        """Return the columns of a log that evaluation reads."""
        n = len(arms)
        names = np.array([f"story {k}" for k in range(len(self.stories))])
        columns = {
            "id": [f"visit {row}" for row in range(n)],
            "time": pa.nulls(n, pa.float64()),
            "arm": names[offers[np.arange(n), arms]],
            "propensity": logged,
            "propensity_error": np.zeros(n),
            "uniform": np.zeros(n, dtype=bool),
            "holdout": np.zeros(n, dtype=bool),
            "context": pa.nulls(n, pa.list_(pa.float64())),
            "offered": _lists(names[offers]),
            "offered_features": _lists(self.stories[offers]),
            "offered_estimates": _lists(estimates),
        }
        for m, name in enumerate(NAMES):
            columns |= {f"reward_{name}": rewards[:, m], f"status_{name}": ["learned"] * n}
        about = {"version": 2, "objectives": [to_plain(Objective(name)) for name in NAMES]}
        return pa.table(columns).replace_schema_metadata({b"mogro": json.dumps(about).encode()})

    def beside(self, log: pa.Table) -> np.ndarray:
        """Return what trade-offs would have earned beside a log, (W, 2), from its rows alone."""
        names = log["offered"].combine_chunks().flatten().to_pylist()
        means = self.means[[_number(name) for name in names]].reshape(len(log), OFFERED, 2)
        beliefs = log["offered_estimates"].combine_chunks().flatten().to_numpy()
        weights = np.array([list(each.values()) for each in TRADE_OFFS])
        scores = beliefs.reshape(means.shape) @ weights.T  # (n, K, W)
        tied = np.isclose(scores, scores.max(axis=1, keepdims=True), rtol=1e-12, atol=1e-15)
        shares = tied / tied.sum(axis=1, keepdims=True)  # of arms that tie
        return np.asarray(np.einsum("nkw,nkm->wm", shares, means) / len(log))

    def alone(self, runs: int = 200) -> np.ndarray:
        """Return what trade-offs earn that are run by themselves, (W, 2): means of learners."""
        values = []
        for place, weights in enumerate(TRADE_OFFS):
            fixed = FixedWeights(list(weights.values()))
            policy = MOGRO(dim=5, objectives=2, scalarization=fixed, batch=(runs,))
            rng, total, every = np.random.default_rng([1, place]), np.zeros(2), np.arange(runs)
            for _ in range(ROWS):
                offers = self.offers(runs, rng)
                arms = np.asarray(policy.select(self.features[offers], rng=rng))
                stories = offers[every, arms]
                policy.update(self.features[stories], self.react(stories, rng))
                total += self.means[stories].mean(axis=0)
            values.append(total / ROWS)
        return np.array(values)


def probabilities(policy: MOGRO, arms: np.ndarray) -> np.ndarray:
    """Return ``policy.probabilities`` of arms (runs, K, d) for two objectives, all runs at once.

    Weights (1 - s, s) are drawn with s even in [0, 1]: an arm is best for an interval of s.
    """
    beliefs, step = policy.beliefs(), policy.step
    optimism = policy.optimism(beliefs, step, policy.selection)
    values = values_in_round(policy, arms, beliefs, np.random.default_rng(0), optimism, None)
    ahead, later = np.moveaxis(values[..., :, None, :] - values[..., None, :, :], -1, 0)
    steeper = later - ahead  # of arm k than arm j, which it is ahead of at s = 0
    equal = (np.abs(ahead) < _ROUNDING) & (np.abs(later) < _ROUNDING)
    meet = np.divide(-ahead, steeper, out=np.zeros_like(ahead), where=steeper != 0)
    low = np.where(~equal & (steeper > 0), meet, 0.0).max(axis=-1)
    high = np.where(~equal & (steeper < 0), meet, 1.0).min(axis=-1)
    never = (~equal & (steeper == 0) & (ahead < 0)).any(axis=-1)
    chances = np.where(never, 0.0, (high.clip(0, 1) - low.clip(0, 1)).clip(0)) / equal.sum(axis=-1)
    assert isinstance(policy.exploration, WeakestDirection)
    context = policy.needed_exploration(arms, beliefs, step=step, cache=None)
    if context is not None:
        chances[context.learners] = policy.exploration.probabilities(context)
    return np.asarray(chances)


def _number(story: str) -> int:
    return int(story.split()[1])


def _lists(values: np.ndarray) -> pa.ListArray:
    """Return a column with the values of every row, one after the other."""
    flat = values.reshape(len(values), -1)
    ends = np.arange(len(flat) + 1, dtype=np.int32) * flat.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat.ravel()))
