"""Values at the end of what floats hold, and runs without noise."""

import numpy as np
import pytest

from mogro.theory import diagnose, initial_rounds_bound, initial_rounds_round_robin


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("name", ["features", "theta"])
def test_sizes_whose_squares_vanish_or_overflow_are_refused(size: float, name: str) -> None:
    features, theta = (np.eye(2) * (size if name == n else 1) for n in ("features", "theta"))
    with pytest.raises(ValueError, match=f"{name}: expected values of a size between"):
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
    assert initial_rounds_round_robin(basis, threshold=0) == 2
    found = diagnose(np.eye(2), np.eye(2), noise=0.0, rounds=1000)
    assert found.promises.initial_rounds == 2
