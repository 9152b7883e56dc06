"""A context beside the arms: the learner sees products of both, a decision sees arms alone.

The learner's features of an arm x in a context c are the products ``z = (1, c) (x) (1, x)``, less
what is left out. In one context they are a linear map of the arm, ``z = U y`` with orthonormal
columns U and the arm ``y``, which is (1, x) up to the size of the context. So everything that is
believed about z can be said about y, in the same units: theta becomes ``U^T theta``, V^+ becomes
``U^T V^+ U``, squared norms and variances stay what they are. That costs once what a single arm
costs, and no product of an arm is ever computed but that of the arm chosen.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, IntArray, as_floats, check_shape, count, floats
from mogro.choice import Beliefs
from mogro.live.objective import LARGEST
from mogro.live.offers.catalogue import Version
from mogro.live.offers.encoding import Encoder, Record
from mogro.policies import LinearPolicy

_ROUNDING = 1e-28  # a squared part of a unit vector that is rounding of a projector


@dataclass(frozen=True)
class Bilinear:
    """Rewards that depend on a context and an arm together, linear in each.

    The learner sees all products of (1, context) and (1, arm), so that an arm may be good for some
    users and bad for others.

    Parameters
    ----------
    arm
        Number of features of an arm, A; or an :class:`~mogro.Encoder`, and arms are records.
    context
        Number of features of the context of a decision, C; or an encoder of records.
    arm_alone
        Whether an arm counts whatever the context, A features.
    context_alone
        Whether the context counts whatever the arm, C features. They change no choice, but without
        them what a context is worth by itself is taken for noise, or for a part of the arms.
    constant
        Whether there is a constant, one feature.

    Examples
    --------
    >>> import mogro
    >>> both = mogro.Bilinear(arm=2, context=1)
    >>> both.size
    6
    >>> both.products([2.0, 3.0], context=[10.0]).tolist()
    [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]
    >>> both.names
    ('1', 'arm 0', 'arm 1', 'context 0', 'context 0 * arm 0', 'context 0 * arm 1')
    """

    arm: int | Encoder
    context: int | Encoder
    _: KW_ONLY
    arm_alone: bool = True
    context_alone: bool = True
    constant: bool = True

    def __post_init__(self) -> None:
        for name in ("arm", "context"):
            if not isinstance(getattr(self, name), Encoder):
                object.__setattr__(self, name, count(getattr(self, name), name))
        for name in ("arm_alone", "context_alone", "constant"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}: expected True or False, got {getattr(self, name)!r}")

    @cached_property
    def dim(self) -> int:
        """Number of features of an arm, A."""
        return _size(self.arm)

    @cached_property
    def context_dim(self) -> int:
        """Number of features of a context, C."""
        return _size(self.context)

    @property
    def size(self) -> int:
        """Number of features that the learner sees, at most (1 + C)(1 + A)."""
        alone = self.arm_alone * self.dim + self.context_alone * self.context_dim + self.constant
        return self.dim * self.context_dim + alone

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each of these features is the product of."""
        arms, contexts = ["1", *_names(self.arm, "arm")], ["1", *_names(self.context, "context")]
        named = [_product(one, other) for one in contexts for other in arms]
        return tuple(name for name, kept in zip(named, self.kept.tolist(), strict=True) if kept)

    @cached_property
    def kept(self) -> BoolArray:
        """Which of the products of (1, context) and (1, arm) there are, contexts first."""
        kept = np.ones((1 + self.context_dim, 1 + self.dim), dtype=np.bool_)
        kept[0, 0], kept[0, 1:], kept[1:, 0] = self.constant, self.arm_alone, self.context_alone
        return kept.ravel()

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.arm_alone and self.context_alone and self.constant

    def products(self, arm: ArrayLike | Record, *, context: ArrayLike | Record) -> FloatArray:
        """Return what the learner sees, (..., p), of arms (..., A) in a context (C,)."""
        numbers = arm if isinstance(arm, np.ndarray) else self.encode_arms(arm)
        x = floats(numbers, "arm", shape=(..., self.dim)).astype(np.float64, copy=False)
        return self.at(context).products(x)

    def encode_arms(self, features: Any) -> Any:
        """Return arms given as records, or as a frame, as numbers; numbers as they are."""
        return _encoded(features, self.arm, "features")

    def at(self, context: ArrayLike | Record | None) -> "InContext":
        """Return what the learner and a policy see of arms in a context."""
        if context is None:
            raise ValueError(
                f"context: expected {self.context_dim} features, or a record, beside "
                "features=Bilinear(...), got None"
            )
        vector = as_floats(_encoded(context, self.context, "context"), "context")
        if vector.shape != (self.context_dim,):
            check_shape(vector, "context", (self.context_dim,))
        vector = vector.astype(np.float64)
        if not float(np.vdot(vector, vector)) <= LARGEST:
            floats(vector, "context", shape=vector.shape)
            raise ValueError(f"context: expected squares that sum to at most {LARGEST:g}")
        return InContext(self, vector)

    def lines(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes (M, p) in the products, and constants (M,), of estimates (M, p)."""
        return theta, np.zeros(len(theta))

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "arm": _plain(self.arm),
            "context": _plain(self.context),
            "arm_alone": self.arm_alone,
            "context_alone": self.context_alone,
            "constant": self.constant,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Bilinear":
        """Make again what :meth:`to_plain` gave."""
        sides = {
            name: Encoder.from_plain(plain[name]) if isinstance(plain[name], dict) else plain[name]
            for name in ("arm", "context")
        }
        return cls(**(dict(plain) | sides))


def _size(side: int | Encoder) -> int:
    return side.size if isinstance(side, Encoder) else side


def _plain(side: int | Encoder) -> int | dict[str, Any]:
    return side.to_plain() if isinstance(side, Encoder) else side


def _names(side: int | Encoder, name: str) -> Sequence[str]:
    if isinstance(side, Encoder):
        return side.names
    return [f"{name} {place}" for place in range(side)]


def _encoded(given: Any, side: int | Encoder, name: str) -> Any:
    """Return records as numbers; what is no record is taken for numbers."""
    first = given[0] if isinstance(given, list | tuple) and given else given
    records = isinstance(first, Mapping) or hasattr(first, "columns")
    if not records:
        return given
    if not isinstance(side, Encoder):
        raise ValueError(f"{name}: expected numbers, because Bilinear has no encoder, got records")
    try:
        return side(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _product(context: str, arm: str) -> str:
    if context == "1":
        return arm
    return context if arm == "1" else f"{context} * {arm}"


class InContext:
    """Arms in one context: as a policy sees them, y (..., a), and as the learner does, z (..., p).

    y is (1, x), times the norms of the columns by which it turns into z; without the 1 if neither
    a constant nor the context counts by itself.
    """

    contextual: ClassVar[bool] = True

    def __init__(self, features: Bilinear, context: FloatArray) -> None:
        self.features = features
        self.context = context
        self.dim = features.dim
        square = float(np.vdot(context, context))
        # Norms of the columns of an arm's features, and of the 1 beside them.
        self.stretch = features.arm_alone + square  # of squared norms of arms
        self._size = math.sqrt(self.stretch)
        self._size_alone = math.sqrt(features.constant + features.context_alone * square)
        self._first = int(features.constant or features.context_alone)

    def __call__(self, arms: FloatArray) -> FloatArray:
        """Return what a policy sees, (..., a), of arms (..., A)."""
        seen = np.empty((*arms.shape[:-1], self._first + self.dim))
        if self._first:
            seen[..., 0] = self._size_alone
        np.multiply(arms, self._size, out=seen[..., self._first :], dtype=np.float64)
        return seen

    def products(self, arms: FloatArray) -> FloatArray:
        """Return what the learner sees, (..., p), of arms (..., A)."""
        wide = np.empty((*arms.shape[:-1], 1 + self.dim))
        wide[..., 0], wide[..., 1:] = 1.0, arms
        grid = self._extended[:, None] * wide[..., None, :]
        flat = grid.reshape(*arms.shape[:-1], -1)
        return flat if self.features.whole else np.asarray(flat[..., self.features.kept])

    @cached_property
    def columns(self) -> FloatArray:
        """U, (p, a): what the learner sees of arms y that a policy sees is ``U y``.

        Its columns are orthonormal, but zero where y is.
        """
        contexts, arms = 1 + self.features.context_dim, 1 + self.dim
        grid: FloatArray = np.zeros((contexts, arms, arms))
        grid[:, 0, 0] = self._direction(self.features.constant, self.features.context_alone)
        every = np.arange(1, arms)
        grid[:, every, every] = self._direction(self.features.arm_alone, True)[:, None]
        columns = grid.reshape(contexts * arms, arms)[self.features.kept]
        return np.asarray(columns[:, 1 - self._first :])

    @cached_property
    def _extended(self) -> FloatArray:
        """(1, c)."""
        extended = np.empty(1 + len(self.context))
        extended[0], extended[1:] = 1.0, self.context
        return extended

    @cached_property
    def _unit(self) -> FloatArray:
        """(1, c) with norm 1: its direction if nothing is left out."""
        return self._extended / self._size

    def _direction(self, alone: bool, context: bool) -> FloatArray:
        """Return (1, c), less what is left out, with norm 1, or zero."""
        vector = np.concatenate([[float(alone)], context * self.context])
        norm = math.sqrt(np.vdot(vector, vector))
        return vector / norm if norm > 0 else vector

    def lift(self, seen: FloatArray) -> FloatArray:
        """Return what the learner sees, (r, p), of vectors (r, a) that a policy sees."""
        return seen @ self.columns.T

    def lines(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, A) and constants (n,) in x of estimates (n, a) for what is seen."""
        slopes = self._size * theta[:, self._first :]
        constants = self._size_alone * theta[:, 0] if self._first else np.zeros(len(theta))
        return slopes, constants

    def second_moments(self, mean: FloatArray, scatter: FloatArray, *, count: int) -> FloatArray:
        """Return the sum of outer products, (a, a), of what is seen of ``count`` arms."""
        seen = self(mean)
        total = count * (seen[:, None] * seen)
        total[self._first :, self._first :] += self.stretch * scatter
        return np.asarray(total)

    def mean_square(self, version: Version) -> float:
        """Return the mean squared norm of what is seen of the arms of a catalogue."""
        alone = self._size_alone**2 if self._first else 0.0
        return alone + self.stretch * version.mean_square

    def largest(self, version: Version) -> float:
        """Return the largest squared norm of what is seen of the arms of a catalogue."""
        alone = self._size_alone**2 if self._first else 0.0
        return alone + self.stretch * version.largest_square

    def policy(self, policy: LinearPolicy) -> LinearPolicy:
        """Return a policy as it is in this context."""
        if type(policy).contracted is LinearPolicy.contracted:  # nothing to do, as usual
            return policy
        return policy.contracted(self.columns)

    def contract(self, beliefs: Beliefs) -> Beliefs:
        """Return what is believed about the arms that a policy sees, y, in this context."""
        return BeliefsInContext.of(beliefs, self)

    def contract_rows(self, rows: FloatArray) -> FloatArray:
        """Return ``rows U``, (..., a), of rows (..., p): estimates for what a policy sees."""
        if not self.features.whole:
            return rows @ self.columns
        grid = rows.reshape(*rows.shape[:-1], 1 + self.features.context_dim, 1 + self.dim)
        return np.asarray(np.vecmat(self._unit, grid))

    def contract_matrices(self, matrices: FloatArray) -> FloatArray:
        """Return ``U^T V U``, (G, a, a), of symmetric matrices V, (G, p, p)."""
        return self.contract_rows(self._contracted_columns(matrices))

    def _contracted_columns(self, matrices: FloatArray) -> FloatArray:
        """Return ``U^T V``, (G, a, p), of matrices V (G, p, p)."""
        if not self.features.whole:
            return np.asarray(self.columns.T @ matrices)
        grams, p = matrices.shape[:2]
        contexts = 1 + self.features.context_dim  # the first axis of the products: one pass over V
        found = np.vecmat(self._unit, matrices.reshape(grams, contexts, -1))
        return np.asarray(found.reshape(grams, -1, p))

    def contract_unseen(self, unseen: FloatArray | None) -> FloatArray | None:
        """Return symmetric S with ``|S y| = |P U y|`` for projectors P on what was never seen.

        The part of U y never seen need not be an arm in this context, so that S is no projector,
        but S y is as large as that part. None if no arm in this context can have any.
        """
        if unseen is None:
            return None
        parts = self._contracted_columns(unseen)
        if float(np.square(parts).max()) <= _ROUNDING:
            return None
        vectors, sizes, _ = np.linalg.svd(parts, full_matrices=False)
        return np.asarray((vectors * sizes[:, None, :]) @ np.swapaxes(vectors, -1, -2))


class BeliefsInContext(Beliefs):
    """Beliefs about arms in one context; what few policies ask for is computed when they do.

    As a tuple it holds V^+ and the projector that the learner knows.
    """

    _view: InContext

    @classmethod
    def of(cls, beliefs: Beliefs, view: InContext) -> "BeliefsInContext":
        """Contract what a learner believes with the context of a view."""
        coverage: Any = _CoverageInContext(beliefs.coverage, view)
        made = cls._make([view.contract_rows(beliefs.theta), *beliefs[1:-1], coverage])
        made._view = view
        return made

    @cached_property
    def inverse(self) -> FloatArray:
        """``U^T V^+ U``, (G, a, a)."""
        return self._view.contract_matrices(self[1])

    @cached_property
    def unseen(self) -> FloatArray | None:
        """Matrices whose products with arms are as large as their parts never seen."""
        return self._view.contract_unseen(self[2])

    def take(self, learners: IntArray) -> Beliefs:
        """Return the beliefs of some learners."""
        return Beliefs(self.theta, self.inverse, self.unseen, *self[3:]).take(learners)


class _CoverageInContext:
    """What exploration goes by in a context, computed when it is asked for."""

    def __init__(self, coverage: Any, view: InContext) -> None:
        self._coverage = coverage
        self._view = view

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray | None]:
        inverse, unseen = self._coverage
        return self._view.contract_matrices(inverse), self._view.contract_unseen(unseen)

    def __iter__(self) -> Iterator[FloatArray | None]:
        return iter(self._parts)
