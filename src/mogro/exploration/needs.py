"""What is still unknown of the arms on offer, and how much each of them would tell."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mogro._spans import parts_along, precision_of, span, squares, sum_of_squares, unit_rows
from mogro._validation import BoolArray, FloatArray, IntArray
from mogro.linear import TINY

# Up to where MOGRO explores without a threshold, before it relies on optimism: this share of the
# mean squared norm of the arms on offer.
DEFAULT_SHARE = 0.1

# A direction may be known at exactly the threshold: need * threshold is 1 up to rounding.
SATISFIED = 1 + 1e-9

_EPS = float(np.finfo(np.float64).eps)
_MANY, _SAMPLED = 1024, 256  # of more arms, the default threshold looks at this many
_SAME = 1e-9  # eigenvalues this close, relatively, are one eigenspace
_CLEARLY = 0.5  # an eigenvalue of products of unit vectors that shows them to be independent
_TIED = 1e-8  # gains this close, relatively, are equal
_Index = slice | NDArray[np.intp]


def default_threshold(arms: FloatArray) -> FloatArray:
    """Return the threshold (...) for arms (..., K, d): a tenth of their mean squared norm.

    Of more than 1024 arms, 256 evenly spaced ones stand for all: a decision among many arms must
    not cost twice as much for a number of which only the order of magnitude matters.

    Examples
    --------
    >>> default_threshold(np.array([[2.0, 0.0], [0.0, 1.0]])).item()
    0.25
    """
    if arms.ndim == 2:
        return np.asarray(single_threshold(arms))
    sample = _sample(arms)
    flat = sample.reshape(*sample.shape[:-2], -1)
    return np.asarray(np.vecdot(flat, flat) / sample.shape[-2] * DEFAULT_SHARE)


def single_threshold(arms: FloatArray, total: float = math.inf) -> float:
    """Return the default threshold of one learner; ``total`` is the sum of squares, if known."""
    sample = _sample(arms)
    if total == math.inf or len(sample) < len(arms):
        total = sum_of_squares(sample)
    return total / len(sample) * DEFAULT_SHARE


def _sample(arms: FloatArray) -> FloatArray:
    if arms.shape[-2] <= _MANY:
        return arms
    return arms[..., :: math.ceil(arms.shape[-2] / _SAMPLED), :]


def needs(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return how badly known the span of some arms is: the largest ``u^T V^+ u``, (n,).

    Parameters
    ----------
    arms
        Arms on offer to n learners, (n, K, d), finite.
    inverse
        ``V^+``, (n, d, d).
    unseen
        Projectors on the null spaces of V, (n, d, d); None if there are none.

    Returns
    -------
    numpy.ndarray
        The largest ``u^T V^+ u`` over unit vectors u in the span; infinite where the span has a
        part never seen, 0 for arms that are all zero. A learner has to explore while this times
        the threshold is above 1, see :func:`explores`.

    Examples
    --------
    >>> arms = np.array([[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    >>> V = np.diag([4.0, 2.0, 1.0])
    >>> needs(arms, np.linalg.inv(V)[None], None)  # the third direction is not in the span
    array([0.5])
    """
    return Study(arms, inverse, unseen).needs()


def gains(arms: FloatArray, inverse: FloatArray, unseen: FloatArray | None) -> FloatArray:
    """Return what each arm would add where V is weakest, (n, K); parameters as for :func:`needs`.

    These are squared projections on the directions never seen, if the arms have a part there, or
    else on the whole eigenspace, within the span of the arms, of the largest need.
    """
    return Study(arms, inverse, unseen).gains()


def explores(need: FloatArray, threshold: FloatArray | float) -> BoolArray:
    """Tell who has to explore, from needs and thresholds, each (n,)."""
    return np.asarray(need * np.maximum(threshold, TINY) > SATISFIED)  # infinite, if never seen


def first_best(gains: FloatArray) -> IntArray:
    """Return the first arm, (n,), whose gain in (n, K) is the largest up to rounding."""
    level = np.maximum.reduce(gains, axis=-1, keepdims=True) * (1 - _TIED)
    return np.asarray((gains >= level).argmax(axis=-1))


