"""Good input comes back unchanged; bad input is named, with what was expected and what came."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mogro import _validation as check


@given(st.integers(1, 10**30))
def test_counts_pass(value: int) -> None:
    assert check.count(value, "arms") == value


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3), np.intp(3)])
def test_counts_of_numpy_become_ints(value: Any) -> None:
    assert type(check.count(value, "arms")) is int


@pytest.mark.parametrize(
    "value", [0, -1, 2.0, np.float64(2), True, np.True_, "2", None, [2], np.array(2), math.nan]
)
def test_other_counts_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="arms: expected an integer >= 1, got"):
        check.count(value, "arms")


def test_counts_may_start_anywhere() -> None:
    assert check.count(0, "arms", minimum=0) == 0
    with pytest.raises(ValueError, match="dim: expected an integer >= 2, got 1"):
        check.count(1, "dim", minimum=2)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300))
def test_reals_pass(value: float) -> None:
    result = check.real(value, "noise")
    assert type(result) is float
    assert result == float(value)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float16(0.5), np.int64(1), np.uint8(1)])
def test_reals_of_numpy_become_floats(value: Any) -> None:
    assert type(check.real(value, "noise")) is float


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, True, np.True_, "1", None, 1j, [1.0], Fraction(1), 10**400],
)
def test_other_reals_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="noise: expected a finite number, got"):
        check.real(value, "noise")


def test_bounds_of_reals() -> None:
    assert check.real(0, "x", minimum=0) == 0
    with pytest.raises(ValueError, match=r"x: expected a finite number >= 0, got -1e-300"):
        check.real(-1e-300, "x", minimum=0)
    with pytest.raises(ValueError, match=r"x: expected a finite number > 0, got 0"):
        check.real(0, "x", above=0)


@given(st.floats(0, 1))
def test_shares_pass(value: float) -> None:
    assert check.share(value, "epsilon") == value


@pytest.mark.parametrize("value", [-0.1, 1.0000001, math.nan, True, "0.5"])
def test_other_shares_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="epsilon: expected"):
        check.share(value, "epsilon")


def test_generators() -> None:
    rng = np.random.default_rng(0)
    assert check.generator(rng, "rng") is rng
    for wrong in (0, None, np.random, np.random.RandomState(0)):
        with pytest.raises(ValueError, match=r"rng: expected a numpy\.random\.Generator, got"):
            check.generator(wrong, "rng")


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2), elements=st.floats(-1e9, 1e9)))
def test_floats_are_not_copied(array: Any) -> None:
    array.setflags(write=False)
    assert check.floats(array, "x", shape=(..., "K", "d")) is array
    assert check.floats(array, "x", shape=array.shape) is array


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8, np.bool_, ">f8", "<i2"])
def test_other_numbers_become_float64(dtype: Any) -> None:
    result = check.floats(np.ones((2, 3), dtype=dtype), "x", shape=(2, 3))
    assert result.dtype == np.float64
    assert np.array_equal(result, np.ones((2, 3)))


def test_float32_stays() -> None:
    assert check.as_floats(np.ones(2, dtype=np.float32), "x").dtype == np.float32


def test_lists_and_scalars_are_arrays_too() -> None:
    assert check.floats([[1, 2], [3, 4]], "x", shape=("K", 2)).shape == (2, 2)
    assert check.floats(3, "x", shape=()).shape == ()


@pytest.mark.parametrize(
    "value",
    ["text", None, [[1], [1, 2]], [1j], [None], ["1"], np.array([1], dtype="datetime64[s]")],
)
def test_what_is_no_array_of_numbers_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="x: expected an array of real numbers, got"):
        check.as_floats(value, "x")


def test_long_values_are_shown_in_brief() -> None:
    with pytest.raises(ValueError, match=r"got 'a{10,56}\.\.\.$"):
        check.as_floats("a" * 1000, "x")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@given(shape=hnp.array_shapes(min_dims=0, max_dims=3), data=st.data())
def test_the_first_value_that_is_not_finite_is_named(
    bad: float, shape: tuple[int, ...], data: st.DataObject
) -> None:
    array = np.zeros(shape)
    place = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    array[place] = bad
    with pytest.raises(ValueError, match="x: expected finite values") as caught:
        check.floats(array, "x", shape=shape)
    assert str(caught.value).endswith(f"got {bad} at {place}")


@pytest.mark.parametrize(
    ("shape", "wanted", "message"),
    [
        ((2,), ("K", "d"), r"expected shape \(K, d\), got \(2,\)"),
        ((2, 3, 4), ("K", "d"), r"expected shape \(K, d\), got \(2, 3, 4\)"),
        ((2, 3), ("K", 4), r"expected shape \(K, 4\), got \(2, 3\)"),
        ((0, 3), ("K", 3), r"expected shape \(K, 3\), got \(0, 3\)"),
        ((3,), (4,), r"expected shape \(4,\), got \(3,\)"),
        ((3,), (), r"expected shape \(\), got \(3,\)"),
        ((), (..., 3), r"expected shape \(..., 3\), got \(\)"),
        ((3,), (..., "K", 3), r"expected shape \(..., K, 3\), got \(3,\)"),
        ((5, 0, 3), (..., "K", 3), r"expected shape \(..., K, 3\), got \(5, 0, 3\)"),
    ],
)
def test_wrong_shapes_are_refused(
    shape: tuple[int, ...], wanted: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^x: {message}$"):
        check.floats(np.zeros(shape), "x", shape=wanted)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (5, 2, 3)])
def test_leading_axes_are_free(shape: tuple[int, ...]) -> None:
    assert check.floats(np.zeros(shape), "x", shape=(..., 3)).shape == shape


@given(st.integers(1, 10), st.data())
def test_indices_pass(below: int, data: st.DataObject) -> None:
    one = data.draw(st.integers(0, below - 1))
    assert check.indices(one, "arm", below=below) == one
    dtype = data.draw(st.sampled_from([np.int8, np.uint8, np.int64, np.uint64]))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0))
    many = np.full(shape, one, dtype=dtype)
    result = check.indices(many, "arm", below=below)
    assert result.dtype == np.intp
    assert np.array_equal(result, many)


@pytest.mark.parametrize("value", [3, -1, [0, 3], 1.0, True, "1", None, [[1], [1, 2]], [], 2**70])
def test_other_indices_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="arm: expected integers from 0 to 2, got"):
        check.indices(value, "arm", below=3)


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(1e-3, 1)))
def test_weights_on_the_simplex_pass(raw: Any) -> None:
    weights = raw / raw.sum()
    result = check.simplex(weights, "w", size=len(weights))
    assert np.array_equal(result, weights)
    assert result is not weights


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.5, 0.6], r"w: expected weights >= 0 that sum to 1, got \[0.5 0.6\] with sum 1.1"),
        ([1.5, -0.5], "w: expected weights >= 0 that sum to 1"),
        ([1.0], r"w: expected shape \(2,\), got \(1,\)"),
        ([[1.0, 0.0]], r"w: expected shape \(2,\), got \(1, 2\)"),
        ([math.nan, 1.0], "w: expected finite values"),
    ],
)
def test_other_weights_are_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check.simplex(value, "w", size=2)
