"""A state as plain numbers and arrays under names, and back; what contradicts itself is refused."""

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro.live.errors import DamagedSnapshot
from mogro.live.memory.counters import Counters
from mogro.live.memory.ledger import Block, Ledger, empty_block
from mogro.live.memory.state import State
from mogro.live.objective import PENDING, WITHDRAWN

Arrays = dict[str, NDArray[np.generic]]


def save_state(state: State, *, placed: bool = True) -> tuple[dict[str, Any], Arrays]:
    """Return all that changes: plain numbers by name, and arrays by name.

    Unless ``placed``, without its place in a journal.
    """
    arrays = _save_ledger(state.ledger)
    learned = state.learner.save_state()  # copied: threads go on while it is written
    arrays |= {f"learner.{name}": one.copy() for name, one in learned.items()}
    arrays["time"] = np.array([state.time])
    arrays["agreement"] = np.array(state.agreement)
    if not placed:
        arrays["ledger.position"] = np.zeros_like(arrays["ledger.position"])
    held = set(arrays["ledger.serial"].tolist())
    kept = [
        (number, state.units.index[name], default)
        for (number, name), default in state.defaults.items()
        if number in held and name in state.units.index
    ]
    arrays["defaults.place"] = np.array([one[:2] for one in kept], np.int64).reshape(-1, 2)
    arrays["defaults.value"] = np.array([one[2] for one in kept], np.float64)
    last, offers = (state.position, state.offers) if placed else (0, {})
    arrays["offers"] = np.array(list(offers.values()), dtype=np.int64)
    own = {
        "numbers": state.numbers,
        "position": last,
        "changed": state.changed * placed,
        "offers": list(offers),
    }
    return asdict(state.counters) | own, arrays


def load_state(state: State, numbers: dict[str, Any], arrays: Arrays) -> None:
    """Take over what :func:`save_state` of a state with equal settings gave."""
    counted = dict(numbers)
    state.numbers = _whole(counted.pop("numbers"))
    state.position = _whole(counted.pop("position"))
    state.changed = _whole(counted.pop("changed"))
    places = arrays["offers"].astype(np.int64).tolist()
    state.offers = dict(zip(counted.pop("offers"), places, strict=True))
    if counted.keys() != {field.name for field in fields(Counters)}:
        raise DamagedSnapshot("its counters are not those of an agent")
    state.counters = Counters(**{name: _whole(number) for name, number in counted.items()})
    state.time = float(arrays["time"].astype(np.float64).item())
    agreed, weight = arrays["agreement"].astype(np.float64).tolist()
    state.agreement = agreed, weight
    _load_ledger(state.ledger, arrays, decisions=state.counters.decisions)
    names, kept = state.units.names, arrays["defaults.value"].astype(np.float64).tolist()
    learned = arrays["defaults.place"].astype(np.int64).tolist()
    state.defaults = {
        (number, names[m]): one for (number, m), one in zip(learned, kept, strict=True)
    }
    own = {name: one for name, one in arrays.items() if name.startswith("learner.")}
    state.learner.load_state({name.removeprefix("learner."): one for name, one in own.items()})
    state.find_windows()


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise DamagedSnapshot(f"expected a count, got {str(number)[:40]}")
    return number


def _save_ledger(ledger: Ledger) -> Arrays:
    """Return all decisions that are held, in their order."""
    rows = ledger.live()
    block = ledger.gather(rows)
    position = {row: n for n, row in enumerate(rows.tolist())}
    arrays: Arrays = {f"ledger.{name}": column for name, column in block._asdict().items()}
    arrays["ledger.completed"] = np.array(
        [position[row] for row in ledger.completed], dtype=np.int64
    )
    for name, texts in (("ids", ledger.ids), ("arms", ledger.arms)):
        raw, sizes = _coded([texts[row] for row in rows.tolist()])
        arrays[f"ledger.{name}"] = np.frombuffer(raw, dtype=np.uint8)
        arrays[f"ledger.{name}.bytes"] = np.array(sizes, dtype=np.int64)
    return arrays


def _load_ledger(ledger: Ledger, arrays: Arrays, *, decisions: int) -> None:
    """Fill a ledger with what :func:`_save_ledger` gave, of so many decisions made."""
    columns = {name: arrays[f"ledger.{name}"] for name in Block._fields}
    ids, arms = _texts(arrays, "ids"), _texts(arrays, "arms")
    for name, usual in empty_block(0, ledger.shape)._asdict().items():
        column = columns[name]
        if column.shape != (len(ids), *usual.shape[1:]) or column.dtype != usual.dtype:
            raise DamagedSnapshot(f"ledger.{name} has shape {column.shape}, type {column.dtype}")
    if len(arms) != len(ids) or len(set(ids)) != len(ids) or "" in ids:
        raise DamagedSnapshot("decisions and their ids do not fit together")
    shared: dict[str, str] = {}
    block = Block(**columns)  # type: ignore[arg-type]
    rows = ledger.fill(ids, [shared.setdefault(arm, arm) for arm in arms], block)
    _check_decisions(block, arrays["ledger.completed"], decisions)
    ledger.completed.extend(rows[arrays["ledger.completed"].astype(np.int64)].tolist())


def _check_decisions(block: Block, completed: NDArray[np.generic], decisions: int) -> None:
    """Refuse a ledger whose rows contradict each other."""
    serial = block.serial
    if len(serial) and not (
        serial[0] >= 0 and serial[-1] < decisions and (np.diff(serial) > 0).all()
    ):
        raise DamagedSnapshot("the numbers of its decisions are not in order")
    if (block.state > WITHDRAWN).any() or not np.isfinite(block.features).all():
        raise DamagedSnapshot("its decisions are in no state that an agent could bring about")
    done = np.flatnonzero((block.state != PENDING).all(axis=1))
    listed = np.sort(completed.astype(np.int64))
    if completed.dtype != np.int64 or not np.array_equal(listed, done):
        raise DamagedSnapshot("its completed decisions are not the completed ones")
    if not np.isfinite(block.time).all() or not (block.start > -math.inf).all():
        raise DamagedSnapshot("the times of its decisions are not finite")


def _texts(arrays: Arrays, name: str) -> list[str]:
    raw = arrays[f"ledger.{name}"].tobytes()
    sizes = arrays[f"ledger.{name}.bytes"].astype(np.int64)
    if (sizes < 0).any() or sizes.sum() != len(raw):
        raise DamagedSnapshot(f"ledger.{name} is not as long as its texts")
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
