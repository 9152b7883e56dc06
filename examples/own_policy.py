"""A policy and an environment of one's own, beside MOGRO.

A policy is a class with two methods; an environment one with two methods and five facts. Neither
inherits or registers anything. Run it: python examples/own_policy.py
"""

import sys
from functools import partial

import numpy as np

import mogro
from mogro.comparison import Comparison


class LeastPulled:
    """Explore a while, then the arm of the estimated Pareto front that was pulled least."""

    def __init__(self, dim: int, objectives: int) -> None:
        self.gram = np.eye(dim)
        self.moments = np.zeros((objectives, dim))
        self.pulls: np.ndarray = np.zeros(0)

    def select(self, features: np.ndarray, *, rng: np.random.Generator) -> int:
        if len(self.pulls) == 0:
            self.pulls = np.zeros(len(features))
        if self.pulls.sum() < 20:
            arm = int(rng.integers(len(features)))
        else:
            estimates = features @ np.linalg.solve(self.gram, self.moments.T)
            members = np.flatnonzero(mogro.pareto.front(estimates))
            arm = int(members[self.pulls[members].argmin()])
        self.pulls[arm] += 1
        return arm

    def update(self, features: np.ndarray, reward: np.ndarray) -> None:
        self.gram += np.outer(features, features)
        self.moments += np.outer(reward, features)


class Menu:
    """Twelve dishes, described by price, spice and sugar; guests want taste and health."""

    dim, arms, objectives = 3, 12, 2
    noise = 0.2

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.theta = np.array([[0.1, 0.7, 0.6], [-0.2, 0.3, -0.8]])
        self.theta.flags.writeable = False
        self.dishes = rng.random((self.arms, self.dim))

    def contexts(self, *, rng: mogro.Rng, batch: tuple[int, ...] = ()) -> np.ndarray:
        return self.dishes

    def observe(self, x: np.ndarray, *, rng: mogro.Rng) -> np.ndarray:
        means = np.einsum("...d,md->...m", np.ascontiguousarray(x), self.theta)
        if not np.isfinite(means).all():
            raise ValueError("x: expected finite features")
        return np.asarray(means + self.noise * rng.standard_normal(means.shape))


def main() -> Comparison:
    return mogro.compare(
        {
            "least pulled": LeastPulled,
            "MOGRO-RW": mogro.MOGRO,
            "MOGRO-RR": partial(mogro.MOGRO, scalarization=mogro.RoundRobin()),
            "MOLB-eps-greedy": mogro.EpsilonGreedy,
            "MOLB-UCB": partial(mogro.UCB, noise=Menu.noise, delta=1e-3),
        },
        [Menu(seed) for seed in range(4)],
        rounds=300,
        repeats=5,
        seed=1,
    )


if __name__ == "__main__":
    comparison = main()
    print(comparison)
    try:
        comparison.save("own_policy.png")
    except ImportError:
        sys.exit("for the plot: pip install matplotlib")
    print("The plot: own_policy.png")
