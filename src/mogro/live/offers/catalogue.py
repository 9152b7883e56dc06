"""Large sets of arms that stay on offer, and the place where an index of them plugs in.

A catalogue is published as a whole: whoever decides holds one version of it, which never changes,
and needs no lock and no copy. Adding appends in place; removing and updating copy once a call, so
do them for many arms at a time.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mogro._ties import rounding
from mogro._validation import BoolArray, FloatArray, IntArray, count, floats

_CHUNK = 16_384
_LARGE = 2**18  # numbers from which an index is faster with a copy in single precision
_OFTEN = 16  # questions after which it makes one
_SMALLEST = float(np.finfo(np.float32).tiny)


class Index(Protocol):
    """Finds the best arms for a direction; the place for an approximate search."""

    def best(self, direction: FloatArray, *, eligible: BoolArray | None) -> IntArray:
        """Return where the arms with the largest ``x . direction`` stand, (n,), at least one.

        Of arms equal up to the rounding of their scores all should be named: the agent stays with
        the first of exact copies, and draws among arms that differ. An index that names one of
        them only decides the tie itself, and the decision's propensity does not know that.

        Parameters
        ----------
        direction
            (d,), of any size.
        eligible
            Which arms may be named, (K,); None for all.
        """


class ExactIndex:
    """Looks at every arm: one matrix-vector product.

    A large one that is asked often keeps a copy in single precision, half as large again, and
    looks at that: a product then takes half the time. Arms that may be best by it, as far as its
    rounding allows, are looked at again as they are, so that the answer stays the same.

    Examples
    --------
    >>> ExactIndex(np.eye(3)).best(np.array([0.1, 0.5, 0.5]), eligible=None)
    array([1, 2])
    """

    def __init__(self, features: FloatArray) -> None:
        self.features = features
        self._asked = 0
        self._sketch: _Sketch | None = None

    def best(self, direction: FloatArray, *, eligible: BoolArray | None) -> IntArray:
        """Return the arms with the largest ``x . direction`` of those eligible."""
        arms = self.features
        if self._asked < _OFTEN:
            self._asked += 1
        elif self._sketch is None and arms.size >= _LARGE and arms.dtype == np.float64:
            self._sketch = _Sketch(arms)
        if self._sketch is not None:
            rows = self._sketch.candidates(direction, eligible)
            if rows is not None and len(rows) == 1:
                return rows
            if rows is not None:
                some = arms[rows]
                return np.asarray(rows[_best_rows(some, some @ direction, direction)])
        scores = arms @ direction.astype(arms.dtype, copy=False)
        if eligible is not None:
            scores[~eligible] = -np.inf
        return _best_rows(arms, scores, direction)


def _best_rows(arms: FloatArray, scores: FloatArray, direction: FloatArray) -> IntArray:
    """Return where the largest scores (K,) stand, of arms (K, d), up to rounding."""
    best = int(scores.argmax())
    unit, size = rounding(arms.shape[1], arms.dtype), math.sqrt(np.vdot(direction, direction))
    x, top = arms[best].astype(np.float64, copy=False), scores.item(best)
    own = unit * (math.sqrt(np.vdot(x, x)) * size + abs(top))
    rows: IntArray = (scores >= top - 2 * own).nonzero()[0]
    if len(rows) == 1:
        return rows
    some = arms[rows].astype(np.float64)
    if arms.dtype == np.float32:  # alike in its digits: look at them in double precision
        return np.asarray(rows[_best_rows(some, some @ direction, direction)])
    slack = unit * (np.sqrt(np.vecdot(some, some)) * size + np.abs(scores[rows]))
    return np.asarray(rows[scores[rows] + slack >= top - own])


class _Sketch:
    """Arms in single precision, divided by the largest number among them."""

    def __init__(self, arms: FloatArray) -> None:
        scale = max(float(np.abs(arms).max()), np.finfo(np.float64).tiny)
        self._arms = (arms / scale).astype(np.float32)
        norm = math.sqrt(float(np.vecdot(self._arms, self._arms).max()))
        # What rounding of arms, direction and product may do to a score, generously, and what
        # numbers below the smallest of single precision may.
        dim = arms.shape[1]
        self._error = 2 * (rounding(dim, np.dtype(np.float32)) * norm + dim * _SMALLEST)

    def candidates(self, direction: FloatArray, eligible: BoolArray | None) -> IntArray | None:
        """Return all arms that may be best for a direction, or None if these are too many."""
        size = math.sqrt(np.vdot(direction, direction))
        if not 0 < size < math.inf:
            return None
        scores = self._arms @ (direction / size).astype(np.float32)
        if eligible is not None:
            scores[~eligible] = -np.inf
        near = scores >= float(scores.max()) - 2 * self._error
        rows: IntArray = near.nonzero()[0]
        return rows if len(rows) <= len(scores) // 8 else None


class Survey(NamedTuple):
    """What exploration wants to know of all arms together."""

    mean: FloatArray  # (d,)
    scatter: FloatArray  # sum of the outer products of their deviations from the mean, (d, d)


class Version:
    """The arms of a catalogue at one moment."""

    def __init__(self, ids: tuple[str, ...], features: FloatArray, index: Index) -> None:
        self.ids = ids
        self.features = features
        self._index = index

    def best(self, direction: FloatArray, eligible: BoolArray | None) -> IntArray:
        """Return where the best arms for a direction (d,) stand, in ascending order."""
        found = np.atleast_1d(np.asarray(self._index.best(direction, eligible=eligible)))
        listed = found.dtype.kind in "iu" and found.ndim == 1 and len(found) > 0
        if not listed or found.min() < 0 or found.max() >= len(self.ids):
            raise ValueError(f"index: expected positions of arms, got {found!r}")
        if eligible is not None and not eligible[found].all():
            raise ValueError(f"index: expected eligible arms, got {found!r}")
        if len(found) == 1:
            return found.astype(np.int64, copy=False)
        return np.unique(found).astype(np.int64)

    def largest(self, mapping: Callable[[FloatArray], FloatArray]) -> float:
        """Return the largest squared norm of the arms as a mapping shows them."""
        parts = (
            mapping(self.features[start : start + _CHUNK])
            for start in range(0, len(self.features), _CHUNK)
        )
        return max(float(np.vecdot(part, part).max()) for part in parts)

    @cached_property
    def largest_square(self) -> float:
        """The largest squared norm of the arms as they are."""
        return self.largest(lambda part: part.astype(np.float64, copy=False))

    @cached_property
    def mean_square(self) -> float:
        """The mean squared norm of the arms as they are."""
        mean, scatter = self.survey
        return float(mean @ mean + np.trace(scatter) / len(self.ids))

    @cached_property
    def survey(self) -> Survey:
        """Look at every arm, once."""
        chunks = range(0, len(self.features), _CHUNK)
        total = np.zeros(self.features.shape[1])
        for start in chunks:
            total += self.features[start : start + _CHUNK].sum(axis=0, dtype=np.float64)
        mean = total / len(self.features)
        scatter = np.zeros((len(mean), len(mean)))
        for start in chunks:
            part = self.features[start : start + _CHUNK] - mean
            scatter += part.T @ part
        return Survey(mean, scatter)


class Catalogue:
    """Arms registered once and offered many times; threads and agents may share it.

    Parameters
    ----------
    dim
        Number of features.
    dtype
        ``float32`` halves memory and time of large catalogues; features then have its precision.
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
        try:
            self.dtype = np.dtype(dtype)
        except TypeError:
            self.dtype = np.dtype(object)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype: expected float32 or float64, got {dtype!r}")
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
        names, arms = self._read(ids, features)
        with self._lock:
            known = [name for name in names if name in self._rows]
            if known:
                raise ValueError(f"ids: expected new arms, got {known[:3]}; see update")
            before = self._version.ids if self._version else ()
            size, store = len(before) + len(names), self._store
            if size > len(store):
                # Rows past the end of a version are nobody's yet, so it can keep its view.
                store = np.empty((max(size, len(before) * 3 // 2), self.dim), dtype=self.dtype)
                store[: len(before)] = self._store[: len(before)]
            store[len(before) : size] = arms
            self._publish(before + names, store[:size])
            self._store = store
            self._rows.update(zip(names, range(len(before), size), strict=True))

    def update(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Give registered arms (n,) other features (n, d)."""
        names, arms = self._read(ids, features)
        with self._lock:
            rows = self._registered(names)
            version = self.version()
            store = version.features.copy()
            store[rows] = arms
            self._publish(version.ids, store)
            self._store = store

    def remove(self, ids: Sequence[str]) -> None:
        """Take arms off offer; decisions about them stay as they are."""
        names = arm_ids(ids)
        with self._lock:
            keep = np.ones(len(self), dtype=np.bool_)
            keep[self._registered(names)] = False
            version = self.version()
            store = version.features[keep]
            left = tuple(
                name for name, kept in zip(version.ids, keep.tolist(), strict=True) if kept
            )
            self._publish(left, store)
            self._store = store
            self._rows = {name: row for row, name in enumerate(left)}

    def _publish(self, ids: tuple[str, ...], features: FloatArray) -> None:
        """Make a version; if the index cannot be made, everything stays as it was."""
        shown = features.view()
        shown.flags.writeable = False
        self._version = Version(ids, shown, self._index(shown)) if ids else None

    def _registered(self, ids: tuple[str, ...]) -> list[int]:
        missing = [name for name in ids if name not in self._rows]
        if missing:
            raise ValueError(f"ids: expected registered arms, got {missing[:3]}")
        return [self._rows[name] for name in ids]

    def _read(self, ids: Sequence[str], features: ArrayLike) -> tuple[tuple[str, ...], FloatArray]:
        names = arm_ids(ids)
        arms = floats(features, "features", shape=(len(names), self.dim))
        limit = math.sqrt(float(np.finfo(self.dtype).max) / 1e10)  # sums of squares stay finite
        if np.abs(arms).max() > limit:
            raise ValueError(f"features: expected numbers up to {limit:.0g} in {self.dtype}")
        return names, arms.astype(self.dtype)


def arm_ids(
    ids: Iterable[str],
    name: str = "ids",
    *,
    wanted: str = "strings, one or more",
    checked: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Return arm ids as a tuple: different strings, at least one, or the same as checked before."""
    try:
        names = () if isinstance(ids, str) else tuple(ids)
        if checked and names == checked:
            return checked
        letters = len("".join(names))  # the fastest way to see that all are strings
    except (TypeError, ValueError):  # the latter if these are arrays
        letters = 0
    if not letters:
        raise ValueError(f"{name}: expected {wanted}, got {str(ids)[:60]}")
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: expected different strings, got some twice")
    return names
