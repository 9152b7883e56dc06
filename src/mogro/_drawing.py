"""Small drawings for pages, as SVG: lines with bands, and points."""

import math
from collections.abc import Iterable, Sequence
from itertools import cycle, repeat
from typing import NamedTuple

import numpy as np

from mogro._page import escape
from mogro._validation import FloatArray

# The colours of Okabe and Ito, which colour-blind readers can tell apart; also in _page.css.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_WIDTH, _HEIGHT = 420.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 12.0, 40.0
_DOTS = 30  # a line of fewer points shows them


class Series(NamedTuple):
    """A line of a drawing, with a band where its interval is known; or points, with a name each.

    Points may have intervals along both axes, (n, 2, 2). Faint ones show where many are.
    """

    label: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    names: Sequence[str] = ()
    intervals: FloatArray | None = None
    faint: bool = False


def draw(caption: str, series: Sequence[Series], *, x: str, y: str) -> str:
    """Draw lines with their bands, and points; return a figure."""
    x_values, y_values = [line.x for line in series], [line.y for line in series]
    for line in series:
        y_values += [part for part in (line.low, line.high) if part is not None]
        if line.intervals is not None:
            x_values.append(line.intervals[:, 0].ravel())
            y_values.append(line.intervals[:, 1].ravel())
    frame = _Frame(np.concatenate(x_values), np.concatenate(y_values))
    elements, legend = [*frame.x_axis(x), *frame.y_axis(y)], []
    for line, (index, colour) in zip(series, cycle(enumerate(_COLOURS)), strict=False):
        finite = np.isfinite(line.y)
        if line.low is not None and line.high is not None:
            has_band = finite & np.isfinite(line.low) & np.isfinite(line.high)
            xs, low, high = line.x[has_band], line.low[has_band], line.high[has_band]
            outline = frame.path([*xs, *xs[::-1]], [*low, *high[::-1]])
            elements.append(f'<path d="{outline}Z" fill="{colour}" fill-opacity=".15"/>')
        if not line.names:
            path = frame.path(line.x[finite], line.y[finite])
            elements.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if line.names or finite.sum() < _DOTS:
            points = zip(line.x[finite], line.y[finite], line.names or repeat(""), strict=False)
            elements += [frame.point(*point, colour, faint=line.faint) for point in points]
        if line.intervals is not None:
            for point in zip(line.x, line.y, line.intervals, strict=True):
                elements.append(frame.error_bars(*point, colour))
        if line.label:
            legend.append(f'<span><i class="colour{index}"></i>{escape(line.label)}</span>')
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(caption)}">'
        f'{"".join(elements)}</svg><div class="key">{"".join(legend)}</div></figure>'
    )


class _Frame:
    """The axes of a drawing: from data to pixels."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.left, self.right = _padded_range(x, 0.03)
        self.low, self.high = _padded_range(y, 0.05)

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        x_share = (x - self.left) / (self.right - self.left)
        y_share = (y - self.low) / (self.high - self.low)
        y_pixels = _HEIGHT - _BOTTOM - y_share * (_HEIGHT - _TOP - _BOTTOM)
        return _LEFT + x_share * (_WIDTH - _LEFT - _RIGHT), y_pixels

    def path(self, x: Iterable[float], y: Iterable[float]) -> str:
        corners = (self.to_pixels(a, b) for a, b in zip(x, y, strict=True))
        return "".join(f"{'L' if i else 'M'}{a:.1f} {b:.1f}" for i, (a, b) in enumerate(corners))

    def point(self, x: float, y: float, name: str, colour: str, *, faint: bool) -> str:
        px, py = self.to_pixels(x, y)
        title = f"<title>{escape(name)}</title>" if name else ""
        style = f'r="3" fill="{colour}"' + (' fill-opacity=".2"' if faint else "")
        return f'<circle cx="{px:.1f}" cy="{py:.1f}" {style}>{title}</circle>'

    def error_bars(self, x: float, y: float, intervals: FloatArray, colour: str) -> str:
        """Draw the intervals of a point, (2, 2)."""
        lines = self.path(intervals[0], [y, y]) + self.path([x, x], intervals[1])
        return f'<path d="{lines}" stroke="{colour}" stroke-opacity=".5"/>'

    def x_axis(self, label: str) -> list[str]:
        attributes = f'x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle"'
        elements = [f"<text {attributes}>{escape(label)}</text>"]
        for value in _ticks(self.left, self.right):
            px, _ = self.to_pixels(value, self.low)
            attributes = f'x="{px:.1f}" y="{_HEIGHT - _BOTTOM + 15:.1f}" text-anchor="middle"'
            elements.append(f'<text {attributes} class="tick">{value:.4g}</text>')
        return elements

    def y_axis(self, label: str) -> list[str]:
        elements = []
        for value in _ticks(self.low, self.high):
            _, py = self.to_pixels(self.left, value)
            elements.append(f'<path d="M{_LEFT} {py:.1f}H{_WIDTH - _RIGHT}" stroke="#e6e6e6"/>')
            attributes = f'x="{_LEFT - 6}" y="{py + 4:.1f}" text-anchor="end"'
            elements.append(f"<text {attributes}>{value:.4g}</text>")
        rotation = f"translate(11 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)"
        title = f'<text transform="{rotation}" text-anchor="middle">{escape(label)}</text>'
        return [*elements, title]


def _padded_range(values: FloatArray, pad: float) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = pad * (high - low)
    if high - low <= 1e-9 * abs(high):  # equal, but for rounding
        margin = 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Return some round numbers in a span."""
    rough_step = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough_step)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]
