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
nobody knows are zeros; propensities and estimates are those of then. The schema has metadata under
``mogro``, as JSON: ``version`` 1, ``objectives`` with all that they were made of, ``dim`` A,
``epsilon``, ``rewards``, ``time``, the latest that the agent was told, and ``features``, what the
learner sees of arms; with a journal ``versions``, the features of each version that there was.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._codec import to_plain
from mogro._files import write_atomically
from mogro._validation import BoolArray, FloatArray, count
from mogro.agent.config import AgentConfig
from mogro.agent.decision_records import context_of, offered_arms, stored_decision
from mogro.agent.events import Decided, Evidence, Offered, Reconfigured
from mogro.agent.features.arms import ArmSet
from mogro.agent.features.feature_map import FeaturesInContext
from mogro.agent.features.remapping import Remapping
from mogro.agent.journal.tables import Journal, Row, event_kind
from mogro.agent.objective import DEFAULTED, MISSING, STATUS
from mogro.agent.state.block import EXPLORED, GROUPED, HOLDOUT, OBSERVED, TIMED, UNIFORM, Block
from mogro.agent.state.relearning import learned_rewards
from mogro.agent.state.state import State

VERSION = 1
FILE = "decisions.parquet"
Rewards = Literal["learned", "received"]

_ROWS = 4096  # with arms on offer in one piece of memory
_NOTHING_WRITTEN = (None,) * 8  # of a decision, in a journal
_FLAGS = {"exploring": EXPLORED, "uniform": UNIFORM, "grouped": GROUPED}
_FLAGS |= {"observed": OBSERVED, "holdout": HOLDOUT}


def need_arrow() -> Any:
    """Return pyarrow, or say what to do."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("logs need pyarrow: pip install pyarrow") from None
    return pa


def make_log(
    state: State, written: "JournalRows | None", *, max_arms: int, rewards: Rewards
) -> Any:
    """Return the decisions that a state holds, with what is written of them in a journal."""
    pa = need_arrow()
    most = count(max_arms, "max_arms", minimum=0)
    if rewards not in ("learned", "received"):
        raise ValueError(f"rewards: expected 'learned' or 'received', got {rewards!r}")
    objective_set, ledger = state.objective_set, state.ledger
    rows = ledger.live()
    block = ledger.gather(rows)
    ids, arms = ([texts[row] for row in rows.tolist()] for texts in (ledger.ids, ledger.arms))
    records, contexts = ledger.records(rows.tolist())
    positions = list(zip(block.position.tolist(), block.offer.tolist(), strict=True))
    reader = _JournalColumns(written, state.config, most)
    starts = range(0, max(len(positions), 1), _ROWS)
    parts = [reader.read(positions[start : start + _ROWS]) for start in starts]

    untimed = block.flags & TIMED == 0
    columns: dict[str, Any] = {
        "id": pa.array(_in_utf8(ids), pa.string()),
        "time": pa.array(block.time, mask=untimed),
        "arm": pa.array(_in_utf8(arms), pa.string()),
        "version": pa.array(np.searchsorted(state.changes, block.position).astype(np.int64)),
        "position": pa.array(block.position, mask=np.full(len(ids), written is None)),
        "features": _lists(block.features, missing=np.zeros(len(ids), np.bool_)),
        "record": pa.array([text or None for text in records], pa.string()),
        "context_record": pa.array([text or None for text in contexts], pa.string()),
        "weights": _lists(block.weights, missing=np.isnan(block.weights[:, 0])),
        **{name: pa.array((block.flags & flag) > 0) for name, flag in _FLAGS.items()},
        "subject": pa.array(block.subject, mask=block.subject == 0),
        "start": pa.array(block.start, mask=untimed | np.isinf(block.start)),
        "active": pa.array(np.isfinite(block.start)),
        **{name: pa.chunked_array([part[name] for part in parts]) for name in parts[0]},
    }
    values, status = _outcomes(state, block, rewards)
    for m, name in enumerate(objective_set.names):
        columns[f"reward_{name}"] = pa.array(values[:, m], mask=np.isnan(values[:, m]))
        columns[f"status_{name}"] = pa.array(status[:, m], pa.string())
        times = block.stamps[:, m] if objective_set.windowed else np.full(len(ids), -math.inf)
        columns[f"time_{name}"] = pa.array(times, mask=times == -math.inf)
    metadata = json.dumps(_metadata(state, written, rewards))
    return pa.table(columns).replace_schema_metadata({"mogro": metadata})


def _lists(values: FloatArray, missing: BoolArray) -> Any:
    """Return the rows of an array as lists; null where they are missing."""
    pa = need_arrow()
    ends = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(ends, values.ravel(), mask=pa.array(missing))


def write_log(table: Any, folder: Path) -> Path:
    """Write a log into a folder, whole or not at all, and return the file's path."""
    import pyarrow.parquet

    path = folder / FILE
    with write_atomically(path, parents=True) as file:
        pyarrow.parquet.write_table(table, file)
    return path


