from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dominance as oracle
from tests.pareto.problems import KINDS, problem, small_integers

from mogro import pareto
from mogro._validation import FloatArray


@given(small_integers)
def test_front_and_gaps_are_those_of_the_definition(means: FloatArray) -> None:
    np.testing.assert_array_equal(pareto.front(means), oracle.front(means))
    np.testing.assert_array_equal(pareto.gaps(means), oracle.gaps(means))


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(KINDS))
def test_front_and_gaps_of_difficult_means(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for objectives in (1, 2, 3, 4, 12, 40):
        for arms in (1, 2, 30, 120):
            means = problem(kind, arms, objectives, rng) * 10.0 ** rng.choice([-12, 0, 12])
            mask, gaps = pareto.front(means), pareto.gaps(means)
            np.testing.assert_array_equal(mask, oracle.front(means))
            np.testing.assert_array_equal(gaps, oracle.gaps(means))
            assert mask.any()
            assert not gaps[mask].any()


def test_large_fronts_with_duplicates_agree_with_pairwise_comparison() -> None:
    rng = np.random.default_rng(0)
    for arms, objectives in product((1500, 4000), (2, 3, 4, 6)):
        means = rng.integers(0, 12, size=(arms, objectives)).astype(float)
        means[:, 0] *= rng.choice([0.0, 1.0, 1e9])
        chosen = rng.integers(0, arms, size=200)
        np.testing.assert_array_equal(pareto.front(means)[chosen], oracle.front(means, chosen))
        np.testing.assert_array_equal(pareto.gaps(means)[chosen], pareto.gaps(means, arms=chosen))


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(KINDS))
def test_large_fronts_of_difficult_means(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for objectives in (2, 3, 5):
        means = problem(kind, 3200, objectives, rng)
        np.testing.assert_array_equal(pareto.front(means), oracle.front(means))


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_batch_is_its_problems(arms: int, objectives: int, seed: int) -> None:
    means = np.random.default_rng(seed).integers(0, 4, size=(2, 3, arms, objectives)) / 1.0
    for function in (pareto.front, pareto.gaps):
        batch = function(means)
        assert batch.shape == (2, 3, arms)
        np.testing.assert_array_equal(batch, [[function(one) for one in row] for row in means])


@pytest.mark.parametrize("function", [pareto.gaps, pareto.effective_gaps])
def test_chosen_arms(function: object) -> None:
    assert callable(function)
    means = np.random.default_rng(0).normal(size=(2, 3, 7, 2))
    everything = function(means)
    one = np.array([[0, 1, 2], [3, 4, 5]])
    expected = np.take_along_axis(everything, one[..., None], -1)
    np.testing.assert_allclose(function(means, arms=one), expected[..., 0], atol=1e-14)
    several = np.array([[[0, 6]], [[1, 1]]])
    expected = np.take_along_axis(everything, np.broadcast_to(several, (2, 3, 2)), -1)
    np.testing.assert_allclose(function(means, arms=several), expected, atol=1e-14)
    np.testing.assert_allclose(function(means, arms=4), everything[..., 4], atol=1e-14)
    np.testing.assert_allclose(function(means[0, 0], arms=4), everything[0, 0, 4], atol=1e-14)
    np.testing.assert_allclose(
        function(means[:, :1], arms=one),
        np.take_along_axis(everything[:, :1], one[:, None], -1)[:, 0],
        atol=1e-14,
    )
    assert function(means, arms=np.zeros((2, 3, 0), dtype=int)).shape == (2, 3, 0)


@pytest.mark.parametrize(
    ("means", "arms", "message"),
    [
        ([1.0, 2.0], None, r"means: expected shape \(..., K, M\), got \(2,\)"),
        (np.empty((0, 2)), None, "means: expected shape"),
        ([[1.0, np.nan]], None, r"means: expected finite values, got nan at \(0, 1\)"),
        (np.array([[1.0, np.inf]]), None, r"means: expected finite values, got inf at \(0, 1\)"),
        ([["a"]], None, "means: expected an array of real numbers"),
        ([[1.0]], 1, "arms: expected integers from 0 to 0, got 1"),
        ([[1.0]], -1, "arms: expected integers from 0 to 0"),
        ([[1.0]], 0.5, "arms: expected integers"),
        ([[1.0]], [[0]], r"arms: expected shape \(\) for one arm per problem"),
        ([[[1.0]], [[2.0]]], [0, 0, 0], r"arms: expected shape \(2,\) for one arm per problem"),
    ],
)
def test_refusals(means: Any, arms: Any, message: str) -> None:
    for function in (pareto.gaps, pareto.effective_gaps):
        with pytest.raises(ValueError, match=message):
            function(means, arms=arms)
    for front in (pareto.front, pareto.effective_front) if arms is None else ():
        with pytest.raises(ValueError, match=message):
            front(means)


def test_huge_finite_numbers_and_other_types_are_welcome() -> None:
    assert pareto.front(np.array([[1e308, 1.0], [1e307, 0.0]])).tolist() == [True, False]
    assert pareto.front(np.array([[1, 2], [0, 1]], dtype=np.int32)).tolist() == [True, False]
    assert pareto.gaps(np.asfortranarray(np.array([[1.0, 2.0], [0, 1]]))).tolist() == [0, 1]
    means = np.array([[1.0, 2.0], [0.0, 1.0]])
    means.setflags(write=False)
    assert pareto.effective_gaps(means).tolist() == [0, 1]
    assert pareto.effective_gaps(means.astype(np.float32)).tolist() == [0, 1]
