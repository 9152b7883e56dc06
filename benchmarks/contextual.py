"""Few arms a round, many features that follow a context: the first rounds of MOGRO.

Each arm has a block of its own for the same context, so that every round shows new directions.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

import mogro
from benchmarks.common import Line, duration, ratio, typical

SECTION = "contextual"
SIZES = ((3, 25), (10, 12))  # arms, features of a context
OBJECTIVES, ROUNDS, REPEATS, MOST = 3, 800, 9, 4.0
Run = Callable[[np.ndarray, np.ndarray], None]


def world(arms: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features (T, K, K size), the context in a block for each arm, and rewards."""
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((ROUNDS, size)) / np.sqrt(size)
    features = np.zeros((ROUNDS, arms, arms, size))
    features[:, np.arange(arms), np.arange(arms)] = contexts[:, None]
    flat = features.reshape(ROUNDS, arms, arms * size)
    theta = rng.standard_normal((OBJECTIVES, arms * size))
    return flat, flat @ theta.T + 0.1 * rng.standard_normal((ROUNDS, arms, OBJECTIVES))


def bare(features: np.ndarray, rewards: np.ndarray) -> None:
    """Play by arithmetic only: ridge, rank-one updates, random weights; no exploration."""
    rng = np.random.default_rng(0)
    inverse, theta = np.eye(features.shape[-1]), np.zeros((OBJECTIVES, features.shape[-1]))
    for arms, values in zip(features, rewards, strict=True):
        arm = (arms @ (rng.standard_exponential(OBJECTIVES) @ theta)).argmax()
        x = arms[arm]
        change = inverse @ x
        gain = change / (1 + x @ change)
        theta += (values[arm] - theta @ x)[:, None] * gain
        inverse -= change[:, None] * gain


def defaults(features: np.ndarray, rewards: np.ndarray) -> None:
    """Play MOGRO at its defaults."""
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(features.shape[-1], OBJECTIVES)
    for arms, values in zip(features, rewards, strict=True):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], values[arm])


def lines() -> Iterator[Line]:
    """Measure."""
    for arms, size in SIZES:
        features, rewards = world(arms, size)
        times: dict[Run, list[float]] = {bare: [], defaults: []}
        for _ in range(REPEATS):
            for run, taken in times.items():
                start = time.process_time()
                run(features, rewards)
                taken.append((time.process_time() - start) / ROUNDS)
        ours, floor = (np.array(times[run]) for run in (defaults, bare))
        found = ratio(ours, floor)
        yield Line(
            SECTION,
            found,
            "MOGRO-RW / bare NumPy",
            f"K = {arms}, d = {arms * size}, the first {ROUNDS} rounds",
            f"{duration(typical(ours))} / {duration(typical(floor))}",
            bar=f"<= {MOST:g}",
            met=found.value <= MOST,
        )
