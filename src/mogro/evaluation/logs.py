"""Logs of agents: where rows come from, and what an estimate needs of them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._intervals import are_rates
from mogro._validation import BoolArray
from mogro.agent.agent import Agent
from mogro.agent.log import read_metadata
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.log_records import EXCLUSIONS, LogRecords, exclusion_reasons, numbers
from mogro.offpolicy import Evaluation, Rows, predicted_rows, weighted_rows
from mogro.probability import Probabilities

_NEEDED = "id", "time", "arm", "uniform", "holdout", "propensity", "offered", "offered_estimates"
_ROWS = 1 << 12  # at a time, for a row has all its arms


class AgentLog:
    """A table of :meth:`mogro.Agent.log`, or Parquet files of :meth:`mogro.Agent.export`.

    Attributes
    ----------
    dataset
        The rows, as a dataset of Arrow.
    objective_set
        All objectives of the log.
    objective_indices
        Numbers of those that are to be judged.
    rates
        Which of these are rates, once all records are read.
    """

    def __init__(self, dataset: Any, objectives: Sequence[str] | None) -> None:
        self.dataset = dataset
        self.objective_set = ObjectiveSet(read_metadata(dataset.schema)["objectives"])
        self.objective_indices = _objective_indices(self.objective_set, objectives)
        per_objective = [
            f"{kind}_{name}" for name in self.objective_set.names for kind in ("reward", "status")
        ]
        if missing := [
            name for name in (*_NEEDED, *per_objective) if name not in dataset.schema.names
        ]:
            raise ValueError(f"log: expected all columns of agent.log(), got none called {missing}")
        self._open_since = self._first_open_time()
        self._arms: dict[str, int] = {}  # numbers of those met so far
        # What is known once all records are read: how many are of use, and why others are not.
        self._exclusion_counts = np.zeros(1 + len(EXCLUSIONS), dtype=int)
        self.rates: BoolArray = np.ones(len(self.objective_indices), dtype=np.bool_)
        self._first_time, self._last_time = np.inf, -np.inf

    def _first_open_time(self) -> float:
        """Return the time of the first decision with an open window; infinity if there is none."""
        names, windows = self.objective_set.names, self.objective_set.windows
        status = [f"status_{names[m]}" for m in self.objective_indices if windows[m] < np.inf]
        table = self.dataset.to_table(columns=["time", *status])
        is_pending = np.zeros(len(table), dtype=np.bool_)
        for name in status:
            is_pending |= table.column(name).to_numpy() == "pending"
        return float(numbers(table.column("time"))[is_pending].min(initial=np.inf))

    def records(self) -> Iterator[LogRecords]:
        """Read the rows that are of use once, in order, some at a time."""
        first_row = 0
        for batch in self.dataset.to_batches(batch_size=_ROWS):
            reasons = exclusion_reasons(batch, self._open_since)
            self._exclusion_counts += np.bincount(reasons, minlength=len(self._exclusion_counts))
            usable_rows = np.flatnonzero(reasons == 0)
            if len(usable_rows):
                records = LogRecords(
                    batch.take(usable_rows),
                    first_row + usable_rows,
                    self.objective_set,
                    self.objective_indices,
                )
                self._summarise(records)
                yield records
            first_row += len(batch)
        if not self._exclusion_counts[0]:
            raise ValueError(
                "log: expected rows with propensities and closed windows, got none; agents with a "
                "journal record propensities, and objectives= names those whose windows have closed"
            )

    def _summarise(self, records: LogRecords) -> None:
        times = records.numbers("time")
        self.rates &= are_rates(records.rewards)
        self._first_time = float(np.fmin.reduce(times, initial=self._first_time))
        self._last_time = float(np.fmax.reduce(times, initial=self._last_time))

    @property
    def decision_rate(self) -> float:
        """Decisions of use in a unit of time; NaN where no time is known."""
        span = self._last_time - self._first_time
        return float(self._exclusion_counts[0] / span) if span > 0 else np.nan

    def target_rows(self, records: LogRecords, target: Probabilities, *, predictions: bool) -> Rows:
        """Return what an estimate needs of some rows.

        Target probabilities are those of all arms on offer, (n, K), or of the logged arms, (n,).
        The relative error of a weight is that of both of its probabilities.
        """
        rewards, propensities = records.rewards, records.numbers("propensity")
        value, error = target
        has_all_arms = value.ndim == 2
        if has_all_arms:
            choices = np.arange(len(records)), records.chosen_index
            value, error = value[choices], error[choices]
        relative_errors = np.divide(error, value, out=np.zeros(len(value)), where=value > 0)
        spread = np.nan_to_num(records.numbers("propensity_error"))  # 0 where nobody gave any
        spread = np.hypot(spread, relative_errors * propensities)
        errors = spread if spread.any() else None
        data = rewards, propensities
        if has_all_arms and predictions and records.has("offered_estimates"):
            predicted = records.estimates[:, :, self.objective_indices]
            rows = predicted_rows(
                *data, records.chosen_index, target.values, predicted, errors=errors
            )
        else:
            rows = weighted_rows(*data, value, errors=errors)
        return replace(rows, arms=self._arm_numbers(records), target_mass=np.zeros(0))

    def logged_rows(self, records: LogRecords) -> Rows:
        """Return what an estimate of the logged choices themselves needs of some rows."""
        ones = np.ones(len(records))
        rows = weighted_rows(records.rewards, ones, ones)
        return replace(rows, arms=self._arm_numbers(records))

    def _arm_numbers(self, records: LogRecords) -> NDArray[np.intp]:
        """Return numbers of the logged arms; rewards of an arm stand for its missing ones."""
        arms = records.batch.column("arm").dictionary_encode()
        codes = [self._arms.setdefault(arm, len(self._arms)) for arm in arms.dictionary.to_pylist()]
        return np.asarray(np.array(codes, dtype=np.intp)[arms.indices.to_numpy()])

    def labelled(self, evaluation: Evaluation, *notes: str) -> Evaluation:
        """Give the objectives their names, and say what a reader should know."""
        names = tuple(self.objective_set.names[m] for m in self.objective_indices)
        exclusions = zip(self._exclusion_counts[1:], EXCLUSIONS, strict=True)
        notes = (*notes, *(f"{count:,} rows {reason}" for count, reason in exclusions if count))
        return replace(evaluation, names=names, rates=tuple(self.rates.tolist()), notes=notes)


def read_log(log: object, objectives: Sequence[str] | None = None) -> AgentLog:
    """Open a log, wherever it is kept, to judge some objectives, or all."""
    from pyarrow import dataset

    source: Any = log
    if isinstance(log, str | os.PathLike):
        source = _open_path(os.fspath(log))
    elif isinstance(log, Agent):
        source = log.log()
    elif isinstance(log, list) or not (hasattr(log, "schema") and hasattr(log, "to_batches")):
        raise ValueError(
            "log: expected an Agent, its file or address, a table of agent.log() or a folder of "
            f"Parquet files, got {type(log).__name__}"
        )
    schema = _common_schema(source) if isinstance(source, list) else None
    return AgentLog(dataset.dataset(source, schema=schema), objectives)


def _common_schema(paths: list[Any]) -> Any:
    """Return the columns of all Parquet files, and the objectives of the first.

    Columns that an older file lacks are null there.
    """
    import pyarrow as pa
    from pyarrow import parquet

    return pa.unify_schemas([parquet.read_schema(file) for file in paths])


def _open_path(path: str) -> Any:
    """Return the table of an agent that is kept somewhere, or Parquet files in their order."""
    location = Path(path)
    if location.is_dir():
        files = sorted(map(str, location.glob("**/*.parquet")))
        if not files:
            raise ValueError(f"log: expected a folder of Parquet files, got {path}")
        return files
    if location.suffix == ".parquet" and location.is_file():
        return [path]
    if "://" not in path and not location.is_file():
        raise ValueError(
            f"log: expected a folder of Parquet files, or the file of an agent, got {path}"
        )
    with Agent.open(path) as agent:
        return agent.log()


def _objective_indices(objective_set: ObjectiveSet, objectives: Sequence[str] | None) -> list[int]:
    """Return the numbers of objectives, by their names."""
    names = objective_set.names if objectives is None else objectives
    if isinstance(names, str) or not names or not set(names) <= set(objective_set.names):
        raise ValueError(
            f"objectives: expected a list of some of {list(objective_set.names)}, "
            f"got {objectives!r}"
        )
    return [m for m, name in enumerate(objective_set.names) if name in names]
