r"""Agents on disk.

A snapshot is one file, all numbers little-endian::

    8 bytes     b"\x93MOGRO\r\n"
    8 bytes     length of the header, an unsigned integer
    header      UTF-8 JSON:
                  version   of this format, 1
                  agent     the hyper-parameters: objectives, dim, intercept, scaling, policy (type
                            and fields), half_life, capacity, seed
                  lineage   names of this agent and of those merged into it
                  tally     what has happened, in numbers; ids made
                  arrays    list of [name, type, shape], in the order of the file
    arrays      their elements in C order, one array right after the other
    32 bytes    SHA-256 of everything before

Types are ``<f8``, ``<i8`` and ``|u1``. Texts (``ledger.ids``, ``ledger.arms``) are two arrays, the
concatenated UTF-8 and the number of bytes of each. The arrays ``ledger.*`` have a row for every
decision that the agent holds, in the order of decisions: features as the learner sees them, weights
(NaN: none), estimates and rewards (NaN: none yet), the state of each objective (0 pending, 1
learned, 2 closed with its default, 3 closed with nothing), time, number, and flags (1: explored, 2:
teaches). ``ledger.completed`` holds rows without anything pending, in the order of completion.
``learner.*`` and ``steering.*`` are sums and what follows from them, to the bit.

Nothing in a file is executed, and only the types of policies that this library has are made. Files
of every released version stay loadable: a new version adds a function that reads the old one.
"""

import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mogro.live.books import Books, Tally
from mogro.live.errors import DamagedSnapshot
from mogro.live.ledger import Block, empty_block
from mogro.live.setup import Setup

VERSION = 1
MAGIC = b"\x93MOGRO\r\n"
_DIGEST = 32
_TYPES = ("<f8", "<i8", "|u1")

Arrays = dict[str, NDArray[np.generic]]


