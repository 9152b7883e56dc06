"""A context beside the arms: the learner sees products of both, a decision sees arms alone.

The learner's features of an arm x in a context c are the products ``z = (1, c) (x) (1, x)``, less
what is left out. What a decision in a context sees of them is in ``in_context``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import BoolArray, FloatArray, as_floats, check_shape, count, floats
from mogro.live.objective import LARGEST
from mogro.live.offers.encoding import Encoder, Record
from mogro.live.offers.in_context import InContext


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

    def at(self, context: ArrayLike | Record | None) -> InContext:
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
