"""What the learner sees: a constant, the arm, the context, and products of arm and context.

The learner's features of an arm x in a context c are the products ``z = (1, c) (x) (1, x)``, less
those that are left out; without a context, ``(1, x)``.

In one context z is a linear map of the arm, ``z = U y`` with orthonormal columns U and the arm
``y``, which is (1, x) up to the size of the context. So everything that is believed about z can be
said about y, in the same units: theta becomes ``theta U``, S becomes ``U' S U``, norms and
variances stay what they are. That costs once what a single arm costs, and no product of an arm is
ever computed but that of the arm chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, as_floats, check_shape, count, floats
from mogro.agent.features.encoder import Encoder, Record, record_text
from mogro.agent.objective import LARGEST
from mogro.beliefs import UNOBSERVED_DEVIATION, Beliefs, FrozenPosterior, scale_unobserved

FeatureSpec = int | Encoder  # a number of features, or how records become features
Interactions = bool | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class FeatureMap:
    """From arms and contexts, as callers give them, to the features of the learner.

    Parameters
    ----------
    arms
        Number of features of an arm, A; or an :class:`~mogro.Encoder`, and arms are records.
    context
        Number of features of a context, C; or an encoder of records. None: there is no context.
    interactions
        Which products of arm and context there are: all, none (False), or those of some columns
        of the encoders, as pairs (column of the arm, column of the context).

    Examples
    --------
    >>> both = FeatureMap(2, 1)
    >>> both.learner_dim
    6
    >>> both.in_context([10.0]).learner_features(np.array([2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]
    >>> both.names
    ('1', 'arm 0', 'arm 1', 'context 0', 'context 0 * arm 0', 'context 0 * arm 1')
    """

    arms: FeatureSpec
    context: FeatureSpec | None = None
    interactions: Interactions = True

    def __post_init__(self) -> None:
        for name in ("arms", "context"):
            spec = getattr(self, name)
            if not isinstance(spec, Encoder) and not (name == "context" and spec is None):
                object.__setattr__(self, name, count(spec, name))
        if not isinstance(self.interactions, bool):
            object.__setattr__(self, "interactions", self._checked_pairs(self.interactions))

    def _checked_pairs(self, pairs: Any) -> tuple[tuple[str, str], ...]:
        """Check which products of columns are wanted."""
        is_list = isinstance(pairs, Sequence) and not isinstance(pairs, str)
        if not is_list or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
            raise ValueError(
                "interactions: expected True, False, or pairs of a column of arms and one of "
                f"contexts, got {pairs!r}"
            )
        for index, name in enumerate(("arms", "context")):
            spec = getattr(self, name)
            columns = list(spec.slices) if isinstance(spec, Encoder) else []
            unknown = [pair[index] for pair in pairs if pair[index] not in columns]
            if unknown:
                raise ValueError(
                    f"interactions: expected columns of {name}, {columns}, got {unknown[0]!r}"
                )
        return tuple((arm, context) for arm, context in pairs)

    @cached_property
    def arm_dim(self) -> int:
        """Number of features of an arm, A."""
        return size_of(self.arms)

    @cached_property
    def context_dim(self) -> int:
        """Number of features of a context, C; 0 without one."""
        return size_of(self.context)

    @cached_property
    def learner_dim(self) -> int:
        """Number of features that the learner sees, at most (1 + C)(1 + A)."""
        return int(self.product_mask.sum())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each of these features is the product of; the first is the constant."""
        return self._product_labels(_names(self.arms, "arm"), _names(self.context, "context"))

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The group of each of these features: those of one group are alike before data come.

        The constant, the arm, the context and their products are apart, and so are the columns of
        encoders: a category is a group. Numbers, which are scaled alike, are one.

        Examples
        --------
        >>> import mogro
        >>> arms = mogro.Encoder(price=mogro.Number(), color=mogro.Category("red", "blue"))
        >>> FeatureMap(arms).groups
        ('1', 'arm numbers', 'arm color', 'arm color')
        >>> FeatureMap(2, 1).groups
        ('1', 'arm', 'arm', 'context', 'context * arm', 'context * arm')
        """
        return self._product_labels(_groups(self.arms, "arm"), _groups(self.context, "context"))

    def _product_labels(self, arms: Sequence[str], contexts: Sequence[str]) -> tuple[str, ...]:
        """Return a word for each feature, by words for the features of arms and contexts."""
        labels = [_label_product(c, arm) for c in ("1", *contexts) for arm in ("1", *arms)]
        return tuple(np.array(labels, dtype=object)[self.product_mask.ravel()].tolist())

    @cached_property
    def product_mask(self) -> BoolArray:
        """Which of the products of (1, context) and (1, arm) there are, (1 + C, 1 + A)."""
        mask = np.full((1 + self.context_dim, 1 + self.arm_dim), self.interactions is True)
        mask[0], mask[:, 0] = True, True
        for arm, context in () if isinstance(self.interactions, bool) else self.interactions:
            assert isinstance(self.arms, Encoder)
            assert isinstance(self.context, Encoder)
            rows, columns = self.context.slices[context], self.arms.slices[arm]
            mask[1:, 1:][rows, columns] = True
        return mask

    @cached_property
    def has_all_products(self) -> bool:
        """Whether nothing is left out."""
        return bool(self.product_mask.all())

    def split(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the arms (n, A) and contexts (n, C) that features (n, p) are the products of."""
        indices = np.cumsum(self.product_mask.ravel()).reshape(self.product_mask.shape) - 1
        return features[:, indices[0, 1:]], features[:, indices[1:, 0]]

    def join(self, arms: FloatArray, contexts: FloatArray) -> FloatArray:
        """Return the learner's features (n, p) of arms (n, A), each in a context of its own."""
        x, c = with_constant(arms), with_constant(contexts)
        return np.asarray((c[:, :, None] * x[:, None, :])[:, self.product_mask])

    def encode_arms(self, records: Sequence[Record]) -> FloatArray:
        """Return arms given as records as numbers, (K, A)."""
        return _encode_records(records, self.arms, "features")

    def in_context(self, context: ArrayLike | Record | None) -> "FeaturesInContext":
        """Return what the learner and a policy see of arms in a context."""
        if self.context is None:
            if context is None:
                return self.without_context
            raise ValueError("context: expected none, because the agent was made without one")
        if context is None:
            raise ValueError(f"context: expected {self.context_dim} features or a record, got None")
        record = None
        if isinstance(context, Mapping):
            context_record, context = context, _encode_records(context, self.context, "context")
            record = record_text(context_record)
        vector = as_floats(context, "context")
        if vector.shape != (self.context_dim,):
            check_shape(vector, "context", (self.context_dim,))
        vector = vector.astype(np.float64)
        if not float(np.vdot(vector, vector)) <= LARGEST:
            floats(vector, "context", shape=vector.shape)
            raise ValueError(f"context: expected squares that sum to at most {LARGEST:g}")
        return FeaturesInContext(self, vector, record)

    @cached_property
    def without_context(self) -> "FeaturesInContext":
        """Arms without a context."""
        return FeaturesInContext(self, np.zeros(0))


class FeaturesInContext:
    """Arms in one context: as a policy sees them, y (..., 1 + A), and as the learner, z (..., p).

    y is (1, x), times the norms of the columns by which it turns into z.
    """

    def __init__(
        self, feature_map: FeatureMap, context: FloatArray, record: str | None = None
    ) -> None:
        self.feature_map = feature_map
        self.context = context
        self.record = record  # of the context, as JSON, if it was one
        self.contextual = len(context) > 0

    def policy_features(self, arms: FloatArray) -> FloatArray:
        """Return what a policy sees, (..., 1 + A), of arms (..., A)."""
        features = with_constant(arms)
        features *= self._norms
        return features

    def learner_features(self, arms: FloatArray) -> FloatArray:
        """Return what the learner sees, (..., p), of arms (..., A)."""
        products = self._extended[:, None] * with_constant(arms)[..., None, :]
        flat = products.reshape(*arms.shape[:-1], -1)
        if self.feature_map.has_all_products:
            return flat
        return np.asarray(flat[..., self.feature_map.product_mask.ravel()])

    def coefficients(self, direction: FloatArray) -> FloatArray:
        """Return the slopes in x, (A,), of what is linear in y with coefficients (1 + A,)."""
        return self._norms[1:] * direction[1:]

    def project(self, beliefs: Beliefs, arms: Callable[[], FloatArray]) -> Beliefs:
        """Return what is believed about arms in this context.

        These, (K, 1 + A) as a policy sees them, are asked for if some features were never seen.
        """
        theta = self.project_rows(beliefs.theta)
        observed = PosteriorInContext(beliefs.observed, self)
        return Beliefs(theta, observed, PosteriorInContext(beliefs.expected, self, arms))

    def project_rows(self, rows: FloatArray) -> FloatArray:
        """Return ``rows U``, (..., 1 + A), of rows (..., p): estimates for what a policy sees."""
        if not self.feature_map.has_all_products:
            return rows @ self.columns
        contexts, arms = self.feature_map.product_mask.shape
        unit_context = self._extended / self._norms[0]
        return np.asarray(np.vecmat(unit_context, rows.reshape(*rows.shape[:-1], contexts, arms)))

    def root_mean_squares(self, arms: FloatArray) -> FloatArray:
        """Return the root mean squares of z, (p,), of arms (K, 1 + A) as a policy sees them."""
        sizes = np.sqrt(np.square(arms).mean(axis=0)) / self._norms
        return np.asarray((np.abs(self._extended)[:, None] * sizes)[self.feature_map.product_mask])

    def in_any_context(self, theta: FloatArray) -> FloatArray:
        """Return estimates (..., 1 + A) for what a policy sees, by such for (1, x)."""
        return np.asarray(theta / self._norms)

    @cached_property
    def columns(self) -> FloatArray:
        """U, (p, 1 + A): what the learner sees of arms y that a policy sees is ``U y``."""
        mask = self.feature_map.product_mask
        directions = self._extended[:, None] * mask / self._norms
        products = directions[:, :, None] * np.eye(mask.shape[1])
        return np.asarray(products.reshape(-1, mask.shape[1])[mask.ravel()])

    @property
    def norm_growth(self) -> float:
        """By how much squared norms of arms grow, at most."""
        return float(np.square(self._norms).max())

    @cached_property
    def _extended(self) -> FloatArray:
        """(1, c)."""
        return with_constant(self.context)

    @cached_property
    def _norms(self) -> FloatArray:
        """Norms of the columns by which (1, x) turns into z, (1 + A,)."""
        return np.asarray(np.sqrt(np.square(self._extended) @ self.feature_map.product_mask))


class PosteriorInContext:
    """What is known about arms in one context; S is computed when it is asked for.

    With arms, (K, 1 + A) as a policy sees them, features that were never seen have the size that
    they have among these, and observations count for each feature as they do for the products.
    """

    def __init__(
        self,
        posterior: FrozenPosterior,
        view: FeaturesInContext,
        arms: Callable[[], FloatArray] | None = None,
    ) -> None:
        self._posterior, self._view, self._arms = posterior, view, arms
        self.version = posterior.version

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (G,)."""
        feature_map = self._view.feature_map
        share = 1.0 if self._arms is None else (1 + feature_map.arm_dim) / feature_map.learner_dim
        return np.asarray(share * self._posterior.n)

    @cached_property
    def W(self) -> FloatArray:  # noqa: N802
        """``W U``, (G, p, 1 + A): a root of ``U' S U``."""
        W = self._posterior.W
        if self._arms is not None:
            deviations = np.abs(np.einsum("gii->gi", W))  # of what was never seen
            if deviations.max() > UNOBSERVED_DEVIATION:
                sizes = self._view.root_mean_squares(self._arms())
                W = W * scale_unobserved(deviations, sizes)[:, None]
        return self._view.project_rows(W)

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (M,)."""
        return self._posterior.noise


def with_constant(arms: FloatArray) -> FloatArray:
    """Return arms (..., A) as (1, x), (..., 1 + A)."""
    extended = np.empty((*arms.shape[:-1], 1 + arms.shape[-1]))
    extended[..., 0], extended[..., 1:] = 1.0, arms
    return extended


def size_of(spec: FeatureSpec | None) -> int:
    """Return the number of features of arms or of contexts."""
    return spec.size if isinstance(spec, Encoder) else spec or 0


def _names(spec: FeatureSpec | None, name: str) -> Sequence[str]:
    if isinstance(spec, Encoder):
        return spec.names
    return [f"{name} {index}" for index in range(size_of(spec))]


def _groups(spec: FeatureSpec | None, name: str) -> Sequence[str]:
    if isinstance(spec, Encoder):
        return [f"{name} {group}" for group in spec.groups]
    return [name] * size_of(spec)


def _encode_records(records: Record | Sequence[Record], spec: FeatureSpec, name: str) -> FloatArray:
    """Return a record, or several, as numbers."""
    if not isinstance(spec, Encoder):
        raise ValueError(f"{name}: expected numbers, because there is no Encoder, got records")
    try:
        return spec(records)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _label_product(context: str, arm: str) -> str:
    if context == "1":
        return arm
    return context if arm == "1" else f"{context} * {arm}"
