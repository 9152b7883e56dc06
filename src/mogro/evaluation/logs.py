"""Where rows come from: an agent, a table of its log, or Parquet files."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mogro.agent.agent import Agent
from mogro.agent.objective import FIELDS, Objective
from mogro.agent.units import Units
from mogro.evaluation.log_records import Records, from_arrow, why_left_out

ROWS = 1 << 12  # at a time, for a row has all its arms


@dataclass(frozen=True, eq=False)
class AgentLog:
    """A table of :meth:`mogro.Agent.log`, or Parquet files of :meth:`mogro.Agent.export`."""

    source: Any  # a table, or paths in order
    units: Units
    judged: list[int]  # numbers of the objectives that are to be judged
    until: float  # when a decision was made whose windows may be open
    rows: int  # in all
    notes: tuple[str, ...]  # what is left out, and why

    def records(self) -> Iterator[Records]:
        """Read the rows, in order."""
        first = 0
        for batch in batches(self.source):
            records = from_arrow(batch, self.units, first=first, until=self.until)
            first += len(batch)
            if records is not None:
                yield records


def read_log(log: object, objectives: Sequence[str] | None = None) -> AgentLog:
    """Return a log that can be read, whatever it is kept in, to judge some objectives, or all."""
    if isinstance(log, str | os.PathLike):
        log = _stored(os.fspath(log))
    if isinstance(log, Agent):
        log = log.log()
    if not (isinstance(log, list) or (hasattr(log, "schema") and hasattr(log, "to_batches"))):
        raise ValueError(
            "log: expected an Agent, where one is kept, a table of agent.log() or a folder of "
            f"Parquet files, got {type(log).__name__}"
        )
    return _arrow(log, objectives)


def batches(source: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield record batches of a table, or of files one after the other."""
    if not isinstance(source, list):
        table = source if columns is None else source.select(columns)
        yield from table.to_batches(max_chunksize=ROWS)
        return
    from pyarrow import parquet

    for path in source:
        yield from parquet.ParquetFile(path).iter_batches(batch_size=ROWS, columns=columns)


def _stored(path: str) -> Any:
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


def _judged(units: Units, objectives: Sequence[str] | None) -> list[int]:
    """Return the numbers of objectives, by their names."""
    names = units.names if objectives is None else objectives
    if isinstance(names, str) or not names or not set(names) <= set(units.names):
        raise ValueError(
            f"objectives: expected a list of some of {list(units.names)}, got {objectives!r}"
        )
    return [m for m, name in enumerate(units.names) if name in names]


def _arrow(source: Any, objectives: Sequence[str] | None) -> AgentLog:
    if isinstance(source, list):
        from pyarrow import parquet

        schema = parquet.ParquetFile(source[0]).schema_arrow
    else:
        schema = source.schema
    kept = (schema.metadata or {}).get(b"mogro")
    if kept is None:
        raise ValueError("log: expected a table of agent.log() with its metadata, got one without")
    about = json.loads(kept)
    if about.get("version") != 1:
        raise ValueError(f"log: expected version 1 of the log, got {about.get('version')!r}")
    known = [{k: v for k, v in each.items() if k in FIELDS} for each in about["objectives"]]
    units = Units([Objective(**fields) for fields in known])
    judged = _judged(units, objectives)
    until = _until(source, units, judged)
    left_out = np.zeros(4, dtype=int)
    for batch in batches(source, [n for n in schema.names if n in _JUDGED]):
        left_out += np.bincount(why_left_out(batch, until), minlength=4)
    rows = int(left_out.sum())
    notes = tuple(
        f"{count:,} rows {words}"
        for count, words in zip(left_out[1:], _LEFT_OUT, strict=True)
        if count
    )
    return AgentLog(source, units, judged, until, rows, notes)


# Columns by which rows are left out, and why.
_JUDGED = ("time", "propensity", "uniform", "holdout")
_LEFT_OUT = (
    "are left out, because their windows may be open",
    "without a propensity are left out",
    "of a baseline that draws nothing are left out, because they judge no other policy",
)


def _until(source: Any, units: Units, judged: list[int]) -> float:
    """Return the time of the first decision with an open window; infinity if there is none."""
    names = [f"status_{units.names[m]}" for m in judged if units.windows[m] < np.inf]
    until = np.inf
    for batch in batches(source, ["time", *names]) if names else ():
        times = batch.column("time").to_numpy(zero_copy_only=False)
        for name in names:
            pending = times[batch.column(name).to_numpy(zero_copy_only=False) == "pending"]
            until = min(until, float(pending.min(initial=np.inf)))
    return until
