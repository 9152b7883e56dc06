import math

import numpy as np
import pytest
from scipy.stats import binom
from tests.oracles.conditions import uniform_ball_goodness

from mogro._validation import FloatArray
from mogro.environments import FixedArms, VaryingContexts
from mogro.theory import context_goodness
from mogro.theory.contexts import worst_direction


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "arms", "gamma"), [(1, 3, 0.7), (2, 1, 0.5), (5, 20, 0.6)])
def test_uniform_ball_agrees_with_counting(dim: int, arms: int, gamma: float) -> None:
    world = VaryingContexts(np.eye(dim), arms=arms, noise=0.1)
    draws = world.contexts(rng=np.random.default_rng(0), batch=(100_000,))
    hits = int((draws[..., 0].max(axis=1) >= gamma).sum())
    expected = uniform_ball_goodness(gamma, dim=dim, arms=arms)
    assert binom.ppf(1e-4, 100_000, expected) <= hits <= binom.ppf(1 - 1e-4, 100_000, expected)


def test_uniform_ball_limits() -> None:
    assert uniform_ball_goodness(1.0, dim=3, arms=10) == 0
    assert uniform_ball_goodness(1e-12, dim=3, arms=1) == pytest.approx(0.5)
    tiny = uniform_ball_goodness(0.999999, dim=10, arms=1)
    assert 0 < tiny < 1e-25
    assert uniform_ball_goodness(0.999999, dim=10, arms=50) == pytest.approx(50 * tiny)
    levels = [uniform_ball_goodness(g, dim=4, arms=5) for g in (0.1, 0.5, 0.9, 0.99)]
    assert levels == sorted(levels, reverse=True)


@pytest.mark.slow
def test_estimated_goodness_covers_the_closed_form() -> None:
    covered = 0
    for seed in range(40):
        world = VaryingContexts(np.eye(3), arms=4, noise=0.1)
        found = context_goodness(
            world.contexts, gamma=0.8, samples=2000, rng=np.random.default_rng(seed)
        )
        covered += found.low <= uniform_ball_goodness(0.8, dim=3, arms=4) <= found.high
    assert covered >= 34


def test_estimated_goodness_finds_the_worst_direction() -> None:
    def wedge(*, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        angles = rng.uniform(-2.8, 2.8, (*batch, 1))  # never straight back
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

    found = context_goodness(wedge, gamma=0.99)
    assert found.value == found.low == 0
    assert found.high < 0.001
    rng = np.random.default_rng(0)
    direction = worst_direction(wedge(rng=rng, batch=(2000,)), 0.99, rng)
    assert direction[0] < -0.95
    assert np.linalg.norm(direction) == pytest.approx(1)


def test_fixed_arms_are_a_distribution_too() -> None:
    world = FixedArms(np.concatenate([np.eye(2), -np.eye(2)]), np.eye(2), noise=0.1)
    assert context_goodness(world.contexts, gamma=0.7).value == 1
    assert context_goodness(world.contexts, gamma=0.72).value == 0


def test_refusals() -> None:
    world = VaryingContexts(np.eye(2), arms=3, noise=0.1)
    for gamma in (0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="gamma"):
            context_goodness(world.contexts, gamma=gamma)
    with pytest.raises(ValueError, match="contexts: expected the arms of at least 100 rounds"):
        context_goodness(np.ones((99, 2, 2)), gamma=0.5)
    with pytest.raises(ValueError, match=r"contexts: expected shape \(rounds, K, d\)"):
        context_goodness(np.ones((200, 2)), gamma=0.5)
    with pytest.raises(ValueError, match="contexts"):
        context_goodness(lambda *, rng, batch: np.full((*batch, 2, 2), math.nan), gamma=0.5)


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_a_sample_stands_for_the_distribution(gamma: float) -> None:
    world = VaryingContexts(np.eye(3), arms=8, noise=0.1)
    sample = world.contexts(rng=np.random.default_rng(3), batch=(6000,))
    found = context_goodness(sample, gamma=gamma)
    exact = uniform_ball_goodness(gamma, dim=3, arms=8)
    # Counted in the half that was not searched.
    assert abs(found.value - exact) < 5 * math.sqrt(exact / 3000)
    assert found.low < found.value < found.high


def test_levels_beyond_one_are_for_longer_arms() -> None:
    world = VaryingContexts(np.eye(2), arms=8, noise=0.1)

    def longer(*, rng: np.random.Generator, batch: tuple[int, ...]) -> FloatArray:
        return np.asarray(4 * world.contexts(rng=rng, batch=batch))

    one = context_goodness(world.contexts, gamma=0.7, rng=np.random.default_rng(2))
    four = context_goodness(longer, gamma=2.8, rng=np.random.default_rng(2))
    assert four.value == pytest.approx(one.value, abs=1e-3)
    assert context_goodness(world.contexts, gamma=1.5).high < 1e-3
