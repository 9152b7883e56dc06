"""Encoders: from records, such as rows of a database, to features with names.

Records are mappings from names to values; frames of pandas, polars and pyarrow are read with
narwhals, an extra. An encoder is plain data and can be written as JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np

from mogro._validation import FloatArray, count
from mogro.agent.features.columns import Category, Column, Number, Tags, Vector, fit_column

Record = Mapping[str, Any]


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
        self.columns = dict(columns)
        # Where the numbers of each column stand.
        self.slices = dict(zip(columns, map(slice, [0, *ends], ends), strict=True))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called, C of them."""
        return tuple(label for name, column in self.columns.items() for label in column.names(name))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """What the numbers belong to, C of them: a column, or the numbers, which are one group."""
        return tuple(
            "numbers" if isinstance(column, Number) else name
            for name, column in self.columns.items()
            for _ in range(column.size)
        )

    def __call__(self, records: Record | Sequence[Record] | Any) -> FloatArray:
        """Return the numbers of a record, (C,), or of n records or the rows of a frame, (n, C)."""
        if isinstance(records, Mapping):
            return np.array(self._encode(records))
        table = []
        for number, record in enumerate(_iterate_records(records)):
            try:
                table.append(self._encode(record))
            except ValueError as error:
                raise ValueError(f"record {number}: {error}") from None
        return np.array(table, dtype=np.float64).reshape(-1, self.size)

    def encode_known_columns(self, records: Sequence[Record]) -> FloatArray:
        """Return the numbers of n records, (n, C), that other encoders have read, perhaps.

        What this one has no column for is left out.
        """
        return self([{k: v for k, v in row.items() if k in self.columns} for row in records])

    def unknown_values(self, record: Record) -> Iterator[tuple[str, str | int]]:
        """Yield categories and tags that are not known, with the names of their columns."""
        for name, value in record.items():
            column = self.columns.get(name)
            if isinstance(column, Category | Tags) and not _is_missing(value):
                values = [value] if isinstance(column, Category) else value
                yield from ((name, item) for item in values if item not in column.values)

    def _encode(self, record: Record) -> list[float]:
        numbers = [0.0] * self.size
        for name, value in record.items():
            column = self.columns.get(name)
            if column is None:
                raise ValueError(f"{name}: unknown; expected {', '.join(self.columns)}")
            if _is_missing(value):
                continue
            try:
                column.write(value, numbers, self.slices[name].start)
            except TypeError as expected:
                raise ValueError(f"{name}: expected {expected}, got {value!r}") from None
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
        limit = count(categories, "categories")
        values: dict[str, list[Any]] = {}
        for row in _iterate_records([sample] if isinstance(sample, Mapping) else sample):
            for name, value in row.items():
                values.setdefault(name, [])
                is_empty = isinstance(value, Sequence | Set | np.ndarray) and not len(value)
                if not _is_missing(value) and not is_empty:  # a list of no tags says nothing
                    values[name].append(value)
        return cls(**{name: fit_column(name, sample, limit) for name, sample in values.items()})

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Column]]:
        return (), self.columns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoder):
            return NotImplemented
        return list(self.columns.items()) == list(other.columns.items())

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={column!r}" for name, column in self.columns.items())
        return f"Encoder({arguments})"


def record_text(record: Record) -> str:
    """Return a record that an encoder has read as JSON; what that holds encodes to the same bits.

    Examples
    --------
    >>> record_text({"age": np.float32(31), "tags": {"b", "a"}})
    '{"age":31.0,"tags":["a","b"]}'
    """
    return _to_json({name: value for name, value in record.items() if not _is_missing(value)})


def parse_record(text: str | None) -> dict[str, Any] | None:
    """Return the record that :func:`record_text` was given; None if there is no text."""
    return None if not text else dict(json.loads(text))


def _plain_value(value: Any) -> Any:
    """Return what JSON can hold of a value that a column takes."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Set):
        return sorted(value)
    if isinstance(value, Sequence):
        return list(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{type(value).__name__}: expected what an encoder takes, got {value!r}")


_to_json = json.JSONEncoder(separators=(",", ":"), default=_plain_value).encode


def read_records(records: Any) -> list[Record] | None:
    """Return records, or the rows of a frame, as a list; None if it is neither."""
    first_record = records[0] if isinstance(records, list | tuple) and records else records
    is_list = isinstance(first_record, Mapping) and first_record is not records
    return list(_iterate_records(records)) if is_list or hasattr(first_record, "columns") else None


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


def _iterate_records(records: Any) -> Iterator[Record]:
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
        raise ImportError("records: data frames need narwhals: pip install narwhals") from None
    try:
        frame = narwhals.from_native(records, eager_only=True)
    except TypeError as error:
        raise ValueError(
            f"records: expected a frame of pandas, polars or pyarrow, got {type(records).__name__}"
        ) from error
    columns = [_column_values(frame[name]) for name in frame.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(frame.columns, row, strict=True))


def _column_values(series: Any) -> list[Any]:
    """Return the values of a column, None where there is none."""
    missing_mask = series.is_null().to_list()
    pairs = zip(series.to_list(), missing_mask, strict=True)
    return [None if is_missing else value for value, is_missing in pairs]
