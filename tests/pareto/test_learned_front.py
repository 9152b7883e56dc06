import dataclasses

import numpy as np
import pytest

import mogro.pareto
from mogro import pareto


def test_learned_front_names_members_values_and_shares() -> None:
    features = np.array([[1.0, 0], [0, 1], [0.2, 0.2], [1, 0]])
    theta = np.array([[1.0, 0], [0, 1]])
    front = pareto.learned_front(features, theta)
    assert front.members.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(front.values, features[[0, 1, 3]])
    np.testing.assert_allclose(front.shares, [0.25, 0.5, 0.25], atol=0.02)
    assert front.shares.sum() == pytest.approx(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        front.members = front.members  # type: ignore[misc]
    with pytest.raises(ValueError, match=r"theta: expected shape \(M, 2\)"):
        pareto.learned_front(features, theta[:, :1])


def test_learned_front_of_one_objective() -> None:
    front = pareto.learned_front([[1.0], [2.0]], [[3.0]], samples=10)
    assert front.members.tolist() == [1]
    assert front.shares.tolist() == [1]


def test_public_names_are_sorted_and_exist() -> None:
    assert mogro.pareto.__all__ == sorted(mogro.pareto.__all__)
    assert all(hasattr(mogro.pareto, name) for name in mogro.pareto.__all__)
