"""Columns of an encoder: how the values under one name of a record become numbers."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

from mogro._validation import count, real


class Column(Protocol):
    """How the values under one name become numbers."""

    @property
    def size(self) -> int:
        """How many numbers a value becomes."""

    def names(self, name: str) -> list[str]:
        """Return what these numbers are called."""

    def write(self, value: Any, numbers: list[float], start: int) -> None:
        """Write the numbers of a value that is not missing over zeros, from an index on."""


@dataclass(frozen=True)
class Number:
    """A number, used as ``(value - mean) / std``; a missing one is the mean.

    Examples
    --------
    >>> import mogro
    >>> mogro.Encoder(age=mogro.Number(mean=40, std=15))({"age": 55}).tolist()
    [1.0]
    """

    mean: float = 0.0
    std: float = 1.0

    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real(self.mean, "mean"))
        object.__setattr__(self, "std", real(self.std, "std", above=0))

    def names(self, name: str) -> list[str]:
        """Return its name."""
        return [name]

    def write(self, value: Any, numbers: list[float], start: int) -> None:
        """Write the number of a value."""
        numbers[start] = (_finite_number(value, "a number") - self.mean) / self.std


class _KnownValues:
    """Known values: one number for each, 1 where it is given."""

    def __init__(self, *values: str | int) -> None:
        kinds = {str if isinstance(value, str) else int for value in values}
        is_valid = all(isinstance(value, str | int) for value in values)
        if not values or not is_valid or len(kinds) > 1 or len(set(values)) != len(values):
            raise ValueError(
                f"values: expected different strings, or different integers, got {values!r}"
            )
        self.values = values
        self._type: type[str | int] = kinds.pop()
        self._index = {value: index for index, value in enumerate(values)}

    @property
    def size(self) -> int:
        """How many are known."""
        return len(self.values)

    def names(self, name: str) -> list[str]:
        """Return a name for each."""
        return [f"{name}={value}" for value in self.values]

    def __getnewargs_ex__(self) -> tuple[tuple[str | int, ...], dict[str, Any]]:
        return self.values, {}

    def _mark(self, value: Any, numbers: list[float], start: int) -> None:
        """Write a 1 for a value that is known; any other leaves zeros."""
        if isinstance(value, np.integer) or (
            self._type is int and isinstance(value, float) and value.is_integer()
        ):
            value = int(value)  # frames hold integers as floats where some are missing
        if not isinstance(value, self._type):
            raise TypeError("a string" if self._type is str else "an integer")
        index = self._index.get(value)
        if index is not None:
            numbers[start + index] = 1.0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values == other.values

    def __hash__(self) -> int:
        return hash((type(self), self.values))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class Category(_KnownValues):
    """One of some values; zeros for any other, and for a missing one.

    Examples
    --------
    >>> import mogro
    >>> country = mogro.Encoder(country=mogro.Category("DE", "FR"))
    >>> country([{"country": "FR"}, {"country": "XX"}]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    def write(self, value: Any, numbers: list[float], start: int) -> None:
        """Write a 1 for the value."""
        self._mark(value, numbers, start)


class Tags(_KnownValues):
    """Any number of some values; others are left out.

    Examples
    --------
    >>> import mogro
    >>> mogro.Encoder(tags=mogro.Tags("sport", "news"))({"tags": ["news", "cats"]}).tolist()
    [0.0, 1.0]
    """

    def write(self, value: Any, numbers: list[float], start: int) -> None:
        """Write a 1 for each of the values."""
        if not isinstance(value, Sequence | Set | np.ndarray) or isinstance(value, str | bytes):
            raise TypeError("a list of tags")
        for tag in value:
            self._mark(tag, numbers, start)


@dataclass(frozen=True)
class Vector:
    """Some numbers that stay as they are; a missing vector is zero.

    Examples
    --------
    >>> import mogro
    >>> mogro.Encoder(taste=mogro.Vector(2))({"taste": [0.5, 1.5]}).tolist()
    [0.5, 1.5]
    """

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", count(self.size, "size"))

    def names(self, name: str) -> list[str]:
        """Return a name for each."""
        return [f"{name}[{index}]" for index in range(self.size)]

    def write(self, value: Any, numbers: list[float], start: int) -> None:
        """Write the numbers."""
        expected, is_list = f"{self.size} numbers", isinstance(value, Sequence | np.ndarray)
        if not is_list or isinstance(value, str | bytes) or len(value) != self.size:
            raise TypeError(expected)
        numbers[start : start + self.size] = [_finite_number(number, expected) for number in value]


def _finite_number(value: Any, expected: str) -> float:
    try:
        if isinstance(value, Real | np.bool_) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond every float
        pass
    raise TypeError(expected)


def fit_column(name: str, values: list[Any], max_values: int) -> Column:
    """Return the column for values of a sample."""
    kinds = {_kind(value) for value in values}
    if len(kinds) != 1 or kinds == {"other"}:
        type_names = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"{name}: expected values of one kind (numbers, strings, lists of strings or lists of "
            f"numbers), got {type_names or 'none at all'}"
        )
    kind = kinds.pop()
    if kind == "number":
        numbers = np.array(values, dtype=np.float64)
        std = float(numbers.std())
        is_constant = std <= 1e-12 * float(np.abs(numbers).max())
        return Number(float(numbers.mean()), 1.0 if is_constant else std)
    if kind == "category":
        return Category(*_most_frequent(values, max_values))
    if kind == "tags":
        return Tags(*_most_frequent(chain.from_iterable(values), max_values))
    sizes = {len(value) for value in values}
    if len(sizes) != 1:
        raise ValueError(f"{name}: expected vectors of one size, got sizes {sorted(sizes)[:5]}")
    return Vector(sizes.pop())


def _kind(value: Any) -> str:
    if isinstance(value, Real | np.bool_):
        return "number"
    if isinstance(value, str):
        return "category"
    if isinstance(value, Sequence | Set | np.ndarray) and len(value):
        if all(isinstance(item, str) for item in value):
            return "tags"
        if not isinstance(value, Set) and all(isinstance(item, Real) for item in value):
            return "vector"
    return "other"


def _most_frequent(values: Iterable[str], max_values: int) -> list[str]:
    """Return the most frequent values, in the order of the alphabet."""
    counts = Counter(sorted(map(str, values)))  # of equal ones the first in the alphabet
    return sorted(value for value, _ in counts.most_common(max_values))