class Study:
    """What :func:`needs` and :func:`gains` of the same arms have in common."""

    def __init__(
        self,
        arms: FloatArray,
        inverse: FloatArray,
        unseen: FloatArray | None,
        units: FloatArray | None = None,
    ) -> None:
        self.arms, self.inverse, self.unseen = arms, inverse, unseen
        self.precision = precision_of(arms)
        self.units = unit_rows(arms) if units is None else units
        # Learners with arms that have a part never seen, and the others.
        self.never: _Index | None = None
        self.seen: _Index | None = slice(None)
        if unseen is not None:
            # The arms that have, and the squares of these parts of unit vectors, (n, K).
            self.new, self.shares = parts_along(self.units, unseen, self.precision)
            self.never, self.seen = _split(self.new)

    @cached_property
    def bases(self) -> FloatArray | None:
        """Of the spans of arms that have no part never seen."""
        return span(self.units[self.seen], self.precision)

    @cached_property
    def inside(self) -> FloatArray:
        """``V^+`` restricted to these spans."""
        inverse, bases = self.inverse[self.seen], self.bases
        return inverse if bases is None else np.swapaxes(bases, -1, -2) @ inverse @ bases

    def bound(self) -> float:
        """Return an upper bound on the need of a single learner, for half the price.

        It is infinite where it would be far from sharp. No eigenvalue is above the largest sum of a
        row without signs, and none of the products of unit vectors is below 1 less what such a row
        has off the diagonal.
        """
        units = self.units[0]
        least = 2 - _row_sum(units.dot(units.T))
        if self.never is not None or least < _CLEARLY:
            return math.inf
        return _row_sum(units.dot(self.inverse[0]).dot(units.T)) / least

    def needs(self) -> FloatArray:
        """Return what :func:`needs` does."""
        found: FloatArray = np.full(len(self.arms), np.inf)
        if self.seen is not None:
            found[self.seen] = np.maximum(np.linalg.eigvalsh(self.inside)[:, -1], 0)
        return found

    def gains(self) -> FloatArray:
        """Return what :func:`gains` does."""
        wide = self.arms.astype(np.float64, copy=False)
        if self.seen is None:
            return np.asarray(self.shares * self.new * squares(wide))
        found: FloatArray = np.zeros(self.arms.shape[:2])
        if self.never is not None:
            shares = self.shares[self.never] * self.new[self.never]
            found[self.never] = shares * squares(wide[self.never])
        weakest = _weakest(self.inside)
        if self.bases is not None:
            weakest = self.bases @ weakest
        found[self.seen] = squares(wide[self.seen] @ weakest)
        return found


def _split(new: BoolArray) -> tuple[_Index | None, _Index | None]:
    """Return indices of the learners with something new in (n, K), and of the others.

    For all of them that is a slice, for nobody None.
    """
    some = np.logical_or.reduce(new, axis=-1)
    number = np.count_nonzero(some)
    if number == 0:
        return None, slice(None)
    if number == some.size:
        return slice(None), None
    return np.flatnonzero(some), np.flatnonzero(~some)


def _row_sum(matrix: FloatArray) -> float:
    """Return the largest sum of absolute values of a row."""
    return float(np.maximum.reduce(np.add.reduce(np.abs(matrix), axis=1)))


def _weakest(inside: FloatArray) -> FloatArray:
    """Return the eigenspaces (n, r, r) of the largest eigenvalues; other columns are zero."""
    values, vectors = np.linalg.eigh(inside)
    largest = values[:, -1:]
    # What rounding does to V is relative to its largest eigenvalue, hence to the smallest here;
    # zeros are directions outside of the span.
    rounding = 8 * inside.shape[-1] * _EPS
    smallest = np.where(values > rounding * largest, values, np.inf).min(axis=-1, keepdims=True)
    slack = np.clip(rounding * largest / smallest, _SAME, _SAME**0.5)
    return np.asarray(vectors * (values >= largest * (1 - slack))[:, None, :])
