"""Every policy passes the one conformance suite."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mogro
from mogro.testing import check_policy

Make = Callable[[int, int, tuple[int, ...]], Any]


class Cubic:
    """A user's own scalarisation, linear in the arm: no base class, no registration."""

    def weights(
        self, objectives: int, *, step: int, batch: tuple[int, ...], rng: mogro.Rng
    ) -> np.ndarray:
        cubes = rng.random((*batch, objectives)) ** 3
        return np.asarray(cubes / cubes.sum(axis=-1, keepdims=True))


class FirstObjectiveSquared(Cubic):
    """A user's own scalarisation that is not linear."""

    def score(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(values[..., 0] ** 2 + (values * weights[..., None, :]).sum(axis=-1))


def mogro_with(**options: object) -> Make:
    return lambda dim, objectives, batch: mogro.MOGRO(dim, objectives, batch=batch, **options)  # type: ignore[arg-type]


POLICIES: dict[str, Make] = {
    "default": mogro_with(),
    "threshold 1": mogro_with(threshold=1.0),
    "round robin": mogro_with(scalarization=mogro.RoundRobin()),
    "skewed weights": mogro_with(scalarization=mogro.RandomWeights(0.05)),
    "hypervolume": mogro_with(scalarization=mogro.RandomHypervolume()),
    "chebyshev": mogro_with(scalarization=mogro.RandomChebyshev()),
    "own linear": mogro_with(scalarization=Cubic()),
    "own nonlinear": mogro_with(scalarization=FirstObjectiveSquared()),
    "uniform exploration": mogro_with(exploration=mogro.Uniform()),
    "epsilon greedy": lambda d, m, batch: mogro.EpsilonGreedy(d, m, batch=batch),
    "ucb": lambda d, m, batch: mogro.UCB(d, m, noise=0.1, delta=0.01, batch=batch),
    "thompson": lambda d, m, batch: mogro.ThompsonSampling(
        d, m, noise=0.1, delta=0.01, batch=batch
    ),
    "thompson as published": lambda d, m, batch: mogro.ThompsonSampling(
        d, m, noise=0.1, delta=0.01, selection=mogro.EffectiveFront(), batch=batch
    ),
    "hypervolume ucb": lambda d, m, batch: mogro.UCB(
        d, m, noise=0.1, delta=0.01, selection=mogro.RandomHypervolume(), batch=batch
    ),
    "hypervolume thompson": lambda d, m, batch: mogro.ThompsonSampling(
        d, m, noise=0.1, delta=0.01, selection=mogro.RandomHypervolume(), batch=batch
    ),
    "front identification": lambda d, m, batch: mogro.policies.FrontIdentification(
        d, m, noise=0.1, batch=batch
    ),
    "random arm": lambda d, m, batch: mogro.RandomArm(d, m, batch=batch),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_conformance(name: str) -> None:
    check_policy(POLICIES[name], rounds=10_000)
