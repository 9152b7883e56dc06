"""Decisions joined with their rewards, as an Arrow table: one row a decision, in their order.

The columns, with M objectives, K eligible arms on offer, A features of an arm as the caller gave
them, C of a context, p of an arm as the learner sees it::

    id, arm             string; a lone surrogate is escaped, because UTF-8 has none
    time                float64; null if the caller gave none
    position            int64: the place of its event
    basis               int64: the place of the last event that its beliefs knew of
    features            list<float64>, p: of the arm, as the learner sees it
    context             list<float64>, C; null without one
    weights             list<float64>, M, per unit; null if none were used
    propensity, propensity_error
                        float64; null if somebody else chose, and it is not known
    exploring, uniform, grouped, teaches, observed
                        bool: chosen to explore; drawn from all arms alike; one of several; learned
                        from; made by somebody else
    offered             list<string>, K
    offered_features    list<float64>, K * A, row by row
    offered_estimates   list<float64>, K * M, row by row, in the user's units: what was believed
    reward_NAME         float64, of each objective: what was learned, the default if that was, or
                        what came too late; null if nothing came, or it is not final
    status_NAME         string: pending, learned, defaulted, missing, late, unmet, withdrawn

An agent in memory knows no position, basis, context, propensities or arms on offer: null. So are
these of a decision that came from another agent's log. Objectives are those that the agent has
now; what was believed of one that it did not have then is NaN. The schema has metadata under
``mogro``, as JSON: ``version`` 1, ``objectives`` with all that they were made of, ``dim`` A,
``uniform``, and ``features``, what the learner sees of arms.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mogro._files import write_whole
from mogro._validation import BoolArray, FloatArray, count
from mogro.live import events
from mogro.live.deciding.decisions import propensities
from mogro.live.deciding.evidence import basis_again, offered_arms
from mogro.live.memory.learner import Learner
from mogro.live.memory.ledger import EXPLORED, GROUPED, OBSERVED, TEACHES, TIMED, UNIFORM, Block
from mogro.live.memory.state import State, new_learner
from mogro.live.objective import DEFAULTED, LEARNED, MISSING, STATUS, Units
from mogro.live.settings import Settings

VERSION = 1
FILE = "decisions.parquet"


class Written(NamedTuple):
    """What the journal holds of a decision."""

    event: events.Decided
    offered: events.Offered | None
    settings: Settings  # of the agent then


def need_arrow() -> Any:
    """Return pyarrow, or say what to do."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            "pyarrow: expected for logs, which are Arrow tables; pip install 'mogro[logs]'"
        ) from None
    return pa


def replayed(
    settings: Settings, history: Iterable[tuple[int, events.Event]]
) -> tuple[State, dict[int, Written]]:
    """Return a state that has forgotten nothing, and has learned nothing.

    Beside it what a journal holds of decisions, by their numbers. Events come with their positions.
    """
    state = State(replace(settings, capacity=None, retention=math.inf))
    state.learner = Bystander()
    offers: dict[int, events.Offered] = {}
    written: dict[int, Written] = {}
    for position, event in history:
        state.position = position - 1
        if isinstance(event, events.Forgotten | events.Compacted | events.Erased):
            continue
        decided = event.decision if isinstance(event, events.Imported) else event
        if isinstance(decided, events.Decided):
            state.ledger.rows.pop(decided.id, None)  # one of that id was forgotten
        if isinstance(event, events.Decided):
            evidence = event.evidence
            offered = None if evidence is None else offers.get(evidence.offered)
            written[state.counters.decisions] = Written(event, offered, state.settings)
        if isinstance(event, events.Changed):
            state.learner = new_learner(state.settings)
        state.apply(event)
        if isinstance(event, events.Changed):
            state.learner = Bystander()
        if isinstance(event, events.Offered):
            offers[state.position] = event
    return state, written


class Bystander(Learner):
    """A learner that learns nothing."""

    def __init__(self) -> None:
        super().__init__(1, (0,), ridge=1.0, half_life=None, explores=False)

    def learn(self, *_: object) -> None:
        """Leave it."""

    def learn_many(self, *_: object) -> None:
        """Leave it."""


