"""The record of a simulation, small enough to keep and plain enough to read anywhere."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from mogro._files import read_arrays, write_whole
from mogro._validation import FloatArray, IntArray

_FORMAT = 1
_ARRAYS = ("arms", "checkpoints", "pareto_regret", "effective_regret", "rewards", "probed")


def current_versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    return {
        "mogro": version("mogro"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


@final
@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """What a policy did in I instances, with R repeats in each, over T rounds.

    Attributes
    ----------
    arms
        Arms pulled, (T, I, R), in the smallest unsigned integer type that holds them.
    checkpoints
        Rounds, counted from 1, after which the sums below were noted, (C,); the last is T.
    pareto_regret
        Sums of the Pareto gaps of the arms pulled so far, (C, I, R).
    effective_regret
        Sums of their effective Pareto gaps, (C, I, R).
    rewards
        Sums of the rewards observed so far, (C, I, R, M).
    probed
        What the probe of :func:`~mogro.simulate` returned, (C, I, R, ...); zeros without a probe.
    offered
        Number of arms on offer each round, K.
    seed
        What the random streams were derived from.
    versions
        Versions of mogro, NumPy and Python that made it.

    Examples
    --------
    >>> import numpy as np
    >>> import mogro
    >>> world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    >>> trace = mogro.simulate(mogro.MOGRO, world, rounds=50, repeats=3, seed=0)
    >>> trace
    Trace(rounds=50, instances=1, repeats=3, effective_regret=0)
    >>> trace.pulls()[-1, 0].sum(axis=-1)
    array([50, 50, 50])
    """

    arms: NDArray[np.unsignedinteger[Any]]
    checkpoints: IntArray
    pareto_regret: FloatArray
    effective_regret: FloatArray
    rewards: FloatArray
    probed: FloatArray
    offered: int
    seed: tuple[int, ...]
    versions: Mapping[str, str] = field(default_factory=current_versions)

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)

    @property
    def rounds(self) -> int:
        """The number of rounds, T."""
        return int(self.arms.shape[0])

    @property
    def instances(self) -> int:
        """The number of instances, I."""
        return int(self.arms.shape[1])

    @property
    def repeats(self) -> int:
        """The number of repeats in each instance, R."""
        return int(self.arms.shape[2])

    def pulls(self) -> IntArray:
        """Return how often every arm was pulled up to every checkpoint, (C, I, R, K).

        It says something only where arms stay the same.
        """
        learners = np.arange(self.instances * self.repeats)
        counts = np.zeros((learners.size, self.offered), dtype=np.int64)
        result = np.empty((len(self.checkpoints), *counts.shape), dtype=np.int64)
        start = 0
        for c, stop in enumerate(self.checkpoints):
            part = self.arms[start:stop].reshape(stop - start, -1)
            cells = learners * self.offered + part
            counts += np.bincount(cells.ravel(), minlength=counts.size).reshape(counts.shape)
            result[c] = counts
            start = stop
        return result.reshape(len(self.checkpoints), self.instances, self.repeats, self.offered)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as an ``.npz`` file without pickle, as a whole or not at all."""
        header = json.dumps(
            {
                "format": _FORMAT,
                "offered": self.offered,
                "seed": list(self.seed),
                "versions": dict(self.versions),
            }
        )
        text = np.frombuffer(header.encode(), dtype=np.uint8)
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        with write_whole(path, parents=True) as file:
            np.savez(file, header=text, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Read what :meth:`save` wrote."""
        try:
            arrays = read_arrays(path)
            header = json.loads(bytes(arrays["header"]))
            if header["format"] != _FORMAT:
                raise ValueError(f"format {header['format']!r} is not {_FORMAT}")
            return cls(
                **{name: arrays[name] for name in _ARRAYS},
                offered=int(header["offered"]),
                seed=tuple(header["seed"]),
                versions=header["versions"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"path: expected a trace saved by mogro at {path}: {error}") from error

    def __repr__(self) -> str:
        regret = float(self.effective_regret[-1].mean())
        return (
            f"Trace(rounds={self.rounds}, instances={self.instances}, repeats={self.repeats}, "
            f"effective_regret={regret:.4g})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "rounds": str(self.rounds),
            "instances": str(self.instances),
            "repeats": str(self.repeats),
            "arms on offer": str(self.offered),
            "seed": ", ".join(map(str, self.seed)),
            "effective Pareto regret": f"{self.effective_regret[-1].mean():.4g}",
            "Pareto regret": f"{self.pareto_regret[-1].mean():.4g}",
        }
        names = "".join(f"<th>{name}</th>" for name in facts)
        values = "".join(f"<td>{value}</td>" for value in facts.values())
        return f"<table><caption>Trace</caption><tr>{names}</tr><tr>{values}</tr></table>"


def join(traces: Sequence[Trace], *, along: str = "instances") -> Trace:
    """Return one trace of runs that were made in parts, in the order of the parts.

    Parameters
    ----------
    traces
        Parts with equal rounds, checkpoints, arms on offer and seed.
    along
        What the parts are parts of: ``"instances"`` or ``"repeats"``.

    Examples
    --------
    >>> import numpy as np
    >>> import mogro
    >>> world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    >>> parts = [
    ...     mogro.simulate(mogro.MOGRO, world, rounds=5, repeats=2, seed=0, start=(0, first))
    ...     for first in (0, 2)
    ... ]
    >>> mogro.simulation.join(parts, along="repeats")
    Trace(rounds=5, instances=1, repeats=4, effective_regret=0)
    """
    if along not in ("instances", "repeats"):
        raise ValueError(f"along: expected 'instances' or 'repeats', got {along!r}")
    if not traces:
        raise ValueError("traces: expected at least one, got none")
    first = traces[0]
    for other in traces[1:]:
        same = other.offered == first.offered and other.seed == first.seed
        if not (same and np.array_equal(other.checkpoints, first.checkpoints)):
            raise ValueError("traces: expected equal rounds, checkpoints, arms on offer and seed")
    axis = 1 if along == "instances" else 2
    values: dict[str, Any] = {f.name: getattr(first, f.name) for f in fields(first)}
    for name in _ARRAYS:
        if name != "checkpoints":
            values[name] = np.concatenate([getattr(part, name) for part in traces], axis=axis)
    return Trace(**values)
