"""Intervals hold the truth as often as they say; the whole table is in the benchmarks."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.offpolicy import METHODS, intervals
from benchmarks.offpolicy_worlds import Log, World, learning_worlds, worlds

from mogro import offpolicy

RUNS = 200
# Below with probability 1 in 10,000 if true coverage is 94.5 %.
LEAST = 0.945 - 3.72 * np.sqrt(0.945 * 0.055 / RUNS)


def assert_covered(world: World, logs: list[Log]) -> None:
    rng = np.random.default_rng(1)
    hits: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for log in logs:
        for name, method in METHODS.items():
            for kind, bounds in intervals(method(log, rng)).items():
                inside = (bounds[:, 0] <= world.value) & (world.value <= bounds[:, 1])
                hits[name, kind].append(np.array([inside.all()]) if kind == "joint" else inside)
    for key, held in hits.items():
        assert np.mean(held, axis=0).min() >= LEAST, key


@pytest.mark.slow
@pytest.mark.parametrize("index", [0, 3])
def test_logs_of_independent_rows(index: int) -> None:
    world = replace(worlds()[index], rows=1500)
    rng = np.random.default_rng(0)
    assert_covered(world, [world.log(rng) for _ in range(RUNS)])


@pytest.mark.slow
def test_logs_of_learning_agents() -> None:
    world = replace(learning_worlds()[0], rows=1500)
    logs = world.learning_logs(RUNS, np.random.default_rng(0), uniform=0.3)
    assert_covered(world, list(logs))


@pytest.mark.slow
def test_ips_is_unbiased_on_logs_of_learning_agents() -> None:
    world = replace(learning_worlds()[1], rows=1500)
    values, errors = [], []
    for log in world.learning_logs(RUNS, np.random.default_rng(3), uniform=0.2):
        result = offpolicy.ips(log.rewards, log.logged, log.target)
        values.append(result.value)
        errors.append(result.error)
    mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
    assert (abs(mean - world.value) < 4 * spread / np.sqrt(RUNS)).all()
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.2)


def test_a_few_large_weights() -> None:
    """Five rows make nine tenths of the variance; the effective size, 74, would be no guide."""
    rng = np.random.default_rng(0)
    weights = np.array([1.0] * 600 + [40.0] * 5)
    held = []
    for _ in range(2 * RUNS):
        rewards = rng.standard_normal((len(weights), 1))
        result = offpolicy.snips(rewards, np.full(len(weights), 0.01), weights / 100)
        low, high = result.interval()[0]
        held.append(low <= 0 <= high)
    assert np.mean(held) > 0.89  # with as many degrees of freedom as the effective size 0.84
