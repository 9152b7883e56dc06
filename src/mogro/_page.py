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


def fill_template(template: Path, **parts: str) -> str:
    """Return a template with HTML in the places of its names."""
    return Template(template.read_text(encoding="utf-8")).substitute(parts)


def escape(value: object) -> str:
    """Return something as text of a page."""
    return html.escape(str(value))


def paragraphs(warnings: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return warnings and notes as paragraphs."""
    parts = [f'<p class="warning">{escape(message)}</p>' for message in warnings]
    return "".join([*parts, *(f'<p class="note">{escape(message)}</p>' for message in notes)])


def html_table(label: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a label for those who do not see it; numbers have four digits."""
    header_cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers)
    body_rows = "".join(
        "<tr>" + "".join(f'<td class="number">{_cell(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    opening = f'<table aria-label="{escape(label)}">'
    return f"{opening}<thead><tr>{header_cells}</tr></thead><tbody>{body_rows}</tbody></table>"


def format_interval(value: float, bounds: ArrayLike) -> str:
    """Return a number with its interval, in words where there is none."""
    low, high = np.asarray(bounds, dtype=float)
    return "no estimate" if math.isnan(value) else f"{value:.4g} [{low:.4g}, {high:.4g}]"


def format_duration(seconds: float) -> str:
    """Return a time in words, in a unit that suits it."""
    name, unit = next((entry for entry in _UNITS if seconds >= entry[1]), _UNITS[-1])
    return f"{seconds / unit:.2g} {name}"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(value)


class Periods(NamedTuple):
    """Periods of a clock: edges, where they are drawn, and what they are."""

    edges: FloatArray
    middles: FloatArray
    label: str

    def indices(self, clock: FloatArray) -> NDArray[np.intp]:
        """Return the numbers of the periods that times are in."""
        indices = np.searchsorted(self.edges, clock, side="right") - 1
        return np.clip(indices, 0, len(self.middles) - 1)


def make_periods(low: float, high: float, *, has_times: bool) -> Periods:
    """Return periods from a time to another; of a clock they are so long ago."""
    edges = np.linspace(low, high, (_PERIODS if high > low else 1) + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    if not (has_times and high > _CLOCK):
        return Periods(edges, middles, "time" if has_times else "decision")
    name, unit = next((entry for entry in _UNITS if high - low >= 2 * entry[1]), _UNITS[-1])
    return Periods(edges, (middles - high) / unit, f"{name} ago")


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal, its columns aligned."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (headers, *rows)]
    return "\n".join(lines)
