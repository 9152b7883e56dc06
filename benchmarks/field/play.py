"""Contestants that play many orders of a table at once, and what they earned."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

import mogro
from benchmarks.field.table import Table

Rule = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


class Played(NamedTuple):
    """Arms chosen, and which rounds count, (orders, trade-offs, rounds) each."""

    chosen: np.ndarray
    counts: np.ndarray


class Learner(Protocol):
    """R runs that step together."""

    def choose(self, arms: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return arms (R,) of (R, K, d), for weights (R, M)."""
        ...

    def learn(self, x: np.ndarray, y: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> None:
        """Learn rewards (R, M) of arms (R, d), where they were seen, (R, M)."""
        ...


class Ours:
    """MOGRO, which chooses what agents with the same features would choose.

    Without a prior it is as it comes, in versions that know of none too.
    """

    def __init__(
        self, dim: int, objectives: int, runs: int, prior: "mogro.priors.Prior | None"
    ) -> None:
        settings: dict[str, Any] = {} if prior is None else {"prior": prior}
        self._make = partial(mogro.MOGRO, dim, objectives, batch=(runs,), **settings)
        self._policy: mogro.MOGRO | None = None
        self._rng = np.random.default_rng(1)

    def choose(self, arms: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return arms."""
        if self._policy is None:  # all runs have the same weights, for good
            fixed = mogro.FixedWeights((weights[0] / weights[0].sum()).tolist())
            self._policy = self._make(scalarization=fixed)
        return np.asarray(self._policy.select(arms, rng=self._rng))

    def learn(self, x: np.ndarray, y: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> None:
        """Learn rewards."""
        assert self._policy is not None
        if seen.all():
            self._policy.update(x, y)
            return
        posterior = self._policy.posterior
        posterior.update(x, y, seen.astype(np.float64))
        if posterior.due:
            posterior.learn_prior(posterior.evidence())


class Ridge:
    """LinUCB or Thompson sampling in a few lines: ridge 1, one reward, the weighted sum."""

    def __init__(self, dim: int, runs: int, alpha: float, *, thompson: bool = False) -> None:
        self._S = np.tile(np.eye(dim), (runs, 1, 1))
        self._theta, self._b = np.zeros((runs, dim)), np.zeros((runs, dim))
        self._alpha, self._thompson = alpha, thompson
        self._rng = np.random.default_rng(1)

    def choose(self, arms: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return arms."""
        theta = self._theta
        if self._thompson:
            root = np.linalg.cholesky(self._S)
            noise = self._rng.standard_normal(theta.shape)[..., None]
            theta = theta + self._alpha * (root @ noise)[..., 0]
        scores = (arms @ theta[..., None])[..., 0]
        if not self._thompson:
            scores += self._alpha * np.sqrt(np.vecdot(arms @ self._S, arms))
        ties = 1e-9 * np.abs(scores).max() * self._rng.random(scores.shape)
        return np.asarray((scores + ties).argmax(axis=1))

    def learn(self, x: np.ndarray, y: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> None:
        """Learn rewards."""
        complete = (seen | (weights == 0)).all(axis=1)
        reward = np.where(complete, np.where(seen, y * weights, 0.0).sum(axis=1), 0.0)
        x = x * complete[:, None]
        gain = np.matvec(self._S, x)
        gain /= np.sqrt(1 + np.vecdot(gain, x))[:, None]
        self._S -= gain[:, :, None] * gain[:, None, :]
        self._b += reward[:, None] * x
        self._theta = np.matvec(self._S, self._b)


def products(arms: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    """Return (1, context) x (1, arm), as an agent does: (R, K, (1 + C)(1 + A))."""
    c = np.concatenate([np.ones((len(contexts), 1)), contexts], axis=1)
    x = np.concatenate([np.ones((*arms.shape[:2], 1)), arms], axis=2)
    return np.asarray((c[:, None, :, None] * x[:, :, None, :]).reshape(*arms.shape[:2], -1))


def disjoint(arms: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    """Return a block of (1, context) for each arm that stays, (R, K, (1 + C) K), as peers do."""
    return (
        products(arms, contexts)
        .reshape(*arms.shape[:2], 1 + contexts.shape[1], 1 + arms.shape[2])[..., 1:]
        .reshape(*arms.shape[:2], -1)
    )


def accepted(table: Table, orders: np.ndarray) -> np.ndarray:
    """Return which rounds (orders, rounds) may count: so that logged arms are uniform."""
    if table.propensities is None:
        return np.ones(orders.shape, dtype=bool)
    odds = table.propensities.min() / table.propensities[orders]
    return np.asarray(np.random.default_rng(3).random(orders.shape) < odds)


def play(
    table: Table,
    orders: np.ndarray,
    make: Callable[[int, int], Learner],
    features: Callable[[np.ndarray, np.ndarray], np.ndarray] = products,
) -> Played:
    """Let a learner, made for (dim, runs), play all orders (O, T) with all trade-offs at once."""
    tradeoffs = len(table.weights)
    runs, rounds = len(orders) * tradeoffs, orders.shape[1]
    weights, each = np.tile(table.weights, (len(orders), 1)), np.arange(runs)
    may = np.repeat(accepted(table, orders), tradeoffs, axis=0)
    chosen, counts = np.empty((runs, rounds), dtype=int), np.ones((runs, rounds), dtype=bool)
    learner = None
    for t in range(rounds):
        rows = np.repeat(orders[:, t], tradeoffs)
        arms = (
            table.arms[rows]
            if table.arms.ndim == 3
            else np.broadcast_to(table.arms, (runs, *table.arms.shape))
        )
        z = features(arms, table.contexts[rows])
        learner = learner or make(z.shape[2], runs)
        arm = chosen[:, t] = learner.choose(z, weights)
        y = table.rewards[rows, arm]
        if table.logged is not None:
            counts[:, t] = may[:, t] & (arm == table.logged[rows])
        seen = counts[:, t, None] & ~np.isnan(y)
        learner.learn(z[each, arm], np.nan_to_num(y), seen, weights)
    shape = (len(orders), tradeoffs, rounds)
    return Played(chosen.reshape(shape), counts.reshape(shape))


def earned(table: Table, orders: np.ndarray, played: Played) -> np.ndarray:
    """Return utilities (orders, trade-offs, rounds); NaN in rounds that do not count."""
    judged = table.rewards if table.means is None else table.means
    values = judged[orders[:, None], played.chosen]
    weighted = np.where(table.weights[:, None] != 0, values * table.weights[:, None], 0.0)
    return np.where(played.counts, weighted.sum(axis=-1), np.nan)
