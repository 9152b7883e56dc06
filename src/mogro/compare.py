"""Policies side by side in an environment: a table, and the plot of their regrets."""

import base64
import html
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from mogro._intervals import ConfidenceInterval, band
from mogro._plots import LINES, LOOKS, SPARE, Look, curve, house_style, legend, panels
from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.simulation import MakePolicy, Trace, simulate
from mogro.simulation._learners import WrongPolicyError

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
    def table(self) -> dict[str, dict[str, ConfidenceInterval]]:
        """Final regrets of every policy, with 95 % intervals.

        The sample are the instances or, if there is only one, its repeats. A sample of one has no
        interval: its ends are NaN. Regrets are never negative, and no interval goes below 0.
        """
        return {
            name: {
                column: ConfidenceInterval(
                    *(float(part[-1]) for part in _band(getattr(trace, column)))
                )
                for column in _COLUMNS
            }
            for name, trace in self.traces.items()
        }

    def plot(self) -> "Drawing":
        """Draw both regrets over time, with bands; matplotlib comes with ``mogro[lab]``.

        Bands are intervals like those of :attr:`table`. Policies with the names that the paper uses
        ("MOGRO-RW", "MOGRO-RR", "MOLB-eps-greedy", "MOLB-UCB", "MOL-TS") have the colours of the
        paper's figures here, and "MOGRO" that of MOGRO-RW; others have colours and lines in turn.
        """
        with house_style():
            drawing, axes = panels(1, 2, width=4.4, height=3.2)
            for panel, (column, title) in zip(axes[0], _COLUMNS.items(), strict=True):
                for name, how in _looks(self.traces).items():
                    trace = self.traces[name]
                    curve(panel, how, trace.checkpoints, *_band(getattr(trace, column)))
                panel.set_xlabel("round")
                panel.set_ylabel(title)
                panel.set_xlim(left=0)
                panel.set_ylim(bottom=0)
            legend(drawing, axes[0, 0], columns=4)
        return drawing

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the plot in a folder that exists; the ending tells the kind: png, svg, pdf."""
        place = _checked_path(path)
        with house_style():
            self.plot().savefig(place)

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
        ``update(features, reward)``. Names of the paper's policies have the paper's colours; see
        :meth:`Comparison.plot`.
    environment
        One instance, or several of equal sizes.
    rounds, repeats, seed
        As for :func:`mogro.simulate`.
    path
        Where to save the plot, if anywhere: a name with an ending such as .png, .svg or .pdf, in
        a folder that exists (needs matplotlib: ``pip install 'mogro[lab]'``).

    Returns
    -------
    Comparison
        A table that prints itself; ``plot()`` draws, and a notebook shows both. With a single run
        the table has numbers without intervals.

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
    _check_policies(policies)
    place = None if path is None else _checked_path(path)
    traces = {}
    for name, make in policies.items():
        try:
            traces[name] = simulate(make, environment, rounds=rounds, repeats=repeats, seed=seed)
        except WrongPolicyError as error:
            raise ValueError(f"policies[{name!r}]: {error.args[0]}") from None
    found = Comparison(traces)
    if place is not None:
        found.save(place)
    return found


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


def _checked_path(path: str | os.PathLike[str]) -> Path:
    """Refuse what no plot can be saved to."""
    with house_style():  # says what to install where matplotlib is not
        from matplotlib.backend_bases import FigureCanvasBase
    place = Path(path)
    kinds = FigureCanvasBase.get_supported_filetypes()
    if place.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"path: expected an ending of {', '.join(kinds)}, got {str(path)!r}")
    if not place.parent.is_dir():
        raise ValueError(f"path: expected a folder that exists, got {str(path)!r}")
    return place


def _band(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, low and high (C,) of regrets (C, I, R); see :attr:`Comparison.table`."""
    sample = values[:, 0] if values.shape[1] == 1 else values.mean(axis=2)
    mean, low, high = band(sample)
    if sample.shape[1] == 1:
        low = high = np.full_like(mean, np.nan)
    return mean, np.maximum(low, 0), high


def _looks(names: Mapping[str, object]) -> dict[str, Look]:
    known = LOOKS
    if "MOGRO-RW" not in names:
        known = LOOKS | {"MOGRO": LOOKS["MOGRO-RW"]._replace(name="MOGRO")}
    others = [name for name in names if name not in known]
    spare = {
        name: Look(name, SPARE[n % len(SPARE)], LINES[n % len(LINES)])
        for n, name in enumerate(others)
    }
    return {name: known.get(name) or spare[name] for name in names}


def _text(number: ConfidenceInterval) -> str:
    if math.isnan(number.low):
        return f"{number.value:.3g}"
    return "{:.3g} [{:.3g}, {:.3g}]".format(*number)