_ALWAYS_READ = ("Reconfigured", "Offered")  # kinds of events, whatever decisions are held


class JournalRows(NamedTuple):
    """What a journal has of the decisions that a state holds.

    Attributes
    ----------
    journal
        It knows how to read its rows.
    decisions
        Rows of the decisions, by position, with the number of the configuration then.
    offers
        Arms on offer, by position.
    versions
        All configurations that the agent had.
    """

    journal: Journal
    decisions: dict[int, tuple[Row, int]]
    offers: dict[int, Offered]
    versions: list[AgentConfig]


def read_journal_rows(state: State, journal: Journal, config: AgentConfig) -> JournalRows:
    """Return what a journal has of the decisions that a state holds.

    The journal began with a configuration. Decisions are decoded later, when it may be closed.
    """
    ledger = state.ledger
    held = set(ledger.gather(ledger.live()).position.tolist())
    written = JournalRows(journal, {}, {}, [config])
    for row in journal.rows(0):
        if row[0] in held:
            written.decisions[row[0]] = row, len(written.versions) - 1
        elif event_kind(row) in _ALWAYS_READ:
            event = journal.decode(row)
            if isinstance(event, Reconfigured):
                written.versions.append(written.versions[-1].reconfigured(event.changes))
            elif isinstance(event, Offered):
                written.offers[row[0]] = event
    return written


