"""What is believed before the first observation: a mean, and how firmly, feature by feature.

A prior is a diagonal precision Lambda, in units of the noise (a precision of 1 weighs as much as
one observation of a unit feature), and a mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, IntArray, floats

# The flat prior, as a share of a feature's mean square: far below one observation, far above
# rounding. 1e-11 makes some wrong choices in subspaces, 1e-13 cannot be factorised.
_FLAT_SHARE = 1e-9

# Mean squares below are zeros. A feature that was never seen has a precision far below any, so
# that its first value, in whatever unit, is news.
_NEGLIGIBLE_SQUARE = 1e-115
_UNOBSERVED_PRECISION = 1e-129
OBSERVED_PRECISION = 1e-127  # precisions of features never observed are below it, all others above

# No precision is below this share of V's diagonal, the rounding of V: a direction that was never
# observed stays unknown, however often the others are.
_ROUNDING_SHARE = 8 * float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True)
class Flat:
    """So weak that it vanishes beside one observation: ordinary least squares, as in the paper.

    It is relative to the size of each feature, so that no unit decides anything. Until every
    direction has been observed, estimates are near the least-squares solution of least norm, and
    their standard errors are large.

    Examples
    --------
    >>> import mogro
    >>> policy = mogro.MOGRO(dim=2, objectives=1)  # flat by default
    >>> policy.learn([[1.0, 0.0], [1.0, 2.0]], [[1.0], [5.0]])
    >>> policy.theta.round(6)
    array([[1., 2.]])
    """

    renewal_ratio = 4.0  # of the precision that fits the sums to the one in force; then renewed

    def precisions(self, squares: FloatArray, n: FloatArray) -> FloatArray:
        """Return Lambda, (..., d), for sums of squares (..., d) of features, of weights (...)."""
        mean_squares = squares / np.where(n > 0, n, 1.0)[..., None]
        observed = mean_squares > _NEGLIGIBLE_SQUARE
        precisions = np.where(observed, _FLAT_SHARE * mean_squares, _UNOBSERVED_PRECISION)
        return np.asarray(np.maximum(precisions, _ROUNDING_SHARE * squares))

    def means(self, objectives: int, dim: int) -> FloatArray:
        """Return the mean of the parameters, (M, d)."""
        return np.zeros((objectives, dim))


@final
@dataclass(frozen=True)
class Fixed:
    """Known beforehand: ridge regression, a warm start, "start from the best".

    Parameters
    ----------
    precision
        Lambda: a number above 0, or one for each feature.
    mean
        What the parameters are believed to be: a number, or one for each feature, (d,), or for
        each objective and feature, (M, d).

    Examples
    --------
    >>> import mogro
    >>> prior = mogro.priors.Fixed(9.0, mean=[[1.0, 0.5]])
    >>> policy = mogro.MOGRO(dim=2, objectives=1, prior=prior)
    >>> policy.update([1.0, 0.0], [2.0])
    >>> policy.theta.round(3)  # a tenth of the way from 1 to 2
    array([[1.1, 0.5]])
    """

    renewal_ratio = 1.0
    precision: float | Sequence[float] = 1.0
    mean: float | Sequence[float] | Sequence[Sequence[float]] = 0.0

    def __post_init__(self) -> None:
        precision = _numbers(self.precision, "precision", axes=1)
        if not (precision > 0).all():
            raise ValueError(f"precision: expected numbers above 0, got {self.precision!r}")
        object.__setattr__(self, "precision", _plain(precision))
        object.__setattr__(self, "mean", _plain(_numbers(self.mean, "mean", axes=2)))

    def precisions(self, squares: FloatArray, n: FloatArray) -> FloatArray:
        """Return Lambda, (..., d), for sums of squares (..., d) of features, of weights (...)."""
        precision = np.asarray(self.precision)
        if precision.ndim and len(precision) != squares.shape[-1]:
            raise ValueError(
                f"precision: expected one number for each of {squares.shape[-1]} features, "
                f"got {len(precision)}"
            )
        # Beside very large sums a weak prior is one of their rounding.
        return np.asarray(np.maximum(precision, _ROUNDING_SHARE * squares))

    def means(self, objectives: int, dim: int) -> FloatArray:
        """Return the mean of the parameters, (M, d)."""
        try:
            return np.broadcast_to(np.asarray(self.mean, dtype=np.float64), (objectives, dim))
        except ValueError:
            shape = np.shape(self.mean)
            raise ValueError(
                f"mean: expected the shape ({objectives}, {dim}) or ({dim},), got {shape}"
            ) from None


@final
@dataclass(frozen=True)
class Learned:
    """As strong as the data make most likely, for every group of features and every objective.

    Features that hardly matter for an objective are shrunk hard, others are not, and nobody has to
    know which: many features cost little at first. The strengths are learned anew whenever the
    weight of the observations has doubled; with a half-life, about once in each.

    Parameters
    ----------
    groups
        The group of each feature, numbered from 0; -1 for a constant, which is left free. One
        group for all without it. Features may come in any unit.

    Examples
    --------
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> prior = mogro.priors.Learned(groups=[-1] + 10 * [0])
    >>> policy = mogro.MOGRO(dim=11, objectives=1, prior=prior)
    >>> x = np.column_stack([np.ones(30), rng.standard_normal((30, 10))])
    >>> policy.learn(x, 0.5 + 0.1 * rng.standard_normal((30, 1)))  # ten features do nothing
    >>> bool(np.abs(policy.theta[0, 1:]).max() < 0.03)
    True
    """

    renewal_ratio = 1.5
    groups: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.groups is None:
            return
        groups = np.asarray(self.groups)
        if groups.ndim != 1 or groups.dtype.kind not in "iu" or not len(groups):
            raise ValueError(f"groups: expected a whole number for each feature, got {groups!r}")
        numbers = set(range(int(groups.max()) + 1))
        if not numbers or set(groups.tolist()) - {-1} != numbers:
            raise ValueError(f"groups: expected numbers from 0, none left out, got {self.groups!r}")
        object.__setattr__(self, "groups", tuple(groups.tolist()))

    def means(self, objectives: int, dim: int) -> FloatArray:
        """Return the mean of the parameters, (M, d)."""
        return np.zeros((objectives, dim))

    def members(self, dim: int) -> IntArray:
        """Return the group of each feature, (d,)."""
        if self.groups is None:
            return np.zeros(dim, dtype=np.int64)
        if len(self.groups) != dim:
            raise ValueError(
                f"groups: expected one for each of {dim} features, got {len(self.groups)}"
            )
        return np.array(self.groups, dtype=np.int64)


Prior = Flat | Fixed | Learned


def _numbers(value: ArrayLike, name: str, *, axes: int) -> FloatArray:
    array = floats(value, name, shape=(...,)).astype(np.float64)
    if array.ndim > axes:
        raise ValueError(f"{name}: expected at most {axes} axes, got shape {array.shape}")
    return array


def _plain(array: FloatArray) -> Any:
    """Return numbers as tuples, which are frozen and compare."""
    values = array.tolist()
    if array.ndim == 2:
        return tuple(tuple(row) for row in values)
    return tuple(values) if array.ndim else values
