"""Linear regression with a Gaussian prior, kept so that an observation costs little.

::

    sums         n, and those of z z' for z = (x, y): V, b and y2         the truth
    solution     W above theta: S = (V + Lambda)^-1 = W' W, theta = m0 + S (b - V m0)

The root W stays a root of something positive, and has digits for a variance of 1 beside one of 1e9.
An observation changes the solution by a matrix of rank one; the sums get it with the next block.
Every few hundred updates, and where the prior in force no longer fits the sums, the solution is
made anew from the sums. A flat prior is centred on the estimates then, and in between while they
are young: what is left of it in them is its square.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import (
    diagonals,
    dot,
    inverse_root,
    largest,
    matvec,
    outer,
    outer_sums,
    vecmat,
)
from mogro._validation import FloatArray
from mogro.priors import Learned, Prior

_RENEW_EVERY = 256  # updates, or twice the number of features
_CENTRE_AT = (1, 1.5, 2, 3, 4, 6, 8, 16, 32, 64)  # updates a feature
_BLOCK = 32  # observations that are added to the sums together
_REVIEW = 32.0, 1e3  # growth of det(V + Lambda) after which the prior is looked at again: 2^d
_MAX_SHRINKAGE = 1e12  # an update that shrinks a variance by more leaves few digits in W
_MAX_PRECISION_RATIO = 64.0  # a precision this many times too small is made anew
_MAX_LEARNED_RATIO = 1.5  # the same for one that was learned, and fades with the sums
_TINY = 1e-115  # mean squares below are zeros
_UNSEEN = 1e-127  # a flat prior has a precision below for features never seen
_RENEWED = ("solution", "squares", "mean", "precision", "_growth")
_ARRAYS = ("n", "_past", "_rows", "learned", *_RENEWED)
_COUNTS = ("_updates", "_held")


class Regression:
    """Regressions with leading axes (...), each of m targets on the same d features.

    Arrays are replaced, not changed, but for rows that nobody looks at yet.

    Parameters
    ----------
    mean
        Mean of the prior, (m, d), up to more leading axes.
    prior
        Whose precisions to use. Of a learned one, ``learned`` has those that were learned last.
    lead
        The leading axes.
    """

    def __init__(self, mean: FloatArray, prior: Prior, lead: tuple[int, ...]) -> None:
        (m, d), self.prior, self._stated = mean.shape[-2:], prior, mean
        self.dim, self.version = d, 0  # the version rises when S may have grown
        self.n: FloatArray = np.zeros(lead)
        self._past: FloatArray = np.zeros((*lead, d + m, d + m))  # the sums without the last rows
        self._rows: FloatArray = np.zeros((*lead, _BLOCK, d + m))
        learned = isinstance(prior, Learned)
        self.learned: FloatArray = np.ones((*lead, d if learned else 0))  # Lambda, if it is
        self.solution: FloatArray = np.zeros((*lead, d + m, d))  # W above theta
        self.squares: FloatArray = np.zeros((*lead, m))  # of residuals, and the prior's penalty
        self.mean: FloatArray = np.zeros((*lead, m, d))  # of the prior, in force
        self.precision: FloatArray = np.ones((*lead, d))  # Lambda
        self._growth: FloatArray = np.ones(lead)  # of det(V + Lambda) since it was looked at
        self._updates, self._held = 0, 0  # how many; rows in use
        self._period = max(_RENEW_EVERY, 2 * d)
        self._much = float(np.clip(2.0 ** min(d, 10), *_REVIEW))
        self._flat = prior.relative and not learned
        self._centre_at = {int(d * each) for each in _CENTRE_AT} if self._flat else set()
        self._complete = False  # whether each feature has been seen, or needs no look
        self.renew()

    def sums(self, where: Any = ...) -> FloatArray:
        """Return the sums of z z' over all observations, (..., d + m, d + m), of all or some."""
        past: FloatArray = self._past[where]
        held = self._held
        return past + outer_sums(self._rows[..., :held, :][where]) if held else past

    def V(self, where: Any = ...) -> FloatArray:  # noqa: N802
        """Return the sums of x x', (..., d, d)."""
        return self.sums(where)[..., : self.dim, : self.dim]

    def diagonal(self, where: Any = ...) -> FloatArray:
        """Return the sums of squares of features, (..., d)."""
        rows = self._rows[..., : self._held, : self.dim][where]
        return np.asarray(diagonals(self._past)[..., : self.dim][where] + np.square(rows).sum(-2))

    def b(self) -> FloatArray:
        """Return the sums of y x', (..., m, d)."""
        return self.sums()[..., self.dim :, : self.dim]

    def y2(self) -> FloatArray:
        """Return the sums of y^2, (..., m)."""
        return diagonals(self.sums())[..., self.dim :]

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """Roots of S, (..., d, d)."""
        return self.solution[..., : self.dim, :]

    @property
    def theta(self) -> FloatArray:
        """Estimates, (..., m, d)."""
        return self.solution[..., self.dim :, :]

    def update(self, z: FloatArray, weight: Any) -> None:
        """Learn from an observation each, (..., d + m), that has been multiplied by its weight."""
        d = self.dim
        x, y = z[..., :d], z[..., d:]
        if not self._complete:
            self._set_new_precisions(x, weight)
        self.n, solution = self.n + weight, self.solution
        self._rows[..., self._held, :] = z
        self._held += 1
        if self._held == _BLOCK:
            self.set_sums(self.sums())
        product = matvec(solution, x)
        part, errors = product[..., :d], product[..., d:]  # W x, theta x - y
        errors -= y
        gain = vecmat(part, solution[..., :d, :])  # S x
        growth: Any = 1 + dot(part, part)  # 1 + x' S x
        alone = isinstance(growth, float)
        more = growth if alone else growth[..., None]
        root = math.sqrt(more) if alone else np.sqrt(more)
        gain /= more
        self.squares = self.squares + errors * errors / more
        part *= root / (1 + root)
        change = outer(product, gain)
        self.solution = np.subtract(solution, change, out=change)
        self._growth, self._updates = self._growth * growth, self._updates + 1
        if self._updates % self._period == 0:
            self.renew()
            return
        if self._updates in self._centre_at:
            self._centre()
        if (self._growth if alone else largest(self._growth)) > self._much:
            self._renew_if_needed()

    def learn(self, z: FloatArray, weight: Any) -> None:
        """Learn from blocks (..., n, d + m)."""
        before, x, y = self.frozen(), z[..., : self.dim], z[..., self.dim :]
        self.n = self.n + (weight * np.ones(z.shape[:-1])).sum(axis=-1)
        self.set_sums(self.sums() + outer_sums(z))
        self.renew()
        residuals = y - x @ self.theta.mT
        self.set_residual(before.residual(self.theta) + np.square(residuals).sum(axis=-2))

    def decay(self, factor: FloatArray) -> None:
        """Weigh all observations down by factors (...)."""
        row, matrix = factor[..., None], factor[..., None, None]
        self.n = self.n * factor
        self.set_sums(self.sums() * matrix)
        self.squares, self.precision = self.squares * row, self.precision * row
        self.solution = self.solution.copy()
        self.W[...] /= np.sqrt(matrix)  # the prior fades with the sums
        self._growth, self.version = self._growth / factor, self.version + 1
        if not self.prior.relative:  # but this one does not
            self.renew()
        elif largest(self._growth) > self._much:
            self._renew_if_needed()

    def apart(self) -> Self:
        """Return the regressions of each target by itself, with leading axes (..., m)."""
        other, d, axis = self.frozen(), self.dim, self.n.ndim
        m = self.squares.shape[-1]
        for name in ("n", "precision", "_growth", "learned"):
            each = np.expand_dims(getattr(self, name), axis)
            setattr(other, name, np.repeat(each, m, axis))
        indices = target_columns(d, m)
        other._past = self.sums()[..., indices[:, :, None], indices[:, None, :]]
        other._rows, other._held = np.zeros((*other.n.shape, _BLOCK, d + 1)), 0
        other.solution, other._stated = self.solution[..., indices, :], self._stated[..., None, :]
        other.squares, other.mean = self.squares[..., None], self.mean[..., None, :]
        other.version += 1
        return other

    def frozen(self) -> Self:
        """Return a view of what is known now, which nothing changes any more."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other

    def copy(self) -> Self:
        """Return regressions that go on by themselves."""
        other = self.frozen()
        other.__dict__ |= {name: np.array(getattr(self, name)) for name in _ARRAYS}
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that changes, as arrays under names, each with the leading axes."""
        return {name.strip("_"): np.asarray(getattr(self, name)) for name in _ARRAYS}

    def counts(self) -> dict[str, int]:
        """Return all else that changes: counts of what the regressions did together."""
        return {name.strip("_"): getattr(self, name) for name in _COUNTS}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` and :meth:`counts` gave, to the bit."""
        self.__dict__ |= {name: state[name.strip("_")] for name in _ARRAYS}
        self.__dict__ |= {name: int(state[name.strip("_")]) for name in _COUNTS}

    def set_sums(self, sums: FloatArray) -> None:
        """Replace the sums over all observations."""
        self._past = sums
        if self._held:
            self._rows, self._held = np.zeros_like(self._rows), 0

    def residual(self, theta: FloatArray | None = None, where: Any = ...) -> FloatArray:
        """Return the squares of residuals, of other estimates too; no difference of large sums."""
        now, mean, precision = self.theta[where], self.mean[where], self.precision[where]
        squares = np.asarray(self.squares[where] - _penalty(now - mean, precision))
        if theta is None:
            return squares
        change, pull = theta - now, precision[..., None, :] * (now - mean)  # b - V theta
        return squares + dot(change @ self.V(where), change) - 2 * dot(change, pull)

    def set_residual(self, residual: FloatArray) -> None:
        """Replace the squares of residuals, (..., m)."""
        penalty = _penalty(self.theta - self.mean, self.precision)
        self.squares = np.maximum(residual, 0) + penalty

    def renew(self, where: Any = ...) -> None:
        """Make the solution anew from the sums: of all regressions, or of some."""
        precision, sums, d = self._target_precision(where), self.sums(where), self.dim
        V, b = sums[..., :d, :d], sums[..., d:, :d]
        W, mean = inverse_root(V, precision), np.broadcast_to(self._stated, self.mean.shape)[where]
        theta = _solved(W, V, b, mean)
        if self._flat:
            mean, theta = theta, _solved(W, V, b, theta)
        squares = np.maximum(self.residual(theta, where), 0) + _penalty(theta - mean, precision)
        self._complete, self.version = not self._flat, self.version + 1
        solution, growth = np.concatenate((W, theta), axis=-2), np.ones(precision.shape[:-1])
        self._replace_arrays(where, _RENEWED, solution, squares, mean, precision, growth)

    def _target_precision(self, where: Any = ...) -> FloatArray:
        """Return the Lambda that fits the sums."""
        if isinstance(self.prior, Learned):
            return np.asarray(self.learned[where])
        diagonal, n = self.diagonal(where), np.asarray(self.n)[where]
        sizes = diagonal / np.where(n > 0, n, 1.0)[..., None]
        return self.prior.precisions(np.where(sizes > _TINY, sizes, 0.0), diagonal)

    def _set_new_precisions(self, x: FloatArray, weight: Any) -> None:
        """Give features (..., d) that are seen for the first time the precision that they want."""
        squares, seen = x * x, self.precision > _UNSEEN
        new = (squares > _TINY) & ~seen
        self._complete = bool((seen | new).all())
        if not np.count_nonzero(new):
            return
        assert not isinstance(self.prior, Learned)
        n = np.asarray(self.n + weight)[..., None]
        wanted = self.prior.precisions(squares / np.where(n > 0, n, 1.0), squares)
        self.precision = np.where(new, wanted, self.precision)
        self.solution = self.solution.copy()  # W has nothing else in their rows and columns
        diagonals(self.solution)[new] = 1 / np.sqrt(self.precision[new])

    def _renew_if_needed(self) -> None:
        """Centre a flat prior; renew regressions whose prior no longer fits, or that lost digits.

        While each observation may bring a new direction, centring can wait.
        """
        slack = _MAX_LEARNED_RATIO if isinstance(self.prior, Learned) else _MAX_PRECISION_RATIO
        grown, stale = (np.asarray(self._growth > much) for much in (self._much, _MAX_SHRINKAGE))
        where: Any = ... if grown.all() else grown
        stale[where] |= (self._target_precision(where) > slack * self.precision[where]).any(axis=-1)
        ripe = grown & (self.n >= self.dim)
        if self._flat and np.count_nonzero(ripe):
            self._centre(... if ripe.all() else ripe)
        self._growth = np.where(grown, 1.0, self._growth)
        if np.count_nonzero(stale):
            self.renew(stale)

    def _centre(self, where: Any = ...) -> None:
        """Make estimates the mean of a flat prior: they lose its pull."""
        sums, d, mean, W = self.sums(where), self.dim, self.theta[where], self.W[where]
        pull = sums[..., d:, :d] - mean @ sums[..., :d, :d]
        change = (pull @ W.mT) @ W
        squares = np.maximum(self.residual(None, where) - dot(change, pull), 0)
        solution = np.concatenate((W, mean + change), axis=-2)
        self._replace_arrays(where, ("mean", "squares", "solution"), mean, squares, solution)

    def _replace_arrays(self, where: Any, names: tuple[str, ...], *arrays: FloatArray) -> None:
        """Replace arrays, or their parts for some regressions."""
        for name, array in zip(names, arrays, strict=True):
            whole = np.array(array if where is ... else getattr(self, name))
            whole[where] = array
            setattr(self, name, whole)


def target_columns(dim: int, targets: int) -> NDArray[np.intp]:
    """Return what each target alone has of (x, y), (m, d + 1)."""
    indices = [[*range(dim), dim + m] for m in range(targets)]
    return np.array(indices, dtype=np.intp).reshape(targets, dim + 1)


def _solved(W: FloatArray, V: FloatArray, b: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the estimates (..., m, d) for a prior with this mean."""
    return np.asarray(mean + ((b - mean @ V) @ W.mT) @ W)


def _penalty(change: FloatArray, precision: FloatArray) -> FloatArray:
    """Return ``(theta - m0)' Lambda (theta - m0)``, (..., m), of changes of the mean."""
    return matvec(np.square(change), precision)
