"""MOGRO without a threshold against the best fixed one, in worlds that differ in noise and shape.

Run with ``python -m benchmarks.threshold [words ...]``; words pick the worlds whose names contain
them. A fixed threshold is a share of the mean squared norm of the features. Shown is the effective
Pareto regret over 3000 rounds of 100 runs with the same noise for all thresholds, each in a world
of its own: that of the best share, the ratio of the default to it with a 95 % interval, and rounds
of exploration. The best share is picked with hindsight, on the same runs.

Bars: a ratio of at most 1.25 in the paper's worlds with noise up to 0.1, of at most 2 everywhere;
features in other units, or with other origins, within 1.1 of the same without; both good arms found
in at least 36 of 40 runs of 5000 rounds; where nothing can be learned, rounds of exploration that
grow like the root of the rounds.

With the word ``learned`` the default with a learned prior is compared with the one with a flat
prior: with the same features, and with a constant beside them, as agents have it. Bar: a ratio of
at most 1.05 in the paper's worlds.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import sys
from typing import NamedTuple

import numpy as np

import mogro
from benchmarks.threshold_worlds import NOISE, QUIET, TWINS, WORLDS, Draw
from mogro._intervals import LEVEL, ConfidenceInterval, student_quantile
from mogro._validation import FloatArray
from mogro.priors import Flat, Learned, Prior

SHARES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ROUNDS, RUNS = 3000, 100


class Worlds:
    """Worlds of a kind, one for each run, with features of mean squared norm 1."""

    def __init__(self, draw: Draw, runs: int) -> None:
        instances = [draw(np.random.default_rng([run, 1])) for run in range(runs)]
        features = np.stack([world.features for world in instances])
        typical = np.square(features).sum(axis=-1).mean(axis=(1, 2))
        self.features = features / np.sqrt(typical)[:, None, None, None]
        self.means = np.stack([world.means for world in instances])
        self.gaps = np.stack([mogro.pareto.effective_gaps(world.means) for world in instances])
        self.noise = instances[0].noise


class Run(NamedTuple):
    """Regret and rounds of exploration, each (runs,), and the arms best by the last estimates."""

    regret: FloatArray
    explored: FloatArray
    favourites: FloatArray  # (runs, M), of the first set of arms


def play(worlds: Worlds, share: float | None, rounds: int, prior: Prior = Flat()) -> Run:  # noqa: B008
    """Run MOGRO with a threshold in all worlds at once."""
    runs, sets, _, dim = worlds.features.shape
    objectives = worlds.means.shape[-1]
    policy = mogro.MOGRO(dim, objectives, threshold=share, prior=prior, batch=(runs,))
    generators = [np.random.default_rng([run, 2]) for run in range(runs)]
    streams = mogro.Streams(np.array(generators, dtype=object), ahead=True)
    shocks = np.random.default_rng(3)
    each = np.arange(runs)
    regret, explored = np.zeros(runs), np.zeros(runs)
    for _ in range(rounds):
        offered = shocks.integers(sets, size=runs)
        features = worlds.features[:, 0] if sets == 1 else worlds.features[each, offered]
        arm = policy.select(features, rng=streams)
        means = worlds.means[each, offered, arm]
        if worlds.noise is None:
            reward = (shocks.random(means.shape) < means).astype(np.float64)
        else:
            reward = means + worlds.noise * shocks.standard_normal(means.shape)
        policy.update(features[each, arm], reward)
        regret += worlds.gaps[each, offered, arm]
        explored += policy.exploring
    estimates = worlds.features[:, 0] @ np.swapaxes(policy.theta, -1, -2)
    return Run(regret, explored, estimates.argmax(axis=1))


def ratio(regret: FloatArray, rival_regret: FloatArray) -> ConfidenceInterval:
    """Return the ratio of two means over paired runs, with Student's interval of its logarithm."""
    value = regret.mean() / rival_regret.mean()
    differences = regret / regret.mean() - rival_regret / rival_regret.mean()
    half = (
        float(student_quantile(LEVEL, len(regret) - 1))
        * differences.std(ddof=1)
        / math.sqrt(len(regret))
    )
    return ConfidenceInterval(value, value * math.exp(-half), value * math.exp(half))


