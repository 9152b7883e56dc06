"""How figures look: one colour and one line for a policy, everywhere."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib import axes, figure

# What others draw on, without loading matplotlib.
Axes: TypeAlias = "axes.Axes"
Drawing: TypeAlias = "figure.Figure"
FloatArray = NDArray[np.floating[Any]]
Line = str | tuple[int, tuple[int, ...]]


class LineStyle(NamedTuple):
    """How a policy is drawn."""

    name: str
    colour: str
    line: Line = "-"
    marker: str = "o"
    width: float = 1.6


# The colours of Okabe and Ito, which colour-blind readers can tell apart.
LINE_STYLES = {
    "MOGRO-RW": LineStyle("MOGRO-RW", "#0072B2", "-", "o"),
    "MOGRO-RR": LineStyle("MOGRO-RR", "#56B4E9", (0, (5, 1)), "s"),
    "MOGRO-RW, B = 1": LineStyle("MOGRO-RW, B = 1", "#0072B2", "-", "o", 0.7),
    "MOGRO-RR, B = 1": LineStyle("MOGRO-RR, B = 1", "#56B4E9", (0, (5, 1)), "s", 0.7),
    "MOLB-eps-greedy": LineStyle("MOLB-ε-greedy", "#E69F00", (0, (3, 1, 1, 1)), "^"),
    "MOLB-UCB": LineStyle("MOLB-UCB", "#009E73", (0, (4, 2)), "D"),
    "MOL-TS": LineStyle("MOL-TS", "#CC79A7", (0, (1, 1)), "v"),
    "one objective only": LineStyle("one objective only", "#D55E00", (0, (2, 1)), "p"),
}
# Weightings of MOGRO-RW: its own colour for the usual one, the others light to dark, and told
# apart by markers as well.
WEIGHTING_COLOURS = ("#0072B2", "#C2A5E0", "#9970C4", "#6B3FA0", "#2E0F5E")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_OTHER = "#CC6677"  # for policies that are not of the paper

_SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "svg.hashsalt": "mogro",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # letters, not drawings of them: journals ask for it
}


def line_style(label: str) -> LineStyle:
    """Return how a policy is drawn."""
    return LINE_STYLES.get(label, LineStyle(label, _OTHER))


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):  # type: ignore[arg-type]
        yield


def panels(
    rows: int, columns: int, *, width: float = 3.0, height: float = 2.5, **options: Any
) -> tuple[Drawing, Any]:
    """Return a drawing with a grid of axes, (rows, columns)."""
    from matplotlib.figure import Figure

    size = (width * columns, height * rows + 0.5)
    drawing = Figure(figsize=size, layout="constrained")
    return drawing, drawing.subplots(rows, columns, squeeze=False, **options)


def curve(
    axes: Axes,
    style: LineStyle,
    x: NDArray[Any],
    middle: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    marked: bool = False,
    every: int | None = None,
) -> None:
    """Draw a line with its band; ``marked`` ones also differ by their markers, at ``every`` nth."""
    axes.plot(
        x,
        middle,
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        label=style.name,
        marker=style.marker if marked else None,
        markevery=every or max(1, len(x) // 5),
        markersize=5,
    )
    # Where many curves share a panel, bands have to let each other through.
    shade = 0.1 if marked else 0.2
    axes.fill_between(x, low, high, color=style.colour, alpha=shade, linewidth=0.8)


def legend(drawing: Drawing, axes: Axes, *, columns: int | None = None) -> None:
    """Put one legend for the whole drawing above it."""
    handles, labels = axes.get_legend_handles_labels()
    first = {label: handle for handle, label in reversed(list(zip(handles, labels, strict=True)))}
    ordered: Sequence[str] = list(dict.fromkeys(labels))
    drawing.legend(
        [first[label] for label in ordered],
        ordered,
        loc="outside upper center",
        ncols=columns or len(ordered),
    )
