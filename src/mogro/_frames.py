"""Columns of equal length, as a frame of pandas or polars and as CSV."""

import csv
import importlib
import io
import os
import sys
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from mogro._files import write_atomically

Columns = Mapping[str, NDArray[Any]]


def to_frame(columns: Columns) -> Any:
    """Return a data frame of pandas or polars: of what was imported, else of what is there."""
    for name in sorted(("pandas", "polars"), key=lambda name: name not in sys.modules):
        try:
            frames = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        return frames.DataFrame(dict(columns))
    raise ImportError("data frames need pandas or polars: pip install pandas")


def to_csv(columns: Columns) -> bytes:
    """Return columns as CSV; reading it gives the very same numbers."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(columns)
    # repr of a float is the shortest text that gives the same float again
    values = [
        [repr(v) if isinstance(v, float) else v for v in column.tolist()]
        for column in columns.values()
    ]
    out.writerows(zip(*values, strict=True))
    return text.getvalue().encode()


def write_csv(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write columns as a CSV file, as a whole or not at all."""
    with write_atomically(path) as file:
        file.write(to_csv(columns))
