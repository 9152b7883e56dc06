"""From figures and a scale to a folder with tables, drawings, claims and a report."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mogro._files import write_whole
from mogro.experiments import table
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.scale import Scale
from mogro.experiments.style import house_style
from mogro.simulation.parallel import Piece, run_pieces
from mogro.simulation.trace import current_versions


def work(figures: Sequence[Figure], scale: Scale) -> list[Piece]:
    """Return the different pieces of work that the figures need."""
    return list(dict.fromkeys(piece for figure in figures for piece in figure.pieces(scale)))


def reproduce(
    figures: Sequence[Figure],
    scale: Scale,
    *,
    executor: Executor,
    out: Path,
    done: Callable[[Piece, bool], None] = lambda piece, kept: None,
) -> None:
    """Run what the figures need, and write a folder for each of them into ``out``."""
    start = time.perf_counter()
    commit = _commit()  # before the work: the source may change while it runs
    results = run_pieces(work(figures, scale), executor=executor, folder=out / "pieces", done=done)
    seconds = time.perf_counter() - start
    for figure in figures:
        folder = out / figure.name
        for name, data in figure.tables(scale, results).items():
            table.write(folder / f"{name}.csv", data)
        manifest = {
            "figure": figure.name,
            "scale": asdict(scale),
            "versions": current_versions(),
            "commit": commit,
            "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 1),
            "together with": [other.name for other in figures],
        }
        _write_text(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")
        draw(figure, out)


def tables_of(figure: Figure, out: Path) -> Tables | None:
    """Return the tables of a figure as they are on disk; None if it was never made."""
    folder = out / figure.name
    if not (folder / "manifest.json").is_file():
        return None
    return {path.stem: table.read(path) for path in sorted(folder.glob("*.csv"))}


def manifest_of(figure: Figure, out: Path) -> dict[str, Any]:
    """Return how a figure was made."""
    text = (out / figure.name / "manifest.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def draw(figure: Figure, out: Path) -> None:
    """Draw a figure from its tables on disk."""
    data = tables_of(figure, out)
    if data is None:
        return
    with house_style():
        drawing = figure.draw(data)
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with write_whole(out / figure.name / f"{figure.name}.{kind}", parents=True) as file:
                drawing.savefig(file, format=kind, metadata=metadata)


def _write_text(path: Path, text: str) -> None:
    with write_whole(path, parents=True) as file:
        file.write(text.encode())


def _commit() -> str | None:
    """Return the commit of the source, marked if it was changed since; None without git."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