def make_log(state: State, written: dict[int, Written] | None, *, largest: int) -> Any:
    """Return the decisions of a state, with what a journal holds of them, as an Arrow table."""
    pa = need_arrow()
    most = count(largest, "largest", minimum=0)
    settings, ledger = state.settings, state.ledger
    rows = ledger.written()
    block = ledger.gather(rows)
    ids, arms = ([utf8(one[row]) for row in rows.tolist()] for one in (ledger.ids, ledger.arms))
    known = written or {}
    found = [
        _evidence(known.get(serial), settings.units, step=serial, largest=most)
        for serial in block.serial.tolist()
    ]
    vector = pa.list_(pa.float64())
    weights = [None if math.isnan(one[0]) else one for one in block.weights]

    def kept(name: str, kind: Any = vector) -> dict[str, Any]:
        return {name: pa.array([getattr(one, name) for one in found], kind)}

    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.string()),
        "time": pa.array(block.time, mask=block.flags & TIMED == 0),
        "arm": pa.array(arms, pa.string()),
        "position": pa.array(block.position, mask=np.full(len(ids), written is None)),
        **kept("basis", pa.int64()),
        "features": pa.array(list(block.features), vector),
        **kept("context"),
        "weights": pa.array(weights, vector),
        **kept("propensity", pa.float64()),
        **kept("propensity_error", pa.float64()),
        **{name: pa.array((block.flags & flag) > 0) for name, flag in _FLAGS.items()},
        **kept("offered", pa.list_(pa.string())),
        **kept("offered_features"),
        **kept("offered_estimates"),
    }
    for m, name in enumerate(settings.units.names):
        values, there, status = outcomes(state, block, m)
        columns[f"reward_{name}"] = pa.array(values, mask=~there)
        columns[f"status_{name}"] = pa.array(status, pa.string())
    table = pa.table(columns)
    return table.replace_schema_metadata({"mogro": json.dumps(describe(settings))})


_FLAGS = {
    "exploring": EXPLORED,
    "uniform": UNIFORM,
    "grouped": GROUPED,
    "teaches": TEACHES,
    "observed": OBSERVED,
}


class _Row(NamedTuple):
    """The columns that take a journal."""

    basis: int | None = None
    context: FloatArray | None = None
    propensity: float | None = None
    propensity_error: float | None = None
    offered: tuple[str, ...] | None = None
    offered_features: FloatArray | None = None
    offered_estimates: FloatArray | None = None


def _evidence(written: Written | None, units: Units, *, step: int, largest: int) -> _Row:
    if written is None or written.event.evidence is None:
        return _Row()
    event, evidence, settings = written.event, written.event.evidence, written.settings
    row = _Row(evidence.basis, evidence.context)
    if evidence.propensity is not None:
        value, error = evidence.propensity
        row = row._replace(propensity=value, propensity_error=error)
    if written.offered is None:
        return row
    if evidence.propensity is None and not event.observed:
        basis = basis_again(event, written.offered, settings, step=step)
        found = propensities(event.id, basis, settings, exploiting=True)
        place = found.arms.index(event.arm)
        row = row._replace(
            propensity=float(found.values[place]), propensity_error=float(found.errors[place])
        )
    arms = offered_arms(evidence, written.offered, settings)
    if len(arms) > largest:
        return row
    believed = settings.units.outward(arms.features @ evidence.theta.T)
    values = np.full((len(arms), len(units)), math.nan)
    for m, name in enumerate(units.names):
        if name in settings.units.index:
            values[:, m] = believed[:, settings.units.index[name]]
    return row._replace(
        offered=tuple(map(utf8, arms.ids)),
        offered_features=arms.given.ravel(),
        offered_estimates=values.ravel(),
    )


def utf8(id: str) -> str:
    """Return an id as UTF-8 can hold it."""
    return id if id.isascii() else id.encode("utf-8", "backslashreplace").decode()


def outcomes(state: State, block: Block, m: int) -> tuple[FloatArray, BoolArray, list[str]]:
    """Return values of one objective, which of them there are, and what became of it."""
    states, name, default = block.state[:, m], state.units.names[m], state.units.defaults[m]
    learned = [state.defaults.get((serial, name), default) for serial in block.serial.tolist()]
    values = np.where(states == DEFAULTED, np.array(learned, np.float64), block.values[:, m])
    late = (states == MISSING) & ~np.isnan(values)
    known = late | (states == LEARNED) | (states == DEFAULTED)
    status = [STATUS[state] for state in states.tolist()]
    for n in np.flatnonzero(late).tolist():
        status[n] = "late"
    return values, known, status


def describe(settings: Settings) -> dict[str, Any]:
    """Return the metadata of a log."""
    plain = settings.to_plain()
    kept = {name: plain[name] for name in ("intercept", "scaling", "features")}
    return {
        "version": VERSION,
        "objectives": plain["objectives"],
        "dim": settings.mapping.dim,
        "uniform": settings.uniform,
        "features": {"dim": plain["dim"]} | kept,
    }


def write_log(table: Any, folder: Path) -> Path:
    """Write a log into a folder, whole or not at all, and return the file's path."""
    import pyarrow.parquet

    path = folder / FILE
    with write_whole(path, parents=True) as file:
        pyarrow.parquet.write_table(table, file)
    return path
