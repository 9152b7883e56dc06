"""How fast MOGRO decides and learns, against bare NumPy and against a plain loop.

Run with ``python benchmarks/speed.py``. Every line is a ratio of two times measured in turn in the
same run; the least of several repeats counts, since a shared machine only ever adds time.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import mogro


def bare_rounds(features: np.ndarray, rewards: np.ndarray) -> None:
    """The arithmetic of a greedy round and its update, without checks."""
    rng = np.random.default_rng(0)
    dim, objectives = features.shape[1], rewards.shape[1]
    gram, inverse = np.eye(dim), np.eye(dim)
    moments, theta = np.zeros((objectives, dim)), np.zeros((objectives, dim))
    concentration = np.ones(objectives)
    for reward in rewards:
        weights = rng.dirichlet(concentration)
        x = features[(features @ (weights @ theta)).argmax()]
        step = inverse @ x
        scale = 1 + x @ step
        gram += np.outer(x, x)
        moments += np.outer(reward, x)
        theta += np.outer(reward - theta @ x, step) / scale
        inverse -= np.outer(step, step) / scale


def live_rounds(policy: mogro.MOGRO, features: np.ndarray, rewards: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    for reward in rewards:
        arm = policy.select(features, rng=rng)
        policy.update(features[arm], reward)


def plain_rounds(world: mogro.environments.FixedArms, rounds: int) -> None:
    """One replication of MOGRO-RW as one would first write it."""
    rng = np.random.default_rng(0)
    dim, objectives = world.dim, world.objectives
    gram, moments = np.zeros((dim, dim)), np.zeros((dim, objectives))
    basis = mogro.BasisRoundRobin(world.features).basis
    for t in range(rounds):
        if np.linalg.eigvalsh(gram)[0] < 1:
            arm = basis[t % len(basis)]
        else:
            theta = np.linalg.solve(gram, moments)
            arm = (world.features @ (theta @ rng.dirichlet(np.ones(objectives)))).argmax()
        x = world.features[arm]
        gram += np.outer(x, x)
        moments += np.outer(x, world.means[arm] + 0.1 * rng.standard_normal(objectives))


def batch_rounds(worlds: list[mogro.environments.FixedArms], repeats: int, rounds: int) -> None:
    """All replications of MOGRO-RW together, with the plain loop's threshold."""
    batch = (len(worlds), repeats)
    features = np.stack([world.features for world in worlds])[:, None]
    theta = np.stack([world.theta for world in worlds])[:, None]
    generators = [np.random.default_rng(seed) for seed in range(np.prod(batch))]
    streams = mogro.Streams(np.array(generators, dtype=object).reshape(batch), ahead=True)
    policy = mogro.MOGRO(worlds[0].dim, worlds[0].objectives, threshold=1.0, batch=batch)
    rng = np.random.default_rng(0)
    every = np.arange(len(worlds))[:, None]
    for _ in range(rounds):
        arms = policy.select(features, rng=streams)
        x = features[every, 0, arms]
        means = np.matvec(theta, x)
        policy.update(x, means + 0.1 * rng.standard_normal(means.shape))


def seconds(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
    for arms in (10, 100, 1000, 10_000):
        features = rng.standard_normal((arms, 20))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        rounds = 200_000 // (arms + 100)
        rewards = rng.standard_normal((rounds, 3))
        policy = mogro.MOGRO(20, 3)
        live_rounds(policy, features, rng.standard_normal((500, 3)))
        bare, live = [], []
        for _ in range(9):
            bare.append(seconds(partial(bare_rounds, features, rewards)))
            live.append(seconds(partial(live_rounds, policy, features, rewards)))
        print(
            f"select + update, d = 20, M = 3, K = {arms:>6}: {min(live) / min(bare):5.2f} times "
            f"bare NumPy ({min(live) / rounds * 1e6:.1f} us)"
        )
    sample = mogro.environments.FixedArms.sample
    worlds = [sample(10, 200, 10, noise=0.1, rng=rng) for _ in range(10)]
    plain, batched = [], []
    for _ in range(3):
        plain.append(seconds(lambda: plain_rounds(worlds[0], 1000)))
        batched.append(seconds(lambda: batch_rounds(worlds, 20, 1000)) / 200)
    print(
        f"200 replications at (10, 200, 10): {min(plain) / min(batched):5.1f} times faster than a "
        f"plain loop ({min(batched) / 1000 * 1e6:.2f} us a replication and round)"
    )


if __name__ == "__main__":
    main()
