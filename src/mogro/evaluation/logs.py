"""Logs of agents: where rows come from, and what an estimate needs of them."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import FloatArray
from mogro.agent.agent import Agent
from mogro.agent.objective import FIELDS, Objective
from mogro.agent.objective_set import ObjectiveSet
from mogro.evaluation.log_records import (
    EXCLUSION_COLUMNS,
    EXCLUSIONS,
    LogRecords,
    TargetProbabilities,
    exclusion_reasons,
    from_arrow,
    numbers,
)
from mogro.offpolicy import Evaluation, Rows, predicted_rows, weighted_rows

_ROWS = 1 << 12  # at a time, for a row has all its arms


class AgentLog:
    """A table of :meth:`mogro.Agent.log`, or Parquet files of :meth:`mogro.Agent.export`.

    Attributes
    ----------
    source
        The table, or paths in order.
    objective_set
        All objectives of the log.
    judged
        Numbers of those that are to be judged.
    rows
        In all.
    notes
        What is left out, and why.
    decision_rate
        Decisions of use in a unit of time; NaN where no time is known.
    """

    def __init__(self, source: Any, objectives: Sequence[str] | None) -> None:
        schema = _schema(source)
        self.source, self.objective_set = source, _units(schema)
        self.judged = _judged(self.objective_set, objectives)
        self._first_open_time = _first_open_time(source, self.objective_set, self.judged)
        counts, self._missing, first, last = np.zeros(5, dtype=int), False, np.inf, -np.inf
        rewards = [f"reward_{self.objective_set.names[m]}" for m in self.judged]
        self._rates = np.ones(len(rewards), dtype=np.bool_)
        known = [name for name in schema.names if name in EXCLUSION_COLUMNS]
        for batch in batches(source, [*known, *rewards]):
            reasons = exclusion_reasons(batch, self._first_open_time)
            counts += np.bincount(reasons, minlength=5)
            usable = reasons == 0
            times = numbers(batch, "time")[usable]
            first = min(first, float(times.min(initial=np.inf)))
            last = max(last, float(times.max(initial=-np.inf)))
            values = np.array([numbers(batch, name)[usable] for name in rewards])
            self._missing |= bool(np.isnan(values).any())
            self._rates &= ((values == 0) | (values == 1) | np.isnan(values)).all(axis=1)
        self._usable, self.rows = int(counts[0]), int(counts.sum())
        self.decision_rate = self._usable / (last - first) if last > first else np.nan
        reasons_left = zip(counts[1:], EXCLUSIONS, strict=True)
        self.notes = tuple(f"{count:,} rows {words}" for count, words in reasons_left if count)
        self._arms: dict[str, int] = {}  # numbers of those met so far

    def records(self) -> Iterator[LogRecords]:
        """Read the rows that are of use, in order, some at a time."""
        if not self._usable:
            raise ValueError(
                "log: expected rows with propensities and closed windows, got none; agents with a "
                "journal record propensities, and objectives= names those whose windows have closed"
            )
        first = 0
        for batch in batches(self.source):
            records = from_arrow(
                batch, self.objective_set, first=first, until=self._first_open_time
            )
            first += len(batch)
            if records is not None:
                yield records

    def target_rows(
        self, records: LogRecords, wanted: TargetProbabilities, *, predictions: bool
    ) -> Rows:
        """Return what an estimate needs of some rows."""
        logged, values, chosen = records.propensities, wanted.values, records.chosen
        rewards = records.rewards[:, self.judged]
        errors = _errors(records, wanted)
        uncertain = errors if errors.any() else None
        if values.ndim == 2 and predictions and records.estimates is not None:
            assert chosen is not None
            believed = records.estimates[:, :, self.judged]
            rows = predicted_rows(rewards, logged, chosen, values, believed, errors=uncertain)
        else:
            if values.ndim == 2:
                assert chosen is not None
                values = values[np.arange(len(values)), chosen]
            rows = weighted_rows(rewards, logged, values, errors=uncertain)
        return replace(rows, arms=self._numbered(records), mass=None)

    def logged_rows(self, records: LogRecords) -> Rows:
        """Return what an estimate of the logged choices themselves needs of some rows."""
        every = np.ones(len(records))
        rows = weighted_rows(records.rewards[:, self.judged], every, every)
        return replace(rows, arms=self._numbered(records))

    def _numbered(self, records: LogRecords) -> NDArray[np.intp] | None:
        """Return the logged arms as numbers, by which missing rewards are stood for."""
        if not self._missing:
            return None
        return np.array([self._arms.setdefault(arm, len(self._arms)) for arm in records.arms])

    def named(self, evaluation: Evaluation, *notes: str) -> Evaluation:
        """Give the objectives their names, and say what a reader should know."""
        names = tuple(self.objective_set.names[m] for m in self.judged)
        rates = tuple(self._rates.tolist())
        return replace(evaluation, names=names, rates=rates, notes=(*notes, *self.notes))


def _errors(records: LogRecords, wanted: TargetProbabilities) -> FloatArray:
    """Return standard errors of propensities (n,), with those of the target beside them.

    The relative error of a weight is that of both probabilities.
    """
    errors = np.nan_to_num(records.errors)  # where nobody gave any
    if wanted.errors is None or records.chosen is None:
        return errors
    every = np.arange(len(errors))
    value, error = wanted.values[every, records.chosen], wanted.errors[every, records.chosen]
    relative = np.divide(error, value, out=np.zeros_like(error), where=value > 0)
    return np.asarray(np.hypot(errors, relative * records.propensities))


def read_log(log: object, objectives: Sequence[str] | None = None) -> AgentLog:
    """Return a log that can be read, whatever it is kept in, to judge some objectives, or all."""
    if isinstance(log, str | os.PathLike):
        log = _open_stored(os.fspath(log))
    if isinstance(log, Agent):
        log = log.log()
    if not (isinstance(log, list) or (hasattr(log, "schema") and hasattr(log, "to_batches"))):
        raise ValueError(
            "log: expected an Agent, where one is kept, a table of agent.log() or a folder of "
            f"Parquet files, got {type(log).__name__}"
        )
    return AgentLog(log, objectives)


def batches(source: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield record batches of a table, or of files one after the other."""
    if not isinstance(source, list):
        table = source if columns is None else source.select(columns)
        yield from table.to_batches(max_chunksize=_ROWS)
        return
    from pyarrow import parquet

    for path in source:
        yield from parquet.ParquetFile(path).iter_batches(batch_size=_ROWS, columns=columns)


