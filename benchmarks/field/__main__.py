"""Run contestants on the data sets in a folder, and write the report: see benchmarks/field.

``python -m benchmarks.field FOLDER [peers | past] [words ...]``; words pick data sets by their
names. What each contestant earned is kept in ``out/field`` and measured anew once it is deleted
there. With ``peers`` the other libraries run, which have to be installed, on fewer orders. With
``past`` the mogro that is first on the path plays as it comes: a checkout of 31d0e28. The report,
on all that is there, is FIELD.md.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import mogro
from benchmarks.field import actg, classes, movielens, news, routing, star
from benchmarks.field.peers import CHANGING, PEERS, Make
from benchmarks.field.play import (
    Ours,
    Played,
    Ridge,
    accepted,
    disjoint,
    earned,
    play,
    products,
)
from benchmarks.field.report import write
from benchmarks.field.table import Table

OUT = Path("out", "field")
MANY, SOME, FEW, ROUNDS, FIRST = 20, 10, 3, 1000, 500

Contestant = Callable[[Table, np.ndarray], Played]


def tables(folder: Path) -> dict[str, Callable[[], list[Table]]]:
    """Return how to load the data sets; a made-up one is several worlds."""
    sets: dict[str, Callable[[], list[Table]]] = {
        f"routing, {size} features": partial(_one, partial(routing.load, folder, size))
        for size in (8, 24, 64)
    }
    sets |= {
        "ACTG 175": partial(_one, partial(actg.load, folder)),
        "STAR": partial(_one, partial(star.load, folder)),
        "MovieLens": partial(_one, partial(movielens.load, folder)),
        "news": lambda: [news.load(seed, 1500) for seed in range(SOME)],
    }
    return sets | {
        name: partial(_one, partial(classes.load, folder, name)) for name in classes.NAMES
    }


def _one(load: Callable[[], Table]) -> list[Table]:
    return [load()]


def orders(table: Table, count: int) -> np.ndarray:
    """Return orders of the rows, (count, rounds); of a trial, bootstraps of its rows."""
    n, rng = len(table.contexts), np.random.default_rng(0)
    if table.ordered:
        return np.arange(n)[None]
    if table.logged is not None:
        return rng.integers(n, size=(count, n))
    return np.stack([rng.permutation(n)[:ROUNDS] for _ in range(count)])


def ours(table: Table, rows: np.ndarray, *, flat: bool = False) -> Played:
    """Let MOGRO play with the prior that is the default of agents, or as it comes: a flat one."""
    prior = None if flat else mogro.priors.Learned((table.groups - 1).tolist())
    objectives, repetitions = table.rewards.shape[2], []
    for weights in table.weights:  # those who explore and those who do not have the same
        single = replace(table, weights=weights[None])
        repetitions.append(play(single, rows, lambda dim, runs: Ours(dim, objectives, runs, prior)))
    return Played(*(np.concatenate(part, axis=1) for part in zip(*repetitions, strict=True)))


def ridge(table: Table, rows: np.ndarray, *, alpha: float, thompson: bool = False) -> Played:
    """Let thirty lines of NumPy play: ridge 1, a block for each arm that stays."""
    features = disjoint if table.arms.ndim == 2 else products
    return play(table, rows, lambda dim, runs: Ridge(dim, runs, alpha, thompson=thompson), features)


def peer(table: Table, rows: np.ndarray, *, make: Make) -> Played:
    """Let another library play, one order and trade-off after the other."""
    may = accepted(table, rows)
    chosen = np.empty((len(rows), len(table.weights), rows.shape[1]), dtype=int)
    counts = np.ones(chosen.shape, dtype=bool)
    for o, order in enumerate(rows):
        for w, weights in enumerate(table.weights):
            player = make(table.arms.shape[-2], o)
            for t, row in enumerate(order):
                arms = table.arms[row] if table.arms.ndim == 3 else table.arms
                arm = chosen[o, w, t] = player.choose(arms, table.contexts[row])
                if table.logged is not None:
                    counts[o, w, t] = may[o, t] and arm == table.logged[row]
                value = float(table.rewards[row, arm][weights != 0] @ weights[weights != 0])
                if counts[o, w, t] and not np.isnan(value):
                    player.learn(arms, table.contexts[row], arm, value)
    return Played(chosen, counts)


def uniform(table: Table, rows: np.ndarray) -> Played:
    """Draw arms."""
    rng, shape = np.random.default_rng(4), (len(rows), len(table.weights), rows.shape[1])
    return _by_table(table, rows, rng.integers(table.arms.shape[-2], size=shape))


def constant(table: Table, rows: np.ndarray) -> Played:
    """Choose the arm that is best on average, in hindsight; where arms change, draw one."""
    if table.arms.ndim == 3:
        return uniform(table, rows)
    means = np.nanmean(table.rewards, axis=0) @ table.weights.T  # (K, W)
    best = means.argmax(axis=0)
    shape = (len(rows), len(best), rows.shape[1])
    return _by_table(table, rows, np.broadcast_to(best[:, None], shape))


def limit(table: Table, rows: np.ndarray) -> Played:
    """Choose by least squares over all rows, those to come included."""
    arms = np.broadcast_to(table.arms, (len(table.contexts), *table.arms.shape[-2:]))
    z = products(arms, table.contexts)
    best = []
    for weights in table.weights:
        used = weights != 0
        utility = table.rewards[..., used] @ weights[used]
        known = ~np.isnan(utility)
        theta = np.linalg.lstsq(z[known], utility[known], rcond=None)[0]
        best.append((z @ theta).argmax(axis=1))
    return _by_table(table, rows, np.stack(best)[:, rows].swapaxes(0, 1))


def _by_table(table: Table, rows: np.ndarray, chosen: np.ndarray) -> Played:
    counts = np.ones(chosen.shape, dtype=bool)
    if table.logged is not None:
        counts = accepted(table, rows)[:, None] & (chosen == table.logged[rows][:, None])
    return Played(chosen, counts)


CONTESTANTS: dict[str, Contestant] = {
    "mogro": ours,
    "mogro, flat prior": partial(ours, flat=True),
    "LinUCB 0.1": partial(ridge, alpha=0.1),
    "LinUCB 0.3": partial(ridge, alpha=0.3),
    "LinUCB 1": partial(ridge, alpha=1.0),
    "Thompson sampling": partial(ridge, alpha=0.3, thompson=True),
    "uniform": uniform,
    "constant in hindsight": constant,
    "linear limit": limit,
}


def phases(table: Table, rows: np.ndarray, played: Played) -> np.ndarray:
    """Return mean utilities of the first rounds and of later ones, (orders, trade-offs, 2)."""
    utility = earned(table, rows, played)
    if table.logged is not None:  # too few rounds count
        mean_utility = np.nanmean(utility, axis=-1)
        return np.stack([mean_utility, mean_utility], axis=-1)
    cut = FIRST if rows.shape[1] >= 2 * FIRST else rows.shape[1] // 2
    return np.stack([utility[..., :cut].mean(-1), utility[..., cut:].mean(-1)], axis=-1)


def contestants(who: str, table: Table) -> Iterator[tuple[str, Contestant]]:
    """Yield names and contestants that can play a table."""
    if who == "past":
        if table.logged is None:  # it cannot leave out rounds
            yield "31d0e28", partial(ours, flat=True)
    elif who == "peers":
        for name, make in (CHANGING if table.arms.ndim == 3 else PEERS).items():
            yield name, partial(peer, make=make)
    else:
        yield from CONTESTANTS.items()


def main(folder: str = "", *words: str) -> None:
    """Run contestants, and write the report."""
    if not folder:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    who = words[0] if words and words[0] in ("peers", "past") else ""
    names = words[1:] if who else words
    OUT.mkdir(parents=True, exist_ok=True)
    for name, load in tables(Path(folder)).items():
        if names and not any(word in name for word in names):
            continue
        worlds = load()
        count = FEW if who == "peers" else MANY if name.startswith("routing") else SOME
        for contestant_name, contestant in contestants(who, worlds[0]):
            path = OUT / f"{name}; {contestant_name}.npy"
            if path.exists():
                continue
            results = []
            for table in worlds[:count]:
                rows = orders(table, count)
                results.append(phases(table, rows, contestant(table, rows)))
            np.save(path, np.concatenate(results))
            print(path.stem, file=sys.stderr, flush=True)
    write(OUT)


if __name__ == "__main__":
    main(*sys.argv[1:])
