"""From records to numbers: what a database row says, as features, and by which names.

Records are mappings from names to values; frames of pandas, polars and pyarrow are read with
narwhals, an extra. An encoder is plain data and can be written as JSON.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mogro._validation import FloatArray, count, real

Record = Mapping[str, Any]


class Column(Protocol):
    """What becomes of the values of one name."""

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """How many numbers a value becomes."""
        ...

    def names(self, name: str) -> list[str]:
        """Return what these numbers are called."""
        ...

    def put(self, value: Any, into: list[float], start: int) -> None:
        """Write the numbers of a value that is not missing over zeros, from a place on."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """Return the arguments as JSON can hold them, by name."""
        ...


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

    kind: ClassVar[str] = "number"
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", real(self.mean, "mean"))
        object.__setattr__(self, "std", real(self.std, "std", above=0))

    def names(self, name: str) -> list[str]:
        """Return its name."""
        return [name]

    def put(self, value: Any, into: list[float], start: int) -> None:
        """Write the number of a value."""
        into[start] = (_finite(value, "a number") - self.mean) / self.std

    def to_plain(self) -> dict[str, Any]:
        """Return mean and std."""
        return {"mean": self.mean, "std": self.std}


class _Listed:
    """Known values: one number for each, 1 where it is given."""

    kind: ClassVar[str]

    def __init__(self, *values: str | int) -> None:
        kinds = {str if isinstance(value, str) else int for value in values}
        plain = all(isinstance(value, str | int) for value in values)
        if not values or not plain or len(kinds) > 1 or len(set(values)) != len(values):
            raise ValueError(
                f"values: expected different strings, or different integers, got {values!r}"
            )
        self.values = values
        self._type: type[str | int] = kinds.pop()
        self._places = {value: place for place, value in enumerate(values)}

    @property
    def size(self) -> int:
        """How many are known."""
        return len(self.values)

    def names(self, name: str) -> list[str]:
        """Return a name for each."""
        return [f"{name}={value}" for value in self.values]

    def to_plain(self) -> dict[str, Any]:
        """Return the values."""
        return {"values": list(self.values)}

    def _mark(self, value: Any, into: list[float], start: int) -> None:
        """Write a 1 for a value that is known; any other leaves zeros."""
        if type(value) is str and self._type is str:
            pass  # as usual
        elif isinstance(value, np.integer):
            value = int(value)
        elif self._type is int and isinstance(value, float) and value.is_integer():
            value = int(value)  # as frames hold integers where some are missing
        if not isinstance(value, self._type):
            wanted = "a string" if self._type is str else "an integer"
            raise TypeError(wanted)
        place = self._places.get(value)
        if place is not None:
            into[start + place] = 1.0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values == other.values

    def __hash__(self) -> int:
        return hash((self.kind, self.values))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class Category(_Listed):
    """One of some values; zeros for any other, and for a missing one.

    Examples
    --------
    >>> import mogro
    >>> country = mogro.Encoder(country=mogro.Category("DE", "FR"))
    >>> country([{"country": "FR"}, {"country": "XX"}]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    kind = "category"

    def put(self, value: Any, into: list[float], start: int) -> None:
        """Write a 1 for the value."""
        self._mark(value, into, start)


class Tags(_Listed):
    """Any number of some values; others are left out.

    Examples
    --------
    >>> import mogro
    >>> mogro.Encoder(tags=mogro.Tags("sport", "news"))({"tags": ["news", "cats"]}).tolist()
    [0.0, 1.0]
    """

    kind = "tags"

    def put(self, value: Any, into: list[float], start: int) -> None:
        """Write a 1 for each of the values."""
        if not isinstance(value, Sequence | Set | np.ndarray) or isinstance(value, str | bytes):
            raise TypeError("a list of tags")
        for one in value:
            self._mark(one, into, start)


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

    kind: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", count(self.size, "size"))

    def names(self, name: str) -> list[str]:
        """Return a name for each."""
        return [f"{name}[{place}]" for place in range(self.size)]

    def put(self, value: Any, into: list[float], start: int) -> None:
        """Write the numbers."""
        wanted = f"{self.size} numbers"
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
            raise TypeError(wanted)
        if len(value) != self.size:
            raise TypeError(wanted)
        into[start : start + self.size] = [_finite(one, wanted) for one in value]

    def to_plain(self) -> dict[str, Any]:
        """Return the size."""
        return {"size": self.size}


_KINDS: dict[str, Callable[[dict[str, Any]], Column]] = {
    Number.kind: lambda plain: Number(**plain),
    Category.kind: lambda plain: Category(*plain["values"]),
    Tags.kind: lambda plain: Tags(*plain["values"]),
    Vector.kind: lambda plain: Vector(**plain),
}


class Encoder:
    """Turns records into features: each name of a record by a rule of its own.

    Parameters
    ----------
    columns
        By name: :class:`~mogro.Number`, :class:`~mogro.Category`, :class:`~mogro.Tags` or
        :class:`~mogro.Vector`.

    Notes
    -----
    A value that is missing (absent, None or NaN) becomes zeros, which is the mean of a number. So
    does a category that is not known, and a tag that is not known is left out. A name that is not
    known, and a value of the wrong type, are refused by name.

    Examples
    --------
    >>> import mogro
    >>> users = mogro.Encoder(
    ...     age=mogro.Number(mean=40, std=15),
    ...     country=mogro.Category("DE", "FR", "US"),
    ...     tags=mogro.Tags("sport", "news"),
    ... )
    >>> users({"age": 31, "country": "DE", "tags": ["news"]}).tolist()
    [-0.6, 1.0, 0.0, 0.0, 0.0, 1.0]
    >>> users.names
    ('age', 'country=DE', 'country=FR', 'country=US', 'tags=sport', 'tags=news')
    >>> users([{}, {"age": 55}]).tolist()
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, **columns: Column) -> None:
        if not columns:
            raise ValueError("columns: expected at least one, such as age=mogro.Number()")
        for name, column in columns.items():
            if not isinstance(column, Number | Category | Tags | Vector):
                raise ValueError(
                    f"{name}: expected a mogro.Number, Category, Tags or Vector, got {column!r}"
                )
        ends = np.cumsum([column.size for column in columns.values()]).tolist()
        self.size: int = ends[-1]
        self._columns = dict(columns)
        self._starts = {
            name: end - column.size
            for (name, column), end in zip(columns.items(), ends, strict=True)
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called, C of them."""
        return tuple(part for name, column in self._columns.items() for part in column.names(name))

    def __call__(self, records: Record | Sequence[Record] | Any) -> FloatArray:
        """Return the numbers of a record, (C,), or of n records or the rows of a frame, (n, C)."""
        if isinstance(records, Mapping):
            return np.array(self._encode(records))
        table = []
        for number, record in enumerate(_rows(records)):
            try:
                table.append(self._encode(record))
            except ValueError as error:
                raise ValueError(f"record {number}: {error}") from None
        return np.array(table, dtype=np.float64).reshape(len(table), self.size)

    def _encode(self, record: Record) -> list[float]:
        numbers = [0.0] * self.size
        for name, value in record.items():
            column = self._columns.get(name)
            if column is None:
                raise ValueError(f"{name}: unknown; expected {', '.join(self._columns)}")
            if _is_missing(value):
                continue
            try:
                column.put(value, numbers, self._starts[name])
            except TypeError as wanted:
                raise ValueError(f"{name}: expected {wanted}, got {value!r}") from None
        return numbers

    @classmethod
    def fit(cls, sample: Sequence[Record] | Any, *, categories: int = 50) -> Self:
        """Make an encoder for records like those of a sample, or for frames like one.

        Numbers get the mean and the standard deviation of the sample, strings become categories,
        lists of strings tags, lists of numbers vectors.

        Parameters
        ----------
        sample
            Records or a frame.
        categories
            How many categories and tags of one name to keep, the most frequent ones.

        Examples
        --------
        >>> import mogro
        >>> mogro.Encoder.fit([{"age": 30, "country": "DE"}, {"age": 50, "country": "FR"}])
        Encoder(age=Number(mean=40.0, std=10.0), country=Category('DE', 'FR'))
        """
        most = count(categories, "categories")
        values: dict[str, list[Any]] = {}
        for row in _rows([sample] if isinstance(sample, Mapping) else sample):
            for name, value in row.items():
                values.setdefault(name, [])
                empty = isinstance(value, Sequence | Set | np.ndarray) and not len(value)
                if not _is_missing(value) and not empty:  # a list of no tags says nothing
                    values[name].append(value)
        return cls(**{name: _fitted(name, given, most) for name, given in values.items()})

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it.

        Examples
        --------
        >>> import mogro
        >>> mogro.Encoder(age=mogro.Number(mean=40, std=15)).to_plain()
        {'age': {'kind': 'number', 'mean': 40.0, 'std': 15.0}}
        """
        return {
            name: {"kind": column.kind} | column.to_plain()
            for name, column in self._columns.items()
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Mapping[str, Any]]) -> Self:
        """Make again what :meth:`to_plain` gave."""
        columns = {}
        for name, given in plain.items():
            arguments = dict(given)
            kind = arguments.pop("kind", None)
            if kind not in _KINDS:
                raise ValueError(f"{name}: expected a kind of {list(_KINDS)}, got {kind!r}")
            columns[name] = _KINDS[kind](arguments)
        return cls(**columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoder):
            return NotImplemented
        return list(self._columns.items()) == list(other._columns.items())

    def __hash__(self) -> int:
        return hash(tuple(self._columns.items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={column!r}" for name, column in self._columns.items())
        return f"Encoder({shown})"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


def _finite(value: Any, wanted: str) -> float:
    if type(value) is not float and not isinstance(value, Real | np.bool_):
        raise TypeError(wanted)
    number = float(value)
    if not math.isfinite(number):
        raise TypeError(wanted)
    return number


def _fitted(name: str, values: list[Any], most: int) -> Column:
    """Return the column for values of a sample."""
    kinds = {_kind(value) for value in values}
    if len(kinds) != 1 or kinds == {"other"}:
        some = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"{name}: expected values of one kind (numbers, strings, lists of strings or lists of "
            f"numbers), got {some or 'none at all'}"
        )
    kind = kinds.pop()
    if kind == "number":
        numbers = np.array(values, dtype=np.float64)
        spread = float(numbers.std())
        constant = spread <= 1e-12 * float(np.abs(numbers).max())
        return Number(float(numbers.mean()), 1.0 if constant else spread)
    if kind == "category":
        return Category(*_frequent(values, most))
    if kind == "tags":
        return Tags(*_frequent((tag for tags in values for tag in tags), most))
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
        if all(isinstance(one, str) for one in value):
            return "tags"
        if not isinstance(value, Set) and all(isinstance(one, Real) for one in value):
            return "vector"
    return "other"


def _frequent(values: Iterable[str], most: int) -> list[str]:
    """Return the most frequent values, in the order of the alphabet."""
    times = Counter(map(str, values))
    return sorted(sorted(times, key=lambda value: (-times[value], value))[:most])


def _rows(records: Any) -> Iterator[Record]:
    """Yield the records of a list or the rows of a frame."""
    if isinstance(records, list | tuple):
        for number, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise ValueError(f"record {number}: expected a mapping, got {record!r}")
            yield record
        return
    if not hasattr(records, "columns"):
        raise ValueError(
            "records: expected a mapping, a list of mappings or a data frame, got "
            f"{type(records).__name__}"
        )
    try:
        import narwhals
    except ImportError:
        raise ImportError(
            "records: data frames are read with narwhals, which is not installed; "
            "pip install mogro[frames]"
        ) from None
    try:
        frame = narwhals.from_native(records, eager_only=True)
    except TypeError as error:
        raise ValueError(
            f"records: expected a frame of pandas, polars or pyarrow, got {type(records).__name__}"
        ) from error
    columns = [_values(frame[name]) for name in frame.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(frame.columns, row, strict=True))


def _values(series: Any) -> list[Any]:
    """Return the values of a column, None where there is none."""
    missing = series.is_null().to_list()
    return [None if gone else value for value, gone in zip(series.to_list(), missing, strict=True)]
