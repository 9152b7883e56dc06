r"""Objects as plain data that JSON can hold, and arrays behind a header: all that mogro writes.

:func:`to_plain` is for settings and events. Numbers, texts and None are themselves, tuples are
lists, arrays the base64 of their bytes; a named tuple or a data class is its fields by name, with
the name of its class under ``"is"``. Python writes every float so that reading it gives the same
bits.

:func:`encode` is for events, of which there are many: a line of JSON with the fields of a named
tuple, less those that are their defaults (None, where there is none), then its arrays as they lie
in memory; under ``arrays`` is a list of [name, type, shape]. Booleans take a bit each.

:func:`pack` is for files and snapshots, a header and arrays in one piece of bytes, all numbers
little-endian::

    8 bytes     b"\x93MOGRO\r\n"
    8 bytes     length of the header, an unsigned integer
    header      UTF-8 JSON; under ``arrays`` a list of [name, type, shape], in the order below
    arrays      their elements in C order, one array right after the other
    32 bytes    SHA-256 of everything before

Types are ``<f8``, ``<i8``, ``|u1``, ``<u2`` and ``<u4``. Nothing that is read is executed, and
objects are made only of the classes that the reader names. What a file says about itself is checked
against its size before memory is taken.
"""

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]

MAGIC = b"\x93MOGRO\r\n"
TAG = "is"  # the name of a class stands under it
_DIGEST = 32
_TYPES = ("<f8", "<i8", "|u1", "<u2", "<u4")
_PLAIN = frozenset((type(None), bool, int, float, str))
_DTYPES = frozenset("?bhilqBHILQefd")  # numbers that JSON can hold


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is a ``ValueError``.

    Beside named tuples and data classes, objects are their arguments, if they say them
    (``__getnewargs_ex__``), or nothing but their class, if they have no attributes.

    Examples
    --------
    >>> to_plain((1.5, np.arange(2.0)))
    [1.5, {'is': 'array', 'shape': [2], 'float64': 'AAAAAAAAAAAAAAAAAADwPw=='}]
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if hasattr(kind, "_fields"):
        plain = {TAG: kind.__name__}
        for name, field in zip(kind._fields, value, strict=True):
            plain[name] = field if type(field) in _PLAIN else to_plain(field)
        return plain
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return _plain_dict(value)
    if isinstance(value, np.generic) and value.dtype.char in _DTYPES | {"g"}:
        return float(value) if value.dtype.kind == "f" else value.item()
    return {TAG: kind.__name__} | _arguments(value)


def from_plain(plain: Any, types: Mapping[str, type[Any]]) -> Any:
    """Make again what :func:`to_plain` was given, of classes by their names; lists are tuples."""
    if type(plain) is list:
        return tuple([item if type(item) in _PLAIN else from_plain(item, types) for item in plain])
    if type(plain) is not dict:
        return plain
    if plain.get(TAG) == "array":
        return _array(plain)
    fields = {
        name: field if type(field) in _PLAIN else from_plain(field, types)
        for name, field in plain.items()
    }
    if TAG not in fields:
        return fields
    name = fields.pop(TAG)
    if name == "dict":
        return dict(fields["items"])
    if name not in types:
        raise ValueError(f"types: expected {name} among them, because it is not mogro's own")
    arguments, named = fields.get("arguments", ((), fields))
    return types[name](*arguments, **named)


def encode(value: Any) -> bytes:
    r"""Return a named tuple as bytes.

    Examples
    --------
    >>> from mogro.agent.events import Rewarded
    >>> encode(Rewarded("visit 1", {"sales": 4.0}, None))
    b'{"is":"Rewarded","id":"visit 1","values":{"sales":4.0}}\n'
    """
    kind = type(value)
    plain: dict[str, Any] = {TAG: kind.__name__}
    listed, raw = [], []
    for name, field in zip(kind._fields, value, strict=True):
        if isinstance(field, np.ndarray):
            array = np.packbits(field) if field.dtype == np.bool_ else field
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            listed.append((name, field.dtype.newbyteorder("<").str, field.shape))
            raw.append(array.tobytes())
        elif field != kind._field_defaults.get(name):
            plain[name] = field if type(field) in _PLAIN else to_plain(field)
    if listed:
        plain["arrays"] = listed
    return b"\n".join((_compact(plain).encode(), b"".join(raw)))


_compact = json.JSONEncoder(separators=(",", ":")).encode
_parse = json.JSONDecoder().raw_decode


def decode(data: bytes, types: Mapping[str, type[Any]], start: int = 0) -> tuple[Any, int]:
    """Return what :func:`encode` was given, from a place in bytes on, and where it ends."""
    end = data.index(b"\n", start)
    plain, _ = _parse(data[start:end].decode())
    kind: Any = types[plain.pop(TAG)]
    listed, start = plain.pop("arrays", ()), end + 1
    fields = _defaults(kind).copy()
    for name, field in plain.items():
        fields[name] = field if type(field) in _PLAIN else from_plain(field, types)
    for name, code, shape in listed:
        dtype, end = _dtype(code), start + _bytes(code, shape)
        packed = dtype.char == "?"
        array = np.frombuffer(data[start:end], np.uint8 if packed else dtype)
        if packed:
            array = np.unpackbits(array, count=math.prod(shape)).astype(np.bool_)
        fields[name], start = array if len(shape) == 1 else array.reshape(shape), end
    if len(fields) > len(kind._fields):
        raise ValueError(f"{kind.__name__}: expected {kind._fields}, got {list(fields)}")
    return kind._make(fields.values()), start


