"""Small drawings for pages, as SVG: lines with bands, points with boxes, bars."""

import math
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._page import text
from mogro._validation import FloatArray

# The colours of Okabe and Ito, which colour-blind readers can tell apart; also in _page.css.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_WIDTH, _HEIGHT = 420.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 12.0, 40.0
_NAMES = 170.0  # room for the labels of bars, of up to 20 characters
_CELLS = 16  # across a drawing, in which others are counted
_NO_POINTS = np.empty((0, 2))
_DOTS = 30  # a line of fewer points shows them


class Series(NamedTuple):
    """A line of a drawing, with a band where its interval is known."""

    label: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def lines(caption: str, series: Sequence[Series], *, x: str, y: str) -> str:
    """Draw lines, with their bands."""
    values = [part for line in series for part in (line.y, line.low, line.high) if part is not None]
    frame = _Frame(np.concatenate([line.x for line in series]), np.concatenate(values))
    drawn, key = [], []
    for line, (place, colour) in zip(series, cycle(enumerate(_COLOURS)), strict=False):
        finite = np.isfinite(line.y)
        if line.low is not None and line.high is not None:
            band = finite & np.isfinite(line.low) & np.isfinite(line.high)
            xs, low, high = line.x[band], line.low[band], line.high[band]
            around = frame.path([*xs, *xs[::-1]], [*low, *high[::-1]])
            drawn.append(f'<path d="{around}Z" fill="{colour}" fill-opacity=".15"/>')
        path = frame.path(line.x[finite], line.y[finite])
        drawn.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if finite.sum() < _DOTS:
            points = zip(line.x[finite], line.y[finite], strict=True)
            drawn += [frame.dot(a, b, colour) for a, b in points]
        if line.label:
            key.append(f'<span><i class="colour{place}"></i>{text(line.label)}</span>')
    return _figure(caption, [*frame.x_axis(x), *frame.y_axis(y), *drawn], "".join(key))


def regions(
    caption: str,
    labels: Sequence[str],
    points: FloatArray,
    bounds: FloatArray,
    *,
    x: str,
    y: str,
    marked: Iterable[int] = (),
    crowd: FloatArray = _NO_POINTS,
) -> str:
    """Draw points (n, 2) with boxes (n, 2, 2) around them; marked ones stand out.

    Of a crowd (m, 2) of others only the density is shown.
    """
    spans = np.concatenate([points[:, :, None], bounds], axis=2)
    frame = _Frame(*(np.concatenate([spans[:, k].ravel(), crowd[:, k]]) for k in (0, 1)))
    drawn, special = [*frame.x_axis(x), *frame.y_axis(y), *_density(frame, crowd)], set(marked)
    there = np.flatnonzero(np.isfinite(points).all(axis=1)).tolist()
    for i in sorted(there, key=lambda place: place in special):  # marked ones above the others
        colour = _COLOURS[1] if i in special else _COLOURS[0]
        if np.isfinite(bounds[i]).all():
            look = f'fill-opacity=".08" stroke="{colour}" stroke-opacity=".4"'
            (x0, x1), (y0, y1) = bounds[i]
            drawn.append(frame.box(x0, x1, y0, y1, colour, look))
        drawn.append(frame.dot(points[i, 0], points[i, 1], colour, labels[i]))
    return _figure(caption, drawn)


def _density(frame: "_Frame", points: FloatArray) -> list[str]:
    """Shade cells by how many points are in them."""
    spans = ((frame.left, frame.right), (frame.low, frame.high))
    counts, across, up = np.histogram2d(points[:, 0], points[:, 1], bins=_CELLS, range=spans)
    most = max(counts.max(), 1.0)
    return [
        frame.box(
            across[i],
            across[i + 1],
            up[j],
            up[j + 1],
            "#8a97a3",
            f'fill-opacity="{0.1 + 0.5 * counts[i, j] / most:.2f}"',
        )
        for i, j in np.argwhere(counts > 0).tolist()
    ]


def bars(caption: str, labels: Sequence[str], values: ArrayLike, *, unit: str) -> str:
    """Draw a bar for each label, one under the other, with its value in a unit."""
    lengths = np.asarray(values, dtype=float)
    step = (_HEIGHT - _TOP) / max(len(lengths), 1)
    room = (_WIDTH - _NAMES - 60) / max(float(lengths.max(initial=0.0)), 1e-9)
    drawn = []
    for i, (label, length) in enumerate(zip(labels, lengths.tolist(), strict=True)):
        top, short = _TOP + i * step, label if len(label) <= 20 else f"{label[:9]}…{label[-10:]}"
        middle = f'y="{top + 0.4 * step + 4:.1f}"'
        size = f'width="{length * room:.1f}" height="{0.8 * step:.1f}"'
        drawn.append(f'<text x="{_NAMES - 6}" {middle} text-anchor="end">{text(short)}</text>')
        drawn.append(f'<rect x="{_NAMES}" y="{top:.1f}" {size} fill="{_COLOURS[0]}"/>')
        end = f'x="{_NAMES + length * room + 5:.1f}"'
        drawn.append(f"<text {end} {middle}>{length:.3g} {text(unit)}</text>")
    return _figure(caption, drawn)


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

    def dot(self, x: float, y: float, colour: str, label: str = "") -> str:
        a, b = self.place(x, y)
        title = f"<title>{text(label)}</title>" if label else ""
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}">{title}</circle>'

    def box(self, x0: float, x1: float, y0: float, y1: float, colour: str, look: str) -> str:
        (a, b), (c, d) = self.place(x0, y1), self.place(x1, y0)
        sizes = f'width="{max(c - a, 0.5):.1f}" height="{max(d - b, 0.5):.1f}"'
        return f'<rect x="{a:.1f}" y="{b:.1f}" {sizes} fill="{colour}" {look}/>'

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


def _figure(caption: str, drawn: Iterable[str], key: str = "") -> str:
    size = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"'
    return (
        f"<figure><figcaption>{text(caption)}</figcaption>"
        f'<svg {size} role="img" aria-label="{text(caption)}">{"".join(drawn)}</svg>'
        f'<div class="key">{key}</div></figure>'
    )


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
