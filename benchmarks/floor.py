"""The floor: what a bandit's round costs in plain NumPy without checks, and mogro beside it.

A round of the floor updates the sums V and b in place, S and theta by a change of rank one, draws
exponential weights, and takes the argmax of one product. Nothing else.

    python -m benchmarks.floor
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mogro

Array = np.ndarray[Any, np.dtype[np.float64]]
REPEATS = 9


class Floor:
    """V, b, S and theta; nothing else."""

    def __init__(self, dim: int, objectives: int) -> None:
        self.V, self.b = np.eye(dim), np.zeros((objectives, dim))
        self.S, self.theta = np.eye(dim), np.zeros((objectives, dim))

    def select(self, arms: Array, *, rng: np.random.Generator) -> int:
        weights = rng.standard_exponential(len(self.theta))
        weights /= weights.sum()
        return int((arms @ (weights @ self.theta)).argmax())

    def update(self, x: Array, y: Array) -> None:
        self.V += x[:, None] * x
        self.b += y[:, None] * x
        turned = self.S @ x
        gain = turned / (1 + x @ turned)
        self.theta += (y - self.theta @ x)[:, None] * gain
        self.S -= turned[:, None] * gain


def ratio(
    arms: Callable[[int], Array], truth: Array, rounds: int, block: int, skip: int = 0
) -> str:
    """Return the ratio of the times of some rounds but the first, and microseconds a round.

    Both play by turns, a few rounds at a time, several times over; of every block the fastest
    counts, so that a slow spell of the machine hits neither.
    """
    rng = np.random.default_rng(1)
    noise = 0.1 * rng.standard_normal((rounds, len(truth)))
    fastest = np.full((2, rounds // block), np.inf)
    for _ in range(REPEATS):
        players: list[Any] = [make(truth.shape[1], len(truth)) for make in (Floor, mogro.MOGRO)]
        draws = [np.random.default_rng(2) for _ in players]
        for part in range(rounds // block):
            for k, (policy, rng) in enumerate(zip(players, draws, strict=True)):
                start = time.perf_counter()
                for t in range(part * block, (part + 1) * block):
                    offered = arms(t)
                    x = offered[policy.select(offered, rng=rng)]
                    policy.update(x, truth @ x + noise[t])
                fastest[k, part] = min(fastest[k, part], time.perf_counter() - start)
    floor, ours = fastest[:, skip // block :].sum(axis=1) / (rounds - skip) * 1e6
    return f"{ours / floor:.2f}  ({ours:.1f} / {floor:.1f} us)"


def main() -> None:
    rng = np.random.default_rng(0)
    for skip, when in ((0, "from the first round on"), (500, "after 500 rounds")):
        print(f"select + update / floor, d = 20, M = 3, {when}")
        for count, rounds in ((10, 2000), (100, 2000), (1000, 2000), (10_000, 1000)):
            arms = rng.standard_normal((count, 20)) / np.sqrt(20)
            truth = rng.standard_normal((3, 20)) / np.sqrt(20)
            print(f"K = {count}:", ratio(lambda t: arms, truth, rounds, 20, skip))  # noqa: B023
    print("contextual, the first 800 rounds, M = 3")
    for count, dim in ((3, 75), (10, 120)):
        offers = rng.standard_normal((800, count, dim)) / np.sqrt(dim)
        truth = rng.standard_normal((3, dim)) / np.sqrt(dim)
        print(f"K = {count}, d = {dim}:", ratio(lambda t: offers[t], truth, 800, 20))  # noqa: B023


if __name__ == "__main__":
    main()
