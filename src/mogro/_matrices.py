"""Matrices from files that people have: NumPy's own, and CSV."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats


def read_matrix(path: Path, name: str, *, stack: bool = False) -> FloatArray:
    r"""Read a matrix from a ``.npy`` file or a table of numbers in a ``.csv`` file.

    A CSV file may start with a line of names, and separate values by commas, semicolons or tabs.
    ``name`` is what a refusal calls the matrix. With ``stack``, a ``.npy`` file may also hold
    several of them, (n, rows, columns).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "arms.csv"
    ...     _ = path.write_text("price,age\n1.5,0\n2,1\n")
    ...     read_matrix(path, "features")
    array([[1.5, 0. ],
           [2. , 1. ]])
    """
    readers: dict[str, Callable[[Path], ArrayLike]] = {".npy": _npy, ".csv": _csv}
    if (reader := readers.get(path.suffix.lower())) is None:
        raise ValueError(f"{name}: expected a .npy or .csv file, got {path.name}")
    try:
        values = reader(path)
        stacked = stack and np.ndim(values) == 3
        shape = ("matrices", "rows", "columns") if stacked else ("rows", "columns")
        return floats(values, name, shape=shape).astype(np.float64)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name}: {path.name} cannot be read: {error}") from error
    except (MemoryError, OverflowError) as error:
        raise ValueError(f"{name}: {path.name} is damaged, or too large") from error
    except ValueError as error:
        told = str(error).removeprefix(f"{name}: ")
        raise ValueError(f"{name}: {path.name}: {told}") from error


def _npy(path: Path) -> ArrayLike:
    # Not np.load, which takes a zip file of several arrays for one.
    with path.open("rb") as file:
        loaded: ArrayLike = np.lib.format.read_array(file, allow_pickle=False)
    return loaded


def _csv(path: Path) -> list[list[float]]:
    text = path.read_text(encoding="utf-8-sig")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = [
        (number, [cell.strip() for cell in row])
        for number, row in enumerate(csv.reader(text.splitlines(), delimiter=separator), start=1)
        if any(cell.strip() for cell in row)
    ]
    if rows and not any(map(_is_number, rows[0][1])):
        del rows[0]  # names
    if not rows:
        raise ValueError("expected a table of numbers, got none")
    for number, row in rows:
        if len(row) != len(rows[0][1]):
            raise ValueError(
                f"expected {len(rows[0][1])} values in every line, got {len(row)} in line {number}"
            )
        for cell in row:
            if not _is_number(cell):
                raise ValueError(f"expected numbers, got {cell!r} in line {number}")
    return [[float(cell) for cell in row] for _, row in rows]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
