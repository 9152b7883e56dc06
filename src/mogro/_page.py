"""Pages that open from a file: templates, and the tables in them. They load nothing else."""

import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import FloatArray

_UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
_PERIODS = 12  # of a drawing
_CLOCK = 1e9  # seconds: times beyond are those of a clock

STYLE = Path(__file__).with_name("_page.css")


def fill(template: Path, **parts: str) -> str:
    """Return a template with HTML in the places of its names."""
    return Template(template.read_text(encoding="utf-8")).substitute(parts)


def text(value: object) -> str:
    """Return something as text of a page."""
    return html.escape(str(value))


def messages(warnings: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return what a reader has to know first."""
    shown = [f'<p class="warning">{text(words)}</p>' for words in warnings]
    return "".join([*shown, *(f'<p class="note">{text(words)}</p>' for words in notes)])


def table(label: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a label for those who do not see it; numbers have four digits."""
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{_cell(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    opening = f'<table aria-label="{text(label)}">'
    return f"{opening}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def interval(value: float, bounds: ArrayLike) -> str:
    """Return a number with its interval, in words where there is none."""
    low, high = np.asarray(bounds, dtype=float)
    return "no estimate" if math.isnan(value) else f"{value:.4g} [{low:.4g}, {high:.4g}]"


def duration(seconds: float) -> str:
    """Return a time in words, in a unit that suits it."""
    name, unit = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{seconds / unit:.2g} {name}"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else text(value)


class Periods(NamedTuple):
    """Periods of a clock: edges, where they are drawn, and what they are."""

    edges: FloatArray
    middles: FloatArray
    label: str

    def number(self, clock: FloatArray) -> NDArray[np.intp]:
        """Return the numbers of the periods that times are in."""
        indices = np.searchsorted(self.edges, clock, side="right") - 1
        return np.clip(indices, 0, len(self.middles) - 1)


def periods(low: float, high: float, *, timed: bool) -> Periods:
    """Return periods from a time to another; of a clock they are so long ago."""
    edges = np.linspace(low, high, (_PERIODS if high > low else 1) + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    if not (timed and high > _CLOCK):
        return Periods(edges, middles, "time" if timed else "decision")
    name, unit = next((each for each in _UNITS if high - low >= 2 * each[1]), _UNITS[-1])
    return Periods(edges, (middles - high) / unit, f"{name} ago")


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal, its columns aligned."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (heads, *rows)]
    return "\n".join(lines)
