r"""Objects as plain data that JSON can hold, and arrays behind a line of it: all that mogro writes.

:func:`to_plain` is for settings and events. Numbers, texts and None are themselves, tuples are
lists, arrays the base64 of their bytes; a named tuple or a data class is its fields by name, with
the name of its class under ``"is"``. Python writes every float so that reading it gives the same
bits.

Arrays stand one right after the other behind a line of JSON that lists them under ``arrays``, as
[name, type, shape]. :func:`encode` writes an event so, of which there are many: the line has the
fields of a named tuple, less those that are their defaults (None, where there is none).
:func:`pack` is for files and snapshots::

    8 bytes     b"\x93MOGRO\r\n"
    header      a line of JSON
    arrays      one right after the other
    32 bytes    SHA-256 of everything before

Arrays are the same everywhere: their elements in C order, little-endian; booleans take a bit each.
Nothing that is read is executed, and objects are made only of the classes that the reader names.
What a file says about itself is checked against its size before memory is taken.
"""

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]

MAGIC = b"\x93MOGRO\r\n"
TAG = "is"  # the name of a class stands under it
_DIGEST_BYTES = 32
_SCALARS = frozenset((type(None), bool, int, float, str))
_NUMERIC_DTYPES = frozenset("?bhilqBHILQefd")  # numbers that JSON can hold


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it; what it cannot hold is a ``ValueError``.

    Beside named tuples and data classes, objects are their arguments, if they say them
    (``__getnewargs_ex__``), or nothing but their class, if they have no attributes.

    Examples
    --------
    >>> to_plain((1.5, np.arange(2.0)))
    [1.5, {'is': 'array', 'shape': [2], 'float64': 'AAAAAAAAAAAAAAAAAADwPw=='}]
    """
    cls = type(value)
    if cls in _SCALARS:
        return value
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if hasattr(cls, "_fields"):
        plain = {TAG: cls.__name__}
        for name, field in zip(cls._fields, value, strict=True):
            plain[name] = field if type(field) in _SCALARS else to_plain(field)
        return plain
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return _plain_dict(value)
    if isinstance(value, np.generic) and value.dtype.char in _NUMERIC_DTYPES | {"g"}:
        return float(value) if value.dtype.kind == "f" else value.item()
    return {TAG: cls.__name__} | _plain_arguments(value)


def from_plain(plain: Any, types: Mapping[str, type[Any]]) -> Any:
    """Make again what :func:`to_plain` was given, of classes by their names; lists are tuples."""
    if type(plain) is list:
        return tuple([x if type(x) in _SCALARS else from_plain(x, types) for x in plain])
    if type(plain) is not dict:
        return plain
    if plain.get(TAG) == "array":
        _, (_, shape), (name, text) = plain.items()
        return _read_array(base64.b64decode(text), 0, name, shape)[0]
    fields = {
        name: field if type(field) in _SCALARS else from_plain(field, types)
        for name, field in plain.items()
    }
    if TAG not in fields:
        return fields
    name = fields.pop(TAG)
    if name == "dict":
        return dict(fields["items"])
    if name not in types:
        raise ValueError(
            f"types: expected the class {name} among them, because it is not part of mogro"
        )
    arguments, keywords = fields.get("arguments", ((), fields))
    return types[name](*arguments, **keywords)


def encode(value: Any) -> bytes:
    r"""Return a named tuple as bytes.

    Examples
    --------
    >>> from mogro.agent.events import Rewarded
    >>> encode(Rewarded("visit 1", {"sales": 4.0}, None))
    b'{"is":"Rewarded","id":"visit 1","values":{"sales":4.0}}\n'
    """
    cls = type(value)
    plain: dict[str, Any] = {TAG: cls.__name__}
    arrays = {}
    for name, field in zip(cls._fields, value, strict=True):
        if isinstance(field, np.ndarray):
            arrays[name] = field
        elif field != cls._field_defaults.get(name):
            plain[name] = field if type(field) in _SCALARS else to_plain(field)
    return b"".join(_encode_parts(plain, arrays))


_encode_json = json.JSONEncoder(separators=(",", ":")).encode
_decode_json = json.JSONDecoder().raw_decode


def decode(data: bytes, types: Mapping[str, type[Any]], start: int = 0) -> tuple[Any, int]:
    """Return what :func:`encode` was given, from a place in bytes on, and where it ends."""
    plain, arrays, end = _decode_parts(data, start)
    cls: Any = types[plain.pop(TAG)]
    fields = _defaults(cls).copy()
    for name, field in plain.items():
        fields[name] = field if type(field) in _SCALARS else from_plain(field, types)
    fields |= arrays
    if len(fields) > len(cls._fields):
        raise ValueError(f"{cls.__name__}: expected {cls._fields}, got {list(fields)}")
    return tuple.__new__(cls, fields.values()), end


def _encode_parts(plain: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes]:
    """Return a line of JSON, which then lists the arrays, and these, part by part."""
    if arrays:
        plain["arrays"] = [(name, _dtype_code(a.dtype), a.shape) for name, a in arrays.items()]
    return chain((_encode_json(plain).encode(), b"\n"), map(_array_bytes, arrays.values()))


def _decode_parts(data: bytes, start: int) -> tuple[dict[str, Any], Arrays, int]:
    """Return what :func:`_encode_parts` was given, from a place in bytes on, and where it ends."""
    end = data.index(b"\n", start)
    plain, _ = _decode_json(data[start:end].decode())
    arrays: Arrays = {}
    start = end + 1
    for name, code, shape in plain.pop("arrays", ()):
        try:
            arrays[name], start = _read_array(data, start, code, shape)
        except (ValueError, TypeError) as error:
            raise ValueError(f"array {name!r}: {error}") from error
    return plain, arrays, start


def _array_bytes(array: NDArray[Any]) -> bytes:
    """Return the elements of an array as they are written."""
    bits = np.packbits(array) if array.dtype == np.bool_ else array
    return bits.astype(bits.dtype.newbyteorder("<"), copy=False).tobytes()


def _read_array(
    data: bytes, start: int, code: str, shape: Sequence[int]
) -> tuple[NDArray[Any], int]:
    """Return the read-only array that :func:`_array_bytes` was given, and where it ends."""
    dtype, items = _numeric_dtype(code), shape[0] if len(shape) == 1 else math.prod(shape)
    is_packed = dtype.char == "?"
    end = start + ((items + 7) // 8 if is_packed else items * dtype.itemsize)
    if not start <= end <= len(data):
        raise ValueError(f"expected {code} of shape {shape}, got fewer bytes")
    flat = np.frombuffer(data[start:end], np.uint8 if is_packed else dtype)
    if is_packed:
        flat = np.unpackbits(flat, count=items).astype(np.bool_)
    return flat if len(shape) == 1 else flat.reshape(shape), end


@cache
def _defaults(cls: Any) -> dict[str, Any]:
    """Return what the fields of a named tuple are if nobody says, None by default, in order."""
    return {name: cls._field_defaults.get(name) for name in cls._fields}


@cache
def _dtype_code(dtype: np.dtype[Any]) -> str:
    return dtype.newbyteorder("<").str


@cache
def _numeric_dtype(code: str) -> np.dtype[Any]:
    dtype = np.dtype(code).newbyteorder("<")
    if dtype.char not in _NUMERIC_DTYPES:
        raise ValueError(f"expected numbers, got {code}")
    return dtype


def by_name(own: Iterable[type[Any]], foreign: Sequence[type[Any]] = ()) -> dict[str, type[Any]]:
    """Return classes by their names: mogro's own, and foreign ones with other names."""
    classes: Any = foreign
    if not isinstance(classes, Sequence) or not all(isinstance(cls, type) for cls in classes):
        raise ValueError(f"types: expected a list of classes, got {foreign!r}")
    classes = {*own, *classes}
    classes_by_name = {cls.__name__: cls for cls in classes}
    if len(classes_by_name) < len(classes):
        raise ValueError(f"types: expected different names, none of mogro's own, got {foreign}")
    return classes_by_name


