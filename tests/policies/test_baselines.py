"""UCB, Thompson sampling and epsilon-greedy against their formulas; the references."""

import math
from typing import Any

import numpy as np
import pytest
from tests.oracles import least_squares

import mogro
from mogro._validation import FloatArray
from mogro.policies import LinearPolicy


def taught(policy: LinearPolicy, seed: int, rounds: int = 30) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rounds, policy.dim)) / 2
    y = rng.standard_normal((rounds, policy.objectives))
    for row, reward in zip(x, y, strict=True):
        policy.update(row, reward)
    return x, y


def front(points: FloatArray) -> set[int]:
    """Return the Pareto front by comparing all pairs."""
    return {
        i for i, p in enumerate(points) if not any((q >= p).all() and (q > p).any() for q in points)
    }


@pytest.mark.parametrize("ridge", [0.5, 1.0, 4.0])
def test_the_radius(ridge: float) -> None:
    policy = mogro.UCB(4, 3, noise=0.2, delta=0.01, ridge=ridge, norm=2.0)
    for t in range(1, 10):
        inside = (1 + (t - 1) / (ridge * 4)) * 3 / 0.01
        expected = 0.2 * math.sqrt(4 * math.log(inside)) + math.sqrt(ridge) * 2.0
        assert policy.radius == pytest.approx(expected, rel=1e-12)
        policy.update(np.ones(4) / 2, np.ones(3))


def test_ucb_draws_uniformly_from_the_front_of_the_indices() -> None:
    policy = mogro.UCB(3, 2, noise=0.1, delta=0.05, ridge=2.0, norm=0.3)
    x, y = taught(policy, 0)
    theta = least_squares.ridge(x, y, precision=2.0).theta
    inverse = np.linalg.inv(2.0 * np.eye(3) + x.T @ x)
    arms = np.random.default_rng(1).standard_normal((12, 3))
    index = arms @ theta.T + policy.radius * np.sqrt(np.diag(arms @ inverse @ arms.T))[:, None]
    members = front(index)
    rng = np.random.default_rng(2)
    pulls = np.bincount([int(policy.select(arms, rng=rng)) for _ in range(4000)], minlength=12)
    assert set(np.flatnonzero(pulls).tolist()) == members
    assert 1 < len(members) < 12
    share = pulls[sorted(members)] / 4000
    assert np.abs(share - 1 / len(members)).max() < 0.03


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy_frequencies(epsilon: float) -> None:
    policy = mogro.EpsilonGreedy(3, 2, epsilon=epsilon)
    x, y = taught(policy, 3)
    arms = np.random.default_rng(1).standard_normal((10, 3))
    members = sorted(front(arms @ least_squares.ridge(x, y, precision=1.0).theta.T))
    assert 1 < len(members) < 10
    expected = np.full(10, epsilon / 10)
    expected[members] += (1 - epsilon) / len(members)
    rng = np.random.default_rng(2)
    pulls = np.bincount([int(policy.select(arms, rng=rng)) for _ in range(5000)], minlength=10)
    assert np.abs(pulls / 5000 - expected).max() < 0.03
    assert (pulls[expected == 0] == 0).all()


def test_the_number_of_draws() -> None:
    for objectives, expected in ((1, 1), (2, 6), (3, 8), (4, 10), (5, 11), (10, 16)):
        policy = mogro.ThompsonSampling(2, objectives, noise=0.1, delta=0.1)
        assert policy.draws == expected
    assert mogro.ThompsonSampling(2, 5, noise=0.1, delta=0.1, samples=3).draws == 3


