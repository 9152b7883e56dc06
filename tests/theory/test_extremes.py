"""Values at the end of what floats hold, and runs without noise."""

import warnings
from collections.abc import Sequence

import numpy as np
import pytest

import mogro
from mogro.theory import diagnose, initial_rounds_bound


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("name", ["features", "theta"])
def test_sizes_whose_squares_vanish_or_overflow_are_refused(size: float, name: str) -> None:
    features, theta = (np.eye(2) * (size if name == n else 1) for n in ("features", "theta"))
    with pytest.raises(ValueError, match=f"{name}: expected absolute values between"):
        diagnose(features, theta, noise=0.1, rounds=100)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_extreme_units_are_fine(size: float) -> None:
    found = diagnose(size * np.eye(2), np.eye(2) / size, noise=0.1, rounds=1000)
    plain = diagnose(np.eye(2), np.eye(2), noise=0.1, rounds=1000)
    assert "nan" not in str(found)
    assert found.holds == plain.holds


def test_a_tiny_arm_beside_others_is_fine() -> None:
    features = np.array([[1, 0], [0, 1], [1e-200, 0]])
    assert diagnose(features, np.eye(2), noise=0.1, rounds=100).holds


def test_without_noise_a_cycle_is_still_needed() -> None:
    basis = [[1.0, 0.0], [1.0, 0.1], [1.0, 0.1]]
    assert initial_rounds_bound(basis, threshold=0) == 3
    found = diagnose(np.eye(2), np.eye(2), noise=0.0, rounds=1000)
    assert found.guarantees.initial_rounds == 2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 5e-324, 1e-200, 0.1, 1e60])
@pytest.mark.parametrize("rounds", [1, 10**18])
@pytest.mark.parametrize("kind", [mogro.RandomWeights(), mogro.RoundRobin()])
@pytest.mark.parametrize(
    ("features", "theta"),
    [
        ([[1.0, 0.0]], [[1.0, 0.0]]),  # one arm, one objective
        ([[1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]),  # one arm, equal objectives
        (np.eye(5)[:2], np.eye(5)[:2]),  # fewer arms than features
        ([[1.0], [-0.5]], [[1.0], [-1.0]]),  # one feature
        (np.eye(2), np.eye(2)),
        (1e59 * np.eye(2), 1e59 * np.eye(2)),
        (1e-59 * np.eye(2), 1e-59 * np.eye(2)),
        (-np.eye(2), np.eye(2)),  # no objective has an arm with a positive reward
        (np.ones((3, 2)), np.eye(2)),  # equal arms
    ],
)
def test_nothing_overflows(
    features: Sequence[Sequence[float]],
    theta: Sequence[Sequence[float]],
    kind: mogro.RandomWeights | mogro.RoundRobin,
    rounds: int,
    noise: float,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose(features, theta, noise=noise, rounds=rounds, scalarization=kind)
        text = f"{found} {found.to_json()}"
    assert "nan" not in text.lower()


def test_thresholds_beyond_all_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"threshold: expected a value reached in at most"):
        initial_rounds_bound(np.eye(2), threshold=1e300)
