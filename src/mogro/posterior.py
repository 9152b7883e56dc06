"""Everything that is learned: one Gaussian posterior of the parameters of all objectives.

::

    prior        precision Lambda, a diagonal, and mean m0                (mogro.priors)
    sums         n, V = sum x x', b = sum y x', y2 = sum y^2              the truth
    posterior    S = (V + Lambda)^-1, theta = m0 + S (b - V m0), noise    a view of the two

S is kept as a root W, ``S = W' W``: it stays a root of something positive, and has digits for a
variance of 1 beside one of 1e9. An observation changes W and theta by matrices of rank one; the
sums get it with the next block. W and theta are made anew from the sums a few times at first, then
every few hundred updates, and where the prior in force no longer fits the sums or an update has
lost digits.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mogro import _evidence
from mogro._algebra import (
    diagonals,
    dot,
    inverse_root,
    largest,
    outer_sums,
    rank_one_update,
    rows_without_threads,
    smallest,
)
from mogro._validation import BoolArray, FloatArray, check_shape, count, floats
from mogro.beliefs import Beliefs, covariance
from mogro.priors import OBSERVED_PRECISION, Flat, Learned, Prior

_FLAT = Flat()
_ONE = np.ones(())  # NumPy adds it to a few numbers in less time than 1.0
_BLOCK = 32  # observations that are added to the sums together
_RENEW_EVERY = 256  # updates, or twice the number of features
_RENEW_AT = (1.5, 3, 6, 12, 24)  # updates a feature, besides
_FIRST_LOOK = 4.0  # observations after which a prior is learned first
_MIN_FREEDOM = 0.999  # degrees of freedom: one, but for rounding
_ROUNDING = 1e-9  # a share below is what is left of observations that were taken out
_HUGE, _TINY = 1e100, 1e-115  # sums of squares beyond are refused; mean squares below are zeros
_RENEWED = ("_solution", "_squares", "_precision")
# What changes, with leading axes (*batch, G); never in place, so that all who have it may keep it.
ARRAYS = ("n", "_sums", "_zeros", "_learned", "_due", *_RENEWED)


class Posterior:
    """What has been learned from features and rewards, over leading batch axes.

    Objectives that are observed together share one V and one S (G = 1). From the first observation
    of some without others on, and with a learned prior, each has its own (G = M).

    Parameters
    ----------
    dim, objectives
        d and M.
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
        self.objectives = M = count(objectives, "objectives")
        self.batch = tuple(count(size, "batch") for size in batch)
        if not isinstance(prior, Prior):
            raise ValueError(f"prior: expected one of mogro.priors, got {prior!r}")
        self.prior, self.version = prior, 0  # the version rises when S may have grown
        self._groups = prior.members(d) if isinstance(prior, Learned) else None
        G, m = (1, M) if self._groups is None else (M, 1)
        lead = (*self.batch, G)
        self.n: FloatArray = np.zeros(lead)  # weight of the observations
        self._sums: FloatArray = np.zeros((*lead, d + m, d + m))  # of z z', z = (x, y), but for
        self._recent: tuple[FloatArray, ...] = ()  # the last observations z
        self._zeros: FloatArray = np.zeros((*lead, d))  # weight of those in which a feature is zero
        self._solution: FloatArray = np.zeros((*lead, d + m, d))  # W above theta
        self._squares: FloatArray = np.zeros((*lead, m))  # of residuals, and the prior's penalty
        self._precision: FloatArray = np.zeros((*lead, d))  # Lambda, in force
        self._learned: FloatArray = np.full((*lead, d), _evidence.START)  # Lambda, if it is learned
        self._due: FloatArray = np.full(lead, _FIRST_LOOK)  # n at which it is learned anew
        means = np.zeros((G, d, d)), prior.means(M, d).reshape(G, m, d)
        self._center: FloatArray = np.concatenate(means, axis=-2)  # zeros above m0
        self._updates, self._block = 0, min(_BLOCK, rows_without_threads(d + m, d + m))
        self._renew_every = max(_RENEW_EVERY, 2 * d)
        self._schedule = {int(d * each) for each in _RENEW_AT}
        self.renew()

    # What is known

    @property
    def apart(self) -> bool:
        """Whether each of several objectives has a V and an S of its own."""
        return bool(self.n.shape[-1] > 1)

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (*batch, G, d, d)."""
        return self.sums()[..., : self.dim, : self.dim]

    @property
    def b(self) -> FloatArray:
        """Sum of y x', (*batch, M, d)."""
        return self._by_objective(self.sums()[..., self.dim :, : self.dim])

    @property
    def y2(self) -> FloatArray:
        """Sum of y^2, (*batch, M)."""
        return self._by_objective(self._diagonal()[..., self.dim :])

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, ``S = W' W``, (*batch, G, d, d)."""
        return self._solution[..., : self.dim, :]

    @property
    def S(self) -> FloatArray:  # noqa: N802
        """(V + Lambda)^-1, (*batch, G, d, d)."""
        return covariance(self.W)

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d)."""
        if self.n.shape[-1] > 1:
            return self._solution[..., self.dim, :]
        return self._solution[..., 0, self.dim :, :]

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Observations that the parameters leave free, n - tr(S V), (*batch, G)."""
        return np.asarray(self.n + (self._effects_of_prior()[0][..., 0] - self.dim))

    @property
    def uses(self) -> FloatArray:
        """Weight of the observations in which a feature is not zero, (*batch, G, d)."""
        return np.asarray(np.maximum(self.n[..., None] - self._zeros, 0))

    @property
    def noise(self) -> FloatArray:
        """Variance of the rewards around the estimates, (*batch, M).

        Squares of residuals over n - tr(S V), the observations that the parameters leave free.
        While these are fewer than one: the mean squared reward, and 1 before the first reward.
        With a learned prior, what is most likely: squares with the prior's penalty, over n; beside
        the largest effect, a hundredth in standard deviation at least.
        """
        n, d = self.n[..., None], self.dim
        if self._groups is not None:
            freedom = n - np.count_nonzero(self._groups < 0)
            squares = self._diagonal()[..., :d]
            sizes = squares / np.maximum(self.uses, _TINY) * (self._groups >= 0)
            effect = (sizes * np.square(self._solution[..., d, :])).max(axis=-1, keepdims=True)
            errors = np.maximum(self._squares, _evidence.LEAST_NOISE * effect * freedom)
        else:
            unused, penalty = self._effects_of_prior()
            freedom, errors = n + (unused - d), np.maximum(self._squares - penalty, 0)
        if smallest(freedom) > _MIN_FREEDOM:
            return self._by_objective(errors / freedom)
        mean_squares = (self._diagonal()[..., d:] + (n == 0)) / np.where(n > 0, n, 1)
        noise = errors / np.maximum(freedom, _MIN_FREEDOM)
        return self._by_objective(np.where(freedom > _MIN_FREEDOM, noise, mean_squares))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know now."""
        frozen = self.copy()
        return Beliefs(self.theta, frozen, frozen)

    # Observations

    def _read(
        self, x: FloatArray, y: FloatArray, weights: FloatArray | None, rewards: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return observations z = (x, y), (*batch, ..., G, d + m), and weights, as sums have them.

        What is not finite, or whose squares may overflow, is refused; nothing has changed by then.
        """
        if weights is not None:
            y = np.where(weights != 0, y, 0.0)
        apart = self.n.shape[-1] > 1
        separate = weights is not None and not apart and (weights != weights[..., :1]).any()
        if apart or separate:
            z = np.empty((*y.shape, self.dim + 1))
            z[..., :-1], z[..., -1] = x[..., None, :], y
        else:
            z = np.concatenate((x, y), axis=-1)[..., None, :]
        if not np.vdot(z, z) < _HUGE:
            floats(x, "features", shape=x.shape)
            floats(y, rewards, shape=y.shape)
            raise ValueError(f"features, {rewards}: expected squares below {_HUGE:g}")
        if separate:
            self.separate()
        if weights is None:
            return z, _ONE
        return z, weights if apart or separate else weights[..., :1]

    def update(
        self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None, *, decay: float = 1.0
    ) -> None:
        """Learn from one observation each: features (*batch, d) and rewards (*batch, M).

        By ``weights`` (*batch, M) it counts for more or less; not at all for objectives with 0. All
        observations before it are weighed down by ``decay``.
        """
        z, weight = self._read(x, y, weights, "reward")
        if decay < 1:
            self.decay(decay)
        if weights is not None:
            z *= np.sqrt(weight)[..., None]
        self.n, self._recent = self.n + weight, (*self._recent, z)
        if not self._all_observed:
            self._set_new_precisions(z[..., : self.dim])
        if len(self._recent) == self._block:
            self._sums, self._recent = self.sums(), ()
        if np.count_nonzero(x) < x.size:
            self._zeros = self._zeros + (z[..., : self.dim] == 0) * weight[..., None]
        self._solution, squares, lost = rank_one_update(self._solution, z)
        self._squares = self._squares + squares
        self._updates += 1
        if self._updates in self._schedule or self._updates % self._renew_every == 0:
            self.renew()
        elif self._updates % self._block == 0:
            self._renew_unfit()
        elif lost is not None:
            self.renew(lost)

    def learn(
        self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None, *, decay: float = 1.0
    ) -> None:
        """Learn from a block of observations: (*batch, n, d), (*batch, n, M), and their weights.

        Weights below 0 take out what was learned before. All before is weighed down by ``decay``.
        """
        z, weight = self._read(x, y, np.ones(y.shape) if weights is None else weights, "rewards")
        if decay < 1:
            self.decay(decay)
        zeros = ((z[..., : self.dim] == 0) * weight[..., None]).sum(axis=-3)
        self.add(z.swapaxes(-2, -3), weight.mT, weight.sum(axis=-2), zeros)

    def add(
        self,
        z: FloatArray,
        weights: FloatArray,
        n: FloatArray | float = 0.0,
        zeros: FloatArray | float = 0.0,
    ) -> None:
        """Add rows z = (x, y) to the sums, (*batch, G, n, d + m), by weights (*batch, G, n).

        They count as n observations, (*batch, G), with so many zeros of features, (*batch, G, d).
        """
        before, more, d = self.copy(), outer_sums(z, weights), self.dim
        # Where nothing is left but rounding, let nothing be.
        left = np.asarray(before.n + n > _ROUNDING * before.n)[..., None]
        sums = before.sums() + more
        kept = (diagonals(sums) > -_ROUNDING * diagonals(more)) & left
        kept[..., d:] = left
        self._sums, self._recent = sums * (kept[..., :, None] & kept[..., None, :]), ()
        np.maximum(diagonals(self._sums), 0, out=diagonals(self._sums))
        self.n = (before.n + n) * left[..., 0]
        self._zeros = np.maximum(before._zeros + zeros, 0) * left
        self.renew()
        theta = self._solution[..., d:, :]
        errors = z[..., d:] - z[..., :d] @ theta.mT
        residual = before.residual(theta) + (np.square(errors) * weights[..., None]).sum(axis=-2)
        self.set_residual(residual * left)

    def decay(self, factor: FloatArray | float) -> None:
        """Weigh all observations down by a factor from 0 to 1, (*batch) or (*batch, M).

        The prior in force fades with them, and is made anew where it no longer fits.
        """
        each = np.maximum(np.asarray(factor, dtype=np.float64), 1e-200)
        if each.ndim > len(self.batch):
            self.separate()
        else:
            each = each[..., None]
        self._sums, self._recent, self._solution = self.sums(), (), self._solution.copy()
        self._solution[..., : self.dim, :] /= np.sqrt(each)[..., None, None]
        for name in ("n", "_sums", "_zeros", "_due", "_squares", "_precision"):
            array = getattr(self, name)
            setattr(self, name, array * _expand(each, array))
        self._due = np.maximum(self._due, _TINY)
        self.version += 1
        self._renew_unfit()

    def separate(self) -> None:
        """Give every objective a V and an S of its own."""
        M, d, axis = self.objectives, self.dim, len(self.batch)
        if self.n.shape[-1] == M:
            return
        for name in ("n", "_zeros", "_precision", "_learned", "_due"):
            setattr(self, name, np.repeat(getattr(self, name), M, axis))
        columns = np.column_stack([np.tile(np.arange(d), (M, 1)), np.arange(d, d + M)])  # of (x, y)
        self._sums = np.array(self.sums()[..., 0, columns[:, :, None], columns[:, None]], order="C")
        self._solution = np.array(self._solution[..., 0, columns, :], order="C")
        self._squares, self._center = self._squares.mT, self._center[0, columns]
        self._recent, self.version = (), self.version + 1

    def sums(self) -> FloatArray:
        """Return the sums of z z' for z = (x, y), (*batch, G, d + m, d + m)."""
        if not self._recent:
            return self._sums
        rows = self._recent_rows()
        return np.asarray(self._sums + rows.mT @ rows)

    def first_sums(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Return V (*batch, G, k, k) and b (*batch, M, k) of the first features, k of them."""
        d, rows = self.dim, self._recent_rows()
        first = rows[..., :count]
        V = self._sums[..., :count, :count] + first.mT @ first
        b = self._sums[..., d:, :count] + rows[..., d:].mT @ first
        return V, self._by_objective(b)

    def _diagonal(self) -> FloatArray:
        """Return the sums of squares of z, (*batch, G, d + m)."""
        diagonal = diagonals(self._sums)
        if self._recent:
            diagonal = diagonal + np.square(self._recent_rows()).sum(axis=-2)
        return diagonal

    def _recent_rows(self) -> FloatArray:
        """Return the observations that the sums lack, (*batch, G, n, d + m)."""
        shape = self._sums.shape[:-1]
        rows = np.concatenate(self._recent or np.empty((1, 0, *shape[1:]))).reshape(-1, *shape)
        return rows.transpose(*range(1, rows.ndim - 1), 0, rows.ndim - 1)

    def _by_objective(self, array: FloatArray) -> FloatArray:
        """Return an array (*batch, G, m, ...) as (*batch, M, ...)."""
        return array.reshape(*self.batch, self.objectives, *array.shape[len(self.batch) + 2 :])

    # A prior that is learned

    @property
    def due(self) -> bool:
        """Whether so much has been observed that the prior has to be learned anew."""
        return self._groups is not None and largest(self.n - self._due) >= 0

    @property
    def informed(self) -> BoolArray:
        """Whose estimates rest on something, (*batch, G): once a learned prior was learned."""
        return np.asarray((self._learned != _evidence.START).any(axis=-1) | (self._groups is None))

    def evidence(self) -> FloatArray:
        """Return the precisions of a learned prior that the sums make most likely, (..., M, d).

        Where it is not due, those in force.
        """
        assert self._groups is not None
        due = np.asarray(self.n >= self._due)[..., None]
        return np.where(due, _evidence.precisions(self, self._groups), self._learned)

    def learn_prior(self, precisions: FloatArray) -> None:
        """Take over the precisions of a learned prior, (..., M, d), where it is due.

        It is due again when n is twice what will be left of what it is now.
        """
        due = np.asarray(self.n >= self._due)
        self._due = np.where(due, np.maximum(2 * self.n, self.n + 1), self._due)
        self._learned = np.where(due[..., None], precisions, self._learned)
        self.renew(due)

    # W and theta, made anew

    def renew(self, where: BoolArray | None = None) -> None:
        """Make W and theta anew from the sums, of all or of some, (*batch, G)."""
        sums, d, new = self.sums(), self.dim, self.copy()
        V, b = sums[..., :d, :d], sums[..., d:, :d]
        new._precision = self.prior_precision(diagonals(V), self.n)
        W = inverse_root(V, new._precision)
        mean = self._center[:, d:]
        theta = mean + ((b - mean @ V) @ W.mT) @ W
        new._solution = np.concatenate((W, theta), axis=-2)
        new.set_residual(self.residual(theta))
        for name in _RENEWED:
            made, before = getattr(new, name), getattr(self, name)
            if where is not None:
                made = np.where(_expand(where, before), made, before)
            setattr(self, name, made)
        self.version += 1
        self._all_observed = bool((self._precision > OBSERVED_PRECISION).all())

    def _renew_unfit(self) -> None:
        """Renew where the prior in force has faded beside the sums: no digits are to be lost."""
        wanted = self.prior_precision(diagonals(self.V), self.n)
        unfit = wanted > self.prior.renewal_ratio * self._precision
        if np.count_nonzero(unfit):
            self.renew(np.asarray(unfit.any(axis=-1)))

    def prior_precision(self, squares: FloatArray, n: FloatArray) -> FloatArray:
        """Return the Lambda, (*batch, G, d), that fits sums of squares of features of weight n."""
        if isinstance(self.prior, Learned):
            return self._learned
        return self.prior.precisions(squares, n)

    def residual(self, theta: FloatArray) -> FloatArray:
        """Return the squares of residuals, (*batch, G, m), of estimates (*batch, G, m, d).

        What the present ones have, and more: no difference of large sums, nor of penalties, which
        are large where a prior in force was made for features of another size.
        """
        current, mean = self._solution[..., self.dim :, :], self._center[:, self.dim :]
        change, pull = theta - current, self._precision[..., None, :] * (current - mean)
        more = dot(change @ self.V, change) - 2 * dot(change, pull)  # b - V theta is the pull
        return self._squares - self._effects_of_prior()[1] + more

    def set_residual(self, residual: FloatArray) -> None:
        """Replace the squares of residuals, (*batch, G, m)."""
        self._squares = np.maximum(residual, 0) + self._effects_of_prior()[1]

    def _effects_of_prior(self) -> tuple[FloatArray, FloatArray]:
        """Return tr(S Lambda) and the penalties of theta - m0, (*batch, G, 1) and (..., m)."""
        parts = np.matvec(np.square(self._solution - self._center), self._precision)
        return np.add.reduce(parts[..., : self.dim], -1, keepdims=True), parts[..., self.dim :]

    def _set_new_precisions(self, x: FloatArray) -> None:
        """Give features (*batch, G, d) that are seen for the first time the precision they want."""
        wanted = self.prior_precision(np.square(x), self.n)
        new = (wanted > OBSERVED_PRECISION) & (self._precision < OBSERVED_PRECISION)
        if new.any():
            self._precision = np.where(new, wanted, self._precision)
            self._solution = self._solution.copy()  # W has nothing else in their rows and columns
            diagonals(self._solution)[new] = 1 / np.sqrt(self._precision[new])
            self._all_observed = bool((self._precision > OBSERVED_PRECISION).all())

    # Copies and files

    def copy(self) -> Self:
        """Return a posterior that goes on by itself."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state = {name.strip("_"): np.array(getattr(self, name)) for name in (*ARRAYS, "_updates")}
        return state | {"recent": self._recent_rows()}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal posterior gave, to the bit."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        other = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        if arrays["n"].shape[-1:] == (self.objectives,):
            other.separate()
        for name in ARRAYS:
            kept, array = getattr(other, name), arrays[name.strip("_")]
            check_shape(array, name.strip("_"), kept.shape)
            setattr(other, name, array.astype(np.float64))
        recent = np.moveaxis(arrays["recent"].astype(np.float64), -2, 0)
        check_shape(recent, "recent", (len(recent), *other._sums.shape[:-1]))
        other._recent, other._all_observed = tuple(recent), False
        other._updates, other.version = int(arrays["updates"]), self.version + 1
        self.__dict__ = other.__dict__


def _expand(flags: FloatArray | BoolArray, array: FloatArray) -> Any:
    """Return an array (*batch, G) with as many axes as another, (*batch, G, ...)."""
    return flags.reshape(*flags.shape, *(1,) * (array.ndim - flags.ndim))
