"""A state as bytes, and back: one piece for a file, several for a journal.

The head has all but the decisions that are held: the configuration, counters, what was learned. The
others have the decisions, as they lie in the ledger: features as the learner sees them, weights
(NaN: none), estimates and rewards (NaN: none yet), times of rewards where they matter, the state of
each objective (0 pending, 1 learned, 2 learned as its default, 3 closed with nothing to learn, 4
condition not met, 5 withdrawn, 255 a free row), and so on, by the names of
:class:`~mogro.agent.state.block.Block`. Texts (ids, arms) are the bytes of a JSON list.

Objects are made of mogro's own classes only, and of those that the caller names. What contradicts
itself is refused.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._codec import (
    Arrays,
    by_name,
    from_plain,
    pack,
    texts_from_array,
    texts_to_array,
    to_plain,
    unpack,
)
from mogro._files import write_atomically
from mogro.agent.config import KNOWN, AgentConfig, config_from_plain
from mogro.agent.errors import DamagedSnapshot
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.objective import PENDING, WITHDRAWN
from mogro.agent.state.block import Block, empty_block
from mogro.agent.state.counters import Counters
from mogro.agent.state.ledger import Ledger
from mogro.agent.state.state import State
from mogro.policies.persistence import check_room

VERSION = 13  # journals hold snapshots, too: theirs follows
_TEXTS = ("ids", "arms", "records", "contexts")


def write_snapshot(path: str | os.PathLike[str], state: State) -> None:
    """Write a state to a file, without its place in a journal."""
    header, arrays = _head(state)
    header["numbers"] |= {"position": 0, "changes": [], "offers": {}}
    arrays |= _rows(state.ledger, 0, len(state.ledger.ids))
    for name in ("ledger.position", "ledger.offer_position"):
        arrays[name] = np.zeros_like(arrays[name])
    with write_atomically(path) as file:
        file.writelines(pack(header, arrays))


def read_snapshot(path: str | os.PathLike[str], types: Sequence[type[Any]]) -> State:
    """Read what :func:`write_snapshot` wrote; a damaged file is refused with the reason."""
    by_name(KNOWN, types)  # it checks them
    content = Path(path).read_bytes()
    return decode_state(content, None, partial(config_from_plain, types=types), where=f"at {path}")


def encode_head(state: State) -> bytes:
    """Return all of a state but the decisions that it holds."""
    return b"".join(pack(*_head(state)))


def encode_block(ledger: Ledger, number: int) -> bytes:
    """Return one block of decisions."""
    start = number * ledger.block_size
    return b"".join(pack({"version": VERSION}, _rows(ledger, start, start + ledger.block_size)))


def decode_state(
    head: bytes,
    blocks: Iterable[bytes] | None,
    make_config: Callable[[Any], AgentConfig],
    *,
    where: str,
) -> State:
    """Return the state of a head and its blocks; without blocks, the head is a whole file."""
    try:
        header, arrays = unpack(head)
        if "version" not in header:
            raise ValueError("something else than an agent is in it")
        if header["version"] != VERSION:
            version = str(header["version"])[:40]
            raise ValueError(f"version {version!r} is not known here, only {VERSION}")
        _check_sizes(header["config"], arrays)
        state = State(make_config(header["config"]))
        if header["block_size"] != state.ledger.block_size:
            raise ValueError(f"its blocks are of {header['block_size']} decisions")
        rows = [arrays] if blocks is None else (unpack(each)[1] for each in blocks)
        _load(state, header["numbers"], arrays, rows)
    except Exception as error:  # a damaged file can fail in any way
        raise DamagedSnapshot(f"path: no complete snapshot {where}: {error}") from error
    return state


def _head(state: State) -> tuple[dict[str, Any], Arrays]:
    arrays = _named("learner", state.learner.save_state())
    for number, account in enumerate(state.accounts):
        arrays |= _named(f"accounts.{number}", account.save_state())
    numbers = {
        "time": state.time,
        "ids_made": state.ids_made,
        "position": state.position,
        "changes": state.changes,
        "completions": state.ledger.completions_so_far,
        "offers": state.offers,
        "defaults": _held_defaults(state),
    }
    header = {
        "version": VERSION,
        "config": to_plain(state.config),
        "numbers": asdict(state.counters) | numbers,
        "block_size": state.ledger.block_size,
    }
    return header, arrays


def _held_defaults(state: State) -> list[tuple[int, str, float]]:
    """Return what was learned of held decisions as a default that is another one now."""
    if not state.defaults:
        return []
    held = set(state.ledger.gather(state.ledger.live()).number.tolist())
    return [
        (number, name, default)
        for (number, name), default in state.defaults.items()
        if number in held and name in state.objective_set.index
    ]


def _rows(ledger: Ledger, start: int, stop: int) -> Arrays:
    """Return some rows of a ledger, up to the last that is in use."""
    ids = ledger.ids[start:stop]
    while ids and not ids[-1]:
        ids.pop()
    stop = start + len(ids)
    arrays = _named("ledger", ledger.gather(np.arange(start, stop))._asdict())
    columns = ids, ledger.arms[start:stop], *ledger.records(range(start, stop))
    for name, texts in zip(_TEXTS, columns, strict=True):
        arrays[f"ledger.{name}"] = texts_to_array(texts)
    return arrays


def _check_sizes(config: dict[str, Any], arrays: Arrays) -> None:
    """Refuse sizes that the file has no numbers for, before anything of that size is made."""
    sides = ("arms", "context", "interactions")
    features = FeatureMap(*(from_plain(config[side], by_name(KNOWN)) for side in sides))
    check_room({"dim": features.learner_dim, "objectives": len(config["objectives"])}, arrays)
    check_room(config["policy"], arrays)


def _load(state: State, numbers: dict[str, Any], arrays: Arrays, rows: Iterable[Arrays]) -> None:
    counts, ledger = dict(numbers), state.ledger
    state.time = float(counts.pop("time"))
    state.offers = counts.pop("offers")
    state.defaults = {(number, name): value for number, name, value in counts.pop("defaults")}
    state.changes = counts.pop("changes")
    for number in (*counts.values(), *state.offers.values(), *state.changes):
        if type(number) is not int or number < 0:
            raise ValueError(f"expected a count, got {str(number)[:40]}")
    state.ids_made, ledger.position = counts.pop("ids_made"), counts.pop("position")
    ledger.completions_so_far = counts.pop("completions")
    state.counters = Counters(**counts)
    ledger.fill(_checked_rows(block_arrays, ledger.shape) for block_arrays in rows)
    _check_order(ledger, state.counters.decisions)
    for position in state.offers.values():
        ledger.add_reference(position)
    state.learner.load_state(_under("learner", arrays))
    for number, account in enumerate(state.accounts):
        account.load_state(_under(f"accounts.{number}", arrays))
    state.rebuild_pending()


def _named(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> Arrays:
    """Return arrays with a prefix before their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _under(prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return the arrays whose names have a prefix, without it."""
    dotted = f"{prefix}."
    return {n.removeprefix(dotted): a for n, a in arrays.items() if n.startswith(dotted)}


def _check_order(ledger: Ledger, decisions: int) -> None:
    """Refuse numbers of decisions, or of those completed, that could not have come about."""
    used = ledger.column("number") >= 0
    if len(ledger) != used.sum():
        raise ValueError("decisions do not match their ids")
    done = (ledger.column("statuses") != PENDING).all(axis=1) & used
    for name, mask, limit in (
        ("number", used, decisions),
        ("completed", done, ledger.completions_so_far),
    ):
        numbers = np.sort(ledger.column(name)[mask])
        if (np.diff(numbers, prepend=-1) <= 0).any() or (numbers[-1:] >= limit).any():
            raise ValueError("the numbers of its decisions are not in order")


def _checked_rows(arrays: Arrays, shape: tuple[int, int, int]) -> tuple[list[list[str]], Block]:
    """Return texts and rows of some decisions; what contradicts itself is refused."""
    ids, *texts = (texts_from_array(arrays[f"ledger.{name}"]) for name in _TEXTS)
    block = Block._make(arrays[f"ledger.{name}"] for name in Block._fields)
    expected_columns = empty_block(0, shape).columns
    columns = zip(Block._fields, block.columns, expected_columns, strict=True)
    for name, column, expected in columns:
        if column.shape != (len(ids), *expected.shape[1:]) or column.dtype != expected.dtype:
            raise ValueError(f"ledger.{name} has shape {column.shape}, type {column.dtype}")
    used = block.number >= 0
    sizes = {len(column_texts) for column_texts in texts}
    if [bool(id) for id in ids] != used.tolist() or sizes != {len(ids)}:
        raise ValueError("decisions do not match their texts")
    rows = Block._make(column[used] for column in block.columns)
    is_complete = (rows.statuses != PENDING).all(axis=1)
    if (rows.statuses > WITHDRAWN).any() or not np.isfinite(rows.features).all():
        raise ValueError("its decisions are in an impossible state")
    if (rows.completed[~is_complete] >= 0).any():
        raise ValueError("some pending decisions are marked as completed")
    if not np.isfinite(rows.time).all() or not (rows.start > -math.inf).all():
        raise ValueError("the times of its decisions are not finite")
    return [ids, *(list(map(intern, column_texts)) for column_texts in texts)], block
