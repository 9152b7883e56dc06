"""Policies on disk: one file of arrays with a JSON header, no pickle, no code.

The file is NumPy's ``.npz``: the entry ``header`` holds UTF-8 JSON with the policy's type and
hyper-parameters, every other entry one array of what has been learned.
"""

import dataclasses
import json
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._files import read_arrays, write_whole
from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.policies.base import LinearPolicy
from mogro.policies.epsilon_greedy import EpsilonGreedy
from mogro.policies.explore_then_commit import ExploreThenCommit
from mogro.policies.frank_wolfe import AlphaFairness, FrankWolfe
from mogro.policies.mogro import MOGRO
from mogro.policies.oracle import Oracle
from mogro.policies.random_arm import RandomArm
from mogro.policies.thompson import ThompsonSampling
from mogro.policies.ucb import UCB
from mogro.scalarization import (
    FixedWeights,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
)
from mogro.selection import EffectiveFront, ParetoFront

FORMAT = 2
OWN: tuple[type[Any], ...] = (
    AlphaFairness,
    BasisRoundRobin,
    EffectiveFront,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedWeights,
    FrankWolfe,
    MOGRO,
    Oracle,
    ParetoFront,
    RandomArm,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    ThompsonSampling,
    UCB,
    Uniform,
    WeakestDirection,
)
_DTYPES = tuple(map(np.dtype, ("?", *"bhilqBHILQ", *"efd")))  # numbers that JSON can hold


def save(policy: LinearPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy; a file that stood there is replaced as a whole or not at all."""
    header = {"format": FORMAT, "policy": to_plain(policy)}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with write_whole(path) as file:
        np.savez(file, header=text, **policy.save_state())  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], types: Sequence[type[Any]] = ()) -> LinearPolicy:
    """Read a policy that :func:`save` wrote; it goes on to the bit."""
    try:
        arrays = read_arrays(path)
        header = json.loads(bytes(arrays.pop("header").astype(np.uint8)))
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r} is not {FORMAT}")
        _check_room(header["policy"]["fields"], arrays)
        policy = from_plain(header["policy"], types)
        if not isinstance(policy, LinearPolicy):
            raise ValueError(f"{type(policy).__name__} is not a policy")
        policy.load_state(arrays)
    except OSError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise ValueError(f"path: expected a policy saved by mogro at {path}: {error}") from error
    return policy


def _check_room(fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse sizes that the arrays of the file cannot fill, before a policy takes memory for them.

    For each learner of its batch a policy keeps matrices (dim, dim) and (objectives, dim).
    """
    dim, objectives = fields.get("dim", 1), fields.get("objectives", 1)
    claimed = math.prod(fields.get("batch", ())) * dim * max(dim, objectives)
    if claimed > sum(array.size for array in arrays.values()):
        raise ValueError(f"too small for {objectives} objectives of dim {dim}")


def to_plain(value: Any) -> Any:
    """Return settings as plain JSON: a policy, or a part of one, of mogro's or of the caller's.

    A part of one's own is a data class whose fields are plain, or an object without attributes.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype in _DTYPES:
        return {"array": value.tolist(), "dtype": value.dtype.name}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.floating):
        return float(value)
    fields = _fields(value)
    return {
        "type": type(value).__name__,
        "fields": {name: to_plain(getattr(value, name)) for name in fields},
    }


def from_plain(plain: Any, types: Sequence[type[Any]] = ()) -> Any:
    """Make again what :func:`to_plain` was given; ``types`` are those that are not mogro's own."""
    if isinstance(plain, list):
        return tuple(from_plain(item, types) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], dtype=plain["dtype"])
    known = {one.__name__: one for one in (*types, *OWN)}
    if len(known) < len({*types, *OWN}):
        raise ValueError(f"types: expected different names, none of mogro's own, got {types}")
    name = plain["type"]
    if name not in known:
        raise ValueError(f"types: expected {name} among them, because it is not mogro's own")
    fields = {key: from_plain(field, types) for key, field in plain["fields"].items()}
    return known[name](**fields)


def _fields(value: Any) -> list[str]:
    """Return the names of the settings of an object."""
    kind = type(value)
    if kind not in OWN and any(kind.__name__ == one.__name__ for one in OWN):
        raise ValueError(
            f"{kind.__name__}: expected a name that is none of mogro's own, got {kind}"
        )
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value) if field.init]
    if isinstance(value, type) or callable(value) or getattr(value, "__dict__", True):
        raise ValueError(
            f"{type(value).__name__}: expected a data class, because a file holds plain settings "
            f"and no code, got {value!r}"
        )
    return []
