"""Routing, paired: the default of agents beside ridge from the best and the first prototype.

``python -m benchmarks.field.paired FOLDER [features ...] [--orders 20] [--all] [--warm]`` prints,
for prompts drawn in the same orders, by how many points of utility (quality in %, less what it
cost) the default is ahead in the first 500 prompts and in the next 500, with intervals of 95 %.
With ``--all``, all prompts are routed, and what counts is the quality at given costs in the second
half, beside constant models mixed in hindsight. With ``--warm`` it is that in the first 500
prompts, where 200 others are known beforehand, with all models.

Both rivals know one model from another by blocks of (1, context) and are greedy but for what is
said here. *Ridge from the best* knows two numbers: at first every model has quality 1 and costs
nothing, worth one observation, and slopes have a precision of 25. The *prototype* learns one
precision for all slopes of an objective by maximal evidence, on a grid, whenever n has grown by a
half; constants are free, and every ``sqrt(n) / 3``-th round adds a standard error.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import mogro
from benchmarks.field import routing
from benchmarks.field.play import Learner, Ours, disjoint, play, products
from benchmarks.field.table import Table

PRICES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # quality that a cent is worth
DEARER = (3.0, 10.0)  # for small costs
COSTS = (0.05, 0.07, 0.1, 0.2, 0.5, 1.0)  # cents
FIRST, ROUNDS, WARM = 500, 1000, 200
_GRID = np.exp(np.linspace(math.log(0.3), math.log(3000), 14))  # precisions of slopes
_FREE = 1e-6


class Blocks:
    """Least squares with a precision by feature and objective, greedy or sometimes optimistic."""

    def __init__(self, runs: int, precision: np.ndarray, mean: np.ndarray, *, learns: bool) -> None:
        M, d = precision.shape
        self._V, self._b = np.zeros((runs, d, d)), np.zeros((runs, M, d))
        self._y2, self._n, self._due, self._learns = np.zeros((runs, M)), 0, 4, learns
        self._precision, self._mean = np.tile(precision, (runs, 1, 1)), mean
        self._slopes = precision[0] != precision[0, 0]
        self._renew()

    def _renew(self) -> None:
        """Solve anew."""
        eye = np.eye(self._V.shape[-1])
        self._S = np.linalg.inv(self._V[:, None] + self._precision[..., None] * eye)
        target = self._b + self._precision * self._mean
        self._theta = np.matvec(self._S, target)

    def choose(self, arms: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return arms."""
        values = arms @ self._theta.mT
        if self._learns and self._n and self._n % max(1, math.isqrt(self._n) // 3) == 0:
            spread = np.einsum("rkd,rmde,rke->rkm", arms, self._S, arms)
            values = values + np.sqrt(spread * self._noise[:, None])
        return np.asarray((values * weights[:, None]).sum(axis=-1).argmax(axis=1))

    def learn(self, x: np.ndarray, y: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> None:
        """Learn rewards; all are seen."""
        self._V += x[:, :, None] * x[:, None]
        self._b += y[:, :, None] * x[:, None]
        self._y2 += y**2
        self._n += 1
        gain = np.matvec(self._S, x[:, None])
        more = 1 + np.vecdot(gain, x[:, None])
        errors = (y - np.matvec(self._theta, x)) / more
        self._theta = self._theta + errors[..., None] * gain
        self._S = self._S - gain[..., :, None] * gain[..., None, :] / more[..., None, None]
        if self._learns and self._n >= self._due:
            self._due = max(self._n + 1, math.ceil(1.5 * self._n))
            self._learn_precision()
            self._renew()

    @property
    def _noise(self) -> np.ndarray:
        residual = self._y2 - np.vecdot(self._b, self._theta)
        return np.asarray(np.maximum(residual, 1e-12) / self._n)

    def _learn_precision(self) -> None:
        """Take the precision of slopes, of a grid, that has the largest evidence."""
        best = np.full(self._y2.shape, -np.inf)
        chosen = np.ones(self._y2.shape)
        for strength in _GRID:
            Lambda = np.where(self._slopes, strength, _FREE)
            matrix = self._V + Lambda * np.eye(len(Lambda))
            theta = np.linalg.solve(matrix[:, None], self._b[..., None])[..., 0]
            squares = np.maximum(self._y2 - np.vecdot(self._b, theta), 1e-12)
            size = np.linalg.slogdet(matrix)[1][:, None] - np.log(Lambda).sum()
            evidence = -0.5 * size - 0.5 * self._n * np.log(squares)
            chosen = np.where(evidence > best, strength, chosen)
            best = np.maximum(evidence, best)
        self._precision = np.where(self._slopes, chosen[..., None], _FREE)


def _constants(table: Table) -> np.ndarray:
    """Return which features of blocks are constants, (d,)."""
    models = table.arms.shape[1]
    return np.asarray(np.arange(models * (1 + table.contexts.shape[1])) < models)


def ridge_from_the_best(table: Table, runs: int) -> Learner:
    """Return a learner that begins with quality 1 and cost 0."""
    constant = _constants(table)
    mean = np.stack([1.0 * constant, 0.0 * constant])
    return Blocks(runs, np.tile(np.where(constant, 1.0, 25.0), (2, 1)), mean, learns=False)


def prototype(table: Table, runs: int) -> Learner:
    """Return the learner of which the default is to be no worse."""
    constant = _constants(table)
    precision = np.tile(np.where(constant, _FREE, 10.0), (2, 1))
    return Blocks(runs, precision, np.zeros(precision.shape), learns=True)


def default(table: Table, runs: int) -> Learner:
    """Return MOGRO as agents have it."""
    groups = (table.groups - 1).tolist()
    return Ours(len(groups), 2, runs, mogro.priors.Learned(groups))


Make = Callable[[Table, int], Learner]
Features = Callable[[np.ndarray, np.ndarray], np.ndarray]
PLAYERS: dict[str, Make] = {
    "default": default,
    "ridge from the best": ridge_from_the_best,
    "prototype": prototype,
}


def taught(learner: Learner, table: Table, rows: np.ndarray, features: Features) -> Learner:
    """Tell a learner what all models made of prompts (orders, count)."""
    weights = np.tile(table.weights, (len(rows), 1))
    arms = np.broadcast_to(table.arms, (len(rows), *table.arms.shape))
    for n, row in enumerate(rows.T):
        z = features(arms, table.contexts[row])
        if n == 0:
            learner.choose(z, weights)  # with which it begins
        for model in range(len(table.arms)):
            y = table.rewards[row, model]
            learner.learn(z[:, model], y, np.ones(y.shape, dtype=bool), weights)
    return learner


def rewards(table: Table, rows: np.ndarray, make: Make, known: int = 0) -> np.ndarray:
    """Return quality and negative cost of what was chosen, (orders, prices, rounds, 2).

    So many other prompts are known beforehand.
    """
    features = products if make is default else disjoint
    all_rows, repetitions = np.arange(len(table.contexts)), []
    others = np.stack([np.setdiff1d(all_rows, order)[:known] for order in rows])
    for weights in table.weights:
        single = replace(table, weights=weights[None])

        def begin(_: int, runs: int, single: Table = single) -> Learner:
            return taught(make(table, runs), single, others, features)

        chosen = play(single, rows, begin, features).chosen[:, 0]
        repetitions.append(table.rewards[rows, chosen])
    return np.stack(repetitions, axis=1)


def interval(differences: np.ndarray) -> str:
    """Return a mean over orders with its interval of 95 %."""
    from scipy.stats import t

    error = differences.std(ddof=1) / math.sqrt(len(differences))
    return f"{differences.mean():+.2f} ± {t.ppf(0.975, len(differences) - 1) * error:.2f}"


def compare(table: Table, rows: np.ndarray) -> None:
    """Print paired differences of utility, in points."""
    earned = {}
    for name, make in PLAYERS.items():
        values = rewards(table, rows, make)
        earned[name] = 100 * (values * table.weights[:, None]).sum(axis=-1)
    for name in list(PLAYERS)[1:]:
        ahead = earned["default"] - earned[name]
        for phase, part in (("first", ahead[..., :FIRST]), ("later", ahead[..., FIRST:])):
            cells = " | ".join(interval(each) for each in part.mean(axis=-1).T)
            print(f"| {table.contexts.shape[1]} | {name} | {phase} | {cells} |", flush=True)


def quality_at(points: np.ndarray, cost: float) -> float:
    """Return the best quality in % of mixtures of points (n, 2), quality and cost, at most so dear.

    NaN where all points cost more.
    """
    pairs = [
        high[0] if high[1] <= cost else low[0] + (high[0] - low[0]) * (cost - low[1]) / gap
        for low in points
        for high in points
        if low[1] <= cost and ((gap := high[1] - low[1]) > 0 or high is low)
    ]
    return 100 * max(pairs, default=math.nan)


def at_costs(table: Table, rows: np.ndarray, phase: slice, known: int = 0) -> None:
    """Print the quality at costs in some rounds, where some other prompts are known."""
    label = f"{known} known" if known else "second half"
    players: dict[str, np.ndarray] = {
        name: rewards(table, rows, make, known)[:, :, phase].mean(axis=2)
        for name, make in PLAYERS.items()
    }
    constants = table.rewards[rows[:, phase]].mean(axis=1)
    regrets = {
        name: np.array([[quality_at(abs(run), cost) for cost in COSTS] for run in runs])
        for name, runs in (players | {"constants": constants}).items()
    }
    for name, qualities in regrets.items():
        ahead = (regrets["default"] - qualities).T
        cells = " | ".join(
            f"{each.mean():.2f} ({interval(less)})"
            for each, less in zip(qualities.T, ahead, strict=True)
        )
        print(f"| {table.contexts.shape[1]} | {name} | {label} | {cells} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("features", type=int, nargs="*", default=[8, 24, 64])
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--warm", action="store_true")
    options = parser.parse_args()
    costs = options.all or options.warm
    prices = PRICES + DEARER * costs
    columns = [f"{c:g} cents" for c in COSTS] if costs else [f"price {p:g}" for p in PRICES]
    print("| features | beside | prompts | " + " | ".join(columns) + " |")
    print("|---" * (3 + len(columns)) + "|")
    for size in options.features:
        table = routing.load(options.folder, size)
        table = replace(table, weights=np.array([[1.0, price] for price in prices]))
        rng, n = np.random.default_rng(0), len(table.contexts)
        count = n if options.all else ROUNDS
        rows = np.stack([rng.permutation(n)[:count] for _ in range(options.orders)])
        if options.all:
            at_costs(table, rows, slice(n // 2, None))
        elif options.warm:
            at_costs(table, rows[:, :FIRST], slice(None), WARM)
        else:
            compare(table, rows)


if __name__ == "__main__":
    main()