def against_shares(name: str) -> None:
    """Compare the default with fixed shares in one kind of world."""
    worlds = Worlds(WORLDS[name], RUNS)
    runs = {share: play(worlds, share, ROUNDS) for share in SHARES}
    best = min(SHARES, key=lambda share: float(runs[share].regret.mean()))
    default = play(worlds, None, ROUNDS)
    interval = ratio(default.regret, runs[best].regret)
    bar = 1.25 if name in QUIET else 2.0
    tenth = runs[0.1].regret.mean() / runs[best].regret.mean()
    print(
        f"| {name} | {best:g} | {runs[best].regret.mean():.3g} ({runs[best].explored.mean():.0f}) "
        f"| {tenth:.2f} | {default.regret.mean():.3g} ({default.explored.mean():.0f}) | {interval} "
        f"| {'yes' if interval.value <= bar else 'no'} |",
        flush=True,
    )


def learned_against_flat(name: str) -> None:
    """Compare the default with a learned prior with itself with a flat one."""
    worlds = Worlds(WORLDS[name], RUNS)
    dim = worlds.features.shape[-1]
    flat, learned = (play(worlds, None, ROUNDS, prior) for prior in (Flat(), Learned()))
    constant = np.ones((*worlds.features.shape[:-1], 1))
    worlds.features = np.concatenate([constant, worlds.features], axis=-1)
    agents = play(worlds, None, ROUNDS, Learned([-1] + [0] * dim))
    cells = [f"{run.regret.mean():.3g} ({run.explored.mean():.0f})" for run in (flat, learned)]
    print(
        f"| {name} | {cells[0]} | {cells[1]} | {ratio(learned.regret, flat.regret)} "
        f"| {ratio(agents.regret, flat.regret)} |",
        flush=True,
    )


def against_twin(name: str) -> None:
    """Compare the default with itself where the same rewards have plainer features."""
    runs, twin_runs = (play(Worlds(draw, RUNS), None, ROUNDS) for draw in TWINS[name])
    print(
        f"| {name} | {runs.regret.mean():.3g} ({runs.explored.mean():.0f}) "
        f"| {twin_runs.regret.mean():.3g} ({twin_runs.explored.mean():.0f}) "
        f"| {ratio(runs.regret, twin_runs.regret)} |",
        flush=True,
    )


def good_arms_found() -> None:
    """Count the runs in which each objective's good arm is known in the end."""
    worlds = Worlds(WORLDS["10 arms, clicks 2.5 %, two 12 %"], 40)
    for share in (None, 0.1, 30.0, 100.0):
        run = play(worlds, share, 5000)
        number = int((run.favourites == np.arange(2)).all(axis=1).sum())
        print(f"| {share or 'default'} | {number} of 40 | {run.regret.mean():.3g} |", flush=True)


def growth(name: str) -> None:
    """Count rounds of exploration where nothing can be learned."""
    worlds = Worlds(NOISE[name], 20)
    counts = [play(worlds, None, rounds).explored.mean() for rounds in (1000, 4000, 16000)]
    print(f"| {name} | " + " | ".join(f"{number:.0f}" for number in counts) + " |", flush=True)


def main(words: list[str]) -> None:
    """Print the tables."""

    def picked(name: str) -> bool:
        return not words or any(word in name for word in words)

    if "learned" in words:
        words.remove("learned")
        print("| world | flat prior (explored) | learned prior | ratio | with a constant |")
        print("|---|---|---|---|---|")
        for name in filter(picked, WORLDS):
            learned_against_flat(name)
        return
    print("| world | best share | regret (explored) | 0.1 | default | ratio | bar met |")
    print("|---|---|---|---|---|---|---|")
    for name in filter(picked, WORLDS):
        against_shares(name)
    if picked("twins"):
        print("\n| features | regret (explored) | of plainer ones | ratio |\n|---|---|---|---|")
        for name in TWINS:
            against_twin(name)
    if picked("found"):
        print("\n| threshold | both good arms found | regret |\n|---|---|---|")
        good_arms_found()
    if picked("growth"):
        print("\n| world | explored in 1000 rounds | 4000 | 16000 |\n|---|---|---|---|")
        for name in NOISE:
            growth(name)


if __name__ == "__main__":
    main(sys.argv[1:])
