"""Regrets and other measures of several policies, side by side: tables and figures."""

import contextlib
import csv
import importlib
import io
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from mogro._files import write_atomically
from mogro._intervals import ConfidenceInterval, band
from mogro._page import text_table
from mogro._validation import FloatArray
from mogro.plots import Axes, Drawing, new_figure
from mogro.simulation import Trace
from mogro.simulation.trace import REGRETS

_TITLES = {"effective_regret": "effective Pareto regret", "pareto_regret": "Pareto regret"}
JOURNAL_WIDTH = 7.0
_PANEL = 2.8  # inches that a panel would like to have
# Colours of Okabe and Ito, which colour-blind readers can tell apart; lines and markers in turn, so
# that only the 56th policy looks like the first.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")
_LINES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
_UNMARKED = 5  # policies that are told apart without markers


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several policies side by side; made by :func:`compare`.

    Attributes
    ----------
    traces
        The trace of every policy.

    Examples
    --------
    >>> import mogro
    >>> world = mogro.environments.FixedArms([[1, 0], [0, 1], [0.4, 0.4]], [[1, 0]], noise=0.1)
    >>> comparison = mogro.compare({"MOGRO": mogro.MOGRO}, world, rounds=100, repeats=5)
    >>> comparison
    policy  effective Pareto regret  Pareto regret
    MOGRO   1                        1
    """

    traces: Mapping[str, Trace]

    @property
    def columns(self) -> tuple[str, ...]:
        """What was measured: the two regrets, then the measures that were asked for."""
        return (*REGRETS, *next(iter(self.traces.values())).measures)

    @property
    def table(self) -> dict[str, dict[str, ConfidenceInterval]]:
        """Final regrets and measures of every policy, with 95 % intervals.

        The sample are the instances or, if there is only one, its repeats. A sample of one has no
        interval: its ends are NaN. The interval of numbers that are never negative is not, either.
        """
        return {
            name: {column: _final(_band(_sample(trace, column))) for column in self.columns}
            for name, trace in self.traces.items()
        }

    def differences(self, reference: str) -> dict[str, dict[str, ConfidenceInterval]]:
        """Return how much more every other policy has at the end than one of them.

        Policies met the same contexts and the same noise, so differences are taken pair by pair:
        their intervals are narrower than those of :attr:`table` suggest.

        Examples
        --------
        >>> import mogro
        >>> world = mogro.environments.FixedArms(np.eye(3), np.eye(3), noise=0.1)
        >>> policies = {"MOGRO": mogro.MOGRO, "random": mogro.RandomArm}
        >>> comparison = mogro.compare(policies, world, rounds=50, repeats=5)
        >>> comparison.differences("random")["MOGRO"]["effective_regret"].value
        0.0
        """
        if reference not in self.traces:
            raise ValueError(f"reference: expected one of {list(self.traces)}, got {reference!r}")
        base = self.traces[reference]
        return {
            name: {
                column: _final(_band(_sample(trace, column) - _sample(base, column), signed=True))
                for column in self.columns
            }
            for name, trace in self.traces.items()
            if name != reference
        }

    def plot(
        self,
        *,
        columns: Sequence[str] | None = None,
        log: str = "",
        axes: "Axes | Sequence[Axes] | NDArray[Any] | None" = None,
        width: float = JOURNAL_WIDTH,
    ) -> Drawing:
        """Draw regrets and measures over time, with bands; it needs matplotlib.

        Bands are intervals like those of :attr:`table`. Policies differ by colour, line and, where
        there are more than five, marker.

        Parameters
        ----------
        columns
            Which of :attr:`columns`, one for each panel; without it all.
        log
            Which axes are logarithmic: ``"x"``, ``"y"`` or ``"xy"``.
        axes
            Axes of your own to draw in, one for each column, without a legend, as a list, an array
            of any shape or, for one column, by themselves; otherwise a new figure.
        width
            Of a new figure, in inches: 7 fits the text of most journals, 3.4 one of two columns.
        """
        names = self._read_columns(columns)
        if log not in ("", "x", "y", "xy"):
            raise ValueError(f"log: expected '', 'x', 'y' or 'xy', got {log!r}")
        panels = None if axes is None else np.ravel(np.array(axes, dtype=object))
        if panels is not None and len(panels) != len(names):
            raise ValueError(f"axes: expected {len(names)}, one for each column, got {len(panels)}")
        if panels is not None:
            for panel, column in zip(panels, names, strict=True):
                self._draw(panel, column, log)
            return panels[0].figure  # type: ignore[no-any-return]
        across = max(1, min(len(names), round(width / _PANEL)))
        rows = -(-len(names) // across)
        height = 0.5 + 0.75 * width / across * rows
        figure, grid = new_figure(rows, across, width=width, height=height)
        for panel, column in itertools.zip_longest(grid.flat, names):
            if column is None:
                panel.set_axis_off()
            else:
                self._draw(panel, column, log)
        legend_columns = min(len(self.traces), max(1, round(width / 1.75)))
        handles = grid[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=legend_columns, frameon=False)
        return figure

    def _read_columns(self, columns: Sequence[str] | None) -> tuple[str, ...]:
        names = self.columns if columns is None else tuple(columns)
        unknown = [column for column in names if column not in self.columns]
        if unknown or not names:
            got = repr(unknown[0]) if unknown else "none"
            raise ValueError(f"columns: expected some of {self.columns}, got {got}")
        return names

    def _draw(self, panel: Axes, column: str, log: str) -> None:
        crowded = len(self.traces) > _UNMARKED
        styles = zip(*map(itertools.cycle, (_COLOURS, _LINES, _MARKERS)), strict=False)
        for (name, trace), (colour, line, marker) in zip(self.traces.items(), styles, strict=False):
            x, (mean, low, high) = trace.checkpoints, _band(_sample(trace, column))
            panel.plot(
                x,
                mean,
                color=colour,
                linestyle=line,
                label=name,
                marker=marker if crowded else None,
                markevery=max(1, len(x) // 5),
            )
            alpha = 0.1 if crowded else 0.2
            panel.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0)
        panel.set_xlabel("round")
        panel.set_ylabel(_label(column))
        if "x" in log:
            panel.set_xscale("log")
        else:
            panel.set_xlim(left=0)
        if "y" in log:
            panel.set_yscale("log", nonpositive="clip")
        elif column in REGRETS:
            panel.set_ylim(bottom=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the plot in a folder that exists; the ending tells the kind: png, svg, pdf.

        Pictures have 300 points to the inch, and PDFs letters, not drawings of them: journals ask
        for it. What :meth:`plot` returns saves itself, too, with ``savefig``.
        """
        drawing = self.plot()
        from matplotlib import rc_context

        with rc_context({"pdf.fonttype": 42}):
            drawing.savefig(path, dpi=300)

    def to_frame(self) -> Any:
        """Return all numbers in long form, as a frame of pandas or polars.

        The one that was imported is taken, else the one that is there. Columns: ``policy``, and
        those of :meth:`mogro.simulation.Trace.columns`.
        """
        for name in sorted(("pandas", "polars"), key=lambda name: name not in sys.modules):
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(name).DataFrame(self._long_columns())
        raise ImportError("data frames need pandas or polars: pip install pandas")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of :meth:`to_frame` as CSV; reading it gives the very same numbers."""
        columns, text = self._long_columns(), io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        with write_atomically(path) as file:
            file.write(text.getvalue().encode())

    def _long_columns(self) -> dict[str, NDArray[Any]]:
        tables = [trace.columns() for trace in self.traces.values()]
        sizes = [len(table["value"]) for table in tables]
        policies = np.repeat(np.array(list(self.traces)), sizes)
        return {"policy": policies} | {
            name: np.concatenate([table[name] for table in tables]) for name in tables[0]
        }

    def __repr__(self) -> str:
        rows = [[name, *map(str, row.values())] for name, row in self.table.items()]
        return text_table(["policy", *map(_label, self.columns)], rows)


def _sample(trace: Trace, column: str) -> FloatArray:
    """Return the sample (C, n) of a column; see :attr:`Comparison.table`."""
    values = trace.column(column)
    return values[:, 0] if values.shape[1] == 1 else values.mean(axis=2)


def _band(sample: FloatArray, *, signed: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (C,) of a sample (C, n)."""
    mean, low, high = band(sample)
    if sample.shape[1] == 1:
        low = high = np.full_like(mean, np.nan)
    is_nonnegative = not signed and (sample >= 0).all()
    return mean, np.maximum(low, 0) if is_nonnegative else low, high


def _final(numbers: tuple[FloatArray, FloatArray, FloatArray]) -> ConfidenceInterval:
    return ConfidenceInterval(*(float(values[-1]) for values in numbers))


def _label(column: str) -> str:
    return _TITLES.get(column, column.replace("_", " "))
