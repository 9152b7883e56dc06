"""Arrays and numbers come in here; clear errors go out.

Every refusal is a ``ValueError`` that names the argument, what was expected and what came. All
checks happen before a caller changes any state.
"""

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Shape = Sequence[int | str | EllipsisType]

# For code that finds bad numbers in what it computes: NumPy need not warn of them before.
without_warnings = np.errstate(over="ignore", invalid="ignore")

FLOAT64 = np.dtype(np.float64)


def count(value: object, name: str, *, minimum: int = 1) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or int(value) < minimum:  # type: ignore[call-overload]
        raise ValueError(f"{name}: expected an integer >= {minimum}, got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def counts(**sizes: object) -> tuple[int, ...]:
    """Return sizes, given by their names, as ints that are at least 1."""
    return tuple(count(size, name) for name, size in sizes.items())


def real(
    value: object, name: str, *, minimum: float = -math.inf, above: float = -math.inf
) -> float:
    """Return ``value`` as a finite float that is at least ``minimum`` and larger than ``above``."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    try:
        result = float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond every float
        result = math.inf
    if not math.isfinite(result) or result < minimum or result <= above:
        expected = "a finite number"
        if minimum > -math.inf:
            expected += f" >= {minimum:g}"
        if above > -math.inf:
            expected += f" > {above:g}"
        raise ValueError(f"{name}: expected {expected}, got {value!r}")
    return result


def between(value: object, name: str, low: float, high: float, *, closed: str = "[]") -> float:
    """Return ``value`` as a float between ``low`` and ``high``; ``closed`` as in "(]"."""
    result = real(value, name)
    above = result >= low if closed[0] == "[" else result > low
    below = result <= high if closed[1] == "]" else result < high
    if not (above and below):
        raise ValueError(
            f"{name}: expected a number in {closed[0]}{low:.6g}, {high:.6g}{closed[1]}, "
            f"got {value!r}"
        )
    return result


def share(value: object, name: str, *, closed: str = "[]") -> float:
    """Return ``value`` as a float between 0 and 1."""
    return between(value, name, 0, 1, closed=closed)


def text(value: object, name: str) -> str:
    """Return ``value`` as a string that is not empty, and that a file can hold."""
    if type(value) is not str or not value:
        raise ValueError(f"{name}: expected a string, not empty, got {value!r}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{name}: expected a string without lone surrogates, got {value!r}")
    return value


def boolean(value: object, name: str) -> bool:
    """Return ``value`` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def folder_or_file(value: object, name: str) -> Path:
    """Return ``value`` as a path."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError(f"{name}: expected a path, got {value!r}")
    return Path(value)


def generator(value: object, name: str) -> np.random.Generator:
    """Return ``value`` if it is a NumPy generator."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name}: expected a numpy.random.Generator, got {_shorten(value)}")
    return value


def floats(value: ArrayLike, name: str, *, shape: Shape) -> FloatArray:
    """Return ``value`` as an array of finite floats of the given shape.

    In ``shape`` a number is that size, a word any size from 1, and a leading ``...`` any axes.
    Arrays of float32 stay as they are; everything else becomes float64. Nothing is copied that
    need not be.
    """
    array = as_floats(value, name)
    check_shape(array, name, shape)
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{name}: expected finite values, got {array[tuple(bad)]} at {tuple(bad.tolist())}"
        )
    return array


def indices(value: ArrayLike, name: str, *, below: int) -> NDArray[np.intp]:
    """Return ``value``, one integer or an array of them, as positions from 0 to ``below - 1``."""
    try:
        positions = np.asarray(value)
    except ValueError:
        positions = np.empty(0, dtype=object)
    if positions.dtype.kind not in "iu" or (positions < 0).any() or (positions >= below).any():
        raise ValueError(f"{name}: expected integers from 0 to {below - 1}, got {_shorten(value)}")
    return positions.astype(np.intp)


def as_floats(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as an array of float64 (or float32 where it is that already)."""
    try:
        array = np.asarray(value)
        if array.dtype is FLOAT64 or array.dtype in (np.float64, np.float32):
            return array
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name}: expected an array of real numbers, got {_shorten(value)}")


def check_shape(array: NDArray[Any], name: str, shape: Shape) -> None:
    """Refuse an array that is not of the given shape (see :func:`floats`)."""
    sizes = list(shape)
    any_batch = bool(sizes) and sizes[0] is ...
    tail = sizes[1:] if any_batch else sizes
    axes = array.shape[array.ndim - len(tail) :] if any_batch else array.shape
    matches = len(axes) == len(tail) and array.ndim >= len(tail)
    matches = matches and all(
        size >= 1 if isinstance(expected, str) else size == expected
        for size, expected in zip(axes, tail, strict=True)
    )
    if not matches:
        expected = ", ".join("..." if size is ... else str(size) for size in sizes)
        comma = "," if len(sizes) == 1 else ""
        raise ValueError(f"{name}: expected shape ({expected}{comma}), got {array.shape}")


def check_finite(values: FloatArray, inputs: FloatArray, name: str = "features") -> None:
    """Refuse inputs if values computed from them are not finite: that costs less than a scan."""
    if not math.isfinite(np.vdot(values, values)):
        doubles = values.astype(np.float64)  # squares of single precision may be too large for it
        if not math.isfinite(np.vdot(doubles, doubles)):
            refuse(inputs, name)


def refuse(inputs: FloatArray, name: str) -> None:
    """Say what is wrong with what leads to numbers that are not finite."""
    floats(inputs, name, shape=inputs.shape)
    raise ValueError(f"{name}: expected values whose squares and scores are finite")


@without_warnings
def simplex(value: ArrayLike, name: str, *, size: int | None = None) -> FloatArray:
    """Return ``value`` as one vector of weights: not negative, and of sum 1 up to rounding."""
    weights = floats(value, name, shape=("M" if size is None else size,)).astype(np.float64)
    total = weights.sum()
    if (weights < 0).any() or abs(total - 1) > 1e-9:
        raise ValueError(
            f"{name}: expected weights >= 0 that sum to 1, got {weights} with sum {total:g}"
        )
    return weights


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unique_strings(
    ids: Iterable[str], name: str, *, expected: str = "strings, one or more"
) -> tuple[str, ...]:
    """Return strings as a tuple: different ones, at least one."""
    try:
        names = () if isinstance(ids, str) else tuple(ids)
        letters = len("".join(names))  # the fastest way to see that all are strings
    except (TypeError, ValueError):  # the latter if these are arrays
        letters = 0
    if not letters:
        raise ValueError(f"{name}: expected {expected}, got {str(ids)[:60]}")
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: expected different strings, got some twice")
    return names
