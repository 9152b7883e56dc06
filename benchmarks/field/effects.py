"""What effects of single arms bring: a hit that its features do not explain.

``python -m benchmarks.field.effects FOLDER [runs]`` plays with and without ``arm_effects``. Gains
are shares of what the best arms have above uniform draws.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from pathlib import Path

import numpy as np

import mogro
from benchmarks.field import movielens, news
from benchmarks.field.table import Table

FIRST = 500


def rounds_of(table: Table, seed: int, rounds: int) -> np.ndarray:
    """Return the rows that are played, in order."""
    if table.ordered:
        return np.arange(rounds)
    return np.random.default_rng(seed).permutation(len(table.contexts))[:rounds]


def play(table: Table, rows: np.ndarray, weights: np.ndarray, *, effects: bool) -> np.ndarray:
    """Return what an agent at its defaults earns, round by round."""
    assert table.ids is not None
    names = [f"objective {m}" for m in range(table.rewards.shape[2])]
    agent = mogro.Agent(
        [mogro.Objective(name) for name in names],
        arms=table.arms.shape[2],
        context=table.contexts.shape[1],
        seed=1,
        prior=mogro.priors.Learned((table.groups - 1).tolist()),
        arm_effects=effects,
        retention=mogro.Retention(decisions=1000),
    )
    trade_off = dict(zip(names, weights.tolist(), strict=True))
    earned = np.empty(len(rows))
    judged = table.rewards if table.means is None else table.means
    for t, row in enumerate(rows):
        ids = [str(each) for each in table.ids[row].tolist()]
        decision = agent.decide(
            ids, table.arms[row], context=table.contexts[row], weights=trade_off
        )
        arm = ids.index(decision.arm)
        values = table.rewards[row, arm].tolist()
        agent.reward(decision.id, dict(zip(names, values, strict=True)))
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
