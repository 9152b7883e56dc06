"""Policies side by side in an environment: a table, and the plot of their regrets."""

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from mogro._frames import to_frame, write_csv
from mogro._intervals import ConfidenceInterval, band
from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.plots import Axes, Drawing, curve, house_style, legend, looks, panels
from mogro.simulation import MakePolicy, Trace, simulate
from mogro.simulation.measures import Measures
from mogro.simulation.run import Probe, WrongPolicyError
from mogro.simulation.trace import REGRETS

_TITLES = {"effective_regret": "effective Pareto regret", "pareto_regret": "Pareto regret"}
JOURNAL_WIDTH = 7.0
_PANEL = 2.8  # inches that a panel would like to have
_UNMARKED = 5  # policies that are told apart without markers


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`compare` found.

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
    policy    effective Pareto regret              Pareto regret
    MOGRO                    1 [1, 1]                   1 [1, 1]
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
        interval: its ends are NaN. Regrets are never negative, nor is an end of their intervals.
        """
        return {
            name: {
                column: ConfidenceInterval(*(float(part[-1]) for part in _band(trace, column)))
                for column in self.columns
            }
            for name, trace in self.traces.items()
        }

    def plot(
        self,
        *,
        columns: Sequence[str] | None = None,
        axes: "Axes | Sequence[Axes] | NDArray[Any] | None" = None,
        width: float = JOURNAL_WIDTH,
    ) -> Drawing:
        """Draw regrets and measures over time, with bands; it needs matplotlib.

        Bands are intervals like those of :attr:`table`. Policies with the names that the paper uses
        ("MOGRO-RW", "MOGRO-RR", "MOLB-eps-greedy", "MOLB-UCB", "MOL-TS") have the colours of the
        paper's figures here, and "MOGRO" that of MOGRO-RW; others have colours, lines and, with
        more than five policies, markers in turn.

        Parameters
        ----------
        columns
            Which of :attr:`columns`, one for each panel; without it all.
        axes
            Axes of your own to draw in, one for each column, without a legend, as a list, an array
            of any shape or, for one column, by themselves; otherwise a new figure.
        width
            Of a new figure, in inches: 7 fits the text of most journals, 3.4 one of two columns.
        """
        shown = self.columns if columns is None else tuple(columns)
        for column in shown:
            if column not in self.columns:
                raise ValueError(f"columns: expected some of {self.columns}, got {column!r}")
        if not shown:
            raise ValueError(f"columns: expected some of {self.columns}, got none")
        given = None if axes is None else np.ravel(np.array(axes, dtype=object))
        if given is not None and len(given) != len(shown):
            raise ValueError(f"axes: expected {len(shown)}, one for each column, got {len(given)}")
        with house_style():
            if given is not None:
                for panel, column in zip(given, shown, strict=True):
                    self._draw(panel, column)
                return given[0].figure  # type: ignore[no-any-return]
            across = max(1, min(len(shown), round(width / _PANEL)))
            rows = -(-len(shown) // across)
            drawing, grid = panels(rows, across, width=width / across, height=0.75 * width / across)
            for panel, column in itertools.zip_longest(grid.flat, shown):
                if column is None:
                    panel.set_axis_off()
                else:
                    self._draw(panel, column)
            legend(drawing, grid[0, 0], columns=min(len(self.traces), max(1, round(width / 1.75))))
        return drawing

    def _draw(self, panel: Axes, column: str) -> None:
        many = len(self.traces) > _UNMARKED
        for name, how in looks(self.traces).items():
            trace = self.traces[name]
            curve(panel, how, trace.checkpoints, *_band(trace, column), marked=many)
        panel.set_xlabel("round")
        panel.set_ylabel(_title(column))
        panel.set_xlim(left=0)
        if column in REGRETS:
            panel.set_ylim(bottom=0)

    def save(self, path: str | os.PathLike[str], *, width: float = JOURNAL_WIDTH) -> None:
        """Save the plot in a folder that exists; the ending tells the kind: png, svg, pdf.

        ``width`` is that of :meth:`plot`; pictures have 300 points to the inch.
        """
        with house_style():
            self.plot(width=width).savefig(path, dpi=300)

    def to_frame(self) -> Any:
        """Return all numbers in long form, a frame of pandas or polars, whichever is there.

        Columns: ``policy``, and those of :meth:`mogro.simulation.Trace.to_frame`.
        """
        return to_frame(self._long())

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of :meth:`to_frame` as CSV."""
        write_csv(self._long(), path)

    def _long(self) -> dict[str, NDArray[Any]]:
        parts = [trace.columns() for trace in self.traces.values()]
        lengths = [len(part["value"]) for part in parts]
        policies = np.repeat(np.array(list(self.traces)), lengths)
        return {"policy": policies} | {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }

    def __repr__(self) -> str:
        width = max(len("policy"), *(len(name) for name in self.traces))
        heads = (f"{_title(column):>25}" for column in self.columns)
        lines = ["  ".join([f"{'policy':<{width}}", *heads])]
        for name, row in self.table.items():
            cells = (f"{_text(number):>25}" for number in row.values())
            lines.append("  ".join([f"{name:<{width}}", *cells]))
        return "\n".join(lines)


