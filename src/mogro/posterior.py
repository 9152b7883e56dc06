"""Everything that is learned: one Gaussian posterior of the parameters of all objectives.

::

    prior        precision Lambda, a diagonal, and mean m0                (mogro.priors)
    sums         n, V = sum x x', b = sum y x', y2 = sum y^2              the truth
    posterior    S = (V + Lambda)^-1, theta = m0 + S (b - V m0), noise    a view of the two

An observation changes S and theta by a matrix of rank one. Every few hundred updates, and whenever
one would lose digits, both are made anew from the sums: by Cholesky, in columns of one scale. The
posterior is always positive definite: no rank, and no special case for the first observations.
"""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import diagonals, dot, matvec, outer, outer_sums, solve, weighted_squares
from mogro._validation import BoolArray, FloatArray, check_shape, count, floats
from mogro.beliefs import Beliefs, smallest
from mogro.priors import Flat, Prior

_RENEW_EVERY = 256  # updates, or twice the number of features
_VAGUE = 1e4  # a variance, in units of the noise, that is large
_LOSSY = 1e6  # an update that shrinks a variance by more leaves few digits in S
_FADED = 0.25  # renew once the sums that a prior is relative to were scaled down so far
_VANISHED = 2.0**-46  # a feature whose mean square has faded so far keeps that size
_FREE = 0.999  # observations left free: one, but for rounding
_HUGE, _TINY = 1e100, 1e-100  # sums of squares beyond are refused; squares below are zeros
_FLAT = Flat()
_SUMS = ("_n", "_sums", "_y2")
_RENEWED = ("_solution", "_squares", "_sizes", "_peaks", "_precision", "_faded", "_lost")
_STATE = _SUMS + _RENEWED


