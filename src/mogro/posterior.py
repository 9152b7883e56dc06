"""Everything that is learned: one Gaussian posterior of the parameters of all objectives.

::

    prior        precision Lambda, a diagonal, and mean m0                (mogro.priors)
    sums         n, V = sum x x', b = sum y x', y2 = sum y^2              the truth
    posterior    S = (V + Lambda)^-1, theta = m0 + S (b - V m0), noise    a view of the two

S is kept as a root W, ``S = W' W``: it stays a root of something positive, and has digits for a
variance of 1 beside one of 1e9. An observation changes W and theta, the solution, by a matrix of
rank one; the sums get it with the next block. Every few hundred updates, and where the prior in
force no longer fits the sums, the solution is made anew from the sums. A flat prior is centred on
the estimates then, and in between while they are young: what is left of it in them is its square.
"""

import math
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from mogro import _evidence
from mogro._algebra import (
    diagonals,
    dot,
    inverse_root,
    largest,
    matvec,
    outer,
    outer_sums,
    smallest,
)
from mogro._validation import BoolArray, FloatArray, check_shape, count, floats
from mogro.beliefs import Beliefs, covariance
from mogro.priors import Flat, Learned, Prior

_FLAT = Flat()
_BLOCK = 32  # observations that are added to the sums together
_RENEW_EVERY = 256  # updates, or twice the number of features
_CENTRE_AT = (1, 1.5, 2, 3, 4, 6, 8, 16, 32, 64)  # updates a feature
_REVIEW = 32.0, 1e3  # growth of det(V + Lambda) after which the prior is looked at again: 2^d
_MAX_SHRINKAGE = 1e12  # an update that shrinks a variance by more leaves few digits in W
_MAX_PRECISION_RATIO = 64.0  # a precision this many times too small is made anew
_MAX_LEARNED_RATIO = 1.5  # the same for one that was learned, and fades with the sums
_FIRST_LOOK = 4.0  # observations after which a prior is learned first
_FREE = 0.999  # observations left free: one, but for rounding
_ROUNDING = 1e-9  # a share below is what is left of observations that were taken out
_HUGE, _TINY = 1e100, 1e-115  # sums of squares beyond are refused; mean squares below are zeros
_STRICTER = 1 + 1e-9  # what is checked beforehand is learned, in whatever order its sum is made
_UNSEEN = 1e-127  # a flat prior has a precision below for features never seen
_RENEWED = ("_solution", "_squares", "_mean", "_precision", "_growth")
# What changes, with leading axes (*batch, G); the last observations, with leading axes (*batch).
ARRAYS = ("n", "_sums", "_uses", "_seen", "_due", "_learned", *_RENEWED)
_LAST, _COUNTS = ("_rows", "_weights"), ("_updates", "_held")