def end_of(data: bytes) -> int:
    """Return where the first of what :func:`encode` was given ends."""
    end = data.index(b"\n")
    listed = _parse(data[:end].decode())[0].get("arrays", ())
    return end + 1 + sum(_bytes(code, shape) for _, code, shape in listed)


def _bytes(code: str, shape: list[int]) -> int:
    """Return how many bytes an array takes."""
    items, dtype = shape[0] if len(shape) == 1 else math.prod(shape), _dtype(code)
    return (items + 7) // 8 if dtype.char == "?" else dtype.itemsize * items


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return what the fields of a named tuple are if nobody says, None by default, in order."""
    return {name: kind._field_defaults.get(name) for name in kind._fields}


@cache
def _dtype(code: str) -> np.dtype[Any]:
    dtype = np.dtype(code)
    if dtype.char not in _DTYPES:
        raise ValueError(f"array: expected numbers, got {code}")
    return dtype


def by_name(known: Iterable[type[Any]], others: Iterable[type[Any]] = ()) -> dict[str, type[Any]]:
    """Return classes by their names: mogro's own, and others that are named differently."""
    foreign = list(others)
    classes = {*known, *foreign}
    named = {kind.__name__: kind for kind in classes}
    if len(named) < len(classes):
        raise ValueError(f"types: expected different names, none of mogro's own, got {foreign}")
    return named


def _plain_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if not all(type(key) is str for key in value):
        raise ValueError(f"dict: expected strings as keys, because a file holds JSON, got {value}")
    if TAG in value:  # it would be taken for the name of a class
        return {TAG: "dict", "items": [[key, to_plain(item)] for key, item in value.items()]}
    return {key: to_plain(item) for key, item in value.items()}


def _arguments(value: Any) -> dict[str, Any]:
    """Return what an object is made of."""
    if hasattr(value, "__getnewargs_ex__"):
        return {"arguments": to_plain(value.__getnewargs_ex__())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: to_plain(getattr(value, name)) for name in fields}
    if isinstance(value, type) or callable(value) or getattr(value, "__dict__", True):
        raise ValueError(
            f"{type(value).__name__}: expected a data class, because a file holds plain settings "
            f"and no code, got {value!r}"
        )
    return {}


def _plain_array(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype.char not in _DTYPES:
        raise ValueError(f"array: expected numbers, because a file holds no code, got {array!r}")
    kind = array.dtype.newbyteorder("<")
    raw = np.packbits(array) if kind == np.bool_ else array.astype(kind, copy=False)
    content = base64.b64encode(raw.tobytes()).decode()
    return {TAG: "array", "shape": list(array.shape), array.dtype.name: content}


def _array(plain: dict[str, Any]) -> NDArray[Any]:
    _, (_, shape), (name, text) = plain.items()
    raw = base64.b64decode(text)
    if name == "float64":
        return np.frombuffer(raw, "<f8").reshape(shape)
    if name == "bool":
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=math.prod(shape))
        return bits.astype(np.bool_).reshape(shape)
    if np.dtype(name).char not in _DTYPES:
        raise ValueError(f"array: expected numbers, got {name}")
    return np.frombuffer(raw, np.dtype(name).newbyteorder("<")).reshape(shape)


def pack(
    header: dict[str, Any], arrays: Mapping[str, NDArray[np.generic]]
) -> Iterator[bytes | memoryview]:
    """Yield bytes, part by part.

    Examples
    --------
    >>> header, arrays = unpack(b"".join(pack({"seed": 3}, {"sums": np.ones(2)})))
    >>> header["seed"], arrays["sums"]
    (3, array([1., 1.]))
    """
    stored = {name: _stored(array) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, array.shape] for name, array in stored.items()]
    text = json.dumps(header | {"arrays": listed}).encode()
    digest = hashlib.sha256()
    for part in (MAGIC, len(text).to_bytes(8, "little"), text):
        digest.update(part)
        yield part
    for array in stored.values():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        digest.update(raw)
        yield raw
    yield digest.digest()


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return what :func:`pack` was given; anything else is a ``ValueError`` with the reason."""
    if data[:8] != MAGIC:
        raise ValueError("it is not a file of mogro")
    if len(data) < 16 + _DIGEST:
        raise ValueError("it is cut short")
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ValueError("its checksum does not match; it is damaged, or cut short")
    size = int.from_bytes(data[8:16], "little")
    if 16 + size > len(data) - _DIGEST:
        raise ValueError("its header is longer than the file")
    header = json.loads(data[16 : 16 + size])
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header, _arrays(header.pop("arrays"), memoryview(data)[16 + size : -_DIGEST])


def _stored(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return an array as one of the file's types."""
    if array.dtype.kind == "u":
        return array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.astype({"f": "<f8", "i": "<i8", "b": "|u1"}[array.dtype.kind], copy=False)


def _arrays(listed: list[Any], body: memoryview) -> Arrays:
    arrays: Arrays = {}
    start = 0
    for name, kind, shape in listed:
        if kind not in _TYPES or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"array {name!r} has type {kind!r} and shape {shape!r}")
        items = math.prod(shape)
        end = start + items * np.dtype(kind).itemsize
        if end > len(body) or name in arrays:
            raise ValueError(f"array {name!r} is cut short, or listed twice")
        flat = np.frombuffer(body[start:end], dtype=kind, count=items)
        arrays[str(name)] = flat.reshape(shape).astype(np.dtype(kind).newbyteorder("="))
        start = end
    if start != len(body):
        raise ValueError("it has bytes that its header does not list")
    return arrays