def _open_stored(path: str) -> Any:
    """Return the table of an agent that is kept somewhere, or Parquet files in their order."""
    place = Path(path)
    if place.is_dir():
        files = sorted(place.glob("**/*.parquet"))
        if not files:
            raise ValueError(f"log: expected a folder of Parquet files, got {path}")
        return files
    if place.suffix == ".parquet" and place.is_file():
        return [place]
    if "://" not in path and not place.is_file():
        raise ValueError(f"log: expected a folder of Parquet files, or an agent's, got {path}")
    with Agent.open(path) as agent:
        return agent.log()


def _judged(objective_set: ObjectiveSet, objectives: Sequence[str] | None) -> list[int]:
    """Return the numbers of objectives, by their names."""
    names = objective_set.names if objectives is None else objectives
    if isinstance(names, str) or not names or not set(names) <= set(objective_set.names):
        raise ValueError(
            f"objectives: expected a list of some of {list(objective_set.names)}, "
            f"got {objectives!r}"
        )
    return [m for m, name in enumerate(objective_set.names) if name in names]


def _schema(source: Any) -> Any:
    if not isinstance(source, list):
        return source.schema
    from pyarrow import parquet

    return parquet.ParquetFile(source[0]).schema_arrow


def _units(schema: Any) -> ObjectiveSet:
    kept = (schema.metadata or {}).get(b"mogro")
    if kept is None:
        raise ValueError("log: expected a table of agent.log() with its metadata, got one without")
    about = json.loads(kept)
    if about.get("version") != 1:
        raise ValueError(f"log: expected version 1 of the log, got {about.get('version')!r}")
    known = [{k: v for k, v in each.items() if k in FIELDS} for each in about["objectives"]]
    return ObjectiveSet([Objective(**fields) for fields in known])


def _first_open_time(source: Any, objective_set: ObjectiveSet, judged: list[int]) -> float:
    """Return the time of the first decision with an open window; infinity if there is none."""
    names = [
        f"status_{objective_set.names[m]}" for m in judged if objective_set.windows[m] < np.inf
    ]
    until = np.inf
    for batch in batches(source, ["time", *names]) if names else ():
        times = batch.column("time").to_numpy(zero_copy_only=False)
        for name in names:
            pending = times[batch.column(name).to_numpy(zero_copy_only=False) == "pending"]
            until = min(until, float(pending.min(initial=np.inf)))
    return until