class Draft:
    """A snapshot on its way to disk: complete beside the old file, not yet in its place."""

    def __init__(
        self, path: str | os.PathLike[str], setup: Setup, books: Books, lineage: frozenset[str]
    ) -> None:
        self._target = Path(path)
        self._draft = self._target.with_name(f".{self._target.name}.{uuid.uuid4().hex}")
        with _naming(self._target):
            self._file: BinaryIO = open(self._draft, "xb")  # noqa: SIM115
        try:
            _write(self._file, setup, books, lineage)
        except BaseException:
            self._file.close()
            os.unlink(self._draft)
            raise

    def publish(self) -> None:
        """Put it in the place of the old file, in one step that a crash cannot split."""
        try:
            with self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
            with _naming(self._target):
                os.replace(self._draft, self._target)
        except BaseException:
            os.unlink(self._draft)
            raise
        if hasattr(os, "O_DIRECTORY"):  # the new name itself has to reach the disk too
            folder = os.open(self._target.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error of the system name the path that the caller gave, not the draft's."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def read(path: str | os.PathLike[str]) -> tuple[Setup, Books, frozenset[str]]:
    """Read a snapshot; a damaged one is refused with the reason."""
    data = Path(path).read_bytes()
    try:
        header, body = _parts(data)
        setup = Setup.decoded(header["agent"])
        books = Books(setup)
        _restore(books, _arrays(header["arrays"], body))
        tally = dict(header["tally"])
        books.made = int(tally.pop("made"))
        books.tally = Tally(**tally)
        return setup, books, frozenset(header["lineage"])
    except DamagedSnapshot as error:
        raise DamagedSnapshot(f"path: no whole snapshot at {path}: {error}") from None
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
        raise DamagedSnapshot(f"path: no agent in the snapshot at {path}: {error}") from error


def _write(file: BinaryIO, setup: Setup, books: Books, lineage: frozenset[str]) -> None:
    arrays = _state(books)
    header = {
        "version": VERSION,
        "agent": setup.encoded(),
        "lineage": sorted(lineage),
        "tally": asdict(books.tally) | {"made": books.made},
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
    }
    text = json.dumps(header).encode()
    digest = hashlib.sha256()
    for part in (MAGIC, len(text).to_bytes(8, "little"), text):
        digest.update(part)
        file.write(part)
    for array in arrays.values():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        digest.update(raw)
        file.write(raw)
    file.write(digest.digest())


def _state(books: Books) -> Arrays:
    """Return everything that changes in an agent, as arrays under names."""
    ledger = books.ledger
    rows = ledger.live()
    parts = [part for _, part in ledger.gather(rows)]
    whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
    block = Block(*whole) if parts else empty_block(0, ledger.size, ledger.objectives)
    position = {row: i for i, row in enumerate(rows.tolist())}
    completed = np.array([position[row] for row in ledger.completed], dtype=np.int64)
    state: Arrays = {f"ledger.{name}": column for name, column in block._asdict().items()}
    state["ledger.completed"] = completed
    for name, texts in (("ids", ledger.ids), ("arms", ledger.arms)):
        coded = [texts[row].encode("utf-8", "surrogatepass") for row in rows.tolist()]
        state[f"ledger.{name}"] = np.frombuffer(b"".join(coded), dtype=np.uint8)
        state[f"ledger.{name}.bytes"] = np.array([len(text) for text in coded], dtype=np.int64)
    state |= {f"learner.{name}": array for name, array in books.learner.arrays().items()}
    if books.steering is not None:
        state |= {f"steering.{name}": array for name, array in books.steering.arrays().items()}
    return {name: _plain(array) for name, array in state.items()}


def _plain(array: NDArray[np.generic]) -> NDArray[np.generic]:
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
        raise DamagedSnapshot(f"version {version!r} is not known here, only {VERSION}")
    return header, memoryview(data)[16 + size : -_DIGEST]


def _arrays(listed: list[Any], body: memoryview) -> Arrays:
    arrays, start = {}, 0
    for name, kind, shape in listed:
        if kind not in _TYPES or not all(type(size) is int and size >= 0 for size in shape):
            raise DamagedSnapshot(f"array {name!r} has type {kind!r} and shape {shape!r}")
        items = math.prod(shape)
        end = start + items * np.dtype(kind).itemsize
        if end > len(body):
            raise DamagedSnapshot(f"array {name!r} is cut short")
        flat = np.frombuffer(body[start:end], dtype=kind, count=items)
        arrays[str(name)] = flat.reshape(shape).astype(np.dtype(kind).newbyteorder("="))
        start = end
    if start != len(body):
        raise DamagedSnapshot("there is more in it than its header says")
    return arrays


def _restore(books: Books, arrays: Arrays) -> None:
    """Take over what :func:`_state` of an equal agent gave."""
    ledger = books.ledger
    empty = empty_block(0, ledger.size, ledger.objectives)
    columns = {name: arrays[f"ledger.{name}"] for name in Block._fields}
    block = Block(**columns)  # type: ignore[arg-type]
    ids, arms = list(_texts(arrays, "ids")), list(_texts(arrays, "arms"))
    for name, usual in empty._asdict().items():
        column = columns[name]
        if column.shape != (len(ids), *usual.shape[1:]) or column.dtype != usual.dtype:
            raise DamagedSnapshot(f"ledger.{name} has shape {column.shape}, type {column.dtype}")
    if len(arms) != len(ids) or len(set(ids)) != len(ids):
        raise DamagedSnapshot("decisions and their ids do not fit together")
    shared: dict[str, str] = {}
    rows = ledger.fill(ids, [shared.setdefault(arm, arm) for arm in arms], block)
    ledger.completed.extend(rows[arrays["ledger.completed"].astype(np.int64)].tolist())
    books.learner.restore(_under(arrays, "learner."))
    if books.steering is not None:
        books.steering.restore(_under(arrays, "steering."))


def _under(arrays: Arrays, prefix: str) -> Arrays:
    own = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): array for name, array in own.items()}


def _texts(arrays: Arrays, name: str) -> Iterator[str]:
    raw = arrays[f"ledger.{name}"].tobytes()
    start = 0
    for size in arrays[f"ledger.{name}.bytes"].astype(np.int64).tolist():
        yield raw[start : start + size].decode("utf-8", "surrogatepass")
        start += size
