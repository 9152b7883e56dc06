"""A state as plain numbers and arrays under names, and back."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from mogro.live.errors import DamagedSnapshot
from mogro.live.memory.counters import Counters
from mogro.live.memory.ledger_arrays import Arrays, load_ledger, save_ledger
from mogro.live.memory.state import State


def save_state(state: State, *, placed: bool = True) -> tuple[dict[str, Any], Arrays]:
    """Return all that changes: plain numbers by name, and arrays by name.

    Unless ``placed``, without its place in a journal.
    """
    arrays = save_ledger(state.ledger)
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
    load_ledger(state.ledger, arrays, decisions=state.counters.decisions)
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
