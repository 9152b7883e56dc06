"""Everything that is learned: one Gaussian posterior of the parameters of all objectives.

::

    prior        precision Lambda, a diagonal, and mean m0                (mogro.priors)
    sums         n, and those of z z' for z = (x, y): V, b and y2         the truth
    posterior    S = (V + Lambda)^-1, theta = m0 + S (b - V m0), noise    a view of the two

S is kept as a root W, ``S = W' W``: it stays positive, and has digits for a variance of 1 beside
one of 1e9. An observation changes W and theta by a matrix of rank one. Every few hundred updates,
and where the prior in force no longer fits the sums, both are made anew from the sums. A flat prior
is centred on the estimates as they become certain, so that what is left of it is its square.
"""

import math
from typing import Any, Self

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
    vecmat,
)
from mogro._validation import BoolArray, FloatArray, check_shape, count, floats
from mogro.beliefs import Beliefs, covariance
from mogro.priors import Flat, Learned, Prior

_RENEW_EVERY = 256  # updates, or twice the number of features
_REVIEW = 32.0  # growth of det(V + Lambda) after which the prior is looked at again
_OUTGROWN = 64.0  # a precision this many times too small is made anew
_FADED = 1.5  # the same for one that was learned, and fades with the sums
_FIRST_LOOK = 4.0  # observations after which a prior is learned first
_LARGE = 64  # features
_LOSSY = 1e12  # an update that shrinks a variance by more leaves few digits in W
_FREE = 0.999  # observations left free: one, but for rounding
_HUGE, _TINY = 1e100, 1e-115  # sums of squares beyond are refused; mean squares below are zeros
_FLAT = Flat()
_RENEWED = ("_solution", "_squares", "_mean", "_precision", "_growth")
STATE = ("_n", "_sums", "_uses", "_count", "_due", "_learned", *_RENEWED)


