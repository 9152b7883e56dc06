"""Pages that open from a file, and drawings in them: nothing is loaded, and they fit a phone."""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import FloatArray

# The colours of Okabe and Ito, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_WIDTH, _HEIGHT = 420.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 12.0, 40.0

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c2733; max-width: 1080px;
       margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 2rem; margin-bottom: .2rem; } h2 { margin-top: 3rem; }
p.lead { color: #51606e; max-width: 46rem; } a { color: #0072B2; text-decoration: none; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem;
         border-bottom: 1px solid #e3e8ed; }
th { color: #51606e; font-weight: 600; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.note { background: #f4f6f8; border-radius: .5rem; padding: .6rem 1rem; }
@media (max-width: 45rem) { table { display: block; overflow-x: auto; } }
"""
_FIGURES = """
.warning { background: #f9e0d2; color: #8a3c00; border-radius: .5rem; padding: .6rem 1rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr));
           gap: 1.2rem; margin: 1.2rem 0; }
figure { margin: 0; max-width: 36rem; } figcaption { font-weight: 600; font-size: .95rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif;
      fill: #51606e; }
.key { font-size: .85rem; color: #51606e; display: flex; flex-wrap: wrap; gap: .1rem .9rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem;
         margin-right: .3rem; vertical-align: -.05rem; }
"""


class Series(NamedTuple):
    """A line of a drawing, with a band where its interval is known."""

    label: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def text(value: object) -> str:
    """Return something as text of a page."""
    return html.escape(str(value))


def document(title: str, body: str, *, style: str = "") -> str:
    """Return a whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{text(title)}</title><style>{STYLE}{style}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def report(title: str, lead: str, warnings: Iterable[str], notes: Iterable[str], body: str) -> str:
    """Return a page whose first lines say what is wrong."""
    shown = "".join(f'<p class="warning">{text(one)}</p>' for one in warnings)
    shown += "".join(f'<p class="note">{text(one)}</p>' for one in notes)
    heading = f'<h1>{text(title)}</h1>{shown}<p class="lead">{text(lead)}</p>'
    return document(title, heading + body, style=_FIGURES)


def section(title: str, *parts: str) -> str:
    """Return a part of a page under a heading."""
    return f"<h2>{text(title)}</h2>{''.join(parts)}"


def paragraph(words: str) -> str:
    """Return a paragraph."""
    return f"<p>{text(words)}</p>"


def figures(*drawings: str) -> str:
    """Return drawings side by side, or one under the other on a narrow screen."""
    return f'<div class="figures">{"".join(drawings)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers are shown with four digits."""
    head = "".join(f"<th>{text(one)}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{_cell(one)}</td>' for one in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(caption: str, values: Mapping[str, object]) -> str:
    """Return a small table of one row: what something is."""
    names = "".join(f"<th>{text(name)}</th>" for name in values)
    cells = "".join(f"<td>{text(value)}</td>" for value in values.values())
    return f"<table><caption>{text(caption)}</caption><tr>{names}</tr><tr>{cells}</tr></table>"


def interval(value: float, bounds: ArrayLike) -> str:
    """Return a number with its interval, in words where there is none."""
    low, high = np.asarray(bounds, dtype=float)
    if math.isnan(value):
        return "no estimate"
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def lines(caption: str, series: Sequence[Series], *, x: str, y: str) -> str:
    """Draw lines, with their bands."""
    tops = [values for one in series for values in (one.y, one.low, one.high) if values is not None]
    frame = _Frame(np.concatenate([one.x for one in series]), np.concatenate(tops), x, y)
    drawn = []
    for one, colour in zip(series, cycle(COLOURS), strict=False):
        known = np.isfinite(one.y)
        if one.low is not None and one.high is not None:
            band = known & np.isfinite(one.low) & np.isfinite(one.high)
            around = frame.path(
                np.concatenate([one.x[band], one.x[band][::-1]]),
                np.concatenate([one.low[band], one.high[band][::-1]]),
            )
            drawn.append(f'<path d="{around}Z" fill="{colour}" fill-opacity=".15"/>')
        line = frame.path(one.x[known], one.y[known])
        drawn.append(f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if known.sum() < 30:
            drawn += [
                frame.dot(a, b, colour) for a, b in zip(one.x[known], one.y[known], strict=True)
            ]
    return _figure(caption, frame, drawn, [one.label for one in series])


def regions(
    caption: str,
    labels: Sequence[str],
    points: FloatArray,
    bounds: FloatArray,
    *,
    x: str,
    y: str,
    marked: Iterable[int] = (),
) -> str:
    """Draw points (n, 2) with boxes (n, 2, 2) around them; marked ones stand out."""
    frame = _Frame(
        np.concatenate([points[:, 0], bounds[:, 0].ravel()]),
        np.concatenate([points[:, 1], bounds[:, 1].ravel()]),
        *(x, y),
    )
    drawn, special = [], set(marked)
    there = np.flatnonzero(np.isfinite(points).all(axis=1)).tolist()
    for i in sorted(there, key=lambda each: each in special):  # marked ones above the others
        colour = COLOURS[1] if i in special else COLOURS[0]
        (x0, x1), (y0, y1) = bounds[i]
        if np.isfinite(bounds[i]).all():
            drawn.append(frame.box(x0, x1, y0, y1, colour))
        drawn.append(frame.dot(points[i, 0], points[i, 1], colour, labels[i]))
    return _figure(caption, frame, drawn, [])


def bars(caption: str, labels: Sequence[str], values: ArrayLike, *, y: str) -> str:
    """Draw a bar for each label."""
    heights = np.asarray(values, dtype=float)
    frame = _Frame(
        np.array([-0.5, len(heights) - 0.5]), np.array([0.0, *heights]), "", y, names=True
    )
    drawn = []
    skip = max(1, -(-len(labels) // 8))
    for i, (label, height) in enumerate(zip(labels, heights, strict=True)):
        drawn.append(frame.box(i - 0.4, i + 0.4, 0.0, float(height), COLOURS[0], solid=True))
        if i % skip == 0:
            short = label if len(label) <= 10 else f"{label[:9]}…"
            drawn.append(frame.under(i, short))
    return _figure(caption, frame, drawn, [])


class Periods(NamedTuple):
    """Periods of a clock: edges, where they are drawn, and what they are."""

    edges: FloatArray
    middles: FloatArray
    label: str

    def number(self, clock: FloatArray) -> NDArray[np.intp]:
        """Return the numbers of the periods that times are in."""
        found = np.searchsorted(self.edges, clock, side="right") - 1
        return np.clip(found, 0, len(self.middles) - 1)


def periods(low: float, high: float, *, timed: bool) -> Periods:
    """Return periods from a time to another: days, if times in seconds look like some."""
    days = (high - low) / 86400
    if timed and 2 <= days <= 92:
        first, last = math.floor(low / 86400), math.floor(high / 86400) + 1
        edges = 86400.0 * np.arange(first, last + 1)
        return Periods(edges, ((edges[1:] + edges[:-1]) / 2 - edges[0]) / 86400, "day")
    edges = np.linspace(low, high, (12 if high > low else 1) + 1)
    return Periods(edges, (edges[1:] + edges[:-1]) / 2, "time" if timed else "decision")


class _Frame:
    """Where numbers stand in a drawing."""

    def __init__(
        self, x: FloatArray, y: FloatArray, x_label: str, y_label: str, *, names: bool = False
    ) -> None:
        self.x_low, self.x_high = _span(x, pad=0.0 if names else 0.03)
        self.y_low, self.y_high = _span(y, pad=0.05)
        self.labels = x_label, y_label
        self.names = names

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x_low) / (self.x_high - self.x_low)
        up = (y - self.y_low) / (self.y_high - self.y_low)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    def path(self, x: FloatArray, y: FloatArray) -> str:
        corners = [self.place(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        return "".join(f"{'L' if i else 'M'}{a:.1f} {b:.1f}" for i, (a, b) in enumerate(corners))

    def dot(self, x: float, y: float, colour: str, label: str = "") -> str:
        a, b = self.place(float(x), float(y))
        title = f"<title>{text(label)}</title>" if label else ""
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}">{title}</circle>'

    def box(
        self, x0: float, x1: float, y0: float, y1: float, colour: str, *, solid: bool = False
    ) -> str:
        (a, b), (c, d) = self.place(x0, y1), self.place(x1, y0)
        look = 'fill-opacity=".85"' if solid else f'fill-opacity=".08" stroke="{colour}"'
        return (
            f'<rect x="{a:.1f}" y="{b:.1f}" width="{max(c - a, 0.5):.1f}" '
            f'height="{max(d - b, 0.5):.1f}" fill="{colour}" stroke-opacity=".4" {look}/>'
        )

    def under(self, x: float, label: str) -> str:
        a, _ = self.place(x, self.y_low)
        return (
            f'<text x="{a:.1f}" y="{_HEIGHT - _BOTTOM + 15:.1f}" text-anchor="middle" '
            f'style="font-size:10px">{text(label)}</text>'
        )

    def axes(self) -> list[str]:
        drawn = []
        for value in _ticks(self.y_low, self.y_high):
            _, b = self.place(self.x_low, value)
            drawn.append(
                f'<path d="M{_LEFT} {b:.1f}H{_WIDTH - _RIGHT}" stroke="#e6e6e6"/>'
                f'<text x="{_LEFT - 6}" y="{b + 4:.1f}" text-anchor="end">{value:.4g}</text>'
            )
        if not self.names:
            ticks = _ticks(self.x_low, self.x_high)
            drawn += [self.under(value, f"{value:.4g}") for value in ticks]
        across, up = self.labels
        middle = (_TOP + _HEIGHT - _BOTTOM) / 2
        drawn.append(
            f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{text(across)}</text>"
            f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">'
            f"{text(up)}</text>"
        )
        return drawn


def _figure(caption: str, frame: _Frame, drawn: Iterable[str], labels: Sequence[str]) -> str:
    key = "".join(
        f'<span><i style="background:{colour}"></i>{text(label)}</span>'
        for label, colour in zip(labels, cycle(COLOURS), strict=False)
        if label
    )
    inside = "".join([*frame.axes(), *drawn])
    return (
        f"<figure><figcaption>{text(caption)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" '
        f'aria-label="{text(caption)}">{inside}</svg>'
        + (f'<div class="key">{key}</div>' if key else "")
        + "</figure>"
    )


def _span(values: FloatArray, *, pad: float) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = pad * (high - low) or (0.5 * abs(high) or 0.5) * (high == low)
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Return some round numbers in a span."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else text(value)
