"""New figures, without loading matplotlib before one is drawn."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib import axes, figure

Axes: TypeAlias = "axes.Axes"
Drawing: TypeAlias = "figure.Figure"


def new_figure(rows: int, columns: int, *, width: float, height: float) -> tuple[Drawing, Any]:
    """Return a figure of this size, in inches, with a grid of axes, (rows, columns)."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)
