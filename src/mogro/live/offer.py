"""What a decision chooses among."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray, as_floats, check_shape, floats
from mogro.live.catalogue import Catalogue, Version, arm_ids
from mogro.live.features import FeatureMap
from mogro.live.objective import LARGEST

Arms = Sequence[str] | Mapping[str, ArrayLike] | Catalogue

_WANTED = (
    "a mapping of id to features, ids with features, or a Catalogue; ids are strings, one or more"
)


class Offer(NamedTuple):
    """Arms on offer.

    Attributes
    ----------
    ids
        Arm ids, K of them.
    features
        (K, d), as the user gave them; nobody changes them any more.
    mapping
        To what the learner sees.
    version
        The catalogue they come from, if they do.
    eligible
        Which of them may be chosen, (K,), if not all.
    """

    ids: list[str]
    features: FloatArray
    mapping: FeatureMap
    version: Version | None = None
    eligible: BoolArray | None = None

    @property
    def mapped(self) -> FloatArray:
        """The features as the learner sees them, (K, p)."""
        return self.mapping(self.features)

    @property
    def rows(self) -> IntArray:
        """Where the eligible arms stand, (n,)."""
        return np.arange(len(self.ids)) if self.eligible is None else np.flatnonzero(self.eligible)

    def only(self, keep: BoolArray) -> "Offer":
        """Return an offer of some of the arms."""
        rows = np.flatnonzero(keep)
        return Offer([self.ids[row] for row in rows], self.features[rows], self.mapping)

    def narrowed(self, eligible: BoolArray) -> "Offer":
        """Return an offer with a mask, (K,); of a catalogue without copying it."""
        if self.version is None:
            return self.only(eligible)
        return self._replace(eligible=eligible.copy())

    def listed(self) -> "Offer":
        """Return an offer of exactly the eligible arms."""
        return self if self.eligible is None else self.only(self.eligible)


def offer_of(
    arms: Arms, features: ArrayLike | None, eligible: ArrayLike | None, mapping: FeatureMap
) -> Offer:
    """Check what a caller offers, and keep a copy of it (a catalogue is not copied)."""
    if isinstance(arms, Catalogue):
        return _registered(arms, features, eligible, mapping)
    ids = arm_ids(arms, "arms", wanted=_WANTED)
    if isinstance(arms, Mapping):
        if features is not None:
            raise ValueError("features: expected none beside a mapping from arm ids to vectors")
        features = list(arms.values())  # type: ignore[assignment]
    elif features is None:
        raise ValueError("features: expected one row for each arm, got None")
    rows = as_floats(features, "features")  # type: ignore[arg-type]
    if rows.shape != (len(ids), mapping.dim):
        check_shape(rows, "features", (len(ids), mapping.dim))
    rows = rows.copy()
    size = float(np.vdot(rows, rows))
    if not size <= LARGEST:
        floats(rows, "features", shape=rows.shape)
        raise ValueError(
            f"features: expected squares that sum to at most {LARGEST:g}, got {size:g}"
        )
    offer = Offer(ids, rows, mapping)
    return offer if eligible is None else offer.only(_mask(eligible, len(ids)))


def _registered(
    arms: Catalogue, features: ArrayLike | None, eligible: ArrayLike | None, mapping: FeatureMap
) -> Offer:
    if features is not None:
        raise ValueError("features: expected none beside a catalogue, which has them")
    if arms.dim != mapping.dim:
        raise ValueError(f"arms: expected a catalogue of dim {mapping.dim}, got {arms.dim}")
    version = arms.version()
    mask = None if eligible is None else _mask(eligible, len(version.ids)).copy()
    return Offer(version.ids, version.features, mapping, version, mask)


def _mask(eligible: ArrayLike, arms: int) -> BoolArray:
    mask = np.asarray(eligible)
    if mask.dtype != np.bool_ or mask.shape != (arms,):
        raise ValueError(
            f"eligible: expected {arms} booleans, got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("eligible: expected at least one arm, got none")
    return mask
