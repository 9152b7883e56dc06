import math

import numpy as np
import pytest
from scipy.special import betainc

from mogro._validation import FloatArray
from mogro.simulation import ConfidenceInterval
from mogro.theory import regularity


def parameters(objectives: int, dim: int, seed: int) -> FloatArray:
    theta = np.abs(np.random.default_rng(seed).standard_normal((objectives, dim)))
    return np.asarray(theta / np.linalg.norm(theta, axis=1, keepdims=True))


def share_near(points: FloatArray, centre: FloatArray, radius: float) -> float:
    return float((np.square(points - centre).sum(axis=1) < radius**2).mean())


@pytest.mark.slow
@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("concentration", [1.0, 2.5, 0.4, (1.0, 0.5, 0.2)])
def test_phi_agrees_with_counting(
    objectives: int, concentration: float | tuple[float, ...]
) -> None:
    a = np.resize(concentration, objectives)
    rng = np.random.default_rng(7)
    draws = rng.dirichlet(a, 400_000)
    for seed in range(4):
        theta = parameters(objectives, 3, seed)
        points = draws @ theta
        counted = min(share_near(points, corner, 0.2) for corner in theta)
        found = regularity(theta, a, epsilon=0.2, rng=rng).phi
        error = 4 * math.sqrt(counted / 400_000)
        assert found.low - error <= counted <= found.high + error


@pytest.mark.slow
@pytest.mark.parametrize("concentration", [1.0, 3.0])
def test_psi_is_phi_for_concentrations_from_one(concentration: float) -> None:
    rng = np.random.default_rng(0)
    theta, a = parameters(3, 3, 5), np.full(3, concentration)
    points = rng.dirichlet(a, 200_000) @ theta
    found = regularity(theta, a, epsilon=0.25)
    assert found.psi == found.phi
    for centre in rng.dirichlet(np.ones(3), 100) @ theta:
        assert share_near(points, centre, 0.25) >= found.phi.low - 0.002


def test_psi_of_small_concentrations_is_unknown() -> None:
    assert regularity(np.eye(3), (1.0, 0.5, 0.1), epsilon=0.3).psi is None
    close = regularity(np.eye(3), 0.5, epsilon=2.0)  # every ball holds everything
    assert close.psi == close.phi
    assert close.phi.value == 1


# Corners alike, one corner least by far, two corners nearly alike, probabilities near 1e-11.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("theta", "a", "epsilon"),
    [
        (np.eye(3), 1.0, 0.3),
        (parameters(5, 5, 3), 1.0, 0.05),
        (np.eye(4) * np.array([[1.0], [1.001], [1.1], [1.2]]), 0.7, 0.1),
        (parameters(10, 10, 1), 1.0, 0.05),
    ],
)
def test_interval_covers_the_truth_in_95_percent(
    theta: FloatArray, a: float, epsilon: float
) -> None:
    def index(samples: int, seed: int) -> ConfidenceInterval:
        rng = np.random.default_rng(seed)
        return regularity(theta, a, epsilon=epsilon, samples=samples, rng=rng).phi

    truth = index(400_000, 12345)
    covered = 0
    for seed in range(200):
        found = index(3000, seed)
        covered += found.low <= truth.value <= found.high
    assert 0.92 <= covered / 200 <= 0.98, covered


def test_two_objectives_are_exact() -> None:
    theta = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = regularity(theta, (2.0, 0.5), epsilon=0.1).phi
    x = 0.1 / math.sqrt(2)
    expected = min(betainc(0.5, 2.0, x), betainc(2.0, 0.5, x))
    assert found.value == pytest.approx(float(expected), rel=1e-12)
    assert found.low == found.value == found.high


def test_one_objective_and_objectives_within_reach() -> None:
    assert regularity([[1.0, 2.0]], 1.0, epsilon=0.1).phi.value == 1
    close = regularity([[1.0, 0.0], [1.0, 0.01], [1.0, 0.02]], 0.5, epsilon=0.1)
    assert close.phi.value == 1
    assert close.psi == close.phi
    same = regularity([[1.0, 0.0], [1.0, 0.0]], 0.5, epsilon=0.1)
    assert same.phi.value == 1


def test_small_probabilities() -> None:
    for objectives, tiny in ((60, True), (150, False)):
        phi = regularity(np.eye(objectives), 1.0, epsilon=1e-3, samples=200).phi
        # F(x) = x^(M - 1) for uniform weights, x = eps / |v - e_m|, and the distance is nearly 1.
        expected = (objectives - 1) * math.log(1e-3)
        assert (phi.value > 0) == tiny
        assert 0 <= phi.low <= phi.value <= phi.high
        if tiny:
            assert math.log(phi.value) == pytest.approx(expected, rel=0.01)


def test_larger_radius_is_likelier() -> None:
    theta = parameters(4, 4, 2)
    values = [regularity(theta, 1.0, epsilon=e).phi.value for e in (0.01, 0.05, 0.2, 0.5)]
    assert values == sorted(values)


def test_same_question_same_answer() -> None:
    theta = parameters(4, 4, 2)
    assert regularity(theta, 0.5, epsilon=0.1) == regularity(theta, 0.5, epsilon=0.1)


@pytest.mark.parametrize(
    ("theta", "a", "epsilon", "name"),
    [
        (np.zeros((2, 2)), 1.0, 0.1, "theta"),
        (np.eye(2), 0.0, 0.1, "concentration"),
        (np.eye(2), (1.0, 1.0, 1.0), 0.1, "concentration"),
        (np.eye(2), 1.0, 0.0, "epsilon"),
        (np.eye(2), 1.0, math.nan, "epsilon"),
    ],
)
def test_refusals(
    theta: FloatArray, a: float | tuple[float, ...], epsilon: float, name: str
) -> None:
    with pytest.raises(ValueError, match=name):
        regularity(theta, a, epsilon=epsilon)
