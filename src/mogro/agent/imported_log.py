"""Import from the log of another agent: decisions that are new here, and changes of known ones.

Features are computed from the records in the log, by the encoders that the agent has here, or from
the features there, as far as these say it all.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mogro._codec import to_plain
from mogro._validation import FloatArray, real
from mogro.agent.config import AgentConfig
from mogro.agent.events import Activated, Decided, Event, Imported, Rewarded, Withdrawn
from mogro.agent.features.encoder import parse_record
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.features.remapping import Remapping
from mogro.agent.log import import_pyarrow, read_metadata, to_utf8
from mogro.agent.objective import DEFAULTED, PENDING, STATUS
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.request import check_new_id, read_rewards, read_time
from mogro.agent.state.state import State

_LEARNED = ("learned", "defaulted")


class LoggedDecision(NamedTuple):
    """A decision in a log.

    Attributes
    ----------
    event
        By which it is taken over where it is not known.
    status
        Of its objectives in the log, by name.
    start
        When its windows began, if not when it was made.
    """

    event: Imported
    status: dict[str, str]
    start: float | None


def read_imported_log(log: Any, config: AgentConfig) -> tuple[list[LoggedDecision], float | None]:
    """Check a log, and return its decisions as an agent of some configuration sees them.

    With the latest time of the agent that made them.
    """
    pa = import_pyarrow()
    if not isinstance(log, pa.Table):
        raise ValueError(
            "log: expected a table that agent.log() gave, an agent, or the path of its journal or "
            f"its export, got {type(log).__name__}"
        )
    metadata = read_metadata(log.schema)
    if (kind := metadata.get("rewards")) != "learned":
        raise ValueError(f"log: expected one with rewards='learned', got {kind!r}")
    names = [objective.name for objective in metadata["objectives"]]
    columns = [name for name in log.column_names if name.startswith(("offered", "propensity"))]
    rows = log.drop_columns(columns).to_pylist()  # what nobody needs here, and takes most memory
    decisions: dict[str, LoggedDecision] = {}
    for row, features in zip(rows, _features(rows, metadata["features"], config), strict=True):
        try:
            decision = _logged_decision(row, features, names, config)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"log: decision {row.get('id')!r}: {error}") from error
        id = decision.event.decision.id
        if to_plain(decisions.setdefault(id, decision)) != to_plain(decision):
            raise ValueError(f"log: decision {id!r}: expected once, got two that differ")
    return list(decisions.values()), metadata["time"]


def import_events(logged_decision: LoggedDecision, state: State) -> Iterator[Event]:
    """Yield what a state does not know yet of a decision in a log; first the decision itself.

    One that says something else than what is known under its id is refused.
    """
    event, decision, ledger = logged_decision.event, logged_decision.event.decision, state.ledger
    row = ledger.rows_by_id.get(decision.id)
    if row is None:
        estimates = state.learner.theta @ decision.features
        yield event._replace(decision=decision._replace(estimates=estimates))
        if logged_decision.start is not None and "pending" in event.status.values():
            yield Activated(decision.id, logged_decision.start)
        return
    stored_event, (block, i) = ledger.decided(row), ledger.readable(row)
    _check_equal(decision.id, "arm", decision.arm, to_utf8(stored_event.arm))
    _check_equal(
        decision.id, "features", decision.features.tolist(), stored_event.features.tolist()
    )
    _check_equal(decision.id, "time", decision.time, stored_event.time)
    for name, value in event.values.items():
        m, status = state.objective_set.index[name], logged_decision.status[name]
        stored_value = block.values.item(i, m)
        if status == "defaulted" and block.statuses[i, m] == DEFAULTED:
            default_now = state.objective_set.defaults[m]
            default = state.defaults.get((block.number.item(i), name), default_now)
            _check_equal(decision.id, f"reward_{name}", value, default)
        elif status == "learned" and stored_value != value:
            if stored_value == stored_value and state.objective_set.revise[m] is None:
                _check_equal(decision.id, f"reward_{name}", value, stored_value)
            yield Rewarded(decision.id, {name: value}, event.times.get(name))
    indices = [state.objective_set.index[n] for n, s in event.status.items() if s == "withdrawn"]
    if (block.statuses[i, indices] == PENDING).any():
        yield Withdrawn(decision.id, None)


def _check_equal(id: str, column: str, value: object, stored_value: object) -> None:
    if value != stored_value:
        raise ValueError(
            f"log: decision {id!r}: its {column} is {stored_value!r} here, got {value!r}"
        )


def _features(rows: list[dict[str, Any]], old_map: FeatureMap, config: AgentConfig) -> FloatArray:
    """Return the features of decisions in a log, (n, p), as the learner here sees them."""
    for row in rows:
        numbers = np.array(row["features"], dtype=np.float64)
        if numbers.shape != (old_map.learner_dim,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"log: decision {row.get('id')!r}: features: expected {old_map.learner_dim} "
                f"numbers, got {row['features']}"
            )
    features = np.array([row["features"] for row in rows], np.float64).reshape(
        -1, old_map.learner_dim
    )
    if old_map == config.features:
        return features
    remapping = Remapping(old_map, config.features)
    texts = ([row[name] or "" for row in rows] for name in ("record", "context_record"))
    try:
        new_features, is_unsure = remapping.map_features(features, *texts)
    except ValueError as error:
        raise ValueError(f"log: {error}") from None
    if is_unsure.any():
        names = [config.features.names[index] for index in np.flatnonzero(remapping.new_columns)]
        raise ValueError(
            f"log: expected the same features as here, or records; {int(is_unsure.sum())} "
            f"decisions have none, and nothing says what {names[:6]} were"
        )
    return new_features


def _logged_decision(
    row: dict[str, Any], features: FloatArray, names: list[str], config: AgentConfig
) -> LoggedDecision:
    check_new_id(row["id"])
    objective_set = config.objective_set
    shared_names = [name for name in objective_set.names if name in names]
    logged_values = {name: row[f"reward_{name}"] for name in shared_names}
    values = read_rewards(
        config, {n: v for n, v in logged_values.items() if v is not None}, "values"
    )
    logged_status = {name: row[f"status_{name}"] for name in shared_names}
    status = dict.fromkeys(objective_set.names, "missing")
    for name in shared_names:
        status[name] = _status(logged_status[name], values.get(name), name, objective_set)
    time, is_active = read_time(row["time"], needed=config.timed), row["active"]
    start = row["start"]
    has_own_start = start is not None and start != time
    decision = Decided(
        row["id"],
        str(row["arm"]),
        features,
        _weights(row["weights"], names, objective_set),
        features[:0],  # replaced by what is believed when it is taken over
        row["exploring"],
        row["uniform"],
        row["grouped"],
        None,
        time,
        active=is_active and not has_own_start,
        made_elsewhere=row["observed"],
        holdout=row["holdout"],
        subject=row["subject"],
        record=parse_record(row["record"]),
        context=parse_record(row["context_record"]),
    )
    columns = {name: f"time_{name}" for name in shared_names}
    times = {n: real(row[c], c) for n, c in columns.items() if row[c] is not None}
    return LoggedDecision(
        Imported(decision, values, status, times), logged_status, start if has_own_start else None
    )


def _status(logged_status: str, value: float | None, name: str, objective_set: ObjectiveSet) -> str:
    """Return what becomes of an objective here, by what became of it there."""
    if logged_status == "late":
        return "missing"
    if logged_status not in STATUS:
        raise ValueError(f"status_{name}: expected one of {STATUS}, got {logged_status!r}")
    if logged_status in _LEARNED:
        if value is None:
            raise ValueError(f"reward_{name}: expected what was learned, got null")
        default = objective_set.defaults[objective_set.index[name]]
        return "defaulted" if logged_status == "defaulted" and default == value else "learned"
    return logged_status


def _weights(
    logged_weights: list[float] | None, names: list[str], objective_set: ObjectiveSet
) -> FloatArray | None:
    """Return weights in the order of the objectives here, if they are the same ones."""
    if logged_weights is None or set(names) != set(objective_set.names):
        return None
    by_objective = dict(zip(names, logged_weights, strict=True))
    weights = np.array([by_objective[name] for name in objective_set.names])
    return None if math.isnan(weights.sum()) else weights