def compare(
    policies: Mapping[str, MakePolicy],
    environment: Environment | Sequence[Environment],
    *,
    rounds: int,
    repeats: int = 20,
    seed: int = 0,
    measures: Measures = (),
    checkpoints: Sequence[int] | None = None,
    probe: Probe | None = None,
) -> Comparison:
    """Let several policies play in the same environment, and compare regrets and other measures.

    Every policy meets the same contexts and the same noise, and none is disturbed by the others.

    Parameters
    ----------
    policies
        What makes each policy, by name; see :func:`mogro.simulate`. One of your own is a class
        with ``__init__(dim, objectives)``, ``select(features, *, rng)`` and
        ``update(features, reward)``. Names of the paper's policies have the paper's colours; see
        :meth:`Comparison.plot`.
    environment
        One instance, or several of equal sizes.
    rounds, repeats, seed, checkpoints, probe
        As for :func:`mogro.simulate`; what the probe saw is in the traces.
    measures
        What to measure beside the regrets: functions of true means and pulls, your own or those of
        :mod:`mogro.simulation.measures`; in a dict, under names of your choice.

    Returns
    -------
    Comparison
        A table that prints itself; ``plot()`` draws. With a single run
        the table has numbers without intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> world = mogro.environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng)
    >>> comparison = mogro.compare(
    ...     {"MOGRO": mogro.MOGRO, "epsilon-greedy": mogro.EpsilonGreedy},
    ...     world,
    ...     rounds=300,
    ...     repeats=5,
    ... )
    >>> regret = {name: row["effective_regret"].value for name, row in comparison.table.items()}
    >>> regret["MOGRO"] < regret["epsilon-greedy"]
    True
    """
    _check_policies(policies)
    traces = {}
    for name, make in policies.items():
        try:
            traces[name] = simulate(
                make,
                environment,
                rounds=rounds,
                repeats=repeats,
                seed=seed,
                checkpoints=checkpoints,
                probe=probe,
                measures=measures,
            )
        except WrongPolicyError as error:
            raise ValueError(f"policies[{name!r}]: {error.args[0]}") from None
    return Comparison(traces)


def _check_policies(policies: object) -> None:
    if not isinstance(policies, Mapping):
        raise ValueError(
            f"policies: expected a dict of name to policy class or function, got {policies!r}"
        )
    if not policies:
        raise ValueError("policies: expected at least one, got none")
    for name, make in policies.items():
        if not isinstance(name, str):
            raise ValueError(f"policies: expected names that are strings, got {name!r}")
        if not callable(make):
            raise ValueError(
                f"policies[{name!r}]: expected a policy class or function, got {make!r}"
            )


def _band(trace: Trace, column: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (C,) of a column; see :attr:`Comparison.table`."""
    values = trace.column(column)
    sample = values[:, 0] if values.shape[1] == 1 else values.mean(axis=2)
    mean, low, high = band(sample)
    if sample.shape[1] == 1:
        low = high = np.full_like(mean, np.nan)
    return mean, np.maximum(low, 0) if column in REGRETS else low, high


def _title(column: str) -> str:
    return _TITLES.get(column, column.replace("_", " "))


def _text(number: ConfidenceInterval) -> str:
    if math.isnan(number.low):
        return f"{number.value:.3g}"
    return "{:.3g} [{:.3g}, {:.3g}]".format(*number)