class Posterior:
    """What has been learned from features and rewards, over leading batch axes.

    Objectives that are observed together share one V and one S (G = 1). From the first observation
    of some without others on, and with a learned prior, each has its own (G = M). What was handed
    out never changes: arrays are replaced, but for rows that nobody looks at yet.

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
        self.objectives = m = count(objectives, "objectives")
        self.batch = tuple(count(size, "batch") for size in batch)
        if isinstance(prior, type) or not hasattr(prior, "means"):
            raise ValueError(f"prior: expected one of mogro.priors, got {prior!r}")
        self.prior, self.version = prior, 0  # the version rises when S may have grown
        lead = (*self.batch, 1)
        self.n: FloatArray = np.zeros(lead)  # weight of the observations, (*batch, G)
        self._sums: FloatArray = np.zeros((*lead, d + m, d + m))  # of z z', but for the last rows
        self._uses: FloatArray = np.zeros((*lead, d))  # weight of features that are not zero
        self._seen: FloatArray = np.zeros(lead)  # observations; they never fade
        self._rows: FloatArray = np.zeros((*self.batch, _BLOCK, d + m))  # the last observations
        self._weights: FloatArray = np.ones((*self.batch, _BLOCK, 1))
        self._solution: FloatArray = np.zeros((*lead, d + m, d))  # W above theta
        self._squares: FloatArray = np.zeros((*lead, m))  # of residuals, and the prior's penalty
        self._mean: FloatArray = np.zeros((*lead, m, d))  # of the prior, in force
        self._precision: FloatArray = np.ones((*lead, d))  # Lambda, in force
        self._growth: FloatArray = np.ones((*lead, 1))  # of det(V + Lambda) since it was reviewed
        self._updates, self._held = 0, 0  # how many; rows in use
        self._groups = prior.members(d) if isinstance(prior, Learned) else None
        self._learned: FloatArray = np.full((*lead, d), _evidence.START)  # Lambda, if it is learned
        self._due: FloatArray = np.full(lead, _FIRST_LOOK)  # observations until it is learned
        self._look_at = 0  # the update from which on it may be due
        self._flat = prior.relative and self._groups is None
        self._complete = False  # whether each feature has been seen, or needs no look
        self._review_at = float(np.clip(2.0 ** min(d, 10), *_REVIEW))
        self._renew_every = max(_RENEW_EVERY, 2 * d)
        self._centre_at = {int(d * each) for each in _CENTRE_AT} if self._flat else set()
        self.renew()
        if self._groups is not None:
            self.separate()

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
        return self._by_objective(diagonals(self.sums())[..., self.dim :])

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
        if self.apart:
            return self._solution[..., self.dim, :]
        return self._solution[..., 0, self.dim :, :]

    @property
    def free(self) -> FloatArray:
        """Observations that the parameters leave free, n - tr(S V), (*batch, G)."""
        unused = np.add.reduce(matvec(self.W * self.W, self._precision), axis=-1)
        return np.asarray(self.n + (unused - self.dim))

    @property
    def noise(self) -> FloatArray:
        """Variance of the rewards around the estimates, (*batch, M).

        Squares of residuals over n - tr(S V), the observations that the parameters leave free.
        While these are fewer than one: the mean squared reward, and 1 before the first reward.
        With a learned prior, what is most likely: squares with the prior's penalty, over n; beside
        the largest effect, a hundredth in standard deviation at least.
        """
        n, d = self.n[..., None], self.dim
        if self._groups is None:
            free = self.free[..., None]
            squares = np.maximum(self._residual(), 0)
        else:
            free = n - np.count_nonzero(self._groups < 0)
            sizes = self._diagonal() / np.maximum(self.uses(), _TINY) * (self._groups >= 0)
            effect = (sizes * np.square(self._solution[..., d, :])).max(axis=-1, keepdims=True)
            squares = np.maximum(self._squares, _evidence.CERTAIN * effect * free)
        if smallest(free) > _FREE:
            noise = squares / free
        else:
            y2 = diagonals(self.sums())[..., d:]
            usual = (y2 + (n == 0)) / np.where(n > 0, n, 1)
            noise = np.where(free > _FREE, squares / np.maximum(free, _FREE), usual)
        return self._by_objective(np.asarray(noise))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know now."""
        now = self.frozen()
        return Beliefs(self.theta, now, now)

    def root_with(self, V: FloatArray, n: FloatArray) -> FloatArray:
        """Return W as it will be with n more observations, (*batch, G), whose V is known."""
        V = self.V + V
        return inverse_root(V, self._precision_for(diagonals(V), self.n + n))

    # Observations

    def check(self, x: FloatArray, y: FloatArray, rewards: str) -> None:
        """Refuse what is not finite, or whose squares may overflow."""
        z = np.concatenate((x, y), axis=-1)
        if not np.vdot(z, z) * _STRICTER < _HUGE:
            _refuse(x, y, rewards)

    def update(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from one observation each: features (*batch, d) and rewards (*batch, M).

        By ``weights`` (*batch, M) it counts for more or less; not at all for objectives with 0.
        """
        held: int = self._held
        weight: Any = None
        if weights is not None:
            y = np.where(weights > 0, y, 0.0)
        row = self._rows[..., held, :]
        row[..., : self.dim], row[..., self.dim :] = x, y
        if not np.vdot(row, row) < _HUGE:
            row[...] = 0
            _refuse(x, y, "reward")
        if weights is not None:
            weight = self._shared_weights(weights)
            self._weights[..., held, :] = weight
            weight = weight.item() if weight.size == 1 else weight[..., None]
        if not self._complete:
            self._set_new_precisions(x, weight)
        self.n = self.n + (1.0 if weight is None else self._weights[..., held, :])
        self._held = held + 1
        if self._held == _BLOCK:
            self._set_sums(self.sums(), self.uses(), self.seen())
        self._turn(x, y, weight)
        self._updates += 1
        if self._updates % self._renew_every == 0:
            self.renew()
            return
        if self._updates in self._centre_at:
            self._centre()
        if largest(self._growth) > self._review_at:
            self._review()

    def _turn(self, x: FloatArray, y: FloatArray, weight: Any) -> None:
        """Let the solution follow an observation: Potter's update of a root of S, and theta's."""
        solution, d = self._solution, self.dim
        alone = solution.ndim == 3 and len(solution) == 1  # then numbers take less time than arrays
        if alone:
            solution = solution[0]
            product = matvec(solution, x)
        else:
            stacked = solution.reshape(*self.batch, -1, d)  # the rows of all objectives
            product = matvec(stacked, x).reshape(solution.shape[:-1])
            y = y.reshape(self._squares.shape)
        part, errors = product[..., :d], product[..., d:]  # W x, theta x - y
        errors -= y
        gain = part.dot(solution[:d]) if alone else np.vecmat(part, solution[..., :d, :])  # S x
        growth: Any = dot(part, part) if alone else dot(part, part)[..., None]
        growth = 1 + (growth if weight is None else weight * growth)  # 1 + w x' S x
        root = math.sqrt(growth) if alone else np.sqrt(growth)
        gain /= growth + root
        shares = errors / root
        squares = shares * shares
        if weight is not None:
            gain *= weight
            squares *= weight
        errors += shares
        self._squares, self._growth = self._squares + squares, self._growth * growth
        change = outer(product, gain)
        np.subtract(solution, change, out=change)
        self._solution = change[None] if alone else change

    def learn(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from a block of observations: (*batch, n, d), (*batch, n, M), and their weights.

        Weights below 0 take out what was learned before.
        """
        weights = np.ones(y.shape) if weights is None else weights
        y = np.where(weights != 0, y, 0.0)
        self.check(x, y, "rewards")
        weight = self._shared_weights(weights).mT  # (*batch, G, n)
        uses = self.uses() + _weighted_sums((x != 0)[..., None, :, :], weight)
        seen = self.seen() + np.sign(weight).sum(axis=-1)
        z = self._by_group(np.concatenate((x, y), axis=-1))
        self._add(z, weight, self.n + weight.sum(axis=-1), uses, seen)

    def add(self, z: FloatArray, weights: FloatArray) -> None:
        """Add rows z = (x, y) to the sums, (*batch, G, n, d + m), by weights (*batch, G, n).

        They are not counted as observations.
        """
        self._add(z, weights, self.n, self.uses(), self.seen())

    def _add(
        self, z: FloatArray, weights: FloatArray, n: FloatArray, uses: FloatArray, seen: FloatArray
    ) -> None:
        """Add rows to the sums. Where nothing is left but rounding, let nothing be."""
        before, more, d = self.frozen(), outer_sums(z, weights), self.dim
        left = np.asarray(n > _ROUNDING * before.n)
        sums = self.sums() + more
        squares = diagonals(sums)
        kept = (squares > -_ROUNDING * diagonals(more)) & left[..., None]
        kept[..., d:] = left[..., None]
        sums *= kept[..., :, None] & kept[..., None, :]
        np.maximum(squares, 0, out=squares)
        self.n, self._look_at = n * left, 0
        self._set_sums(sums, np.maximum(uses, 0), np.maximum(seen, 0))
        self.renew()
        theta = self._solution[..., d:, :]
        errors = z[..., d:] - z[..., :d] @ theta.mT
        residual = before._residual(theta) + _weighted_sums(np.square(errors), weights)
        self._set_residual(residual * left[..., None])

    def decay(self, factor: FloatArray | float) -> None:
        """Weigh all observations down by a factor from 0 to 1, (*batch) or (*batch, M)."""
        each = np.maximum(np.asarray(factor, dtype=np.float64), 1e-200)
        if each.ndim > len(self.batch):
            self.separate()
        else:
            each = each[..., None]
        row = each[..., None]
        self.n, self._uses, seen = self.n * each, self._uses * row, self.seen()
        self._sums, self._weights = self._sums * row[..., None], self._weights.copy()
        self._last_weights()[...] *= row
        self._seen = self._seen + (seen - self.seen())  # those whose weight is 0 by now
        self._squares, self._precision = self._squares * row, self._precision * row
        self._solution = self._solution.copy()
        self.W[...] /= np.sqrt(row[..., None])  # the prior fades with the sums
        self._growth, self.version = self._growth / row, self.version + 1
        if not self.prior.relative:  # but this one does not
            self.renew()
        elif largest(self._growth) > self._review_at:
            self._review()

    # A prior that is learned

    @property
    def due(self) -> bool:
        """Whether so much has been observed that the prior has to be learned anew."""
        if self._groups is None or self._updates < self._look_at:
            return False
        wanted = math.ceil(smallest(np.asarray(self._due - self.seen())))
        self._look_at = self._updates + wanted
        return wanted <= 0

    @property
    def informed(self) -> BoolArray:
        """Whose estimates rest on something, (*batch, G): once a learned prior was learned."""
        known = self._groups is None or self._due > _FIRST_LOOK
        return np.broadcast_to(known, self.n.shape)

    def evidence(self) -> FloatArray:
        """Return the precisions of a learned prior that the sums make most likely, (..., M, d).

        Where it is not due, those in force.
        """
        assert self._groups is not None
        due, d, precisions = self.seen() >= self._due, self.dim, self._learned.copy()
        sums = self.sums(due)  # of one objective each
        V, b, y2 = sums[:, :d, :d], sums[:, d, :d], sums[:, d, d]
        precisions[due] = _evidence.precisions(
            *(V, b, y2, self.n[due], self.uses()[due], self._groups),
            lambda theta: self._residual(theta[:, None], due, V)[:, 0],
        )
        return precisions

    def learn_prior(self, precisions: FloatArray) -> None:
        """Take over the precisions of a learned prior, (..., M, d), where it is due.

        It is due again when as many observations more have come, or as what fades has left.
        """
        seen = self.seen()
        due = np.asarray(seen >= self._due)
        later = np.ceil(seen + np.maximum(np.minimum(seen, self.n), 1.0))
        self._due, self._look_at = np.where(due, later, self._due), 0
        self._learned = np.where(due[..., None], precisions, self._learned)
        self.renew(due)

    # Sums

    def sums(self, where: Any = ...) -> FloatArray:
        """Return the sums of z z' for z = (x, y), (*batch, G, d + m, d + m), or some of them.

        m is M where objectives share a V, else 1.
        """
        if not self._held:
            return np.asarray(self._sums[where])
        rows, weights = self._by_group(self._rows[..., : self._held, :]), self._last_weights()
        return np.asarray(self._sums[where] + outer_sums(rows[where], weights[where]))

    def uses(self) -> FloatArray:
        """Return the weight of the observations in which features are not zero, (*batch, G, d)."""
        used = self._rows[..., None, : self._held, : self.dim] != 0
        return self._uses + _weighted_sums(used, self._last_weights())

    def seen(self) -> FloatArray:
        """Return how many observations there were, (*batch, G), whatever they weigh by now."""
        return np.asarray(self._seen + np.sign(self._last_weights()).sum(axis=-1))

    def _diagonal(self, where: Any = ...) -> FloatArray:
        """Return the sums of squares of features, (*batch, G, d), or some of them."""
        weights = self._last_weights()
        rows = self._rows[..., None, : self._held, : self.dim]
        rows = np.broadcast_to(rows, (*weights.shape, self.dim))[where]
        last = _weighted_sums(np.square(rows), weights[where])
        return np.asarray(diagonals(self._sums)[..., : self.dim][where] + last)

    def _last_weights(self) -> FloatArray:
        """Return the weights of the last observations, (*batch, G, n)."""
        return self._weights[..., : self._held, :].mT

    def _set_sums(self, sums: FloatArray, uses: FloatArray, seen: FloatArray) -> None:
        """Replace the sums over all observations."""
        self._sums, self._uses, self._seen = sums, uses, seen
        if self._held:
            self._rows, self._held = np.zeros_like(self._rows), 0
            self._weights = np.ones_like(self._weights)

    def separate(self) -> None:
        """Give every objective a V and an S of its own."""
        M, d, axis = self.objectives, self.dim, len(self.batch)
        if self.apart or M == 1:
            return
        for name in ("n", "_uses", "_seen", "_due", "_learned", "_precision", "_growth"):
            setattr(self, name, np.repeat(getattr(self, name), M, axis))
        own = np.column_stack([np.tile(np.arange(d), (M, 1)), np.arange(d, d + M)])  # of (x, y)
        sums, solution = self._sums[..., 0, own[:, :, None], own[:, None]], self._solution
        self._sums, self._weights = np.array(sums, order="C"), np.repeat(self._weights, M, axis=-1)
        self._solution = np.array(solution[..., 0, own, :], order="C")
        self._squares, self._mean = self._squares.mT, self._mean.swapaxes(-2, -3)
        self.version += 1

    def _shared_weights(self, weights: FloatArray) -> FloatArray:
        """Return weights (..., M) as sums have them, (..., G); where they differ, G will be M."""
        if not self.apart and (weights != weights[..., :1]).any():
            self.separate()
        return weights if self.apart else weights[..., :1]

    def _by_group(self, z: FloatArray) -> FloatArray:
        """Return observations (x, y), (*batch, n, d + M), as sums have them: (..., G, n, d + m)."""
        if not self.apart:
            return z[..., None, :, :]
        x, y = z[..., None, :, : self.dim], z[..., self.dim :].mT[..., None]
        return np.concatenate((np.broadcast_to(x, (*y.shape[:-1], self.dim)), y), axis=-1)

    def _by_objective(self, array: FloatArray) -> FloatArray:
        """Return an array (*batch, G, m, ...) as (*batch, M, ...)."""
        return array.reshape(*self.batch, self.objectives, *array.shape[len(self.batch) + 2 :])

    # The solution, made anew from the sums

    def renew(self, where: Any = ...) -> None:
        """Make W and theta anew from the sums: all, or some."""
        precision, sums, d = self._target_precision(where), self.sums(where), self.dim
        V, b, W = sums[..., :d, :d], sums[..., d:, :d], inverse_root(sums[..., :d, :d], precision)
        stated = self.prior.means(self.objectives, d).reshape(self._mean.shape[-3:])
        mean = np.broadcast_to(stated, self._mean.shape)[where]
        theta = _solved(W, V, b, mean)
        if self._flat:
            mean, theta = theta, _solved(W, V, b, theta)
        residual = np.maximum(self._residual(theta, where, V), 0)
        squares = residual + _penalty(theta - mean, precision)
        self._complete, self.version = not self._flat, self.version + 1
        solution, growth = np.concatenate((W, theta), axis=-2), np.ones((*precision.shape[:-1], 1))
        self._replace_arrays(where, _RENEWED, solution, squares, mean, precision, growth)

    def _target_precision(self, where: Any = ...) -> FloatArray:
        """Return the Lambda that fits the sums."""
        return self._precision_for(self._diagonal(where), self.n[where], where)

    def _precision_for(self, squares: FloatArray, n: FloatArray, where: Any = ...) -> FloatArray:
        """Return the Lambda that fits n observations and their sums of squares (..., d)."""
        if isinstance(self.prior, Learned):
            return np.asarray(self._learned[where])
        sizes = squares / np.where(n > 0, n, 1.0)[..., None]
        return self.prior.precisions(np.where(sizes > _TINY, sizes, 0.0), squares)

    def _residual(
        self, theta: FloatArray | None = None, where: Any = ..., V: FloatArray | None = None
    ) -> FloatArray:
        """Return the squares of residuals, (..., m), of other estimates (..., m, d) too.

        No difference of large sums.
        """
        now, mean = self._solution[..., self.dim :, :][where], self._mean[where]
        precision = self._precision[where]
        squares = np.asarray(self._squares[where] - _penalty(now - mean, precision))
        if theta is None:
            return squares
        V = self.V[where] if V is None else V
        change, pull = theta - now, precision[..., None, :] * (now - mean)  # b - V theta
        return squares + dot(change @ V, change) - 2 * dot(change, pull)

    def _set_residual(self, residual: FloatArray) -> None:
        """Replace the squares of residuals, (*batch, G, m)."""
        theta = self._solution[..., self.dim :, :]
        self._squares = np.maximum(residual, 0) + _penalty(theta - self._mean, self._precision)

    def _set_new_precisions(self, x: FloatArray, weight: Any) -> None:
        """Give features (*batch, d) that are seen for the first time the precision they want."""
        weight = 1.0 if weight is None else weight
        squares, seen = weight * np.square(x)[..., None, :], self._precision > _UNSEEN
        new = (squares > _TINY) & ~seen
        self._complete = bool((seen | new).all())
        if not np.count_nonzero(new):
            return
        assert not isinstance(self.prior, Learned)
        n = self.n[..., None] + weight
        wanted = self.prior.precisions(squares / np.where(n > 0, n, 1.0), squares)
        self._precision = np.where(new, wanted, self._precision)
        self._solution = self._solution.copy()  # W has nothing else in their rows and columns
        diagonals(self._solution)[new] = 1 / np.sqrt(self._precision[new])

    def _review(self) -> None:
        """Centre a flat prior; renew where the prior no longer fits, or digits were lost.

        While each observation may bring a new direction, centring can wait.
        """
        slack = _MAX_PRECISION_RATIO if self._groups is None else _MAX_LEARNED_RATIO
        grown, stale = (self._growth[..., 0] > much for much in (self._review_at, _MAX_SHRINKAGE))
        where: Any = ... if grown.all() else grown
        unfit = self._target_precision(where) > slack * self._precision[where]
        stale[where] |= unfit.any(axis=-1)
        ripe = grown & (self.n >= self.dim)
        if self._flat and np.count_nonzero(ripe):
            self._centre(ripe)  # parts lie in memory alike, whether they are all or not
        self._growth = np.where(grown[..., None], 1.0, self._growth)
        if np.count_nonzero(stale):
            self.renew(stale)

    def _centre(self, where: Any = ...) -> None:
        """Make estimates the mean of a flat prior: they lose its pull."""
        sums, d, W = self.sums(where), self.dim, self.W[where]
        mean = self._solution[..., d:, :][where]
        pull = sums[..., d:, :d] - mean @ sums[..., :d, :d]
        change = (pull @ W.mT) @ W
        squares = np.maximum(self._residual(None, where) - dot(change, pull), 0)
        solution = np.concatenate((W, mean + change), axis=-2)
        self._replace_arrays(where, ("_mean", "_squares", "_solution"), mean, squares, solution)

    def _replace_arrays(self, where: Any, names: tuple[str, ...], *arrays: FloatArray) -> None:
        """Replace arrays, or their parts for some."""
        for name, array in zip(names, arrays, strict=True):
            whole = np.array(array if where is ... else getattr(self, name))
            whole[where] = array
            setattr(self, name, whole)

    # Copies and files

    def frozen(self) -> Self:
        """Return a view of what is known now, which nothing changes any more."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other

    def copy(self) -> Self:
        """Return a posterior that goes on by itself."""
        other = self.frozen()
        other.__dict__ |= {name: getattr(self, name).copy() for name in ARRAYS + _LAST}
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        return {name.strip("_"): np.array(getattr(self, name)) for name in ARRAYS + _LAST + _COUNTS}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal posterior gave, to the bit."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        other = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        if arrays["n"].shape[-1:] == (self.objectives,):
            other.separate()
        for name in ARRAYS + _LAST + _COUNTS:
            kept, array = np.asarray(getattr(other, name)), arrays[name.strip("_")]
            check_shape(array, name.strip("_"), kept.shape)
            loaded = array.astype(kept.dtype)
            setattr(other, name, int(loaded) if name in _COUNTS else loaded)
        other.version = self.version + 1
        self.__dict__ = other.__dict__


def _refuse(x: FloatArray, y: FloatArray, rewards: str) -> NoReturn:
    """Say what is wrong with observations that cannot be learned."""
    floats(x, "features", shape=x.shape)
    floats(y, rewards, shape=y.shape)
    raise ValueError(f"features, {rewards}: expected squares below {_HUGE:g}")


def _weighted_sums(rows: FloatArray | BoolArray, weights: FloatArray) -> FloatArray:
    """Return the sums (..., G, d) of rows (..., 1, n, d) by weights (..., G, n)."""
    return np.asarray((rows * weights[..., None]).sum(axis=-2))


def _solved(W: FloatArray, V: FloatArray, b: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the estimates (..., m, d) for a prior with this mean."""
    return np.asarray(mean + ((b - mean @ V) @ W.mT) @ W)


def _penalty(change: FloatArray, precision: FloatArray) -> FloatArray:
    """Return ``(theta - m0)' Lambda (theta - m0)``, (..., m), of changes of the mean."""
    return matvec(np.square(change), precision)
