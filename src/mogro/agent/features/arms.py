"""What a decision chooses among: arms on offer."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_floats,
    check_shape,
    floats,
    unique_strings,
)
from mogro.agent.features.catalogue import Catalogue, CatalogueVersion, Offer
from mogro.agent.features.encoder import Record, parse_record, read_records, record_text
from mogro.agent.features.feature_map import FeatureMap, FeaturesInContext
from mogro.agent.objective import LARGEST
from mogro.beliefs import Beliefs

Arms = Sequence[str] | Mapping[str, ArrayLike] | Mapping[str, Record] | Catalogue
Features = ArrayLike | Sequence[Record]
Context = ArrayLike | Record

_EXPECTED = (
    "a mapping of id to features, ids with features, or a Catalogue; ids are strings, one or more"
)


@dataclass(eq=False)
class ArmSet:
    """Eligible arms on offer, as a policy sees them; nobody changes them any more.

    Attributes
    ----------
    all_ids, all_features
        Ids of all arms, also of those that are not eligible, and their features as callers gave
        them, (N, A).
    view
        How a policy and the learner see them.
    catalogue_version
        The catalogue they come from, if they do.
    eligible_rows
        Which of all arms are eligible, (K,); None for all.
    all_records
        The records that the features were computed from, if they were.
    more_columns
        Columns (N, ...) that a policy sees beside the features, if there are some.
    """

    all_ids: Sequence[str]
    all_features: FloatArray
    view: FeaturesInContext
    catalogue_version: CatalogueVersion | None = None
    eligible_rows: IntArray | None = None
    all_records: Sequence[Record] | None = None
    more_columns: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.all_ids) if self.eligible_rows is None else len(self.eligible_rows)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids, K of them."""
        ids, rows = self.all_ids, self.eligible_rows
        return tuple(ids if rows is None else [ids[row] for row in rows.tolist()])

    def id(self, index: int) -> str:
        """Return the id of one arm."""
        return self.all_ids[self._row(index)]

    @cached_property
    def features(self) -> FloatArray:
        """The features that a policy sees, (K, 1 + A), with more columns if there are some."""
        if (
            self.catalogue_version is not None
            and self.eligible_rows is None
            and not self.view.contextual
        ):
            return self.catalogue_version.with_constant
        features = self.view.policy_features(self.raw_features)
        if self.more_columns is not None:
            features = np.hstack([features, self.more_columns[self._selection]])
        features.flags.writeable = False
        return features

    @property
    def offered(self) -> "FloatArray | ArmSet":
        """What a choice is made from: features, or for a catalogue the faster way to search it."""
        return self.features if self.catalogue_version is None else self

    def arm_features(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Return the features of one arm that a policy sees, and those that the learner sees."""
        if self.catalogue_version is None:
            policy_features = self.features[index]
        else:  # of which perhaps nobody has asked for all
            policy_features = self.view.policy_features(self.all_features[self._row(index)])
        if not self.view.contextual and self.more_columns is None:
            return policy_features, policy_features
        return policy_features, self.view.learner_features(self.all_features[self._row(index)])

    def raw_arm(self, index: int) -> FloatArray:
        """Return the features of one arm as the caller gave them, (A,)."""
        return np.asarray(self.all_features[self._row(index)])

    def project(self, beliefs: Beliefs) -> Beliefs:
        """Return what is believed about these arms in their context."""
        if not self.view.contextual:
            return beliefs
        return self.view.project(beliefs, lambda: self.features)

    @property
    def spanning(self) -> FloatArray:
        """A few vectors as the learner sees them, (r, p), that span at least what the arms do."""
        if self.view.contextual:
            return self.view.columns.T
        return self.features if self.catalogue_version is None else self.catalogue_version.spanning

    def best(self, direction: FloatArray) -> IntArray:
        """Return the indices of the arms of a catalogue that are best for a direction (1 + A,)."""
        assert self.catalogue_version is not None
        slopes = self.view.coefficients(direction)
        if self.eligible_rows is None:
            return self.catalogue_version.best(slopes, None)
        return np.searchsorted(
            self.eligible_rows, self.catalogue_version.best(slopes, self.eligible)
        )

    @cached_property
    def eligible(self) -> BoolArray:
        """Which of all arms they are, a mask."""
        mask = np.zeros(len(self.all_ids), dtype=np.bool_)
        mask[self._selection] = True
        return mask

    @cached_property
    def offer(self) -> Offer:
        """What is written down of all arms, also of those that are not eligible."""
        version = self.catalogue_version
        if version is not None:
            version.offer = version.offer or make_offer(self.all_ids, self.all_features)
            return version.offer
        records = self.all_records
        texts = None if records is None else [record_text(record) for record in records]
        return make_offer(self.all_ids, self.all_features, texts)

    def records(self, index: int) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return one arm and the context as plain records, if they were given as such."""
        if self.all_records is None and self.view.record is None:
            return None, None
        arm = None if self.all_records is None else record_text(self.all_records[self._row(index)])
        return parse_record(arm), parse_record(self.view.record)

    @property
    def record_texts(self) -> list[str] | None:
        """The arms as records, K of them, as JSON, if they were given as such."""
        if self.all_records is None:
            return None
        rows = np.arange(len(self.all_records))[self._selection].tolist()
        return [record_text(self.all_records[row]) for row in rows]

    @property
    def context(self) -> FloatArray | None:
        """The features of the context, (C,), if there is one."""
        return self.view.context if self.view.contextual else None

    @property
    def raw_features(self) -> FloatArray:
        """The features of the arms, (K, A)."""
        return self.all_features[self._selection]

    def subset(self, keep: BoolArray | slice) -> "ArmSet":
        """Return some of the arms, by a mask (K,) or a slice."""
        rows = np.arange(len(self.all_ids))[self._selection]
        return replace(self, eligible_rows=rows[keep])

    def with_columns(self, make: Callable[[Sequence[str]], FloatArray]) -> "ArmSet":
        """Return the arms with columns (K, ...) more, by ids, that a policy sees."""
        return replace(self, catalogue_version=None, more_columns=make(self.all_ids))

    @property
    def _selection(self) -> IntArray | slice:
        """What picks the eligible ones of all arms."""
        return slice(None) if self.eligible_rows is None else self.eligible_rows

    def _row(self, index: int) -> int:
        return index if self.eligible_rows is None else int(self.eligible_rows[index])


class ArmReader:
    """Checks arms on offer; most callers offer the same ones again and again."""

    def __init__(self) -> None:
        # Ids that were in order the last time, and as a list, which is compared in less time.
        self._ids: tuple[tuple[str, ...], list[str]] = (), []
        # The arms last read, without a context, and the bytes of their features: a bytearray
        # compares with an array without a copy of it.
        self._last: tuple[ArmSet | None, bytearray] = None, bytearray()

    def read(
        self,
        feature_map: FeatureMap,
        arms: Arms,
        features: Features | None,
        context: Context | None,
        eligible: ArrayLike | None = None,
    ) -> ArmSet:
        """Check what a caller offers, and keep a copy of it (a catalogue is not copied)."""
        contextless = context is None and feature_map.context is None
        view = feature_map.without_context if contextless else feature_map.in_context(context)
        if isinstance(arms, Catalogue):
            arm_set = _read_catalogue(arms, features, view)
        else:
            arm_set = self._read_listing(arms, features, view)
        return arm_set if eligible is None else arm_set.subset(_read_mask(eligible, len(arm_set)))

    def _read_listing(
        self,
        arms: Iterable[str] | Mapping[str, Any],
        features: Features | None,
        view: FeaturesInContext,
    ) -> ArmSet:
        ids = self._read_ids(arms)
        if type(arms) is not list and isinstance(arms, Mapping):
            if features is not None:
                raise ValueError("features: expected None, because arms map ids to features")
            features = list(arms.values())
        elif features is None:
            raise ValueError("features: expected one row for each arm, got None")
        rows, records = _read_features(features, view.feature_map)
        if rows.shape != (len(ids), view.feature_map.arm_dim):
            check_shape(rows, "features", (len(ids), view.feature_map.arm_dim))
        numbers, (last, last_bytes) = np.ascontiguousarray(rows, np.float64), self._last
        same_ids = records is None and last is not None and last.all_ids is ids
        if last is not None and same_ids and last.view is view and last_bytes == numbers:
            return last
        kept_bytes = bytearray(numbers.data)
        kept_rows = np.frombuffer(memoryview(kept_bytes).toreadonly()).reshape(rows.shape)
        arm_set = ArmSet(ids, kept_rows, view, all_records=records)
        _check_size(arm_set.raw_features if view.contextual else arm_set.features, rows, view)
        if not view.contextual and records is None:
            self._last = arm_set, kept_bytes
        return arm_set

    def _read_ids(self, arms: Iterable[str]) -> tuple[str, ...]:
        known_ids, known_list = self._ids
        id_list = list(arms) if type(arms) in (dict, tuple) else arms
        if type(id_list) is not list or not id_list or id_list != known_list:
            known_ids = unique_strings(arms, "arms", expected=_EXPECTED)
            self._ids = known_ids, list(known_ids)
        return known_ids


def _read_features(
    features: Features, feature_map: FeatureMap
) -> tuple[FloatArray, Sequence[Record] | None]:
    """Return features as numbers, (K, A), with the records that they come from, if they do."""
    rows: Any = features
    if type(features) is list and features and not isinstance(features[0], Mapping):
        with suppress(ValueError):  # rows that differ in length
            rows = np.asarray(features)
    if type(rows) is np.ndarray and rows.dtype.char == "d":
        return rows, None
    records = read_records(features)
    rows = features if records is None else feature_map.encode_arms(records)
    return as_floats(rows, "features"), records


def _read_catalogue(arms: Catalogue, features: Features | None, view: FeaturesInContext) -> ArmSet:
    """Return the arms of a catalogue."""
    if features is not None:
        raise ValueError("features: expected None, because a catalogue has features")
    if arms.dim != view.feature_map.arm_dim:
        raise ValueError(
            f"arms: expected a catalogue of dim {view.feature_map.arm_dim}, got {arms.dim}"
        )
    version = arms.version()
    return ArmSet(version.ids, version.features, view, catalogue_version=version)


def make_offer(
    ids: Sequence[str], features: FloatArray, records: Sequence[str] | None = None
) -> Offer:
    """Return arms as they are written down, with a digest of them: as records, if there are."""
    names = tuple(ids)
    digest = hashlib.blake2b(str(names).encode("utf-8", "surrogatepass"), digest_size=16)
    if records is not None:
        digest.update("\n".join(records).encode())
        return Offer(digest.hexdigest(), names, None, records)
    numbers = np.ascontiguousarray(features, dtype=np.float64)
    digest.update(numbers.data)
    return Offer(digest.hexdigest(), names, numbers, None)


def _check_size(features: FloatArray, rows: FloatArray, view: FeaturesInContext) -> None:
    size = np.vdot(features, features)
    if not size * view.norm_growth <= LARGEST:
        floats(rows, "features", shape=rows.shape)
        suffix = " with those of the context" if view.contextual else ""
        raise ValueError(
            f"features: expected squares that sum to at most {LARGEST:g}{suffix}, got {size:g}"
        )


def _read_mask(eligible: ArrayLike, arms: int) -> BoolArray:
    mask = np.asarray(eligible)
    if mask.dtype != np.bool_ or mask.shape != (arms,):
        raise ValueError(
            f"eligible: expected {arms} booleans, got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("eligible: expected at least one arm, got none")
    return mask
