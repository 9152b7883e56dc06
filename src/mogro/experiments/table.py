"""Tables: columns of equal length, written to CSV so that reading gives the very same numbers."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._files import write_whole

Value = str | int | float
Table = Mapping[str, NDArray[Any]]


def table(names: Sequence[str], rows: Iterable[Sequence[Value]]) -> Table:
    """Return a table from its rows."""
    listed = list(rows)
    return {name: np.array([row[i] for row in listed]) for i, name in enumerate(names)}


def select(data: Table, **wanted: Value) -> Table:
    """Return the rows in which columns have the given values."""
    length = len(next(iter(data.values())))
    keep = np.ones(length, dtype=bool)
    for name, value in wanted.items():
        keep &= data[name] == value
    return {name: column[keep] for name, column in data.items()}


def distinct(data: Table, *names: str) -> list[tuple[Any, ...]]:
    """Return the different values of some columns, in the order in which they first come."""
    columns = [data[name].tolist() for name in names]
    return list(dict.fromkeys(zip(*columns, strict=True)))


def write(path: Path, data: Table) -> None:
    """Write a table as CSV, as a whole or not at all."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(data)
    # repr of a float is the shortest text that gives the same float again
    columns = [
        [repr(v) if isinstance(v, float) else v for v in column.tolist()]
        for column in data.values()
    ]
    out.writerows(zip(*columns, strict=True))
    with write_whole(path, parents=True) as file:
        file.write(text.getvalue().encode())


def read(path: Path) -> Table:
    """Read a table that :func:`write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}


def _column(texts: list[str]) -> NDArray[Any]:
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except ValueError:
            continue
    return np.array(texts)
