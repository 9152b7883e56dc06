"""What effects of single arms would bring: a hit that its features do not explain.

``python -m benchmarks.field.effects FOLDER`` plays with and without an effect for every arm id, a
group of the learned prior by itself: one column for each id, as a ``Category`` of arms without
products would have. Gains are shares of what the best arms have above uniform draws.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from pathlib import Path

import numpy as np

import mogro
from benchmarks.field import movielens, news
from benchmarks.field.play import products
from benchmarks.field.table import Table

FIRST = 500


def rounds_of(table: Table, seed: int, rounds: int) -> np.ndarray:
    """Return the rows that are played, in order."""
    if table.ordered:
        return np.arange(rounds)
    return np.random.default_rng(seed).permutation(len(table.contexts))[:rounds]


def play(table: Table, rows: np.ndarray, weights: np.ndarray, *, effects: bool) -> np.ndarray:
    """Return what MOGRO with the default of agents earns, round by round."""
    assert table.ids is not None
    names, ids = np.unique(table.ids[rows], return_inverse=True)
    ids = ids.reshape(len(rows), -1)
    groups, one_hot = table.groups - 1, np.eye(len(names))
    if effects:
        groups = np.concatenate([groups, np.full(len(names), groups.max() + 1)])
    policy = mogro.MOGRO(
        len(groups),
        table.rewards.shape[2],
        scalarization=mogro.FixedWeights((weights / weights.sum()).tolist()),
        prior=mogro.priors.Learned(groups.tolist()),
    )
    rng, earned = np.random.default_rng(1), np.empty(len(rows))
    judged = table.rewards if table.means is None else table.means
    for t, row in enumerate(rows):
        arms = products(table.arms[row][None], table.contexts[row][None])[0]
        if effects:
            arms = np.hstack([arms, one_hot[ids[t]]])
        arm = int(policy.select(arms, rng=rng))
        policy.update(arms[arm], table.rewards[row, arm])
        earned[t] = judged[row, arm] @ weights
    return earned


def gains(table: Table, seed: int, rounds: int) -> np.ndarray:
    """Return what effects add in the first rounds and in later ones, for the first trade-off."""
    rows, weights = rounds_of(table, seed, rounds), table.weights[0]
    values = (table.rewards if table.means is None else table.means)[rows] @ weights
    span = values.max(axis=1).mean() - values.mean()
    without, with_effects = (play(table, rows, weights, effects=e) for e in (False, True))
    added = (with_effects - without) / span
    return np.array([added[:FIRST].mean(), added[FIRST:].mean()])


def main(folder: str = "", runs: str = "6") -> None:
    """Print the gains with their standard errors."""
    if not folder:
        sys.exit(__doc__)
    worlds = {
        f"news, spread of hits {hits:g}": [
            (news.load(seed, 1500, hits), seed, 1500) for seed in range(int(runs))
        ]
        for hits in (0.0, 0.5, 1.0)
    }
    films = movielens.load(Path(folder))
    worlds["MovieLens"] = [(films, seed, 1000) for seed in range(int(runs))]
    for name, played in worlds.items():
        each = np.array([gains(*world) for world in played])
        error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
        first, later = (
            f"{100 * g:.1f} ± {100 * e:.1f}" for g, e in zip(each.mean(axis=0), error, strict=True)
        )
        print(f"{name}: first {FIRST} rounds {first} %, later {later} %", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
