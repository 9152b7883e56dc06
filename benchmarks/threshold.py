"""Which threshold suits MOGRO when nobody has tuned it: a sweep over noise, scale and size.

Run with ``python benchmarks/threshold.py``. The threshold is a share of the mean squared norm of
the features. Shown is the effective Pareto regret over 1000 rounds of MOGRO-RW with the default
exploration, a mean over 10 instances x 10 repeats, divided by the scale of the features so that
lines can be compared. The last line of each share is its worst ratio to the best share of a
setting: the default is the share for which that is smallest.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools

import numpy as np

import mogro

SHARES = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
SIZES = ((5, 50, 5), (10, 200, 10), (5, 20, 2))
NOISES = (0.03, 0.1, 0.3, 1.0)  # in units of the scale: the noise of a reward of size 1
SCALES = (0.1, 1.0, 10.0)
ROUNDS, INSTANCES, REPEATS = 1000, 10, 10


def regret(size: tuple[int, int, int], share: float, noise: float, scale: float) -> float:
    dim, arms, objectives = size
    sample = mogro.environments.FixedArms.sample
    worlds = [
        sample(dim, arms, objectives, noise=noise, rng=np.random.default_rng([seed, 1]))
        for seed in range(INSTANCES)
    ]
    features = scale * np.stack([world.features for world in worlds])[:, None]
    means = scale * np.stack([world.means for world in worlds])
    gaps = mogro.pareto.effective_gaps(means)
    batch = (INSTANCES, REPEATS)
    generators = [np.random.default_rng([seed, 2]) for seed in range(INSTANCES * REPEATS)]
    streams = mogro.Streams(np.array(generators, dtype=object).reshape(batch), ahead=True)
    typical = float(np.square(features).sum(axis=-1).mean())
    policy = mogro.MOGRO(dim, objectives, threshold=share * typical, batch=batch)
    shocks = np.random.default_rng(3)
    each = np.arange(INSTANCES)[:, None]
    total = 0.0
    for _ in range(ROUNDS):
        arm = policy.select(features, rng=streams)
        reward = means[each, arm] + scale * noise * shocks.standard_normal((*batch, objectives))
        policy.update(features[each, 0, arm], reward)
        total += float(gaps[each, arm].mean())
    return total / scale


def main() -> None:
    print("share of the mean squared norm:".ljust(42), *(f"{share:8g}" for share in SHARES))
    ratios = []
    for size, noise, scale in itertools.product(SIZES, NOISES, SCALES):
        row = np.array([regret(size, share, noise, scale) for share in SHARES])
        ratios.append(row / row.min())
        title = f"(d, K, M) = {size}, noise {noise:g}, scale {scale:g}"
        print(title.ljust(42), *(f"{value:8.2f}" for value in row), flush=True)
    print("worst ratio to the best share".ljust(42), *(f"{r:8.2f}" for r in np.max(ratios, axis=0)))
    print("mean ratio to the best share".ljust(42), *(f"{r:8.2f}" for r in np.mean(ratios, axis=0)))


if __name__ == "__main__":
    main()
