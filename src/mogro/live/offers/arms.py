"""What a decision chooses among: arms on offer."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._spans import sum_of_squares
from mogro._validation import BoolArray, FloatArray, IntArray, as_floats, check_shape, floats
from mogro.live.events import Offered, offered
from mogro.live.objective import LARGEST
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.catalogue import Catalogue, Version, arm_ids
from mogro.live.offers.encoding import Record
from mogro.live.offers.features import FeatureMap
from mogro.live.offers.in_context import InContext

View = FeatureMap | InContext  # of arms, by a policy and by the learner
Arms = Sequence[str] | Mapping[str, ArrayLike] | Mapping[str, Record] | Catalogue
Features = ArrayLike | Sequence[Record]
Context = ArrayLike | Record

_WANTED = (
    "a mapping of id to features, ids with features, or a Catalogue; ids are strings, one or more"
)


_ROUNDING = 1e-14  # of an eigenvalue of second moments, relative to the largest


class ArmSet:
    """Eligible arms on offer, as a policy sees them; nobody changes them any more.

    Attributes
    ----------
    mapping
        From the user's features to those that a policy sees, and the learner.
    version
        The catalogue they come from, if they do.
    overview
        Of that whole catalogue.
    rows
        Which arms of the catalogue they are, (K,); None for all.
    """

    def __init__(
        self,
        ids: Sequence[str],
        given: FloatArray,
        mapping: View,
        *,
        version: Version | None = None,
        overview: "Overview | None" = None,
        rows: IntArray | None = None,
        square: float | None = None,
    ) -> None:
        self._seen: FloatArray | None = None
        self._square = square  # the sum of the squares of what the user gave
        self._ids = ids  # of all arms, also of those that are not eligible
        self._given = given  # their features as the user gave them
        self.mapping = mapping
        self.version = version
        self.overview = overview
        self.rows = rows

    def __len__(self) -> int:
        return len(self._ids) if self.rows is None else len(self.rows)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids, K of them."""
        if self.rows is None:
            return tuple(self._ids)
        return tuple(self._ids[row] for row in self.rows.tolist())

    def id(self, place: int) -> str:
        """Return the id of one arm."""
        return self._ids[place if self.rows is None else int(self.rows[place])]

    @property
    def features(self) -> FloatArray:
        """The features that a policy sees, (K, p)."""
        if self._seen is None:
            self._seen = self.mapping(self._given if self.rows is None else self._given[self.rows])
            self._seen.flags.writeable = False
        return self._seen

    @property
    def total(self) -> float | None:
        """The sum of the squared features that a policy sees, if it is known."""
        return self._square if self._seen is self._given else None

    def arm(self, place: int) -> FloatArray:
        """Return the features of one arm that a policy sees, (p,)."""
        if self._seen is not None:
            return np.asarray(self._seen[place])
        return self.mapping(self._given[place if self.rows is None else self.rows[place]])

    def learned(self, place: int) -> FloatArray:
        """Return the features of one arm that the learner sees."""
        if not self.mapping.contextual:
            return self.arm(place)
        row = self._given[place if self.rows is None else self.rows[place]]
        return self.mapping.products(row.astype(np.float64, copy=False))

    @property
    def learned_features(self) -> FloatArray:
        """The features of all arms that the learner sees, (K, p)."""
        if not self.mapping.contextual:
            return self.features
        return self.mapping.products(self.given.astype(np.float64, copy=False))

    @property
    def representatives(self) -> FloatArray:
        """A few vectors as the learner sees them, (r, p), that span all of what the arms do."""
        if self.overview is not None:
            return self.overview.representatives
        seen = self.features
        return self.mapping.lift(_representatives(seen.T @ seen, len(seen)))

    def best(self, direction: FloatArray) -> IntArray:
        """Return the places of the arms of a catalogue that are best for a direction (p,)."""
        assert self.version is not None
        slopes, _ = self.mapping.lines(direction[None])
        if self.rows is None:
            return self.version.best(slopes[0], None)
        found = self.version.best(slopes[0], self.eligible)
        return np.searchsorted(self.rows, found)

    @cached_property
    def eligible(self) -> BoolArray:
        """Which arms of the catalogue they are, a mask."""
        mask = np.zeros(len(self._ids), dtype=np.bool_)
        mask[slice(None) if self.rows is None else self.rows] = True
        return mask

    def written(self) -> Offered:
        """Return the event that writes all arms down, also those that are not eligible."""
        return offered(self._ids, self._given)

    @property
    def context(self) -> FloatArray | None:
        """The context as the caller gave it, (C,), if there is one."""
        return self.mapping.context

    @property
    def given(self) -> FloatArray:
        """The features as the caller gave them, (K, A)."""
        return self._given if self.rows is None else self._given[self.rows]

    def only(self, keep: BoolArray) -> "ArmSet":
        """Return some of the arms, by a mask (K,)."""
        rows = np.flatnonzero(keep) if self.rows is None else self.rows[keep]
        return ArmSet(
            self._ids,
            self._given,
            self.mapping,
            version=self.version,
            overview=self.overview,
            rows=rows,
        )


