"""Decisions joined with their rewards, as an Arrow table: one row a decision, in their order.

The columns, with M objectives, K arms on offer (those eligible that bounds and budgets left), A
features of an arm as the caller gave them, C of a context, p of an arm as the learner sees it::

    id, arm             string; a lone surrogate is escaped, because UTF-8 has none
    time                float64; null if the caller gave none
    version             int64: how often the agent had been configured otherwise before
    position            int64: the place of its event
    basis               int64: the place of the last event that its beliefs knew of
    features            list<float64>, p: of the arm, as the learner sees it
    context             list<float64>, C; null without one
    record, context_record
                        string: arm and context as the caller gave them, as JSON; null if these
                        were numbers
    weights             list<float64>, M, per unit; null if none were used
    propensity, propensity_error
                        float64; null if somebody else chose, and it is not known
    start, active       float64, bool: when its windows began, and whether they did
    exploring, uniform, grouped, observed, holdout
                        bool: chosen to explore; a uniform draw; one of several; made by somebody
                        else; by the baseline, because its subject is held out
    subject             int64: a hash of whom it was made for; null if nobody said
    offered             list<string>, K
    offered_features    list<float64>, K * A, row by row
    offered_records     list<string>, K: as the caller gave them, as JSON; null if as numbers
    offered_estimates   list<float64>, K * M, row by row, in the user's units: what was believed
    reward_NAME         float64, of each objective: what the agent learned, a default perhaps; null
                        if it learned nothing, or not yet
    status_NAME         string: pending, learned, defaulted, missing, late, unmet, withdrawn
    time_NAME           float64: when a value came, the last one that counts; null if none did, or
                        where no objective has a window

So whoever evaluates a log judges by the rewards that the agent learns from. With
``rewards="received"`` a value that came after its window stands in ``reward_NAME``, too, also in
place of a default.

An agent in memory knows no position, basis, context, propensities or arms on offer: null. So are
these of a decision that came from another agent's log. Objectives are those that the agent has
now; what was believed of one that it did not have then is NaN. So are features: those of arms and
contexts are computed from their records, where the agent had other encoders then, and those that
nobody knows are zeros; propensities and estimates are those of then. Of more than 1,000 arms on
offer none is listed. The schema has metadata under ``mogro``, as JSON: ``version`` 2,
``objectives`` with all that they were made of, ``rewards``, ``time``, the latest that the agent was
told, and ``features``, what the learner sees of arms; with a journal ``versions``, the features of
each version that there was.
"""

import json
import math
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mogro._codec import by_name, from_plain, to_plain
from mogro._files import write_atomically
from mogro._validation import FloatArray
from mogro.agent.config import KNOWN, AgentConfig
from mogro.agent.decision_records import context_of, offered_arms, stored_decision
from mogro.agent.events import Decided, Event, Evidence, Offered
from mogro.agent.features.arms import ArmSet
from mogro.agent.features.feature_map import FeaturesInContext
from mogro.agent.features.remapping import Remapping
from mogro.agent.journal.tables import Journal
from mogro.agent.objective import DEFAULTED, MISSING, STATUS
from mogro.agent.state.block import EXPLORED, GROUPED, HOLDOUT, OBSERVED, TIMED, UNIFORM, Block
from mogro.agent.state.relearning import learned_rewards
from mogro.agent.state.state import State

VERSION = 2
FILE = "decisions.parquet"
Rewards = Literal["learned", "received"]

_ROWS = 4096  # with arms on offer in one piece of memory
_MAX_ARMS = 1000  # on offer: a large catalogue in every row would take more memory than there is
_NO_CELLS = (None,) * 8  # of a decision, in a journal
_FLAGS = {"exploring": EXPLORED, "uniform": UNIFORM, "grouped": GROUPED}
_FLAGS |= {"observed": OBSERVED, "holdout": HOLDOUT}


def import_pyarrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("logs need pyarrow: pip install pyarrow") from None
    return pa


def read_exported(path: str | os.PathLike[str]) -> Any:
    """Return the table that was exported to a folder, or to a file; None if there is none."""
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if file.suffix != ".parquet" or not file.is_file():
        return None
    import_pyarrow()
    from pyarrow import parquet

    return parquet.read_table(file)


