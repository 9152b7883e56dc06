"""The measures of a run: what each asks for by name, and what it gets."""

import inspect
from collections.abc import Mapping, Sequence

import numpy as np

from mogro._validation import FloatArray, IntArray
from mogro.simulation.measures import Measure

Measures = Mapping[str, Measure] | Sequence[Measure]
_KNOWN = {"means", "chosen", "pulls", "average"}
_TAKEN = {"effective_regret", "pareto_regret"}


class Meters:
    """Measures of a run in their order, some summed over rounds, others taken at checkpoints."""

    def __init__(self, measures: Measures) -> None:
        self._measures = _named(measures)
        self.names = tuple(self._measures)
        self.pooled = tuple(n for n, one in self._measures.items() if getattr(one, "pooled", False))
        self._asks = {name: _asks(measure, name) for name, measure in self._measures.items()}
        self._summed = [name for name, asks in self._asks.items() if "chosen" in asks]
        others = [asks for name, asks in self._asks.items() if name not in self._summed]
        self._average = any("average" in asks for asks in others)
        self._fixed = [
            name
            for name, asks in self._asks.items()
            if name not in self._summed and asks & {"means", "pulls"}
        ]

    def check_changing(self) -> None:
        """Refuse measures that need means that stay, because they do not."""
        if self._fixed:
            raise ValueError(
                f"measures: expected only chosen (and means with it) or average in a world whose "
                f"means change, got {self._fixed[0]!r}, which asks for "
                f"{sorted(self._asks[self._fixed[0]])}"
            )

    def count(self, objectives: int) -> int:
        """Return how many numbers :meth:`of_round` gives."""
        return len(self._summed) + (objectives if self._average else 0)

    def of_round(self, means: FloatArray, chosen: FloatArray) -> list[FloatArray]:
        """Return what is summed, each (...): measures of rounds, then the means if asked for."""
        rows = [
            self._call(name, chosen.shape[:-1], means=means, chosen=chosen) for name in self._summed
        ]
        return rows + (list(np.moveaxis(chosen, -1, 0)) if self._average else [])

    def measured(
        self, sums: FloatArray, checkpoints: IntArray, means: FloatArray, pulls: IntArray
    ) -> FloatArray:
        """Return all measures, (C, I, R, Q).

        Parameters
        ----------
        sums
            Of what :meth:`of_round` returned, (C, S, I, R).
        checkpoints
            Rounds, (C,).
        means
            Where they stay, (I, K, M).
        pulls
            (C, I, R, K).
        """
        columns = []
        for name in self.names:
            if name in self._summed:
                columns.append(sums[:, self._summed.index(name)])
                continue
            average = np.moveaxis(sums[:, len(self._summed) :], 1, -1)
            average = average / checkpoints[:, None, None, None]
            rows = [
                self._call(name, (len(sums), pulls.shape[2]), means=m, pulls=p, average=a)
                for m, p, a in zip(
                    means, np.moveaxis(pulls, 1, 0), np.moveaxis(average, 1, 0), strict=True
                )
            ]
            columns.append(np.stack(rows, axis=1))
        shape = (len(checkpoints), *pulls.shape[1:3], len(columns))
        return np.stack(columns, axis=-1) if columns else np.empty(shape)

    def _call(self, name: str, shape: tuple[int, ...], **given: object) -> FloatArray:
        asked = {key: value for key, value in given.items() if key in self._asks[name]}
        value = np.asarray(self._measures[name](**asked))
        if value.shape != shape or value.dtype.kind not in "biuf":
            raise ValueError(
                f"measures: expected {name!r} to return numbers in the shape {shape}, "
                f"got shape {value.shape} of {value.dtype}"
            )
        return value.astype(np.float64)


def _named(measures: Measures) -> dict[str, Measure]:
    if not isinstance(measures, Mapping | Sequence):
        raise ValueError(f"measures: expected a list or dict of functions, got {measures!r}")
    given = (
        dict(measures)
        if isinstance(measures, Mapping)
        else {getattr(one, "__name__", type(one).__name__): one for one in measures}
    )
    if len(given) != len(measures) or _TAKEN & given.keys():
        raise ValueError(
            f"measures: expected different names other than {sorted(_TAKEN)}, got {measures!r}"
        )
    return given


def _asks(measure: Measure, name: str) -> set[str]:
    if not callable(measure):
        raise ValueError(f"measures: expected functions, got {measure!r} as {name!r}")
    asks = set(inspect.signature(measure).parameters)
    if not asks or asks - _KNOWN or ("chosen" in asks and asks & {"pulls", "average"}):
        raise ValueError(
            f"measures: expected {name!r} to have parameters among means and chosen, or among "
            f"means, pulls and average, got {sorted(asks)}"
        )
    return asks
