"""Large sets of arms that stay on offer, and the place where an index of them plugs in.

A catalogue is published as a whole: whoever decides holds one version of it, which never changes,
and needs no lock and no copy. Adding appends in place; removing and updating copy once a call, so
do them for many arms at a time.
"""

import math
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mogro._validation import BoolArray, FloatArray, IntArray, count, floats, unique_strings
from mogro.agent.features.feature_map import with_constant

_CHUNK_ROWS = 16_384
_ROUNDING = 1e-14  # of an eigenvalue of second moments, relative to the largest


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

    Examples
    --------
    >>> ExactIndex(np.eye(3)).best(np.array([0.1, 0.5, 0.5]), eligible=None)
    array([1, 2])
    """

    def __init__(self, features: FloatArray) -> None:
        self.features = features

    def best(self, direction: FloatArray, *, eligible: BoolArray | None) -> IntArray:
        """Return the arms with the largest ``x . direction`` of those eligible."""
        arms = self.features
        scores = arms @ direction.astype(arms.dtype, copy=False)
        if eligible is not None:
            scores[~eligible] = -np.inf
        return _best_rows(arms, scores, direction)


def _best_rows(arms: FloatArray, scores: FloatArray, direction: FloatArray) -> IntArray:
    """Return where the largest scores (K,) stand, of arms (K, d), up to rounding."""
    best_row = int(scores.argmax())
    x, best_score = arms[best_row].astype(np.float64), scores.item(best_row)
    size = math.sqrt(np.vdot(x, x) * np.vdot(direction, direction))
    rounding = 4 * (arms.shape[1] + 2) * float(np.finfo(arms.dtype).eps)
    rows: IntArray = np.flatnonzero(scores >= best_score - rounding * (size + abs(best_score)))
    if len(rows) == 1 or arms.dtype == np.float64:
        return rows
    candidates = arms[rows].astype(np.float64)  # alike in single precision: look at them in double
    return np.asarray(rows[_best_rows(candidates, candidates @ direction, direction)])


class Offer(NamedTuple):
    """Arms as they are written down: with features, (K, A), or with records, each as JSON."""

    digest: str
    ids: tuple[str, ...]
    features: FloatArray | None
    records: Sequence[str] | None


class CatalogueVersion:
    """The arms of a catalogue at one moment."""

    def __init__(self, ids: tuple[str, ...], features: FloatArray, index: Index) -> None:
        self.ids = ids
        self.features = features
        self._index = index
        self.offer: Offer | None = None  # once somebody has made it

    def best(self, direction: FloatArray, eligible: BoolArray | None) -> IntArray:
        """Return where the best arms for a direction (d,) stand, in ascending order."""
        rows = np.atleast_1d(np.asarray(self._index.best(direction, eligible=eligible)))
        are_indices = rows.dtype.kind in "iu" and rows.ndim == 1 and len(rows) > 0
        if not are_indices or rows.min() < 0 or rows.max() >= len(self.ids):
            raise ValueError(f"index: expected positions of arms, got {rows!r}")
        if eligible is not None and not eligible[rows].all():
            raise ValueError(f"index: expected eligible arms, got {rows!r}")
        if len(rows) == 1:
            return rows.astype(np.int64, copy=False)
        return np.unique(rows).astype(np.int64)

    @cached_property
    def with_constant(self) -> FloatArray:
        """What a policy sees of all arms without a context: (1, x), (K, 1 + d)."""
        features = with_constant(self.features)
        features.flags.writeable = False
        return features

    @cached_property
    def spanning(self) -> FloatArray:
        """A few vectors with the span and the mean squares of all (1, x), (r, 1 + d)."""
        size = 1 + self.features.shape[1]
        gram: FloatArray = np.zeros((size, size))
        for start in range(0, len(self.features), _CHUNK_ROWS):
            features = with_constant(self.features[start : start + _CHUNK_ROWS])
            gram += features.T @ features
        scale = np.sqrt(np.where(np.diagonal(gram) > 0, np.diagonal(gram), 1.0))
        values, vectors = np.linalg.eigh(gram / (scale[:, None] * scale))
        in_span = values > _ROUNDING * size * values[-1]
        weights = np.sqrt(values[in_span] * np.count_nonzero(in_span) / len(self.features))
        return np.ascontiguousarray((vectors[:, in_span] * weights).T * scale)


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
        self._version: CatalogueVersion | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, arm: object) -> bool:
        return arm in self._rows

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} arms, dim={self.dim}, {self.dtype})"

    def version(self) -> CatalogueVersion:
        """Return the arms as they are now; at least one."""
        version = self._version
        if version is None:
            raise ValueError("catalogue: expected at least one arm, got none")
        return version

    def add(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Register new arms (n,) with features (n, d)."""
        names, arms = self._read_arms(ids, features)
        with self._lock:
            duplicates = [name for name in names if name in self._rows]
            if duplicates:
                raise ValueError(f"ids: expected new arms, got {duplicates[:3]}; see update")
            old_ids = self._version.ids if self._version else ()
            size, store = len(old_ids) + len(names), self._store
            if size > len(store):
                # Rows past the end of a version are nobody's yet, so it can keep its view.
                store = np.empty((max(size, len(old_ids) * 3 // 2), self.dim), dtype=self.dtype)
                store[: len(old_ids)] = self._store[: len(old_ids)]
            store[len(old_ids) : size] = arms
            self._publish(old_ids + names, store[:size])
            self._store = store
            self._rows.update(zip(names, range(len(old_ids), size), strict=True))

    def update(self, ids: Sequence[str], features: ArrayLike) -> None:
        """Give registered arms (n,) other features (n, d)."""
        names, arms = self._read_arms(ids, features)
        with self._lock:
            rows = self._row_numbers(names)
            version = self.version()
            store = version.features.copy()
            store[rows] = arms
            self._publish(version.ids, store)
            self._store = store

    def remove(self, ids: Sequence[str]) -> None:
        """Take arms off offer; decisions about them stay as they are."""
        names = unique_strings(ids, "ids")
        with self._lock:
            is_kept = np.ones(len(self), dtype=np.bool_)
            is_kept[self._row_numbers(names)] = False
            version = self.version()
            store = version.features[is_kept]
            remaining_ids = tuple(compress(version.ids, is_kept.tolist()))
            self._publish(remaining_ids, store)
            self._store = store
            self._rows = {name: row for row, name in enumerate(remaining_ids)}

    def _publish(self, ids: tuple[str, ...], features: FloatArray) -> None:
        """Make a version; if the index cannot be made, everything stays as it was."""
        read_only = features.view()
        read_only.flags.writeable = False
        self._version = CatalogueVersion(ids, read_only, self._index(read_only)) if ids else None

    def _row_numbers(self, ids: tuple[str, ...]) -> list[int]:
        unknown_ids = [name for name in ids if name not in self._rows]
        if unknown_ids:
            raise ValueError(f"ids: expected registered arms, got {unknown_ids[:3]}")
        return [self._rows[name] for name in ids]

    def _read_arms(
        self, ids: Sequence[str], features: ArrayLike
    ) -> tuple[tuple[str, ...], FloatArray]:
        names = unique_strings(ids, "ids")
        arms = floats(features, "features", shape=(len(names), self.dim))
        limit = math.sqrt(float(np.finfo(self.dtype).max) / 1e10)  # sums of squares stay finite
        if np.abs(arms).max() > limit:
            raise ValueError(f"features: expected numbers up to {limit:.0g} in {self.dtype}")
        return names, arms.astype(self.dtype)