class Overview:
    """What exploration wants to know of all arms of a catalogue, so that it need not look at each.

    Attributes
    ----------
    version
        The arms.
    mapping
        How they are seen.
    """

    def __init__(self, version: Version, mapping: View) -> None:
        self.version = version
        self.mapping = mapping

    @cached_property
    def representatives(self) -> FloatArray:
        """A few vectors (r, p) with the span and the mean square of all arms."""
        count = len(self.version.ids)
        gram = self.mapping.second_moments(*self.version.survey, count=count)
        return self.mapping.lift(_representatives(gram, count))

    @cached_property
    def mean_square(self) -> float:
        """The mean squared norm."""
        return self.mapping.mean_square(self.version)

    @cached_property
    def largest(self) -> float:
        """The largest squared norm."""
        return self.mapping.largest(self.version)


def _representatives(gram: FloatArray, count: int) -> FloatArray:
    """Return few vectors with the span and the mean square of many, by the sum of their squares."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _ROUNDING * len(values) * values[-1]
    kept[-1] = True
    scale = np.sqrt(values[kept].clip(0) * kept.sum() / count)
    return np.ascontiguousarray((vectors[:, kept] * scale).T)


class ArmReader:
    """Checks arms on offer; most callers offer the same ones again and again."""

    def __init__(self, mapping: FeatureMap | Bilinear) -> None:
        self._mapping = mapping
        self._checked: tuple[str, ...] = ()  # the ids that were in order the last time
        self._overview: Overview | None = None  # of the catalogue last seen
        self._written: tuple[Version, Offered] | None = None  # the catalogue last written down

    def read(
        self,
        arms: Arms,
        features: Features | None,
        *,
        context: Context | None,
        eligible: ArrayLike | None = None,
    ) -> ArmSet:
        """Check what a caller offers, and keep a copy of it (a catalogue is not copied)."""
        view = self._mapping.at(context)
        if isinstance(arms, Catalogue):
            found = self._registered(arms, features, view)
        else:
            found = self._listed(arms, features, view)
        return found if eligible is None else found.only(_mask(eligible, len(found)))

    def written(self, arms: ArmSet) -> Offered:
        """Return the event that writes arms down; a catalogue is looked at once."""
        if arms.version is None:
            return arms.written()
        last = self._written
        if last is None or last[0] is not arms.version:
            self._written = last = arms.version, arms.written()
        return last[1]

    def _listed(
        self, arms: Iterable[str] | Mapping[str, Any], features: Features | None, view: View
    ) -> ArmSet:
        self._checked = ids = arm_ids(arms, "arms", wanted=_WANTED, checked=self._checked)
        if isinstance(arms, Mapping):
            if features is not None:
                raise ValueError("features: expected none beside a mapping from arm ids to vectors")
            features = list(arms.values())
        elif features is None:
            raise ValueError("features: expected one row for each arm, got None")
        rows = as_floats(self._mapping.encode_arms(features), "features")
        if rows.shape != (len(ids), self._mapping.dim):
            check_shape(rows, "features", (len(ids), self._mapping.dim))
        rows = rows.astype(np.float64)
        size = sum_of_squares(rows)
        if not size * max(view.stretch, 1.0) <= LARGEST:
            floats(rows, "features", shape=rows.shape)
            beside = " with those of the context" if view.contextual else ""
            raise ValueError(
                f"features: expected squares that sum to at most {LARGEST:g}{beside}, got {size:g}"
            )
        return ArmSet(ids, rows, view, square=size)

    def _registered(self, arms: Catalogue, features: Features | None, view: View) -> ArmSet:
        if features is not None:
            raise ValueError("features: expected none beside a catalogue, which has them")
        if arms.dim != self._mapping.dim:
            raise ValueError(
                f"arms: expected a catalogue of dim {self._mapping.dim}, got {arms.dim}"
            )
        version, overview = arms.version(), self._overview
        if overview is None or overview.version is not version or overview.mapping is not view:
            self._overview = overview = Overview(version, view)
        return ArmSet(version.ids, version.features, view, version=version, overview=overview)


def _mask(eligible: ArrayLike, arms: int) -> BoolArray:
    mask = np.asarray(eligible)
    if mask.dtype != np.bool_ or mask.shape != (arms,):
        raise ValueError(
            f"eligible: expected {arms} booleans, got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("eligible: expected at least one arm, got none")
    return mask
