"""Small drawings for pages, as SVG: lines with bands, and points."""

import math
from collections.abc import Iterable, Sequence
from itertools import cycle, repeat
from typing import NamedTuple

import numpy as np

from mogro._page import text
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
    across, up = [line.x for line in series], [line.y for line in series]
    for line in series:
        up += [part for part in (line.low, line.high) if part is not None]
        if line.intervals is not None:
            across.append(line.intervals[:, 0].ravel())
            up.append(line.intervals[:, 1].ravel())
    frame = _Frame(np.concatenate(across), np.concatenate(up))
    drawn, key = [*frame.x_axis(x), *frame.y_axis(y)], []
    for line, (index, colour) in zip(series, cycle(enumerate(_COLOURS)), strict=False):
        finite = np.isfinite(line.y)
        if line.low is not None and line.high is not None:
            band = finite & np.isfinite(line.low) & np.isfinite(line.high)
            xs, low, high = line.x[band], line.low[band], line.high[band]
            around = frame.path([*xs, *xs[::-1]], [*low, *high[::-1]])
            drawn.append(f'<path d="{around}Z" fill="{colour}" fill-opacity=".15"/>')
        if not line.names:
            path = frame.path(line.x[finite], line.y[finite])
            drawn.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if line.names or finite.sum() < _DOTS:
            points = zip(line.x[finite], line.y[finite], line.names or repeat(""), strict=False)
            drawn += [frame.dot(*point, colour, faint=line.faint) for point in points]
        if line.intervals is not None:
            for point in zip(line.x, line.y, line.intervals, strict=True):
                drawn.append(frame.cross(*point, colour))
        if line.label:
            key.append(f'<span><i class="colour{index}"></i>{text(line.label)}</span>')
    return (
        f"<figure><figcaption>{text(caption)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{text(caption)}">'
        f'{"".join(drawn)}</svg><div class="key">{"".join(key)}</div></figure>'
    )


class _Frame:
    """Where numbers stand in a drawing."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.left, self.right = _span(x, 0.03)
        self.low, self.high = _span(y, 0.05)

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / (self.right - self.left)
        up = (y - self.low) / (self.high - self.low)
        down = _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), down

    def path(self, x: Iterable[float], y: Iterable[float]) -> str:
        corners = (self.place(a, b) for a, b in zip(x, y, strict=True))
        return "".join(f"{'L' if i else 'M'}{a:.1f} {b:.1f}" for i, (a, b) in enumerate(corners))

    def dot(self, x: float, y: float, name: str, colour: str, *, faint: bool) -> str:
        a, b = self.place(x, y)
        title = f"<title>{text(name)}</title>" if name else ""
        look = f'r="3" fill="{colour}"' + (' fill-opacity=".2"' if faint else "")
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" {look}>{title}</circle>'

    def cross(self, x: float, y: float, intervals: FloatArray, colour: str) -> str:
        """Draw the intervals of a point, (2, 2)."""
        lines = self.path(intervals[0], [y, y]) + self.path([x, x], intervals[1])
        return f'<path d="{lines}" stroke="{colour}" stroke-opacity=".5"/>'

    def x_axis(self, label: str) -> list[str]:
        middle = f'x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle"'
        drawn = [f"<text {middle}>{text(label)}</text>"]
        for value in _ticks(self.left, self.right):
            where = f'x="{self.place(value, self.low)[0]:.1f}" y="{_HEIGHT - _BOTTOM + 15:.1f}"'
            drawn.append(f'<text {where} text-anchor="middle" class="tick">{value:.4g}</text>')
        return drawn

    def y_axis(self, label: str) -> list[str]:
        drawn = []
        for value in _ticks(self.low, self.high):
            _, b = self.place(self.left, value)
            drawn.append(f'<path d="M{_LEFT} {b:.1f}H{_WIDTH - _RIGHT}" stroke="#e6e6e6"/>')
            where = f'x="{_LEFT - 6}" y="{b + 4:.1f}" text-anchor="end"'
            drawn.append(f"<text {where}>{value:.4g}</text>")
        turned = f"translate(11 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)"
        words = f'<text transform="{turned}" text-anchor="middle">{text(label)}</text>'
        return [*drawn, words]


def _span(values: FloatArray, pad: float) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = pad * (high - low)
    if high - low <= 1e-9 * abs(high):  # equal, but for rounding
        room = 0.5 * abs(high) or 0.5
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Return some round numbers in a span."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]