class Posterior:
    """What has been learned from features and rewards, over leading batch axes.

    Objectives that are observed together share one V and one S (G = 1). From the first observation
    of some without others on, each has its own (G = M). Learning never changes S, theta and n that
    were handed out: it makes new ones.

    Parameters
    ----------
    dim, objectives
        d and M. M may be 0: a V and an S only.
    prior
        What is believed before the first observation.
    batch
        Shape of a batch of independent learners that are updated together.

    Examples
    --------
    >>> posterior = Posterior(2, 1)
    >>> posterior.update(np.array([1.0, 1.0]), np.array([3.0]))
    >>> posterior.theta.round(6)  # one observation: near the solution of least norm
    array([[1.5, 1.5]])
    >>> posterior.update(np.array([1.0, 0.0]), np.array([1.0]))
    >>> posterior.theta.round(6)
    array([[1., 2.]])
    """

    def __init__(
        self, dim: int, objectives: int, *, prior: Prior = _FLAT, batch: tuple[int, ...] = ()
    ) -> None:
        self.dim = d = count(dim, "dim")
        self.objectives = m = count(objectives, "objectives", minimum=0)
        self.batch = lead = tuple(count(size, "batch") for size in batch)
        self.prior, self._mean = prior, prior.means(m, d)
        self.apart = False  # whether every objective has a V and an S of its own
        self.version = 0  # rises when S may have grown, or sizes have changed
        self._n: FloatArray = np.zeros(lead)
        self._sums: FloatArray = np.zeros((*lead, d + m, d))  # V above b
        self._y2: FloatArray = np.zeros((*lead, m))
        self._solution: FloatArray = np.zeros((*lead, d + m, d))  # S above theta
        self._squares: FloatArray = np.zeros((*lead, m))  # of residuals, and the prior's penalty
        self._sizes: FloatArray = np.ones((*lead, d))  # mean squares of features, when renewed
        self._peaks: FloatArray = np.zeros((*lead, d))  # largest of them so far; 0: never seen
        self._precision: FloatArray = np.zeros((*lead, d))  # Lambda
        self._faded: FloatArray = np.ones(lead)  # product of the decays since
        self._lost: FloatArray = np.zeros(lead)  # 1: a variance was large then; 2: it shrank since
        self._since = 0  # updates since
        self._renew()

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (*batch, G)."""
        return self._n if self.apart else np.asarray(self._n)[..., None]

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (*batch, G, d, d)."""
        V = self._sums[..., : self.dim, :].copy()
        return V if self.apart else V[..., None, :, :]

    @property
    def b(self) -> FloatArray:
        """Sum of y x', (*batch, M, d)."""
        b = self._sums[..., self.dim :, :].copy()
        return b[..., 0, :] if self.apart else b

    @property
    def y2(self) -> FloatArray:
        """Sum of y^2, (*batch, M)."""
        return self._y2[..., 0] if self.apart else self._y2

    @property
    def S(self) -> FloatArray:  # noqa: N802
        """(V + Lambda)^-1, (*batch, G, d, d)."""
        S = self._solution[..., : self.dim, :]
        return S if self.apart else S[..., None, :, :]

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d)."""
        return self._theta[..., 0, :] if self.apart else self._theta

    @property
    def noise(self) -> FloatArray:
        """Variance of the rewards around the estimates, (*batch, M).

        Squares of residuals over n - tr(S V), the observations that the parameters leave free.
        While these are fewer than one: the mean squared reward, and 1 before the first reward.
        """
        n = np.asarray(self._n)[..., None]
        unused = dot(self._precision, diagonals(self._solution[..., : self.dim, :]))
        free = n - self.dim + unused[..., None]
        residual = np.maximum(self._squares - self._penalty(), 0)
        if smallest(free) > _FREE:  # the same, in less time
            return np.asarray((residual / free)[..., 0] if self.apart else residual / free)
        at_first = (self._y2 + (n == 0)) / np.where(n > 0, n, 1)
        noise = np.where(free > _FREE, residual / np.maximum(free, _FREE), at_first)
        return np.asarray(noise[..., 0] if self.apart else noise)

    @property
    def sizes(self) -> FloatArray:
        """Root mean squares of features, (*batch, G, d), when renewed; 0 while unknown."""
        sizes = np.sqrt(self._sizes * self._seen)
        return sizes if self.apart else sizes[..., None, :]

    def beliefs(self, expected: "Posterior | None" = None) -> Beliefs:
        """Return what a policy may know now; ``expected`` also counts what is in flight."""
        now = self._frozen()
        return Beliefs(self.theta, now, now if expected is None else expected._frozen())

    def check(self, x: FloatArray, y: FloatArray, rewards: str) -> None:
        """Refuse observations that are not finite, or whose squares may overflow."""
        if np.vdot(x, x) < _HUGE and np.vdot(y, y) < _HUGE:
            return
        floats(x, "features", shape=x.shape)
        floats(y, rewards, shape=y.shape)
        raise ValueError(f"features, {rewards}: expected values whose squares are below {_HUGE:g}")

    def update(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from one observation each: features (*batch, d) and rewards (*batch, M).

        By ``weights`` (*batch, M) it counts for more or less; not at all for objectives with 0.
        """
        d, weight = self.dim, 1.0
        if weights is not None:
            y = np.where(weights > 0, y, 0.0)
        self.check(x, y, "reward")
        if self.apart or weights is not None:
            x, y, weight = self._weighted(x, y, weights)
        product = matvec(self._solution, x)  # S x above theta x
        variance = abs(dot(x, product[..., :d]))  # below 0 by rounding only
        if self._vague and np.count_nonzero((self._lost > 1) & (variance <= 1)):
            self._renew(np.asarray((self._lost > 1) & (variance <= 1)))  # it needs all digits
            product = matvec(self._solution, x)
            variance = abs(dot(x, product[..., :d]))
        errors = product[..., d:]
        errors -= y
        self._sums += outer(np.concatenate((x, y), axis=-1), x)
        self._n, self._y2 = self._n + weight, self._y2 + y * y
        if self._n.ndim:
            product *= (1 / np.sqrt(1 + variance))[..., None]
        else:
            product *= 1 / math.sqrt(1 + variance)
        change = outer(product, product[..., :d])
        self._solution = np.subtract(self._solution, change, out=change)
        self._squares = self._squares + errors * errors
        self._since += 1
        if self._since >= max(_RENEW_EVERY, 2 * d):
            self._renew()
            return
        large = variance > (1 if self._vague else _LOSSY)
        if not self.all_seen or (large.any() if self._n.ndim else large):
            self._take_digits(x, variance)

    def _take_digits(self, x: FloatArray, variance: FloatArray) -> None:
        """Note that new directions took digits from S, not from theta; renew where these count.

        They count for usual updates, and once all directions are known; also where they are too
        many, and where a feature has shown its size.
        """
        self._lost = np.where((variance > 1) & (self._lost > 0), 2.0, self._lost)
        known = (diagonals(self._solution) * self._sizes <= _VAGUE).all(axis=-1)
        new = np.any((x * x > _TINY) > self._seen, axis=-1)
        lossy = variance > _LOSSY * (1e5 * self.dim if self.prior.relative else 1)
        stale = np.asarray(known & (self._lost > 0) | lossy | new)
        if np.count_nonzero(stale):
            self._renew(stale)

    def learn(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from a block of observations: (*batch, n, d), (*batch, n, M), and their weights."""
        weight: FloatArray | float = x.shape[-2]
        if weights is not None:
            y = np.where(weights > 0, y, 0.0)
        self.check(x, y, "rewards")
        if self.apart or weights is not None:
            x, y, weight = self._weighted(x, y, weights, block=True)
        both, before = np.concatenate((x, y), axis=-1), self._frozen()
        self._sums = self._sums + outer_sums(both)[..., : self.dim]
        self._n, self._y2 = self._n + weight, self._y2 + np.square(y).sum(axis=-2)
        self._renew()
        residuals = y - x @ np.swapaxes(self._theta, -1, -2)
        self._set_squares(before._residual(self._theta) + np.square(residuals).sum(axis=-2))

    def decay(self, factor: FloatArray | float) -> None:
        """Weigh all observations down by a factor from 0 to 1, (*batch) or (*batch, M)."""
        by_objective = np.ndim(factor) > len(self.batch)
        if by_objective:
            self.separate()
        each = np.maximum(np.asarray(factor, dtype=np.float64), 1e-300)
        each = each[..., None] if self.apart and not by_objective else each
        before = self._frozen()
        self._sums = self._sums * each[..., None, None]
        self._n, self._y2 = self._n * each, self._y2 * each[..., None]
        self._faded, self._precision = self._faded * each, self._precision * each[..., None]
        self._solution = self._solution.copy()
        with np.errstate(over="ignore"):  # what is faded so far is renewed
            self._solution[..., : self.dim, :] /= each[..., None, None]
        self.version += 1
        stale = np.asarray(self._faded <= _FADED) | (not self.prior.relative)
        if stale.any():
            self._renew(stale)
        self._set_squares(before._residual(self._theta) * each[..., None])

    def merge(self, other: "Posterior") -> None:
        """Add all that another posterior of the same features and objectives has observed."""
        before, other = self._frozen(), other._frozen()
        if self.apart or other.apart:
            for posterior in (self, before, other):
                posterior.separate()
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._renew()
        self._set_squares(before._residual(self._theta) + other._residual(self._theta))

    def expecting(self, V: FloatArray, n: FloatArray) -> "Posterior":
        """Return the posterior with observations in S whose rewards have not come yet.

        ``V`` is the sum of x x' of these, (*batch, G, d, d), and ``n`` says how many, (*batch, G).
        """
        other = self.copy()
        other._sums[..., : self.dim, :] += V if self.apart else V[..., 0, :, :]
        other._n = other._n + (n if self.apart else n[..., 0])
        other._renew()
        return other

    def with_features(self, places: Sequence[int | None]) -> "Posterior":
        """Return the posterior of the features at some places; None is a new one, never seen."""
        other = Posterior(len(places), self.objectives, prior=self.prior, batch=self.batch)
        if self.apart:
            other.separate()
        new, old = _matched(places)
        rows = [*new, *range(other.dim, other._sums.shape[-2])]
        former = [*old, *range(self.dim, self._sums.shape[-2])]
        other._sums[(..., *np.ix_(rows, new))] = self._sums[(..., *np.ix_(former, old))]
        other._n, other._y2 = self._n, self._y2
        other._renew()
        theta = np.zeros_like(self._theta)
        theta[..., old] = other._theta[..., new]
        other._set_squares(self._residual(theta))
        return other

    def with_objectives(
        self, places: Sequence[int | None], factors: FloatArray | float = 1.0
    ) -> "Posterior":
        """Return the posterior of the objectives at some places; None is a new one, never seen.

        Rewards are multiplied by factors, one for each, as if they had been so all along.
        """
        known, other = (
            self.copy(),
            Posterior(self.dim, len(places), prior=self.prior, batch=self.batch),
        )
        known.separate()
        other.separate()
        new, old = _matched(places)
        lead = (slice(None),) * len(self.batch)
        for name in _STATE:
            getattr(other, name)[(*lead, new)] = getattr(known, name)[(*lead, old)]
        before = other.copy()
        before._mean = before._mean.copy()
        before._mean[new] = known._mean[old]
        factor = np.broadcast_to(np.asarray(factors, dtype=np.float64), (len(places),))[:, None]
        other._y2 *= factor**2
        other._squares *= factor**2
        for array in (other._sums, other._solution):
            array[..., self.dim :, :] *= factor[..., None]
        other._summarise()
        if not self.prior.relative:  # the mean of the prior is not in the unit of the rewards
            other._renew()
            theta = other._theta / np.where(factor == 0, 1.0, factor)[..., None]
            other._set_squares(before._residual(theta) * factor**2)
        return other

    def separate(self) -> None:
        """Give every objective a V and an S of its own."""
        if self.apart:
            return
        self.apart, self.version, self._mean = True, self.version + 1, self._mean[:, None]
        d, m, axis = self.dim, self.objectives, len(self.batch)
        for name in ("_n", *_RENEWED[2:]):
            setattr(self, name, np.repeat(np.expand_dims(getattr(self, name), axis), m, axis))
        for name in ("_sums", "_solution"):
            array = getattr(self, name)
            shared = np.repeat(np.expand_dims(array[..., :d, :], axis), m, axis)
            setattr(self, name, np.concatenate((shared, array[..., d:, None, :]), axis=-2))
        for name in ("_y2", "_squares"):
            setattr(self, name, getattr(self, name)[..., None].copy())

    def copy(self) -> Self:
        """Return a posterior that goes on by itself."""
        other = self._frozen()
        for name in _STATE:
            setattr(other, name, getattr(self, name).copy())
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state = {name[1:]: getattr(self, name).copy() for name in _STATE}
        return state | {"since": np.array(self._since)}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal posterior gave, to the bit."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        other = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        if arrays["n"].ndim > len(self.batch):
            other.separate()
        for name in _STATE:
            kept = getattr(other, name)
            check_shape(arrays[name[1:]], name[1:], kept.shape)
            setattr(other, name, arrays[name[1:]].astype(kept.dtype))
        other._since = int(arrays["since"].astype(np.int64))
        other._summarise()
        other.version = self.version + 1
        self.__dict__ = other.__dict__

    @property
    def _theta(self) -> FloatArray:
        """Estimates, with the leading axes of the sums."""
        return self._solution[..., self.dim :, :]

    @property
    def _seen(self) -> BoolArray:
        """Which features have a size, or need none."""
        return np.asarray((self._peaks > 0) | (not self.prior.relative))

    def _frozen(self) -> Self:
        """Return a view of what is known now: sums aside, no array of it changes any more."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _weighted(
        self, x: FloatArray, y: FloatArray, weights: FloatArray | None, *, block: bool = False
    ) -> tuple[FloatArray, FloatArray, Any]:
        """Return an observation or a block, with the leading axes of the sums, and its weight.

        Times the root of its weight an observation counts as much as the weight says.
        """
        if weights is not None and not self.apart and (weights != weights[..., :1]).any():
            self.separate()
        weight = np.ones(y.shape) if weights is None else weights
        if self.apart:
            x = np.expand_dims(x, len(self.batch))
            y, weight = (np.moveaxis(part, -1, len(self.batch))[..., None] for part in (y, weight))
        root = np.sqrt(weight[..., :1])
        total = weight[..., 0].sum(axis=-1) if block else weight[..., 0]
        return root * x, root * y, total

    def _penalty(self) -> FloatArray:
        """Return ``(theta - m0)' Lambda (theta - m0)``."""
        return weighted_squares(self._theta - self._mean, self._precision)

    def _residual(self, theta: FloatArray) -> FloatArray:
        """Return the squares of residuals from other estimates; no difference of large sums."""
        change = theta - self._theta
        pull = self._precision[..., None, :] * (self._theta - self._mean)  # b - V theta
        spread = dot(change @ self._sums[..., : self.dim, :], change) - 2 * dot(change, pull)
        return np.asarray(self._squares - self._penalty() + spread)

    def _set_squares(self, residual: FloatArray) -> None:
        self._squares = np.maximum(residual, 0) + self._penalty()

    def _renew(self, stale: BoolArray | None = None) -> None:
        """Make S and theta anew from the sums: of all learners, or of those that are stale."""
        every = stale is None or not self._n.ndim
        where: Any = ... if every else stale
        self._since = 0 if stale is None else self._since
        d, sums, n = self.dim, self._sums[where], np.asarray(self._n)[where][..., None]
        mean, diagonal = np.broadcast_to(self._mean, self._theta.shape)[where], diagonals(sums)
        sizes, peaks = diagonal / np.where(n > 0, n, 1.0), self._peaks[where]
        kept = sizes <= np.maximum(_VANISHED * peaks, _TINY)
        peaks = np.where(kept, peaks, np.maximum(peaks, sizes))
        sizes = np.where(kept, self._sizes[where], sizes)
        precision = self.prior.precisions(sizes, diagonal)
        theta, solution = self._theta.copy(), solve(sums, precision, mean)
        theta[where] = solution[..., d:, :]
        penalty = weighted_squares(theta[where] - mean, precision)
        squares = np.maximum(self._residual(theta)[where], 0) + penalty
        vague = (diagonals(solution) * sizes > _VAGUE).any(axis=-1) * 1.0
        fresh = np.ones(n.shape[:-1])
        renewed = (solution, squares, sizes, peaks, precision, fresh, vague)
        for name, array in zip(_RENEWED, renewed, strict=True):
            whole = np.asarray(array) if every else getattr(self, name).copy()
            if not every:
                whole[where] = array
            setattr(self, name, whole)
        self._summarise()
        self.version += 1

    def _summarise(self) -> None:
        """Note what few updates have to look at."""
        self.all_seen, self._vague = bool(self._seen.all()), bool(self._lost.any())


def _matched(places: Sequence[int | None]) -> tuple[list[int], list[int]]:
    """Return the new and the old positions of what stays."""
    kept = [(new, old) for new, old in enumerate(places) if old is not None]
    return [new for new, _ in kept], [old for _, old in kept]
