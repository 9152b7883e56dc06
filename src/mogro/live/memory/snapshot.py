r"""Agents on disk.

A snapshot is one file, all numbers little-endian::

    8 bytes     b"\x93MOGRO\r\n"
    8 bytes     length of the header, an unsigned integer
    header      UTF-8 JSON:
                  version   of this format, 2
                  settings  of the agent, by the names in mogro.live.settings.PERSISTED
                  numbers   counters, how many ids were made up; for a journal, the position of the
                            last event, and digests of the arms that were written down
                  arrays    list of [name, type, shape], in the order of the file
    arrays      their elements in C order, one array right after the other
    32 bytes    SHA-256 of everything before

Types are ``<f8``, ``<i8`` and ``|u1``. Texts (``ledger.ids``, ``ledger.arms``) are two arrays, the
concatenated UTF-8 and the number of bytes of each. The arrays ``ledger.*`` have a row for every
decision that the agent holds, in the order of decisions: features as the learner sees them, weights
(NaN: none), estimates and rewards (NaN: none yet), times of rewards where they matter, the state of
each objective (0 pending, 1 learned, 2 learned as its default, 3 closed with nothing to learn, 4
condition not met), time, number, position of the event, and flags (as in mogro.live.memory.ledger).
``ledger.completed`` holds rows without anything pending, in the order of completion.
``defaults.*`` are defaults that were learned and are others now: numbers of decisions and places of
objectives, and values. ``learner.*`` are sums and what follows from them, to the bit.

Nothing in a file is executed, and objects are made of mogro's own classes only, and of those that
the caller names. What a file says about itself is checked against its size before memory is taken.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._files import write_whole
from mogro.live.errors import DamagedSnapshot
from mogro.live.memory.state import State
from mogro.live.memory.state_arrays import Arrays, load_state
from mogro.live.offers.bilinear import Bilinear
from mogro.live.settings import Settings, from_plain_settings

VERSION = 2
MAGIC = b"\x93MOGRO\r\n"
_DIGEST = 32
_TYPES = ("<f8", "<i8", "|u1")


def write(
    path: str | os.PathLike[str], settings: Settings, numbers: dict[str, Any], arrays: Arrays
) -> None:
    """Write what an agent is and what it knows."""
    with write_whole(path) as file:
        for part in pack(settings, numbers, arrays):
            file.write(part)


def pack(
    settings: Settings, numbers: dict[str, Any], arrays: Arrays
) -> Iterator[bytes | memoryview]:
    """Yield the content of a snapshot, part by part."""
    plain = {name: _stored(array) for name, array in arrays.items()}
    header = {
        "version": VERSION,
        "settings": settings.to_plain(),
        "numbers": numbers,
        "arrays": [[name, array.dtype.str, array.shape] for name, array in plain.items()],
    }
    text = json.dumps(header).encode()
    digest = hashlib.sha256()
    for part in (MAGIC, len(text).to_bytes(8, "little"), text):
        digest.update(part)
        yield part
    for array in plain.values():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        digest.update(raw)
        yield raw
    yield digest.digest()


def read(path: str | os.PathLike[str], types: Sequence[type[Any]]) -> State:
    """Read a snapshot; a damaged one is refused with the reason."""
    return unpack(
        Path(path).read_bytes(),
        lambda plain: from_plain_settings(plain, types=types),
        where=f"at {path}",
    )


def unpack(
    data: bytes, make_settings: Callable[[dict[str, Any]], Settings], *, where: str
) -> State:
    """Return the state that :func:`pack` was given; ``where`` it is from is said in errors."""
    try:
        header, body = _parts(data)
        arrays = _arrays(header["arrays"], body)
        _check_sizes(header["settings"], arrays)
        state = State(make_settings(header["settings"]))
        load_state(state, header["numbers"], arrays)
    except DamagedSnapshot as error:
        raise DamagedSnapshot(f"path: no whole snapshot {where}: {error}") from None
    except Exception as error:  # a damaged file can fail in any way
        raise DamagedSnapshot(f"path: no agent in the snapshot {where}: {error}") from error
    return state


def _stored(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return an array as one of the file's types."""
    kind = {"f": "<f8", "i": "<i8", "u": "|u1", "b": "|u1"}[array.dtype.kind]
    return array.astype(kind, copy=False)


def _parts(data: bytes) -> tuple[dict[str, Any], memoryview]:
    """Check a file as a whole, and return its header and its arrays' bytes."""
    if data[:8] != MAGIC:
        raise DamagedSnapshot("it does not begin like one")
    if len(data) < 16 + _DIGEST:
        raise DamagedSnapshot("it is cut short")
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise DamagedSnapshot("its checksum does not match; it is damaged, or cut short")
    size = int.from_bytes(data[8:16], "little")
    if 16 + size > len(data) - _DIGEST:
        raise DamagedSnapshot("its header is longer than the file")
    header = json.loads(data[16 : 16 + size])
    if not isinstance(header, dict) or header.get("version") != VERSION:
        version = header.get("version") if isinstance(header, dict) else None
        raise DamagedSnapshot(f"version {str(version)[:40]!r} is not known here, only {VERSION}")
    return header, memoryview(data)[16 + size : -_DIGEST]


def _arrays(listed: list[Any], body: memoryview) -> Arrays:
    arrays: Arrays = {}
    start = 0
    for name, kind, shape in listed:
        if kind not in _TYPES or not all(type(size) is int and size >= 0 for size in shape):
            raise DamagedSnapshot(f"array {name!r} has type {kind!r} and shape {shape!r}")
        items = math.prod(shape)
        end = start + items * np.dtype(kind).itemsize
        if end > len(body) or name in arrays:
            raise DamagedSnapshot(f"array {name!r} is cut short, or there twice")
        flat = np.frombuffer(body[start:end], dtype=kind, count=items)
        arrays[str(name)] = flat.reshape(shape).astype(np.dtype(kind).newbyteorder("="))
        start = end
    if start != len(body):
        raise DamagedSnapshot("there is more in it than its header says")
    return arrays


def _check_sizes(settings: dict[str, Any], arrays: Arrays) -> None:
    """Refuse sizes that the file has no numbers for, before anything of that size is made."""
    objectives, size = len(arrays["learner.effective"]), arrays["learner.flight"].shape[-1]
    policy = settings["policy"]["fields"]
    if settings["features"] is None:
        learned = settings["dim"] + settings["intercept"]
    else:
        learned = Bilinear.from_plain(settings["features"]).size
    wanted = (len(settings["objectives"]), learned)
    if wanted != (objectives, size) or arrays["learner.flight"].size < size * size:
        raise DamagedSnapshot(f"its settings are of {wanted}, its sums of {(objectives, size)}")
    sizes = (policy.get("dim", size), policy.get("objectives", objectives), policy.get("batch", []))
    if sizes != (size, objectives, []):
        raise DamagedSnapshot(f"its policy is of {str(sizes)[:80]}, its sums of {wanted}")