@pytest.mark.slow
def test_the_distribution_of_draws() -> None:
    """With one draw an arm's value is normal, with several it is their maximum."""
    policy = mogro.ThompsonSampling(3, 2, noise=0.1, delta=0.05, samples=1)
    x, y = taught(policy, 4)
    theta = least_squares.ridge(x, y, precision=1.0).theta
    covariance = policy.radius**2 * np.linalg.inv(np.eye(3) + x.T @ x)
    rng = np.random.default_rng(0)
    values = np.array([policy.values(np.eye(3), policy.beliefs(), rng=rng) for _ in range(20_000)])
    size = np.abs(covariance).max()
    np.testing.assert_allclose(values.mean(axis=0), theta.T, atol=0.02 * size**0.5)
    for m in range(2):
        np.testing.assert_allclose(np.cov(values[:, :, m].T), covariance, atol=0.03 * size)
    between = np.corrcoef(values[:, 0, 0], values[:, 0, 1])[0, 1]
    assert abs(between) < 0.03  # objectives are drawn separately
    several = mogro.ThompsonSampling(3, 2, noise=0.1, delta=0.05, samples=4)
    taught(several, 4)
    most = np.array([several.values(np.eye(3), several.beliefs(), rng=rng) for _ in range(5_000)])
    lifted = (most - theta.T) / np.sqrt(np.diag(covariance))[:, None]
    np.testing.assert_allclose(lifted.mean(axis=0), 1.0294, atol=0.05)  # largest of four normals


@pytest.mark.slow
def test_thompson_selections() -> None:
    """With no radius the draws are the estimates, and only the selection is random."""
    means = np.array([[1.0, 0.0], [0.45, 0.45], [0.0, 1.0], [-1.0, -1.0]])
    selections: dict[str, Any] = {
        "weights": mogro.RandomWeights(),
        "front": mogro.EffectiveFront(),
        "chebyshev": mogro.RandomChebyshev(),
    }
    seen = {}
    for name, selection in selections.items():
        policy = mogro.ThompsonSampling(
            4, 2, noise=0.0, norm=0.0, delta=1.0, ridge=1e-9, selection=selection
        )
        policy.learn(np.eye(4), means)
        rng = np.random.default_rng(0)
        pulls = np.bincount(
            [int(policy.select(np.eye(4), rng=rng)) for _ in range(1000)], minlength=4
        )
        seen[name] = set(np.flatnonzero(pulls).tolist())
        if name != "chebyshev":
            assert np.abs(pulls[[0, 2]] / 1000 - 0.5).max() < 0.06
    assert seen == {"weights": {0, 2}, "front": {0, 2}, "chebyshev": {0, 1, 2}}


@pytest.mark.parametrize("scale", [1e-8, 1e7, 1e12, 1e30])
def test_features_far_from_the_scale_of_the_ridge(scale: float) -> None:
    rng = np.random.default_rng(0)
    arms = scale * rng.standard_normal((6, 3))
    theta = rng.standard_normal((2, 3)) / scale
    policies: list[LinearPolicy] = [
        mogro.UCB(3, 2, noise=0.1, delta=0.01),
        mogro.ThompsonSampling(3, 2, noise=0.1, delta=0.01),
        mogro.EpsilonGreedy(3, 2),
    ]
    for policy in policies:
        for _ in range(300):
            arm = int(policy.select(arms, rng=rng))
            policy.update(arms[arm], theta @ arms[arm] + 0.1 * rng.standard_normal(2))


def test_random_arm_is_uniform() -> None:
    rng = np.random.default_rng(0)
    policy = mogro.RandomArm(2, 1)
    arms = [int(policy.select(np.ones((5, 2)), rng=rng)) for _ in range(5000)]
    assert np.abs(np.bincount(arms, minlength=5) / 5000 - 0.2).max() < 0.02


def test_hypervolume_scalarisation_reaches_arms_below_the_line() -> None:
    means = np.array([[1.0, 0.0], [0.45, 0.45], [0.0, 1.0]])
    for make in (mogro.UCB, mogro.ThompsonSampling):
        policy = make(3, 2, noise=0.01, delta=0.1, selection=mogro.RandomHypervolume([-0.1, -0.1]))
        policy.learn(np.eye(3).repeat(4000, axis=0), means.repeat(4000, axis=0))
        assert (policy.probabilities(np.eye(3)).values > 0.1).all()


def test_epsilon_greedy_selects_as_it_is_told() -> None:
    policy = mogro.EpsilonGreedy(2, 2, epsilon=0.0, selection=mogro.FixedWeights([0.2, 0.8]))
    policy.learn(np.eye(2), np.array([[3.0, 0.0], [0.0, 1.0]]))
    assert policy.select(np.eye(2), rng=np.random.default_rng(0)) == 1
    with pytest.raises(ValueError, match="selection: expected"):
        mogro.EpsilonGreedy(2, 2, selection=3)  # type: ignore[arg-type]
