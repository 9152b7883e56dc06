"""From the features of one configuration to those of another: what is known of them, exactly.

Features that stay are what they were; another mean or scale of a number is a linear map, with the
constant; those that come are zeros. So is the map of the arm, ``(1, x')``, and of the context, and
that of their products follows, as far as the old ones had the products that it takes.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mogro._validation import BoolArray, FloatArray
from mogro.agent.features.columns import Category, Column, Number, Tags, Vector
from mogro.agent.features.encoder import Encoder, parse_record
from mogro.agent.features.feature_map import FeatureMap, FeatureSpec, size_of


class Remapping:
    """The way from the learner's features of one map to those of another.

    Examples
    --------
    >>> from mogro import Encoder, Number
    >>> there = FeatureMap(Encoder(price=Number(10.0, 5.0)))
    >>> here = FeatureMap(Encoder(price=Number(20.0, 10.0), size=Number()))
    >>> remapping = Remapping(there, here)
    >>> remapping.matrix
    array([[ 1. ,  0. ],
           [-1. ,  0.5],
           [ 0. ,  0. ]])
    >>> remapping.new_columns.tolist()
    [False, False, True]
    """

    def __init__(self, old_map: FeatureMap, new_map: FeatureMap) -> None:
        self.old_map, self.new_map = old_map, new_map
        self._arms = _side_matrix(old_map.arms, new_map.arms)
        self._contexts = _side_matrix(old_map.context, new_map.context)

    @cached_property
    def _products(self) -> tuple[FloatArray, BoolArray]:
        """The map of all products, (p', p), and which rows of it take some that there are not."""
        products = np.kron(self._contexts, self._arms)[self.new_map.product_mask.ravel()]
        old_products = self.old_map.product_mask.ravel()
        incomplete = np.asarray((products[:, ~old_products] != 0).any(axis=1))
        return products[:, old_products] * ~incomplete[:, None], incomplete

    @property
    def matrix(self) -> FloatArray:
        """T, (p', p): sums of the old features z become sums of ``T z``."""
        return self._products[0]

    @property
    def new_columns(self) -> BoolArray:
        """Which of the new features, (p',), are zeros in the past because nothing is known."""
        return np.asarray(~self.matrix.any(axis=1))

    def map_features(
        self, features: FloatArray, arm_records: Sequence[str], context_records: Sequence[str]
    ) -> tuple[FloatArray, BoolArray]:
        """Return decisions (n, p) by the new features, (n, p'), and for which these are not sure.

        Arms and contexts are computed from their records, as JSON, where there are; otherwise from
        the old features, and then those that come are not sure.
        """
        arms, contexts = self.old_map.split(features)
        x, arm_is_sure = _remap(arms, self._arms, arm_records, self.new_map.arms)
        c, context_is_sure = _remap(contexts, self._contexts, context_records, self.new_map.context)
        return self.new_map.join(x, c), ~(arm_is_sure & context_is_sure)

    def map_arms(self, numbers: FloatArray, records: Sequence[str] | None) -> FloatArray:
        """Return arms (n, A) by the new features, (n, A'), from their records if there are."""
        return _remap(numbers, self._arms, records or (), self.new_map.arms)[0]

    def map_context(self, numbers: FloatArray, record: str | None) -> FloatArray:
        """Return a context (C,) by the new features, (C',), from its record if there is one."""
        texts = (record,) if record else ()
        return np.asarray(_remap(numbers[None], self._contexts, texts, self.new_map.context)[0][0])


def _remap(
    numbers: FloatArray, matrix: FloatArray, records: Sequence[str], spec: FeatureSpec | None
) -> tuple[FloatArray, BoolArray]:
    """Return one side of decisions by new features, and where these are sure."""
    features: FloatArray = matrix[1:, 0] + numbers @ matrix[1:, 1:].T
    is_sure = np.full(len(features), bool(matrix.any(axis=1).all()))
    if isinstance(spec, Encoder):
        texts = [text for text in dict.fromkeys(records) if text]
        try:
            values = spec.encode_known_columns([parse_record(text) or {} for text in texts])
        except ValueError as error:
            raise ValueError(f"expected columns that read all records so far: {error}") from None
        numbers_by_text = dict(zip(texts, values, strict=True))
        for index, text in enumerate(records):
            if text:
                features[index], is_sure[index] = numbers_by_text[text], True
    return features, is_sure


def _side_matrix(old_spec: FeatureSpec | None, new_spec: FeatureSpec | None) -> FloatArray:
    """Return the map of (1, x) of arms or contexts, (1 + A', 1 + A)."""
    matrix = np.zeros((1 + size_of(new_spec), 1 + size_of(old_spec)))
    matrix[0, 0] = 1.0
    if isinstance(old_spec, Encoder) and isinstance(new_spec, Encoder):
        for name in new_spec.columns.keys() & old_spec.columns.keys():
            old_slice, new_slice = old_spec.slices[name], new_spec.slices[name]
            block = _column_matrix(old_spec.columns[name], new_spec.columns[name])
            matrix[1:][new_slice, 0] = block[:, 0]
            matrix[1:, 1:][new_slice, old_slice] = block[:, 1:]
    elif isinstance(old_spec, int) and isinstance(new_spec, int):
        shared_indices = range(1, 1 + min(old_spec, new_spec))
        matrix[shared_indices, shared_indices] = 1.0
    return matrix


def _column_matrix(old: Column, new: Column) -> FloatArray:
    """Return the map of (1, numbers of a column), (B, 1 + A)."""
    matrix = np.zeros((new.size, 1 + old.size))
    if isinstance(old, Number) and isinstance(new, Number):
        matrix[0] = (old.mean - new.mean) / new.std, old.std / new.std
    elif isinstance(old, Category | Tags) and isinstance(new, Category | Tags):
        for index, value in enumerate(new.values):
            if value in old.values:
                matrix[index, 1 + old.values.index(value)] = 1.0
    elif isinstance(old, Vector) and old == new:
        matrix[:, 1:] = np.eye(old.size)
    return matrix
