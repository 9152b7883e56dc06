"""Tables: columns of equal length, written to CSV so that reading gives the very same numbers."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Value = str | int | float
Table = Mapping[str, NDArray[Any]]


def table(names: Sequence[str], rows: Iterable[Sequence[Value]]) -> Table:
    """Return a table from its rows."""
    columns = list(rows)
    return {name: np.array([row[i] for row in columns]) for i, name in enumerate(names)}


def select(data: Table, **criteria: Value) -> Table:
    """Return the rows in which columns have the given values."""
    length = len(next(iter(data.values())))
    keep = np.ones(length, dtype=bool)
    for name, value in criteria.items():
        keep &= data[name] == value
    return {name: column[keep] for name, column in data.items()}


def distinct(data: Table, *names: str) -> list[tuple[Any, ...]]:
    """Return the different values of some columns, in the order in which they first come."""
    columns = [data[name].tolist() for name in names]
    return list(dict.fromkeys(zip(*columns, strict=True)))


def to_csv(data: Table) -> bytes:
    """Return a table as CSV."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")  # writes the shortest text that gives a float again
    out.writerow(data)
    out.writerows(zip(*(column.tolist() for column in data.values()), strict=True))
    return text.getvalue().encode()


def from_csv(content: bytes) -> Table:
    """Return the table that :func:`to_csv` was given."""
    names, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    return {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}


def _column(texts: list[str]) -> NDArray[Any]:
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except ValueError:
            continue
    return np.array(texts)