class Posterior:
    """What has been learned from features and rewards, over leading batch axes.

    Objectives that are observed together share one V and one S (G = 1). From the first observation
    of some without others on, each has its own (G = M). What was handed out never changes.

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
        if isinstance(prior, type) or not hasattr(prior, "means"):
            raise ValueError(f"prior: expected one of mogro.priors, got {prior!r}")
        self.prior, self._stated = prior, prior.means(m, d)
        self.apart, self.version = False, 0  # is each objective alone; rises when S may have grown
        self._n: FloatArray = np.zeros(lead)
        self._sums: FloatArray = np.zeros((*lead, d + m, d + m))
        self._groups = prior.members(d) if isinstance(prior, Learned) else None
        self._flat = prior.relative and self._groups is None
        size, first = (0, math.inf) if self._groups is None else (d, _FIRST_LOOK)
        self._uses: FloatArray = np.zeros((*lead, size))  # weight of values that are not zero
        self._count: FloatArray = np.zeros(lead)  # observations; they never fade
        self._due: FloatArray = np.full(lead, first)  # how many until the prior is learned anew
        self._learned: FloatArray = np.full((*lead, size), _evidence.START)  # Lambda, as learned
        self._solution: FloatArray = np.zeros((*lead, d + m, d))  # W above theta
        self._solution[..., d:, :] = self._stated
        self._squares: FloatArray = np.zeros((*lead, m))  # of residuals, and the prior's penalty
        self._mean: FloatArray = np.zeros((*lead, m, d))  # of the prior, in force
        self._precision: FloatArray = np.ones((*lead, d))  # Lambda
        self._growth: FloatArray = np.ones(lead)  # of det(V + Lambda) since it was looked at
        self._since = 0  # updates since all was renewed
        self._looks_in = 0  # observations until the prior may be due
        self._complete = False  # whether each feature has been seen, or needs no look
        if self._groups is not None:
            self.separate()
        self._renew()

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (*batch, G)."""
        return self._n if self.apart else self._n[..., None]

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (*batch, G, d, d)."""
        return self._V if self.apart else self._V[..., None, :, :]

    @property
    def b(self) -> FloatArray:
        """Sum of y x', (*batch, M, d)."""
        return self._b[..., 0, :] if self.apart else self._b

    @property
    def y2(self) -> FloatArray:
        """Sum of y^2, (*batch, M)."""
        return self._y2[..., 0] if self.apart else self._y2

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, ``S = W' W``, (*batch, G, d, d)."""
        return self._W if self.apart else self._W[..., None, :, :]

    @property
    def S(self) -> FloatArray:  # noqa: N802
        """(V + Lambda)^-1, (*batch, G, d, d)."""
        return covariance(self.W)

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d)."""
        return self._theta[..., 0, :] if self.apart else self._theta

    @property
    def noise(self) -> FloatArray:
        """Variance of the rewards around the estimates, (*batch, M).

        Squares of residuals over n - tr(S V), the observations that the parameters leave free.
        While these are fewer than one: the mean squared reward, and 1 before the first reward.
        With a learned prior, what is most likely: squares with the prior's penalty, over n; beside
        the largest effect, a hundredth in standard deviation at least.
        """
        n, squares = self._n[..., None], self._squares
        if self._groups is None:
            W = self._W
            unused = dot(np.add.reduce(W * W, axis=-2), self._precision)
            free: FloatArray = n + (unused - self.dim)[..., None]  # n - tr(S V)
            squares = np.maximum(self._residual(), 0)
        else:
            free = n - np.count_nonzero(self._groups < 0)
            sizes = diagonals(self._V) / np.maximum(self._uses, _TINY) * (self._groups >= 0)
            effects = sizes * np.square(self._theta[..., 0, :])
            least = _evidence.CERTAIN * effects.max(axis=-1, keepdims=True)
            squares = np.maximum(squares, least * free)
        if smallest(free) > _FREE:
            noise = squares / free
        else:
            usual = (self._y2 + (n == 0)) / np.where(n > 0, n, 1)
            noise = np.where(free > _FREE, squares / np.maximum(free, _FREE), usual)
        return np.asarray(noise[..., 0] if self.apart else noise)

    def beliefs(self, expected: "Posterior | None" = None) -> Beliefs:
        """Return what a policy may know now; ``expected`` also counts what is in flight."""
        now = self._frozen()
        return Beliefs(self.theta, now, now if expected is None else expected._frozen())

    def check(self, x: FloatArray, y: FloatArray, rewards: str) -> FloatArray:
        """Return (x, y); refuse what is not finite, or whose squares may overflow."""
        z = np.concatenate((x, y), axis=-1)
        if not np.vdot(z, z) < _HUGE:
            floats(x, "features", shape=x.shape)
            floats(y, rewards, shape=y.shape)
            raise ValueError(f"features, {rewards}: expected squares below {_HUGE:g}")
        return z

    def update(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from one observation each: features (*batch, d) and rewards (*batch, M).

        By ``weights`` (*batch, M) it counts for more or less; not at all for objectives with 0.
        """
        z, weight = self._observed(x, y, weights, "reward")
        d, solution = self.dim, self._solution
        x, y = z[..., :d], z[..., d:]
        if not self._complete:
            self._meet(x, weight)
            solution = self._solution
        sums, product = outer(z, z), matvec(solution, x)
        self._sums, self._n = np.add(sums, self._sums, out=sums), self._n + weight
        part, errors = product[..., :d], product[..., d:]  # W x, theta x - y
        errors -= y
        gain = vecmat(part, solution[..., :d, :])  # S x
        growth: Any = 1 + dot(part, part)  # 1 + x' S x
        alone = isinstance(growth, float)
        more = growth if alone else growth[..., None]
        root = math.sqrt(more) if alone else np.sqrt(more)
        gain /= more
        self._squares = self._squares + errors * errors / more
        part *= root / (1 + root)
        change = outer(product, gain)
        self._solution = np.subtract(solution, change, out=change)
        if self._groups is not None:
            self._count_uses(x, weight)
        self._growth, self._since = self._growth * growth, self._since + 1
        if self._since >= _RENEW_EVERY and self._since >= 2 * d:
            self._renew()
        elif self._since == d or (self._growth if alone else largest(self._growth)) > _REVIEW:
            self._review()

    def learn(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from a block of observations: (*batch, n, d), (*batch, n, M), and their weights."""
        z, weight = self._observed(x, y, weights, "rewards")
        x, y = z[..., : self.dim], z[..., self.dim :]
        before = self._frozen()
        self._sums = self._sums + outer_sums(z)
        self._n = self._n + (weight * np.ones(x.shape[:-1])).sum(axis=-1)
        if self._groups is not None:
            self._count_uses(x, weight)
        self._renew()
        residuals = y - x @ self._theta.mT
        self._set_residual(before._residual(self._theta) + np.square(residuals).sum(axis=-2))

    def decay(self, factor: FloatArray | float) -> None:
        """Weigh all observations down by a factor from 0 to 1, (*batch) or (*batch, M)."""
        if np.ndim(factor) > len(self.batch):
            self.separate()
        each = np.maximum(np.asarray(factor, dtype=np.float64), 1e-200)
        each = each[..., None] if self.apart and each.ndim == len(self.batch) else each
        row, matrix = each[..., None], each[..., None, None]
        self._uses = self._uses * row
        self._n, self._sums = self._n * each, self._sums * matrix
        self._squares, self._precision = self._squares * row, self._precision * row
        self._solution = self._solution.copy()
        self._solution[..., : self.dim, :] /= np.sqrt(matrix)  # the prior fades with the sums
        self._growth, self.version = self._growth / each, self.version + 1
        if not self.prior.relative:  # but this one does not
            self._renew()
        elif largest(self._growth) > _REVIEW:
            self._review()

    @property
    def due(self) -> bool:
        """Whether so much has been observed that the prior has to be learned anew."""
        if self._groups is None or self._looks_in > 0:
            return False
        left = np.min(self._due - self._count)
        self._looks_in = math.ceil(left)
        return bool(left <= 0)

    @property
    def informed(self) -> BoolArray:
        """Whose estimates rest on something, (*batch, G): once a learned prior was learned."""
        return (self._due > _FIRST_LOOK).reshape(*self.batch, -1)

    def evidence(self) -> FloatArray:
        """Return the precisions of a learned prior that the sums make most likely, (..., M, d).

        Where it is not due, those in force.
        """
        due, found = np.asarray(self._count >= self._due), self._learned.copy()
        if self.dim > _LARGE:  # quicker one by one than as a stack that no cache holds
            for at in zip(*due.nonzero(), strict=True):
                found[at] = self._evidence(at)
        else:
            found[due] = self._evidence(due)
        return found

    def _evidence(self, at: Any) -> FloatArray:
        """Return the precisions of some learners."""
        assert self._groups is not None
        V, b, y2, n = self._V[at], self._b[at][..., 0, :], self._y2[at][..., 0], self._n[at]
        return _evidence.precisions(
            *(V, b, y2, n, self._uses[at], self._groups),
            lambda theta: self._residual(theta[..., None, :], at)[..., 0],
        )

    def learn_prior(self, precisions: FloatArray) -> None:
        """Take over the precisions of a learned prior, (..., M, d), where it is due.

        It is due again when as many observations more have come, or as what fades has left.
        """
        due = np.asarray(self._count >= self._due)
        self._learned = np.where(due[..., None], precisions, self._learned)
        later = np.ceil(self._count + np.maximum(np.minimum(self._count, self._n), 1.0))
        self._due, self._looks_in = np.where(due, later, self._due), 0
        self._renew(due)

    def separate(self) -> None:
        """Give every objective a V and an S of its own."""
        if self.apart:
            return
        self.apart, self.version, self._stated = True, self.version + 1, self._stated[:, None]
        d, m, axis = self.dim, self.objectives, len(self.batch)
        for name in ("_n", "_uses", "_count", "_due", "_learned", "_precision", "_growth"):
            setattr(self, name, np.repeat(np.expand_dims(getattr(self, name), axis), m, axis))
        rows = np.array([[*range(d), d + k] for k in range(m)], dtype=np.intp).reshape(m, d + 1)
        self._alone = rows  # of (x, y), what an objective alone has
        self._sums = self._sums[..., rows[:, :, None], rows[:, None, :]]
        self._solution = self._solution[..., rows, :]
        self._squares, self._mean = self._squares[..., None], self._mean[..., None, :]

    def copy(self) -> Self:
        """Return a posterior that goes on by itself."""
        other = self._frozen()
        other.__dict__ |= {name: np.array(getattr(self, name)) for name in STATE}
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        return {name[1:]: np.array(getattr(self, name)) for name in (*STATE, "_since")}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal posterior gave, to the bit."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        other = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        if arrays["n"].ndim > len(self.batch):
            other.separate()
        for name, kept in other.save_state().items():
            check_shape(arrays[name], name, kept.shape)
            setattr(other, f"_{name}", arrays[name].astype(kept.dtype))
        other._since, other.version = int(other._since), self.version + 1
        other._complete = not other._flat
        self.__dict__ = other.__dict__

    @property
    def _theta(self) -> FloatArray:
        """Estimates, with the leading axes of the sums."""
        return self._solution[..., self.dim :, :]

    @property
    def _W(self) -> FloatArray:  # noqa: N802
        return self._solution[..., : self.dim, :]

    @property
    def _V(self) -> FloatArray:  # noqa: N802
        return self._sums[..., : self.dim, : self.dim]

    @property
    def _b(self) -> FloatArray:
        return self._sums[..., self.dim :, : self.dim]

    @property
    def _y2(self) -> FloatArray:
        return diagonals(self._sums)[..., self.dim :]

    def _frozen(self) -> Self:
        """Return a view of what is known now, which nothing changes any more."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other

    def _observed(
        self, x: FloatArray, y: FloatArray, weights: FloatArray | None, rewards: str
    ) -> tuple[FloatArray, Any]:
        """Return checked observations (x, y) times roots of weights, and these, as sums are."""
        y = y if weights is None else np.where(weights > 0, y, 0.0)
        z, block = self.check(x, y, rewards), x.ndim > len(self.batch) + 1
        if weights is None and not self.apart:
            return z, 1.0
        if weights is not None and (weights != weights[..., :1]).any():
            self.separate()
        if self.apart:
            z = z.take(self._alone, axis=-1)
            z = z.swapaxes(-2, -3) if block else z
        if weights is None and not block:
            return z, 1.0
        weight = np.ones(y.shape) if weights is None else weights
        if not self.apart:
            weight = weight[..., 0]
        elif block:
            weight = weight.mT
        return np.sqrt(weight)[..., None] * z, weight

    def _count_uses(self, x: FloatArray, weight: Any) -> None:
        """Count observations (..., d), or blocks (..., n, d), and where they are not zero."""
        self._looks_in -= 1 if x.ndim == self._uses.ndim else self._looks_in
        if isinstance(weight, float):
            self._uses, self._count = self._uses + (x != 0), self._count + 1
            return
        uses, counted = (x != 0) * np.asarray(weight)[..., None], np.sign(weight)
        if x.ndim > self._uses.ndim:
            uses, counted = uses.sum(axis=-2), np.sign(weight).sum(axis=-1)
        self._uses, self._count = self._uses + uses, self._count + counted

    def _residual(self, theta: FloatArray | None = None, where: Any = ...) -> FloatArray:
        """Return the squares of residuals, of other estimates too; no difference of large sums."""
        now, mean, precision = self._theta[where], self._mean[where], self._precision[where]
        squares = np.asarray(self._squares[where] - _penalty(now - mean, precision))
        if theta is None:
            return squares
        change, pull = theta - now, precision[..., None, :] * (now - mean)  # b - V theta
        return squares + dot(change @ self._V[where], change) - 2 * dot(change, pull)

    def _set_residual(self, residual: FloatArray) -> None:
        penalty = _penalty(self._theta - self._mean, self._precision)
        self._squares = np.maximum(residual, 0) + penalty

    def _meet(self, x: FloatArray, weight: Any) -> None:
        """Give features (..., d) that are seen for the first time the precision that they want."""
        n, squares = np.asarray(self._n + weight)[..., None], x * x
        seen = diagonals(self._V) > _TINY * n
        new = (squares > _TINY) & ~seen
        self._complete = bool((seen | new).all())
        if not np.count_nonzero(new):
            return
        assert not isinstance(self.prior, Learned)
        wanted = self.prior.precisions(squares / np.where(n > 0, n, 1.0), squares)
        self._precision = np.where(new, wanted, self._precision)
        self._solution = self._solution.copy()  # W has nothing else in their rows and columns
        diagonals(self._solution)[new] = 1 / np.sqrt(self._precision[new])

    def _wanted(self, where: Any = ...) -> FloatArray:
        """Return the Lambda that fits the sums."""
        if isinstance(self.prior, Learned):
            return np.asarray(self._learned[where])
        diagonal, n = diagonals(self._V)[where], np.asarray(self._n)[where]
        sizes = diagonal / np.where(n > 0, n, 1.0)[..., None]
        return self.prior.precisions(np.where(sizes > _TINY, sizes, 0.0), diagonal)

    def _review(self) -> None:
        """Centre a flat prior; renew learners whose prior no longer fits, or that lost digits.

        While each observation may bring a new direction, centring can wait.
        """
        every, stale = self._since == self.dim, np.asarray(self._growth > _LOSSY)
        grown = np.asarray((self._growth > _REVIEW) | every)
        where: Any = ... if grown.all() else grown
        slack = (_OUTGROWN if self._groups is None else _FADED) * self._precision[where]
        stale[where] |= (self._wanted(where) > slack).any(axis=-1)
        ripe = grown & (self._n >= self.dim)
        if self._flat and np.count_nonzero(ripe):
            self._centre(... if ripe.all() else ripe)
        self._growth = np.where(grown, 1.0, self._growth)
        if np.count_nonzero(stale):
            self._renew(stale)

    def _centre(self, where: Any) -> None:
        """Make estimates that nobody was given yet the mean of the prior: they lose its pull."""
        mean, W = np.array(self._theta[where]), self._W[where]
        pull = self._b[where] - mean @ self._V[where]
        change = (pull @ W.mT) @ W
        squares = np.maximum(self._residual(None, where) - dot(change, pull), 0)
        self._theta[where] = mean + change
        self._put(where, ("_mean", "_squares"), mean, squares)

    def _renew(self, where: Any = ...) -> None:
        """Make W and theta anew from the sums: of all learners, or of some."""
        precision, V, b = self._wanted(where), self._V[where], self._b[where]
        W, mean = inverse_root(V, precision), np.broadcast_to(self._stated, self._b.shape)[where]
        theta = _solved(W, V, b, mean)
        if self._flat:
            mean, theta = theta, _solved(W, V, b, theta)
        squares = np.maximum(self._residual(theta, where), 0) + _penalty(theta - mean, precision)
        solution, growth = np.concatenate((W, theta), axis=-2), np.ones(precision.shape[:-1])
        self._put(where, _RENEWED, solution, squares, mean, precision, growth)
        self._complete = not self._flat
        self._since = 0 if where is ... else self._since
        self.version += 1

    def _put(self, where: Any, names: tuple[str, ...], *arrays: FloatArray) -> None:
        """Replace arrays, or their parts for some learners; what was handed out does not change."""
        for name, array in zip(names, arrays, strict=True):
            whole = np.array(array if where is ... else getattr(self, name))
            whole[where] = array
            setattr(self, name, whole)


def _solved(W: FloatArray, V: FloatArray, b: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the estimates (..., M, d) for a prior with this mean."""
    return np.asarray(mean + ((b - mean @ V) @ W.mT) @ W)


def _penalty(change: FloatArray, precision: FloatArray) -> FloatArray:
    """Return ``(theta - m0)' Lambda (theta - m0)``, (..., M), of changes of the mean."""
    return dot(np.square(change), precision[..., None, :])