def _plain_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if not all(type(key) is str for key in value):
        raise ValueError(f"dict: expected strings as keys, because a file holds JSON, got {value}")
    if TAG in value:  # it would be taken for the name of a class
        return {TAG: "dict", "items": [[key, to_plain(item)] for key, item in value.items()]}
    return {key: to_plain(item) for key, item in value.items()}


def _plain_arguments(value: Any) -> dict[str, Any]:
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
    if array.dtype.char not in _NUMERIC_DTYPES:
        raise ValueError(f"array: expected numbers, because a file holds no code, got {array!r}")
    content = base64.b64encode(_array_bytes(array)).decode()
    return {TAG: "array", "shape": list(array.shape), array.dtype.name: content}


def texts_to_array(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts as an array, of the bytes of a JSON list."""
    return np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)


def texts_from_array(array: NDArray[Any]) -> list[str]:
    """Return what :func:`texts_to_array` was given."""
    texts: Any = json.loads(array.tobytes())
    if not isinstance(texts, list) or not all(type(text) is str for text in texts):
        raise ValueError(f"expected texts, got {str(texts)[:40]}")
    return texts


def pack(header: dict[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> Iterator[bytes]:
    """Yield bytes, part by part.

    Examples
    --------
    >>> header, arrays = unpack(b"".join(pack({"seed": 3}, {"sums": np.ones(2)})))
    >>> header["seed"], arrays["sums"]
    (3, array([1., 1.]))
    """
    digest = hashlib.sha256()
    for part in chain((MAGIC,), _encode_parts({**header}, arrays)):
        digest.update(part)
        yield part
    yield digest.digest()


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return what :func:`pack` was given; anything else is a ``ValueError`` with the reason."""
    if not data.startswith(MAGIC):
        raise ValueError("it is not a file of mogro")
    if hashlib.sha256(memoryview(data)[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
        raise ValueError("its checksum does not match; it is damaged, or cut short")
    if data[len(MAGIC) : len(MAGIC) + 1] != b"{":
        raise ValueError("an earlier mogro has written it; this one no longer reads such files")
    header, arrays, end = _decode_parts(data, len(MAGIC))
    if end != len(data) - _DIGEST_BYTES:
        raise ValueError("its header lists other arrays than there are")
    return header, {name: array.copy() for name, array in arrays.items()}
