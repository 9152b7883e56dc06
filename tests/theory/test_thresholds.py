import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import theory as oracle

from mogro import MOGRO
from mogro._validation import FloatArray
from mogro.exploration import BasisRoundRobin, Exploration, WeakestDirection
from mogro.theory import (
    eigenvalue_threshold,
    initial_rounds_bound,
    threshold_random_weights,
    threshold_round_robin,
)

radii, sigmas = st.floats(1e-4, 1), st.floats(1e-3, 10)
dims, horizons = st.integers(1, 50), st.integers(1, 10**7)


@given(radii, sigmas, dims, horizons)
def test_thresholds_of_both_variants(alpha: float, sigma: float, d: int, T: int) -> None:
    rw = threshold_random_weights(alpha, noise=sigma, dim=d, rounds=T)
    rr = threshold_round_robin(alpha, noise=sigma, dim=d, rounds=T)
    assert rw == pytest.approx(oracle.threshold_rw(alpha, sigma, d, T), rel=1e-9, abs=1e-12)
    assert rr == pytest.approx(oracle.threshold_rr(alpha, sigma, d, T), rel=1e-9, abs=1e-12)
    assert rr <= rw


@given(radii, sigmas, dims, horizons, st.floats(1e-9, 0.5), st.floats(0.1, 10))
def test_general_threshold(
    a: float, sigma: float, d: int, T: int, delta: float, xmax: float
) -> None:
    found = eigenvalue_threshold(
        radius=a, noise=sigma, dim=d, rounds=T, delta=delta, feature_norm=xmax
    )
    assert found == pytest.approx(oracle.threshold(a, delta, sigma, d, T, xmax), rel=1e-9)


@given(radii, sigmas, dims, st.integers(1, 10**6), st.floats(1.01, 5))
def test_threshold_is_monotone(alpha: float, sigma: float, d: int, T: int, more: float) -> None:
    def threshold(alpha: float, sigma: float, T: int, xmax: float = 1.0) -> float:
        return threshold_random_weights(alpha, noise=sigma, dim=d, rounds=T, feature_norm=xmax)

    base = threshold(alpha, sigma, T)
    assert threshold(alpha, sigma, math.ceil(more * T)) >= base
    assert threshold(alpha, sigma * more, T) >= base
    assert threshold(alpha / more, sigma, T) >= base
    assert threshold(alpha, sigma, T, more) >= base


def test_second_branch_is_at_least_one() -> None:
    # Tiny noise, and a horizon where the first branch is the larger one.
    assert eigenvalue_threshold(radius=1, noise=1e-2, dim=1, rounds=10**8, delta=1e-8) == 1


def test_threshold_keeps_estimates_within_the_radius() -> None:
    # Lemma set_B on a round robin over the axes: after lambda_min(V) >= B no estimate is further
    # from the parameter than the radius, at any time up to T.
    d, T, sigma, radius, runs = 2, 400, 0.3, 0.5, 300
    B = eigenvalue_threshold(radius=radius, noise=sigma, dim=d, rounds=T, delta=0.05)
    noise = sigma * np.random.default_rng(0).standard_normal((runs, T // d, d))
    counts = np.arange(1, T // d + 1)
    errors = np.linalg.norm(noise.cumsum(axis=1) / counts[:, None], axis=2)
    assert counts[-1] > B
    assert (errors[:, counts >= B].max(axis=1) > radius).mean() <= 2 * 0.05


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_initial_rounds_of_a_round_robin(dim: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng([dim, seed])
        basis = np.eye(dim + seed % 3, dim) + 0.2 * rng.standard_normal((dim + seed % 3, dim))
        B = float(10 * rng.random())
        bound = initial_rounds_bound(basis, threshold=B)
        assert oracle.rounds_by_hand(basis, B) <= bound == oracle.rounds_bound(basis, B)


def test_initial_rounds_at_an_exact_multiple() -> None:
    # floor would be one cycle too short: 0.3 / 0.1 rounds to just below 3.
    basis = math.sqrt(0.1) * np.eye(2)
    assert initial_rounds_bound(basis, threshold=0.3) == 6
    assert initial_rounds_bound(basis, threshold=0.0) == 2
    assert initial_rounds_bound(np.eye(2), threshold=1e9) == 2 * 10**9


def explored(features: FloatArray, threshold: float, exploration: Exploration) -> int:
    """Let MOGRO explore, and return after how many rounds it stops."""
    policy = MOGRO(features.shape[1], 1, threshold=threshold, exploration=exploration)
    rng = np.random.default_rng(0)
    arm = int(policy.select(features, rng=rng))
    while policy.exploring:
        policy.update(features[arm], [0.0])
        arm = int(policy.select(features, rng=rng))
    return policy.step - 1


def test_the_policy_explores_for_as_many_rounds_as_the_bound_allows() -> None:
    features = np.random.default_rng(0).standard_normal((30, 4))
    by_basis = BasisRoundRobin(features)
    counted = explored(features, 5.0, by_basis)
    bound = initial_rounds_bound(features[by_basis.basis], threshold=5.0)
    assert bound - 4 <= counted <= bound
    assert explored(features, 5.0, WeakestDirection()) <= counted


def test_initial_rounds_in_a_subspace() -> None:
    basis = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    assert initial_rounds_bound(basis, threshold=1.0) == 8
    assert explored(basis, 1.0, WeakestDirection()) == 5


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"radius": 0.0}, "radius"),
        ({"noise": -1.0}, "noise"),
        ({"noise": math.nan}, "noise"),
        ({"dim": 0}, "dim"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 10.5}, "rounds"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 2.0}, "delta"),
        ({"feature_norm": 0.0}, "feature_norm"),
    ],
)
def test_refusals(changed: dict[str, float], name: str) -> None:
    given: dict[str, float] = {"radius": 1.0, "noise": 1.0, "dim": 2, "rounds": 10, "delta": 0.1}
    with pytest.raises(ValueError, match=name):
        eigenvalue_threshold(**(given | changed))  # type: ignore[arg-type]


def test_refusals_of_bases() -> None:
    with pytest.raises(ValueError, match="features"):
        initial_rounds_bound(np.zeros((2, 2)), threshold=1.0)
    with pytest.raises(ValueError, match="alpha"):
        threshold_random_weights(0.0, noise=1.0, dim=2, rounds=10)