class _JournalColumns:
    """What a journal knows of decisions, whose features are those of the agent now.

    Sets of arms on offer are made once: most decisions choose among the same ones.
    """

    def __init__(self, written: JournalRows | None, config: AgentConfig, max_arms: int) -> None:
        self._written, self._config, self._max_arms = written, config, max_arms
        self._sets: dict[tuple[Any, ...], tuple[ArmSet, tuple[Any, ...]]] = {}
        versions = [] if written is None else [each.features for each in written.versions]
        now = config.features  # from those of other versions, if they are others
        self._remappings = [None if each == now else Remapping(each, now) for each in versions]

    def read(self, positions: Iterable[tuple[int, int]]) -> dict[str, Any]:
        """Return the columns of decisions, by the positions of their events and arms on offer."""
        pa = need_arrow()
        vector, texts = pa.list_(pa.float64()), pa.list_(pa.string())
        kinds = {
            "basis": pa.int64(),
            "context": vector,
            "propensity": pa.float64(),
            "propensity_error": pa.float64(),
            "offered_estimates": vector,
            "offered": texts,
            "offered_features": vector,
            "offered_records": texts,
        }
        rows = [self._row(*each) for each in positions]
        values = zip(*rows, strict=True) if rows else ((),) * len(kinds)
        columns = zip(kinds.items(), values, strict=True)
        return {
            name: _texts(column) if kind is texts else pa.array(column, kind)
            for (name, kind), column in columns
        }

    def _row(self, position: int, offer: int) -> tuple[Any, ...]:
        """Return what is written of a decision, in the order of the columns."""
        written = self._written
        if written is None or position not in written.decisions:
            return _NOTHING_WRITTEN
        (row, version), offered = written.decisions[position], written.offers.get(offer)
        event, config = written.journal.decode(row), written.versions[version]
        if not isinstance(event, Decided) or event.evidence is None:
            return _NOTHING_WRITTEN
        evidence = event.evidence
        view = config.features.in_context(context_of(event))
        chance, error = evidence.propensity or (None, None)
        offer_columns: tuple[Any, ...] = (None,) * 4
        if offered is not None:
            if chance is None and not event.observed:
                made = stored_decision(event, offered, config)
                chance, error = made.propensity, made.propensity_error
            arms, columns = self._arms_on_offer(evidence, offered, view, version)
            if len(arms) <= self._max_arms:
                estimates = self._estimates(arms, view, evidence, config)
                offer_columns = estimates, *columns
        return evidence.basis, self._context(view, version), chance, error, *offer_columns

    def _arms_on_offer(
        self, evidence: Evidence, offered: Offered, view: FeaturesInContext, version: int
    ) -> tuple[ArmSet, tuple[Any, ...]]:
        """Return the arms on offer to a decision, and their ids, features and records."""
        masks = evidence.eligible, evidence.allowed
        key = offered.digest, version, *(mask if mask is None else mask.tobytes() for mask in masks)
        if key not in self._sets:
            if len(self._sets) == _ROWS:
                self._sets.clear()
            arms, remapping = offered_arms(evidence, offered, view), self._remappings[version]
            raw, texts = arms.raw, arms.record_texts
            features = raw if remapping is None else remapping.arms(raw, texts)
            self._sets[key] = arms, (_in_utf8(arms.ids), features.ravel(), texts)
        return self._sets[key]

    def _estimates(
        self, arms: ArmSet, view: FeaturesInContext, evidence: Evidence, config: AgentConfig
    ) -> FloatArray:
        """Return what was believed of arms, (K * M,); NaN of an objective that is new since."""
        features = view(arms.raw) if view.contextual else arms.features
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
            context = remapping.context(context, view.record)
        return context if len(context) else None


def _texts(lists: Sequence[Sequence[str] | None]) -> Any:
    """Return lists of texts, many of which are the same object."""
    pa = need_arrow()
    distinct = {id(each): each for each in lists}
    numbers = {key: n for n, key in enumerate(distinct)}
    indices = pa.array([numbers[id(each)] for each in lists], pa.int64())
    return pa.array(list(distinct.values()), pa.list_(pa.string())).take(indices)


def utf8(text: str) -> str:
    """Return a text as UTF-8 can hold it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _in_utf8(texts: Sequence[str]) -> Sequence[str]:
    return texts if "".join(texts).isascii() else list(map(utf8, texts))


def _outcomes(state: State, block: Block, rewards: Rewards) -> tuple[FloatArray, NDArray[Any]]:
    """Return rewards (n, M), NaN where there is none, and what became of them."""
    values = learned_rewards(block, state.objective_set, state.defaults)
    came = ~np.isnan(block.values)
    if rewards == "received":
        values = np.where(came & np.isin(block.state, (DEFAULTED, MISSING)), block.values, values)
    late = came & (block.state == MISSING)
    names = np.array([*STATUS, "late"], dtype=object)
    return values, names[np.where(late, len(STATUS), block.state)]


def _metadata(state: State, written: JournalRows | None, rewards: Rewards) -> dict[str, Any]:
    config = state.config
    versions = [] if written is None else [_features(each) for each in written.versions]
    return {
        "version": VERSION,
        "objectives": to_plain(config.objectives),
        "dim": config.features.dim,
        "epsilon": config.epsilon,
        "features": _features(config),
        "rewards": rewards,
        "time": None if state.time == -math.inf else state.time,
        **({"versions": versions} if versions else {}),
    }


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
    return metadata


def _features(config: AgentConfig) -> dict[str, Any]:
    return {name: to_plain(getattr(config, name)) for name in ("arms", "context", "interactions")}
