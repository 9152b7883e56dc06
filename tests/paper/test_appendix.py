"""The appendix's examples come out as the paper says, under both conditions."""

import pickle

import numpy as np
import pytest
from tests.oracles.conditions import beta_regularity, context_diversity, uniform_ball_goodness

from mogro._validation import FloatArray
from mogro.environments import VaryingContexts
from mogro.testing import check_environment
from mogro.theory import context_goodness, goodness_needed
from paper.lab.appendix import (
    DrawnArms,
    finite_net,
    one_continuous_arm,
    small_ball,
    tailed_arms,
)


def net(points: int) -> FloatArray:
    angles = np.linspace(0, 2 * np.pi, points, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


WORLDS = [
    one_continuous_arm(np.eye(3), [[0.5, 0.0, 0.0], [0.0, 0.2, 0.9]], noise=0.1),
    finite_net(np.eye(2), net(20), arms=4, noise=0.1),
    small_ball(np.eye(3), arms=5, noise=0.1),
    tailed_arms([1.0, 2.0, None], noise=0.1),
]


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_they_are_environments(world: DrawnArms) -> None:
    check_environment(lambda rng: world)
    again = pickle.loads(pickle.dumps(world))
    features = world.contexts(rng=np.random.default_rng(0), batch=(3,))
    assert (again.contexts(rng=np.random.default_rng(0), batch=(3,)) == features).all()
    assert "DrawnArms" in repr(world)


def test_one_continuous_arm_has_goodness_without_diversity() -> None:
    world = one_continuous_arm(np.eye(2), [[0.5, 0.0], [0.0, 0.2]], noise=0.1)
    for gamma in (0.6, 0.9, goodness_needed(0.5) + 0.001):
        found = context_goodness(world.contexts, gamma=gamma)
        assert found.low > 0
        expected = uniform_ball_goodness(gamma, dim=2, arms=1)
        assert abs(found.value - expected) <= 4 * np.sqrt(expected / 20_000)
    diversity = context_diversity(world)
    assert diversity.value == 0
    assert diversity.arm > 0


def test_finite_net_has_goodness_without_diversity() -> None:
    # 40 points: one within pi/40 of every unit vector, cos(pi/40) = 0.9969.
    world = finite_net(np.eye(2), net(40), arms=3, noise=0.1)
    found = context_goodness(world.contexts, gamma=0.996)
    assert goodness_needed(0.5) < 0.996
    assert found.high >= 1 / 40
    assert found.low > 0
    assert context_diversity(world) == (0.0, 0)


def test_small_ball_has_diversity_without_goodness() -> None:
    world = small_ball(np.eye(2), arms=5, noise=0.1)
    assert context_diversity(world).value == pytest.approx(0.25 / 8, rel=0.1)
    assert context_goodness(world.contexts, gamma=0.51).value == 0
    assert context_goodness(world.contexts, gamma=0.4).low > 0


def test_the_ball_itself_has_both() -> None:
    world = VaryingContexts(np.eye(2), arms=5, noise=0.1)
    assert context_diversity(world).value > 0.1
    assert context_goodness(world.contexts, gamma=0.99).low > 0


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_beta_regular_arms_are_good(exponent: float) -> None:
    world = tailed_arms([exponent] * 3, noise=0.1)
    found = beta_regularity(world)
    assert found.holds
    np.testing.assert_allclose(found.exponents, exponent, atol=0.1)
    gamma = goodness_needed(1.0) + 0.01  # d = M = 1: lambda = 1
    good = context_goodness(world.contexts, gamma=gamma)
    expected = 1 - (1 - (1 - gamma) ** exponent / 2) ** 3
    assert good.low > 0
    assert abs(good.value - expected) <= 4 * np.sqrt(expected / 20_000)


@pytest.mark.parametrize("exponents", [(1.0, None), (1.0, 3.0)])
def test_good_arms_need_not_be_beta_regular(exponents: tuple[float | None, ...]) -> None:
    world = tailed_arms(exponents, noise=0.1)
    assert not beta_regularity(world).holds
    assert context_goodness(world.contexts, gamma=goodness_needed(1.0) + 0.01).low > 0
