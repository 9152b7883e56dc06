"""Policies on disk: settings and arrays of what was learned, no pickle, no code.

The format is that of :mod:`mogro._codec`: the header holds the policy as plain data.
"""

import dataclasses
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mogro import exploration, policies, priors, scalarization, selection
from mogro._codec import Arrays, by_name, from_plain, pack, to_plain, unpack
from mogro._files import write_atomically
from mogro.policies.base import LinearPolicy

FORMAT = 6
BUILT_IN: tuple[type[Any], ...] = tuple(
    kind
    for module in (exploration, policies, priors, scalarization, selection)
    for kind in vars(module).values()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
)


def save(policy: LinearPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy; a file that stood there is replaced as a whole or not at all."""
    check_names(policy)
    with write_atomically(path) as file:
        for part in pack({"format": FORMAT, "policy": to_plain(policy)}, policy.save_state()):
            file.write(part)


def load(path: str | os.PathLike[str], types: Sequence[type[Any]] = ()) -> LinearPolicy:
    """Read a policy that :func:`save` wrote; it goes on to the bit."""
    classes = by_name(BUILT_IN, types)
    try:
        header, arrays = unpack(Path(path).read_bytes())
        if "policy" not in header:
            raise ValueError("something else than a policy is in it")
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r} is not {FORMAT}")
        check_room(header["policy"], arrays)
        policy = from_plain(header["policy"], classes)
        if not isinstance(policy, LinearPolicy):
            raise ValueError(f"{type(policy).__name__} is not a policy")
        policy.load_state(arrays)
    except OSError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise ValueError(f"path: expected a policy saved by mogro at {path}: {error}") from error
    return policy


def check_room(fields: dict[str, Any], arrays: Arrays) -> None:
    """Refuse sizes that the arrays of the file cannot fill, before a policy takes memory for them.

    For each learner of its batch a policy keeps matrices (dim, dim) and (objectives, dim).
    """
    dim, objectives = fields.get("dim", 1), fields.get("objectives", 1)
    claimed = math.prod(fields.get("batch", ())) * dim * max(dim, objectives)
    if claimed > sum(array.size for array in arrays.values()):
        raise ValueError(f"too small for {objectives} objectives of dim {dim}")


def check_names(value: Any) -> dict[str, type[Any]]:
    """Return all classes by which a policy, or a part of one, can be made again, by their names.

    What no file could hold, or would be taken for one of mogro's own, is a ``ValueError``.
    """
    to_plain(value)
    return by_name(BUILT_IN, tuple(foreign_types(value)))


def foreign_types(value: Any) -> Iterator[type[Any]]:
    """Yield the classes of a policy and its parts that are not mogro's own."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from foreign_types(item)
    elif not isinstance(value, np.ndarray | np.generic | bool | int | float | str | None):
        if type(value) not in BUILT_IN:
            yield type(value)
        for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            if field.init:
                yield from foreign_types(getattr(value, field.name))
