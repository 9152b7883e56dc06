"""Large sets of arms that stay on offer, and the place where an index of them plugs in.

A catalogue is published as a whole: whoever decides holds one version of it, which never changes,
and needs no lock and no copy. Adding appends in place; removing and updating copy once a call, so
do them for many arms at a time.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mogro._ties import first_best
from mogro._validation import BoolArray, FloatArray, count, floats
from mogro.live.features import FeatureMap

_CHUNK = 16_384


class Index(Protocol):
    """Finds the best arm for a direction; the place for an approximate search."""

    def best(self, direction: FloatArray, *, eligible: BoolArray | None) -> int:
        """Return the arm with the largest ``x . direction``, (d,), of those eligible, (K,)."""
        ...


class ExactIndex:
    """Looks at every arm: one matrix-vector product, and the lowest index among equals.

    Examples
    --------
    >>> ExactIndex(np.eye(3)).best(np.array([0.1, 0.5, 0.2]), eligible=None)
    1
    """

    def __init__(self, features: FloatArray) -> None:
        self.features = features

    def best(self, direction: FloatArray, *, eligible: BoolArray | None) -> int:
        """Return the arm with the largest ``x . direction`` of those eligible."""
        scores = self.features @ direction.astype(self.features.dtype, copy=False)
        squares = np.vecdot(scores, scores)
        if eligible is not None:
            scores[~eligible] = -np.inf
        return int(first_best(scores, squares))


class Survey(NamedTuple):
    """What exploration wants to know of a version before it looks at every arm."""

    gram: FloatArray  # sum of the arms' outer products, as the learner sees them, (p, p)
    largest: float  # squared norm of the largest


class Version:
    """The arms of a catalogue at one moment."""

    def __init__(self, ids: list[str], features: FloatArray, index: Index) -> None:
        self.ids = ids
        self.features = features
        self.index = index
        self._surveys: dict[FeatureMap, Survey] = {}

    def survey(self, mapping: FeatureMap) -> Survey:
        """Look at every arm, once for each way to map features."""
        if mapping not in self._surveys:
            gram, largest = np.zeros((mapping.size, mapping.size)), 0.0
            for start in range(0, len(self.features), _CHUNK):
                arms = mapping(self.features[start : start + _CHUNK])
                gram += arms.T @ arms
                largest = max(largest, float(np.vecdot(arms, arms).max()))
            self._surveys[mapping] = Survey(gram, largest)
        return self._surveys[mapping]


class Catalogue:
    """Arms registered once and offered many times; threads and agents may share it.

    Parameters
    ----------
    dim
        Number of features.
    dtype
        ``float32`` halves memory and time of large catalogues; scores then have its precision.
    index
        Makes an :class:`Index` of the features, (K, d); the exact one by default.

    Examples
    --------
    >>> shop = Catalogue(2)
    >>> shop.add(["red", "blue"], [[1.0, 0.0], [0.0, 1.0]])
    >>> shop.remove(["red"])
    >>> shop
    Catalogue(1 arms, dim=2, float64)
    """

    def __init__(
        self,
        dim: int,
        *,
        dtype: DTypeLike = np.float64,
        index: Callable[[FloatArray], Index] = ExactIndex,
    ) -> None:
        self.dim = count(dim, "dim")
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype: expected float32 or float64, got {self.dtype}")
        self._index = index
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._store: FloatArray = np.zeros((0, self.dim), dtype=self.dtype)
        self._version: Version | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, arm: object) -> bool:
        return arm in self._rows

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} arms, dim={self.dim}, {self.dtype})"

    def version(self) -> Version:
        """Return the arms as they are now; at least one."""
        version = self._version
        if version is None:
            raise ValueError("catalogue: expected at least one arm, got none")
        return version

    def add(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Register new arms (n,) with features (n, d)."""
        names, arms = self._checked(ids, features)
        with self._lock:
            known = [name for name in names if name in self._rows]
            if known:
                raise ValueError(f"ids: expected new arms, got {known[:3]}; see update")
            before = self._version.ids if self._version else []
            size = len(before) + len(names)
            if size > len(self._store):
                # Rows past the end of a version are nobody's yet, so it can keep its view.
                grown = np.empty((max(size, len(before) * 3 // 2), self.dim), dtype=self.dtype)
                grown[: len(before)] = self._store[: len(before)]
                self._store = grown
            self._store[len(before) : size] = arms
            self._publish(before + names, self._store[:size])
            self._rows.update(zip(names, range(len(before), size), strict=True))

    def update(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Give registered arms (n,) other features (n, d)."""
        names, arms = self._checked(ids, features)
        with self._lock:
            rows = self._found(names)
            version = self.version()
            self._store = version.features.copy()
            self._store[rows] = arms
            self._publish(version.ids, self._store)

    def remove(self, ids: Sequence[str]) -> None:
        """Take arms off offer; decisions about them stay as they are."""
        with self._lock:
            keep = np.ones(len(self), dtype=np.bool_)
            keep[self._found(list(ids))] = False
            version = self.version()
            self._store = version.features[keep]
            left = [name for name, kept in zip(version.ids, keep.tolist(), strict=True) if kept]
            self._rows = {name: row for row, name in enumerate(left)}
            self._publish(left, self._store)

    def _publish(self, ids: list[str], features: FloatArray) -> None:
        shown = features.view()
        shown.flags.writeable = False
        self._version = Version(ids, shown, self._index(shown)) if ids else None

    def _found(self, ids: list[str]) -> list[int]:
        missing = [name for name in ids if name not in self._rows]
        if missing:
            raise ValueError(f"ids: expected registered arms, got {missing[:3]}")
        return [self._rows[name] for name in ids]

    def _checked(self, ids: Sequence[str], features: ArrayLike) -> tuple[list[str], FloatArray]:
        names = arm_ids(ids)
        arms = floats(features, "features", shape=(len(names), self.dim))
        limit = math.sqrt(float(np.finfo(self.dtype).max) / 1e10)  # sums of squares stay finite
        if np.abs(arms).max() > limit:
            raise ValueError(f"features: expected numbers up to {limit:.0g} in {self.dtype}")
        return names, arms.astype(self.dtype)


_checked: list[str] = []  # the last list of ids that was in order; nobody changes it


def arm_ids(
    ids: Iterable[str], name: str = "ids", *, wanted: str = "strings, one or more"
) -> list[str]:
    """Return arm ids as a list: different strings, at least one."""
    global _checked  # most callers offer the same arms again and again
    try:
        names = list(ids)
        letters = len("".join(names))  # the fastest way to see that all are strings
    except TypeError:
        letters = 0
    if isinstance(ids, str) or not letters:
        raise ValueError(f"{name}: expected {wanted}, got {str(ids)[:60]}")
    if names == _checked:
        return _checked
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: expected different strings, got some twice")
    _checked = names
    return names
