"""Policies on disk: one file of arrays with a JSON header, no pickle, no code.

The file is NumPy's ``.npz``: the entry ``header`` holds UTF-8 JSON with the policy's type and
hyper-parameters, every other entry one array of what has been learned.
"""

import dataclasses
import io
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro.exploration import BasisRoundRobin, Uniform, WeakestDirection
from mogro.policies.base import LinearPolicy
from mogro.policies.epsilon_greedy import EpsilonGreedy
from mogro.policies.explore_then_commit import ExploreThenCommit
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

FORMAT = 1
_POLICIES: tuple[type[Any], ...] = (
    MOGRO,
    UCB,
    EpsilonGreedy,
    ExploreThenCommit,
    Oracle,
    RandomArm,
    ThompsonSampling,
)
_PARTS: tuple[type[Any], ...] = (
    BasisRoundRobin,
    EffectiveFront,
    FixedWeights,
    ParetoFront,
    RandomChebyshev,
    RandomHypervolume,
    RandomWeights,
    RoundRobin,
    Uniform,
    WeakestDirection,
)
_TYPES = {known.__name__: known for known in (*_POLICIES, *_PARTS)}


def save(policy: LinearPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy; a file that stood there is replaced as a whole or not at all."""
    header = {"format": FORMAT, "policy": encode(policy)}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            np.savez(file, header=text, **policy.save_state())  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the new name on half a file
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> LinearPolicy:
    """Read a policy that :func:`save` wrote; it goes on to the bit."""
    stored = io.BytesIO(Path(path).read_bytes())
    try:
        with np.load(stored, allow_pickle=False) as file:
            arrays: dict[str, NDArray[np.generic]] = {name: file[name] for name in file.files}
        header = json.loads(bytes(arrays.pop("header").astype(np.uint8)))
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r} is not {FORMAT}")
        policy = decode(header["policy"])
        if not isinstance(policy, LinearPolicy):
            raise ValueError(f"{type(policy).__name__} is not a policy")
        policy.load_state(arrays)
    except Exception as error:  # a damaged file can fail in any way
        raise ValueError(f"path: expected a policy saved by mogro at {path}: {error}") from error
    return policy


def encode(value: Any) -> Any:
    """Return a policy or a part of one as plain JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.name}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if type(value) not in _TYPES.values():
        raise ValueError(
            f"{type(value).__name__}: expected a part of mogro's own, because a file cannot hold "
            "code; keep what save_state() gives, and give it to load_state() of a new policy"
        )
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return {
        "type": type(value).__name__,
        "fields": {name: encode(getattr(value, name)) for name in fields},
    }


def decode(value: Any) -> Any:
    """Make again what :func:`encode` was given."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=value["dtype"])
    fields = {name: decode(field) for name, field in value["fields"].items()}
    return _TYPES[value["type"]](**fields)
