"""From the log of one agent to the events that let another learn from it."""

import json
import math
from typing import Any

import numpy as np

from mogro._validation import FloatArray
from mogro.live.deciding.requests import check_new_id, read_rewards, read_time
from mogro.live.events import Decided, Imported, to_plain
from mogro.live.logs.log import VERSION, describe, need_arrow, outcomes, utf8
from mogro.live.memory.ledger import TIMED
from mogro.live.memory.state import State
from mogro.live.objective import STATUS, Units
from mogro.live.settings import Settings

_LEARNED = ("learned", "defaulted")


def read_log(log: Any, settings: Settings) -> list[Imported]:
    """Check a log, and return an event for each of its rows, in their order."""
    pa = need_arrow()
    if not isinstance(log, pa.Table):
        raise ValueError(f"log: expected a table that agent.log() gave, got {type(log).__name__}")
    names = _check_origin(log, settings)
    events: dict[str, Imported] = {}
    unused = [name for name in log.column_names if name.startswith(("offered", "propensity"))]
    for row in log.drop_columns(unused).to_pylist():
        try:
            event = _event(row, names, settings)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"log: decision {row.get('id')!r}: {error}") from error
        id = event.decision.id
        if to_plain(events.setdefault(id, event)) != to_plain(event):
            raise ValueError(f"log: decision {id!r}: expected once, got two that differ")
    return list(events.values())


def new_rows(events: list[Imported], state: State) -> list[Imported]:
    """Return the events of decisions that a state does not hold; others have to be what it has."""
    rows = state.ledger.rows
    known = [event for event in events if event.decision.id in rows]
    block = state.ledger.gather(np.array([rows[one.decision.id] for one in known], dtype=np.int64))
    for n, event in enumerate(known):
        decision, timed = event.decision, bool(block.flags[n] & TIMED)
        _check_same(event, "arm", decision.arm, utf8(state.ledger.arms[rows[decision.id]]))
        _check_same(event, "features", decision.features.tolist(), block.features[n].tolist())
        _check_same(event, "time", decision.time, block.time.item(n) if timed else None)
    for m, name in enumerate(state.units.names):
        values, _, status = outcomes(state, block, m)
        for event, value, own in zip(known, values.tolist(), status, strict=True):
            if own in _LEARNED and event.status[name] in _LEARNED:
                _check_same(event, f"reward_{name}", event.values[name], value)
    return [event for event in events if event.decision.id not in rows]


def _check_same(event: Imported, column: str, given: object, own: object) -> None:
    if given != own:
        raise ValueError(
            f"log: decision {event.decision.id!r}: its {column} is {own!r} here, got {given!r}"
        )


def _check_origin(log: Any, settings: Settings) -> list[str]:
    """Return the names of the objectives in a log; what its learner sees has to be the same."""
    try:
        about = json.loads((log.schema.metadata or {})[b"mogro"])
        version, features = about["version"], about["features"]
        names = [one["name"] for one in about["objectives"]]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            "log: expected a table that agent.log() gave, with its metadata, got another"
        ) from None
    if version != VERSION:
        raise ValueError(f"log: expected version {VERSION}, got {version}")
    own = json.loads(json.dumps(describe(settings)["features"]))
    if features != own:
        differing = [key for key in own if own[key] != features.get(key)]
        raise ValueError(f"log: expected the same features as here, got another {differing}")
    return names


def _event(row: dict[str, Any], names: list[str], settings: Settings) -> Imported:
    check_new_id(row["id"])
    units = settings.units
    features = np.array(row["features"], dtype=np.float64)
    if features.shape != (settings.size,) or not np.isfinite(features).all():
        raise ValueError(f"features: expected {settings.size} numbers, got {row['features']}")
    common = [name for name in units.names if name in names]
    given = {name: row[f"reward_{name}"] for name in common}
    values = read_rewards({n: v for n, v in given.items() if v is not None}, units, "values")
    status = dict.fromkeys(units.names, "missing")
    for name in common:
        status[name] = _status(row[f"status_{name}"], values.get(name), name, units)
    decision = Decided(
        row["id"],
        str(row["arm"]),
        features,
        _weights(row["weights"], names, units),
        features[:0],  # replaced by what is believed when it is taken over
        row["exploring"],
        row["uniform"],
        row["teaches"],
        row["grouped"],
        None,
        read_time(row["time"], needed=settings.timed),
        observed=row["observed"],
    )
    return Imported(decision, values, status)


def _status(given: str, value: float | None, name: str, units: Units) -> str:
    """Return what becomes of an objective here, by what became of it there."""
    if given in ("late", "pending"):  # a value that is not final is not in the log
        return "missing"
    if given not in STATUS:
        raise ValueError(f"status_{name}: expected one of {STATUS}, got {given!r}")
    if given in _LEARNED:
        if value is None:
            raise ValueError(f"reward_{name}: expected what was learned, got null")
        same = given == "defaulted" and units.defaults[units.index[name]] == value
        return "defaulted" if same else "learned"
    return given


def _weights(given: list[float] | None, names: list[str], units: Units) -> FloatArray | None:
    """Return weights in the order of the objectives here, if they are the same ones."""
    if given is None or set(names) != set(units.names):
        return None
    by_name = dict(zip(names, given, strict=True))
    weights = np.array([by_name[name] for name in units.names])
    return None if math.isnan(weights.sum()) else weights
