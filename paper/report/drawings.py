"""Drawings as files: whole, and in panels that a page can put beside or under each other."""

import io
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.lab.files import write_file
from paper.lab.reproduce import read_tables
from paper.report.figure import Figure
from paper.report.style import Drawing, house_style

Pixels = NDArray[np.uint8]


def draw(figure: Figure, out: Path) -> None:
    """Draw a figure from its tables on disk: as PNG, as SVG, and its panels and legend as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    data = read_tables(figure.name, out)
    folder = out / figure.name
    with house_style():
        drawing = figure.draw(data)
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")  # or else every rendering would move things a little
        # Once for all pixels, and once for the SVG: savefig would draw everything twice each time.
        canvas: Any = FigureCanvasAgg(drawing)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba())
        cuttings = cut(drawing, image)
        _write_png(folder / f"{figure.name}.png", image, dpi=drawing.dpi)
        vectors: Any = FigureCanvasSVG(drawing)
        content = io.BytesIO()
        vectors.print_svg(content, metadata={"Date": None})
        write_file(folder / f"{figure.name}.svg", content.getvalue())
    shutil.rmtree(panel_folder(figure, out), ignore_errors=True)
    for name, pixels in cuttings.items():
        _write_png(panel_folder(figure, out) / f"{name}.png", pixels, dpi=100)


def panel_folder(figure: Figure, out: Path) -> Path:
    """Return where the panels of a figure are: ``panel-ROW-COLUMN`` and ``legend-NUMBER``."""
    return out / figure.name / "panels"


def cut(drawing: Drawing, image: Pixels) -> dict[str, Pixels]:
    """Return the panels of a drawing and the entries of its legend, by name, from its pixels."""
    renderer: Any = drawing.canvas.get_renderer()  # type: ignore[attr-defined]
    height, width = image.shape[:2]
    top = float(height)
    cuttings = {}
    if drawing.legends:
        top = float(drawing.legends[0].get_window_extent(renderer).y0)
        for n, entry in enumerate(_legend_entries(drawing)):
            box = entry.get_window_extent(renderer)
            sides = (box.x0 - 2, box.x1 + 2, box.y0 - 2, box.y1 + 2)
            cuttings[f"legend-{n:02}"] = _crop(image, *sides)
    boxes = _panel_boxes(drawing, renderer)
    rows = 1 + max(row for row, _ in boxes)
    columns = 1 + max(column for _, column in boxes)
    across = [[(b.x0, b.x1) for (_, c), b in boxes.items() if c == n] for n in range(columns)]
    down = [[(-b.y1, -b.y0) for (r, _), b in boxes.items() if r == n] for n in range(rows)]
    x, y = _borders(across, 0, width), _borders(down, -top, 0)
    for row, column in boxes:
        pixels = _crop(image, x[column], x[column + 1], -y[row + 1], -y[row])
        cuttings[f"panel-{row}-{column}"] = pixels
    return cuttings


def _legend_entries(drawing: Drawing) -> list[Any]:
    box, *_ = drawing.legends[0].get_children()
    *_, columns = box.get_children()
    return [entry for column in columns.get_children() for entry in column.get_children()]


def _panel_boxes(drawing: Drawing, renderer: Any) -> dict[tuple[int, int], Any]:
    boxes = {}
    for axes in drawing.axes:
        place, box = axes.get_subplotspec(), axes.get_tightbbox(renderer)
        if place is not None and box is not None:
            boxes[place.rowspan.start, place.colspan.start] = box
    return boxes


def _borders(groups: list[list[tuple[float, float]]], first: float, last: float) -> list[float]:
    """Return where to cut: halfway between the extents of groups that follow each other."""
    ends = [(min(low for low, _ in group), max(high for _, high in group)) for group in groups]
    between = [(a[1] + b[0]) / 2 for a, b in pairwise(ends)]
    return [first, *between, last]


def _crop(image: Pixels, left: float, right: float, bottom: float, top: float) -> Pixels:
    """Return a part of an image, given in pixels from its lower left corner."""
    height, width = image.shape[:2]
    rows = slice(max(0, round(height - top)), min(height, round(height - bottom)))
    return image[rows, max(0, round(left)) : min(width, round(right))]


def _write_png(path: Path, pixels: Pixels, *, dpi: float) -> None:
    from matplotlib.image import imsave

    options: Any = {"format": "png", "dpi": dpi, "metadata": {"Software": None}}
    content = io.BytesIO()
    imsave(content, np.ascontiguousarray(pixels), **options)
    write_file(path, content.getvalue())
