"""A state as bytes, and back: one piece for a file, several for a journal.

The head has all but the decisions that are held: the configuration, counters, what was learned. The
others have the decisions, as they lie in the ledger: features as the learner sees them, weights
(NaN: none), estimates and rewards (NaN: none yet), times of rewards where they matter, the state of
each objective (0 pending, 1 learned, 2 learned as its default, 3 closed with nothing to learn, 4
condition not met, 5 withdrawn, 255 a free row), and so on, by the names of
:class:`~mogro.agent.state.ledger.Block`. Texts (ids, arms) are two arrays, the concatenated UTF-8
and the number of bytes of each. ``defaults.*`` are defaults that were learned and are others now.

Objects are made of mogro's own classes only, and of those that the caller names. What contradicts
itself is refused.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from mogro._codec import Arrays, by_name, from_plain, pack, to_plain, unpack
from mogro._files import write_atomically
from mogro.agent.config import KNOWN, AgentConfig, config_from_plain
from mogro.agent.errors import DamagedSnapshot
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.objective import PENDING, WITHDRAWN
from mogro.agent.state.block import Block, empty_block
from mogro.agent.state.counters import Counters
from mogro.agent.state.ledger import Ledger
from mogro.agent.state.state import State

VERSION = 7


def write(path: str | os.PathLike[str], state: State) -> None:
    """Write a state to a file, without its place in a journal."""
    header, arrays = _head(state, placed=False)
    held = _rows(state.ledger, 0, len(state.ledger.ids))
    for name in ("ledger.position", "ledger.offer"):
        held[name] = np.zeros_like(held[name])
    with write_atomically(path) as file:
        for part in pack(header, arrays | held):
            file.write(part)


def read(path: str | os.PathLike[str], types: Sequence[type[Any]]) -> State:
    """Read what :func:`write` wrote; a damaged file is refused with the reason."""
    content = Path(path).read_bytes()
    return _state(
        lambda: unpack(content),
        lambda arrays: (arrays,),
        lambda plain: config_from_plain(plain, types),
        where=f"at {path}",
    )


def head(state: State) -> bytes:
    """Return all of a state but the decisions that it holds."""
    return b"".join(pack(*_head(state, placed=True)))


def block(ledger: Ledger, number: int) -> bytes:
    """Return one block of decisions."""
    start = number * ledger.block_size
    return b"".join(pack({"version": VERSION}, _rows(ledger, start, start + ledger.block_size)))


def join(
    first: bytes, blocks: Iterable[bytes], make: Callable[[Any], AgentConfig], *, where: str
) -> State:
    """Return the state that :func:`head` and :func:`block` were given."""
    return _state(
        lambda: unpack(first), lambda _: (unpack(block)[1] for block in blocks), make, where=where
    )


def _head(state: State, *, placed: bool) -> tuple[dict[str, Any], Arrays]:
    learned = state.learner.save_state()
    arrays: Arrays = {f"learner.{name}": array for name, array in learned.items()}
    arrays["time"] = np.array([state.time])
    for number, account in enumerate(state.accounts):
        saved = account.save_state()
        arrays |= {f"accounts.{number}.{name}": array for name, array in saved.items()}
    arrays |= _saved_defaults(state)
    last, changes, offers = state.position, state.changes, state.offers
    if not placed:
        last, changes, offers = 0, [], {}
    arrays["offers"] = np.array(list(offers.values()), dtype=np.int64)
    numbers = {
        "ids_made": state.ids_made,
        "position": last,
        "changes": changes,
        "completions": state.ledger.completions,
        "offers": list(offers),
    }
    header = {
        "version": VERSION,
        "config": to_plain(state.config),
        "numbers": asdict(state.counters) | numbers,
        "block_size": state.ledger.block_size,
    }
    return header, arrays


def _saved_defaults(state: State) -> Arrays:
    """Return what was learned of held decisions as a default that is another one now."""
    held: set[int] = set()
    if state.defaults:
        held.update(state.ledger.gather(state.ledger.live()).number.tolist())
    kept = [
        (number, state.objective_set.index[name], default)
        for (number, name), default in state.defaults.items()
        if number in held and name in state.objective_set.index
    ]
    return {
        "defaults.place": np.array([default[:2] for default in kept], np.int64).reshape(-1, 2),
        "defaults.value": np.array([default[2] for default in kept], np.float64),
    }


def _rows(ledger: Ledger, start: int, stop: int) -> Arrays:
    """Return some rows of a ledger, up to the last that is in use; free ones are empty."""
    ids = ledger.ids[start:stop]
    while ids and not ids[-1]:
        ids.pop()
    stop = start + len(ids)
    rows = ledger.gather(np.arange(start, stop))
    free, empty = rows.number < 0, empty_block(1, ledger.shape)
    arrays: Arrays = {}
    for name in Block._fields:
        column = getattr(rows, name)
        column[free] = getattr(empty, name)[0]
        arrays[f"ledger.{name}"] = column
    listed = ids, ledger.arms[start:stop], *ledger.records(range(start, stop))
    for name, texts in zip(_TEXTS, listed, strict=True):
        raw, sizes = _coded(texts)
        arrays[f"ledger.{name}"] = np.frombuffer(raw, dtype=np.uint8)
        arrays[f"ledger.{name}.bytes"] = np.array(sizes, dtype=np.int64)
    return arrays


_TEXTS = ("ids", "arms", "records", "contexts")


def _state(
    read_head: Callable[[], tuple[dict[str, Any], Arrays]],
    read_rows: Callable[[Arrays], Iterable[Arrays]],
    make: Callable[[Any], AgentConfig],
    *,
    where: str,
) -> State:
    try:
        header, arrays = read_head()
        if header["version"] != VERSION:
            version = str(header["version"])[:40]
            raise ValueError(f"version {version!r} is not known here, only {VERSION}")
        _check_sizes(header["config"], arrays)
        state = State(make(header["config"]))
        if header["block_size"] != state.ledger.block_size:
            raise ValueError(f"its blocks are of {header['block_size']} decisions")
        _load(state, header["numbers"], arrays, read_rows(arrays))
    except OSError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise DamagedSnapshot(f"path: no whole snapshot {where}: {error}") from error
    return state


def _check_sizes(config: dict[str, Any], arrays: Arrays) -> None:
    """Refuse sizes that the file has no numbers for, before anything of that size is made."""
    objectives, size = (
        arrays["learner.posterior.squares"].size,
        arrays["learner.pending_sums"].shape[-1],
    )
    policy, known = config["policy"], by_name(KNOWN)
    sides = (from_plain(config[name], known) for name in ("arms", "context", "interactions"))
    learned = FeatureMap(*sides).size
    wanted = (len(config["objectives"]), learned)
    if wanted != (objectives, size) or arrays["learner.pending_sums"].size < size * size:
        raise ValueError(f"its settings are of {wanted}, its sums of {(objectives, size)}")
    sizes = (policy.get("dim", size), policy.get("objectives", objectives), policy.get("batch", []))
    if sizes != (size, objectives, []):
        raise ValueError(f"its policy is of {str(sizes)[:80]}, its sums of {wanted}")


def _load(state: State, numbers: dict[str, Any], arrays: Arrays, rows: Iterable[Arrays]) -> None:
    counted = dict(numbers)
    state.ids_made = _whole(counted.pop("ids_made"))
    state.ledger.position = _whole(counted.pop("position"))
    state.changes = [_whole(place) for place in counted.pop("changes")]
    completions = _whole(counted.pop("completions"))
    places = arrays["offers"].astype(np.int64).tolist()
    offers = dict(zip(counted.pop("offers"), places, strict=True))
    if counted.keys() != {field.name for field in fields(Counters)}:
        raise ValueError("its counters are not those of an agent")
    state.counters = Counters(**{name: _whole(number) for name, number in counted.items()})
    state.time = float(arrays["time"].astype(np.float64).item())
    _load_ledger(state.ledger, rows, decisions=state.counters.decisions, completions=completions)
    for digest, place in offers.items():
        state.offers[digest] = place
        state.ledger.add_reference(place)
    names, kept = state.objective_set.names, arrays["defaults.value"].astype(np.float64).tolist()
    learned = arrays["defaults.place"].astype(np.int64).tolist()
    state.defaults = {
        (number, names[m]): default for (number, m), default in zip(learned, kept, strict=True)
    }
    state.learner.load_state(_under("learner.", arrays))
    for number, account in enumerate(state.accounts):
        account.load_state(_under(f"accounts.{number}.", arrays))
    state.find_pending()


def _under(prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"expected a count, got {str(number)[:40]}")
    return number


def _load_ledger(
    ledger: Ledger, parts: Iterable[Arrays], *, decisions: int, completions: int
) -> None:
    """Fill a ledger, of so many decisions made and completed."""
    ledger.completions = completions
    ledger.fill(_checked_rows(arrays, ledger.shape) for arrays in parts)
    used = ledger.column("number") >= 0
    if len(ledger.rows) != used.sum():
        raise ValueError("decisions and their ids do not fit together")
    done = (ledger.column("state") != PENDING).all(axis=1) & used
    for name, which, most in (("number", used, decisions), ("completed", done, completions)):
        numbers = np.sort(ledger.column(name)[which])
        if (np.diff(numbers, prepend=-1) <= 0).any() or (numbers[-1:] >= most).any():
            raise ValueError("the numbers of its decisions are not in order")


def _checked_rows(arrays: Arrays, shape: tuple[int, int, int]) -> tuple[list[list[str]], Block]:
    """Return texts and rows of some decisions; what contradicts itself is refused."""
    columns = {name: arrays[f"ledger.{name}"] for name in Block._fields}
    texts = [_texts(arrays, name) for name in _TEXTS]
    ids = texts[0]
    for name, usual in empty_block(0, shape)._asdict().items():
        column = columns[name]
        if column.shape != (len(ids), *usual.shape[1:]) or column.dtype != usual.dtype:
            raise ValueError(f"ledger.{name} has shape {column.shape}, type {column.dtype}")
    block = Block(**columns)  # type: ignore[arg-type]
    used = block.number >= 0
    if [bool(id) for id in ids] != used.tolist():
        raise ValueError("decisions and their ids do not fit together")
    if any(len(each) != len(ids) for each in texts):
        raise ValueError("decisions and their texts do not fit together")
    rows = Block._make(column[used] for column in block)
    done = (rows.state != PENDING).all(axis=1)
    if (rows.state > WITHDRAWN).any() or not np.isfinite(rows.features).all():
        raise ValueError("its decisions are in no state that an agent could bring about")
    if (rows.completed[~done] >= 0).any():
        raise ValueError("its completed decisions are not the completed ones")
    if not np.isfinite(rows.time).all() or not (rows.start > -math.inf).all():
        raise ValueError("the times of its decisions are not finite")
    return [ids, *(list(map(intern, each)) for each in texts[1:])], block


def _texts(arrays: Arrays, name: str) -> list[str]:
    raw = arrays[f"ledger.{name}"].tobytes()
    sizes = arrays[f"ledger.{name}.bytes"].astype(np.int64)
    if (sizes < 0).any() or sizes.sum() != len(raw):
        raise ValueError(f"ledger.{name} is not as long as its texts")
    ends = np.cumsum(sizes).tolist()
    places = zip([0, *ends], ends, strict=False)
    if raw.isascii():  # a character is a byte
        text = raw.decode()
        return [text[start:end] for start, end in places]
    return [raw[start:end].decode("utf-8", "surrogatepass") for start, end in places]


def _coded(texts: list[str]) -> tuple[bytes, list[int]]:
    """Return texts as :func:`_texts` reads them: all their bytes, and how many each has."""
    joined = "".join(texts)
    if joined.isascii():
        return joined.encode(), list(map(len, texts))
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join(coded), list(map(len, coded))
