"""The record of a simulation, small enough to keep and plain enough to read anywhere."""

import itertools
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from mogro._codec import pack, unpack
from mogro._files import write_atomically
from mogro._validation import FloatArray, IntArray
from mogro._version import __version__

_FORMAT = 4
_SETTINGS = ("offered", "seed", "measures", "versions")  # all else are arrays
REGRETS = ("effective_regret", "pareto_regret")


def current_versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    return {"mogro": __version__, "numpy": np.__version__, "python": platform.python_version()}


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
    measured
        The measures that were asked for, (C, I, R, Q); see :meth:`column`.
    finished
        Rounds after which learners had finished, (I, R); 0 for those that had not, or were not
        asked; see ``until`` of :func:`~mogro.simulate`.
    offered
        Number of arms on offer each round, K.
    seed
        What the random streams were derived from.
    measures
        Their names, Q of them.
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
    measured: FloatArray
    finished: IntArray
    offered: int
    seed: tuple[int, ...]
    measures: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=current_versions)

    def __post_init__(self) -> None:
        for array in self._arrays().values():
            array.setflags(write=False)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: value for name, value in vars(self).items() if name not in _SETTINGS}

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

    def column(self, name: str) -> FloatArray:
        """Return ``"effective_regret"``, ``"pareto_regret"`` or a measure by name, (C, I, R)."""
        if name in REGRETS:
            return np.asarray(getattr(self, name))
        if name not in self.measures:
            known = [*REGRETS, *self.measures]
            raise ValueError(f"name: expected one of {known}, got {name!r}")
        return self.measured[..., self.measures.index(name)]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all numbers in long form, as columns of equal length.

        They are ``instance``, ``repeat``, ``round``, ``measure`` (the regrets, ``reward_0`` and so
        on, the sums of the rewards observed, and the measures asked for) and ``value``.
        """
        rewards = {f"reward_{m}": self.rewards[..., m] for m in range(self.rewards.shape[-1])}
        named = {name: self.column(name) for name in (*REGRETS, *self.measures)} | rewards
        shape = (len(named), len(self.checkpoints), self.instances, self.repeats)
        places = np.indices(shape).reshape(4, -1)
        return {
            "instance": places[2],
            "repeat": places[3],
            "round": self.checkpoints[places[1]],
            "measure": np.array(list(named))[places[0]],
            "value": np.stack(list(named.values())).ravel(),
        }

    def pulls(self) -> IntArray:
        """Return how often every arm was pulled up to every checkpoint, (C, I, R, K).

        It says something only where arms stay the same.
        """
        return count_pulls(self.arms, self.checkpoints, self.offered)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file without pickle, as a whole or not at all."""
        header = {"format": _FORMAT} | {name: getattr(self, name) for name in _SETTINGS}
        with write_atomically(path, parents=True) as file:
            for part in pack(header, self._arrays()):
                file.write(part)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Read what :meth:`save` wrote."""
        try:
            header, arrays = unpack(Path(path).read_bytes())
            if (given := header.pop("format")) != _FORMAT:
                raise ValueError(f"format {given!r} is not {_FORMAT}")
            header |= {name: tuple(header[name]) for name in ("seed", "measures")} | arrays
            return cls(**header)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"path: expected a trace saved by mogro at {path}: {error}") from error

    def __repr__(self) -> str:
        regret = float(self.effective_regret[-1].mean())
        return (
            f"Trace(rounds={self.rounds}, instances={self.instances}, repeats={self.repeats}, "
            f"effective_regret={regret:.4g})"
        )


def count_pulls(arms: NDArray[Any], checkpoints: IntArray, offered: int) -> IntArray:
    """Return how often each of K arms was pulled up to checkpoints, (C, I, R, K)."""
    learners = np.arange(0, arms[0].size * offered, offered)
    pulls = np.empty((len(checkpoints), arms[0].size * offered), dtype=np.int64)
    for c, (start, stop) in enumerate(itertools.pairwise([0, *checkpoints.tolist()])):
        cells = learners + arms[start:stop].reshape(stop - start, -1)
        pulls[c] = np.bincount(cells.ravel(), minlength=pulls.shape[1])
    return np.cumsum(pulls, axis=0).reshape(-1, *arms.shape[1:], offered)


def join(traces: Sequence[Trace], *, along: str = "instances") -> Trace:
    """Return one trace of runs that were made in parts, in the order of the parts.

    Parameters
    ----------
    traces
        Parts with equal rounds, checkpoints, arms on offer, seed and measures.
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
        same = all(getattr(other, name) == getattr(first, name) for name in _SETTINGS[:3])
        if not (same and np.array_equal(other.checkpoints, first.checkpoints)):
            raise ValueError(
                "traces: expected equal rounds, checkpoints, arms on offer, seed and measures"
            )
    axis = 1 if along == "instances" else 2
    arrays: dict[str, Any] = {}
    for name in first._arrays().keys() - {"checkpoints"}:
        place = axis - (name == "finished")
        arrays[name] = np.concatenate([getattr(part, name) for part in traces], axis=place)
    return replace(first, **arrays)
