"""Whether MOGRO without a threshold ever loses the better of two arms for good.

Run with ``python -m benchmarks.stuck``. Two arms with rewards 1 and 0 in every objective: features
[[1], [0]], where nothing but the first arm tells of itself, or one feature for each arm; with the
flat prior, and with the learned one, for which a constant stands beside these features. 1500 runs
of 32,000 rounds each. A run is stuck if 99 % of the last tenth of its rounds go to the wrong arm.
With the learned prior also contexts without noise: an arm whose reward is always the same beside
two that are better on one side each; the wrong arm is that one, where it is not the best.

Bars: none is stuck after 8000 rounds, and regret grows from 8000 to 32,000 rounds by a factor whose
95 % interval ends at 2.3 or below; it would be 4 if it were linear, and 2 for the root of rounds.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from itertools import product

import numpy as np

import mogro
from benchmarks.threshold import ratio
from mogro._validation import BoolArray, FloatArray
from mogro.priors import Flat, Learned, Prior

RUNS, SHORT, LONG = 1500, 8000, 32000
SHARED, SEPARATE = np.array([[1.0], [0.0]]), np.eye(2)
WORLDS = {
    "features 1 and 0, noise 1": (SHARED, 1, 1.0),
    "features 1 and 0, noise 2": (SHARED, 1, 2.0),
    "features 1 and 0, noise 5": (SHARED, 1, 5.0),
    "two separate arms, noise 1": (SEPARATE, 1, 1.0),
    "two separate arms, noise 3": (SEPARATE, 1, 3.0),
    "two separate arms, M = 3, noise 3": (SEPARATE, 3, 3.0),
    "features 1 and 0, M = 5, noise 10": (SHARED, 5, 10.0),
}


def play(features: FloatArray, objectives: int, noise: float, learned: bool) -> BoolArray:
    """Return where the wrong arm was pulled, (rounds, runs)."""
    prior: Prior = Flat()
    if learned:
        prior = Learned([-1] + features.shape[1] * [0])
        features = np.column_stack([np.ones(len(features)), features])
    policy = mogro.MOGRO(features.shape[1], objectives, prior=prior, batch=(RUNS,))
    generators = [np.random.default_rng([run, 2]) for run in range(RUNS)]
    streams = mogro.Streams(np.array(generators, dtype=object), ahead=True)
    shocks = np.random.default_rng(3)
    wrong = np.zeros((LONG, RUNS), dtype=np.bool_)
    for step in range(LONG):
        arm = np.asarray(policy.select(features, rng=streams))
        wrong[step] = arm == 1
        reward = (arm == 0)[:, None] + noise * shocks.standard_normal((RUNS, objectives))
        policy.update(features[arm], reward)
    return wrong


def play_contexts(level: float, rounds: int) -> BoolArray:
    """Return where the arm was pulled whose reward is always the same, (rounds, runs)."""
    policy = mogro.MOGRO(8, 1, prior=Learned([-1, 0, 0, 0, 1, 2, 2, 2]), batch=(RUNS,))
    generators = [np.random.default_rng([run, 2]) for run in range(RUNS)]
    streams = mogro.Streams(np.array(generators, dtype=object), ahead=True)
    draws, runs = np.random.default_rng(3), np.arange(RUNS)
    arms, wrong = np.hstack([np.ones((3, 1)), np.eye(3)]), np.zeros((rounds, RUNS), dtype=np.bool_)
    for step in range(rounds):
        x = draws.standard_normal(RUNS)
        features = np.concatenate([arms + 0 * x[:, None, None], x[:, None, None] * arms], axis=-1)
        means = np.stack([x, -x, np.full(RUNS, level)], axis=-1)
        arm = np.asarray(policy.select(features, rng=streams))
        wrong[step] = (arm == 2) | (np.abs(x) < level)
        policy.update(features[runs, arm], means[runs, arm, None])
    return wrong


def stuck(wrong: BoolArray) -> int:
    """Return how many runs are stuck."""
    return int((wrong[-len(wrong) // 10 :].mean(axis=0) >= 0.99).sum())


def main(words: list[str]) -> None:
    """Print a table."""
    for level in (0.0, 0.5):
        name = f"contexts without noise, constant arm {level:g}"
        if not words or any(word in f"{name}, learned" for word in words):
            print(f"{name}, learned: {stuck(play_contexts(level, SHORT))} stuck", flush=True)
    print("| world | prior | stuck after 8000 | 32,000 | regret in 8000 | 32,000 | factor |")
    print("|---|---|---|---|---|---|---|")
    for name, learned in product(WORLDS, (False, True)):
        prior = "learned" if learned else "flat"
        if words and not any(word in f"{name}, {prior}" for word in words):
            continue
        features, objectives, noise = WORLDS[name]
        wrong = play(features, objectives, noise, learned)
        early, total = (wrong[:rounds].sum(axis=0, dtype=np.float64) for rounds in (SHORT, LONG))
        print(
            f"| {name} | {prior} | {stuck(wrong[:SHORT])} | {stuck(wrong)} | {early.mean():.3g} "
            f"| {total.mean():.3g} | {ratio(total, early)} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
