"""Policies side by side in an environment: a table, and the plot of their regrets."""

import base64
import html
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.experiments import statistics
from mogro.experiments.statistics import Interval
from mogro.experiments.style import LOOKS, MARKERS, SPARE, Look, curve, house_style, legend, panels
from mogro.simulation import MakePolicy, Trace, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_COLUMNS = {"effective_regret": "effective Pareto regret", "pareto_regret": "Pareto regret"}


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
    >>> found = mogro.compare({"MOGRO": mogro.MOGRO}, world, rounds=100, repeats=5)
    >>> found
    policy    effective Pareto regret              Pareto regret
    MOGRO                    1 [1, 1]                   1 [1, 1]
    """

    traces: Mapping[str, Trace]

    @property
    def table(self) -> dict[str, dict[str, Interval]]:
        """Final regrets of every policy, with 95 % intervals.

        The sample are the instances or, if there is only one, its repeats.
        """
        return {
            name: {
                column: statistics.mean(_sample(getattr(trace, column))[-1]) for column in _COLUMNS
            }
            for name, trace in self.traces.items()
        }

    def plot(self) -> "Drawing":
        """Draw both regrets over time, with bands; matplotlib comes with ``mogro[lab]``."""
        with house_style():
            drawing, axes = panels(1, 2, width=4.4, height=3.2)
            for panel, (column, title) in zip(axes[0], _COLUMNS.items(), strict=True):
                for name, how in _looks(self.traces).items():
                    trace = self.traces[name]
                    band = statistics.band(_sample(getattr(trace, column)))
                    curve(panel, how, trace.checkpoints, *band)
                panel.set_xlabel("round")
                panel.set_ylabel(title)
                panel.set_xlim(left=0)
                panel.set_ylim(bottom=0)
            legend(drawing, axes[0, 0], columns=4)
        return drawing

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the plot; the ending of the name tells the kind: png, svg or pdf."""
        with house_style():
            self.plot().savefig(Path(path))

    def __repr__(self) -> str:
        width = max(len("policy"), *(len(name) for name in self.traces))
        lines = ["  ".join([f"{'policy':<{width}}", *(f"{c:>25}" for c in _COLUMNS.values())])]
        for name, row in self.table.items():
            cells = (f"{_text(number):>25}" for number in row.values())
            lines.append("  ".join([f"{name:<{width}}", *cells]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{column}</th>" for column in ("policy", *_COLUMNS.values()))
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td>"
            + "".join(f"<td>{_text(number)}</td>" for number in row.values())
            + "</tr>"
            for name, row in self.table.items()
        )
        image = io.BytesIO()
        with house_style():
            self.plot().savefig(image, format="png")
        data = base64.b64encode(image.getvalue()).decode()
        return f'<table><tr>{heads}</tr>{rows}</table><img src="data:image/png;base64,{data}">'


def compare(
    policies: Mapping[str, MakePolicy],
    environment: Environment | Sequence[Environment],
    *,
    rounds: int,
    repeats: int = 20,
    seed: int = 0,
    path: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Let several policies play in the same environment, and compare their regrets.

    Every policy meets the same contexts and the same noise, and none is disturbed by the others.

    Parameters
    ----------
    policies
        What makes each policy, by name; see :func:`mogro.simulate`. One of your own is a class
        with ``__init__(dim, objectives)``, ``select(features, *, rng)`` and
        ``update(features, reward)``.
    environment
        One instance, or several of equal sizes.
    rounds, repeats, seed
        As for :func:`mogro.simulate`.
    path
        Where to save the plot, if anywhere (needs matplotlib: ``pip install mogro[lab]``).

    Returns
    -------
    Comparison
        A table that prints itself; ``plot()`` draws, and a notebook shows both.

    Examples
    --------
    >>> import numpy as np
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> world = mogro.environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng)
    >>> found = mogro.compare(
    ...     {"MOGRO": mogro.MOGRO, "epsilon-greedy": mogro.EpsilonGreedy},
    ...     world,
    ...     rounds=300,
    ...     repeats=5,
    ... )
    >>> regret = {name: row["effective_regret"].value for name, row in found.table.items()}
    >>> regret["MOGRO"] < regret["epsilon-greedy"]
    True
    """
    if not policies:
        raise ValueError("policies: expected at least one, got none")
    found = Comparison(
        {
            name: simulate(make, environment, rounds=rounds, repeats=repeats, seed=seed)
            for name, make in policies.items()
        }
    )
    if path is not None:
        found.save(path)
    return found


def _sample(values: FloatArray) -> FloatArray:
    """Return (C, n): means over repeats of several instances, or the repeats of a single one."""
    return values[:, 0] if values.shape[1] == 1 else values.mean(axis=2)


def _looks(names: Mapping[str, object]) -> dict[str, Look]:
    others = [name for name in names if name not in LOOKS]
    spare = {
        name: Look(name, SPARE[n % len(SPARE)], marker=MARKERS[n % len(MARKERS)])
        for n, name in enumerate(others)
    }
    return {name: LOOKS.get(name) or spare[name] for name in names}


def _text(number: Interval) -> str:
    return "{:.3g} [{:.3g}, {:.3g}]".format(*number)