def make_log(state: State, journal_rows: "JournalRows | None", rewards: Rewards) -> Any:
    """Return the decisions that a state holds, with what is written of them in a journal."""
    pa = import_pyarrow()
    if rewards not in ("learned", "received"):
        raise ValueError(f"rewards: expected 'learned' or 'received', got {rewards!r}")
    objective_set, ledger = state.objective_set, state.ledger
    rows = ledger.live()
    block = ledger.gather(rows)
    ids, arms = ([texts[row] for row in rows.tolist()] for texts in (ledger.ids, ledger.arms))
    records, contexts = ledger.records(rows.tolist())
    positions = list(zip(block.position.tolist(), block.offer_position.tolist(), strict=True))
    starts = range(0, max(len(positions), 1), _ROWS)
    chunks = [_journal_columns(journal_rows, positions[start : start + _ROWS]) for start in starts]

    has_no_time = block.flags & TIMED == 0
    columns: dict[str, Any] = {
        "id": pa.array(_all_to_utf8(ids), pa.string()),
        "time": pa.array(block.time, mask=has_no_time),
        "arm": pa.array(_all_to_utf8(arms), pa.string()),
        "version": pa.array(np.searchsorted(state.changes, block.position).astype(np.int64)),
        "position": pa.array(block.position, mask=np.full(len(ids), journal_rows is None)),
        "features": _number_lists(block.features),
        "record": pa.array([text or None for text in records], pa.string()),
        "context_record": pa.array([text or None for text in contexts], pa.string()),
        "weights": _number_lists([None if math.isnan(w[0]) else w for w in block.weights]),
        **{name: pa.array((block.flags & flag) > 0) for name, flag in _FLAGS.items()},
        "subject": pa.array(block.subject, mask=block.subject == 0),
        "start": pa.array(block.start, mask=has_no_time | np.isinf(block.start)),
        "active": pa.array(np.isfinite(block.start)),
        **{name: pa.chunked_array([chunk[name] for chunk in chunks]) for name in chunks[0]},
    }
    values, status = _outcomes(state, block, rewards)
    for m, name in enumerate(objective_set.names):
        columns[f"reward_{name}"] = pa.array(values[:, m], mask=np.isnan(values[:, m]))
        columns[f"status_{name}"] = pa.array(status[:, m], pa.string())
        times = block.stamps[:, m] if objective_set.windowed else np.full(len(ids), -math.inf)
        columns[f"time_{name}"] = pa.array(times, mask=times == -math.inf)
    metadata: dict[str, Any] = {
        "version": VERSION,
        "objectives": state.config.objectives,
        "features": state.config.features,
        "rewards": rewards,
        "time": None if state.time == -math.inf else state.time,
    }
    if journal_rows is not None:
        metadata["versions"] = [config.features for config in journal_rows.versions]
    text = json.dumps(to_plain(metadata))
    return pa.table(columns).replace_schema_metadata({"mogro": text})


def _number_lists(rows: Iterable[FloatArray | None]) -> Any:
    """Return rows of numbers as lists; null where there are none."""
    pa = import_pyarrow()
    return pa.array(list(rows), pa.list_(pa.float64()))


def _journal_columns(
    journal_rows: "JournalRows | None", positions: list[tuple[int, int]]
) -> dict[str, Any]:
    """Return what a journal has of decisions, by the positions of their events and offers."""
    pa = import_pyarrow()
    rows = [_NO_CELLS if journal_rows is None else journal_rows.cells(*pair) for pair in positions]
    basis, context, propensity, error, estimates, ids, features, records = (
        zip(*rows, strict=True) if rows else ((),) * len(_NO_CELLS)
    )
    return {
        "basis": pa.array(basis, pa.int64()),
        "context": _number_lists(context),
        "propensity": pa.array(propensity, pa.float64()),
        "propensity_error": pa.array(error, pa.float64()),
        "offered_estimates": _number_lists(estimates),
        "offered": _string_lists(ids),
        "offered_features": _number_lists(features),
        "offered_records": _string_lists(records),
    }


def write_log(table: Any, folder: Path) -> Path:
    """Write a log into a folder, whole or not at all, and return the file's path."""
    import pyarrow.parquet

    path = folder / FILE
    with write_atomically(path, parents=True) as file:
        pyarrow.parquet.write_table(table, file)
    return path


class JournalRows:
    """What a journal has of the decisions that a state holds, by the features of the agent now.

    Decisions are decoded later, when the journal may be closed. Sets of arms on offer are made
    once: most decisions choose among the same ones.
    """

    def __init__(self, state: State, journal: Journal, versions: Sequence[AgentConfig]) -> None:
        self._journal, self._config, self._changes = journal, state.config, state.changes
        self._arm_sets: dict[tuple[Any, ...], tuple[ArmSet, tuple[Any, ...]]] = {}
        block = state.ledger.gather(state.ledger.live())
        positions = {*block.position.tolist(), *block.offer_position.tolist()}
        self._rows = {row[0]: row for row in journal.rows(0) if row[0] in positions}
        self.versions = versions
        new, old_maps = state.config.features, [version.features for version in versions]
        self._remappings = [None if old == new else Remapping(old, new) for old in old_maps]
        self._read_event_once = cache(self._read_event)

    def _read_event(self, position: int) -> Event | None:
        row = self._rows.get(position)
        return None if row is None else self._journal.decode(row)

    def cells(self, position: int, offer: int) -> tuple[Any, ...]:
        """Return what is written of a decision, in the order of :func:`_journal_columns`."""
        event, offer_event = self._read_event(position), self._read_event_once(offer)
        if not isinstance(event, Decided) or event.evidence is None:
            return _NO_CELLS
        version = bisect_left(self._changes, position)
        config = self.versions[version]
        evidence = event.evidence
        view = config.features.in_context(context_of(event))
        propensity, error = evidence.propensity or (None, None)
        offer_columns: tuple[Any, ...] = (None,) * 4
        if isinstance(offer_event, Offered):
            if propensity is None and not event.made_elsewhere:
                decision = stored_decision(event, offer_event, config)
                propensity, error = decision.propensity, decision.propensity_error
            arms, columns = self._arms_on_offer(evidence, offer_event, view, version)
            if len(arms) <= _MAX_ARMS:
                estimates = self._estimates(arms, view, evidence, config)
                offer_columns = estimates, *columns
        return evidence.basis, self._context(view, version), propensity, error, *offer_columns

    def _arms_on_offer(
        self, evidence: Evidence, offer: Offered, view: FeaturesInContext, version: int
    ) -> tuple[ArmSet, tuple[Any, ...]]:
        """Return the arms on offer to a decision, and their ids, features and records."""
        masks = evidence.eligible, evidence.allowed
        key = (offer.digest, version, *(mask if mask is None else mask.tobytes() for mask in masks))
        if key not in self._arm_sets:
            if len(self._arm_sets) == _ROWS:
                self._arm_sets.clear()
            arms, remapping = offered_arms(evidence, offer, view), self._remappings[version]
            raw, texts = arms.raw_features, arms.record_texts
            features = raw if remapping is None else remapping.map_arms(raw, texts)
            self._arm_sets[key] = arms, (_all_to_utf8(arms.ids), features.ravel(), texts)
        return self._arm_sets[key]

    def _estimates(
        self, arms: ArmSet, view: FeaturesInContext, evidence: Evidence, config: AgentConfig
    ) -> FloatArray:
        """Return what was believed of arms, (K * M,); NaN of an objective that is new since."""
        features = view.policy_features(arms.raw_features) if view.contextual else arms.features
        estimates = config.objective_set.to_user_units(features @ evidence.theta.T)
        names = self._config.objective_set.names
        if config.objective_set.names != names:
            indices = [config.objective_set.index.get(name, -1) for name in names]
            estimates = np.column_stack([estimates, np.full(len(estimates), math.nan)])[:, indices]
        return estimates.ravel()

    def _context(self, view: FeaturesInContext, version: int) -> FloatArray | None:
        """Return the features of a context, if there is one."""
        context, remapping = view.context, self._remappings[version]
        if remapping is not None:
            context = remapping.map_context(context, view.record)
        return context if len(context) else None


def _string_lists(lists: Sequence[Sequence[str] | None]) -> Any:
    """Return lists of texts, many of which are the same object."""
    pa = import_pyarrow()
    lists_by_id = {id(strings): strings for strings in lists}
    numbers = {key: n for n, key in enumerate(lists_by_id)}
    indices = pa.array([numbers[id(strings)] for strings in lists], pa.int64())
    return pa.array(list(lists_by_id.values()), pa.list_(pa.string())).take(indices)


def to_utf8(text: str) -> str:
    """Return a text as UTF-8 can hold it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _all_to_utf8(texts: Sequence[str]) -> Sequence[str]:
    return texts if "".join(texts).isascii() else list(map(to_utf8, texts))


def _outcomes(state: State, block: Block, rewards: Rewards) -> tuple[FloatArray, NDArray[Any]]:
    """Return rewards (n, M), NaN where there is none, and what became of them."""
    values = learned_rewards(block, state.objective_set, state.defaults)
    has_value = ~np.isnan(block.values)
    if rewards == "received":
        values = np.where(
            has_value & np.isin(block.statuses, (DEFAULTED, MISSING)), block.values, values
        )
    is_late = has_value & (block.statuses == MISSING)
    names = np.array([*STATUS, "late"], dtype=object)
    return values, names[np.where(is_late, len(STATUS), block.statuses)]


def read_metadata(schema: Any) -> dict[str, Any]:
    """Return what a log says of itself."""
    try:
        metadata: dict[str, Any] = json.loads(schema.metadata[b"mogro"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            "log: expected a table that agent.log() gave, with its metadata, got another"
        ) from None
    if metadata.get("version") != VERSION:
        raise ValueError(f"log: expected version {VERSION}, got {metadata.get('version')!r}")
    plain: dict[str, Any] = from_plain(metadata, by_name(KNOWN))
    return plain
