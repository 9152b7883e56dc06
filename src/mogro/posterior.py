"""Everything that is learned: one Gaussian posterior of the parameters of all objectives.

::

    prior        precision Lambda, a diagonal, and mean m0                (mogro.priors)
    sums         n, V = sum x x', b = sum y x', y2 = sum y^2              the truth
    posterior    S = (V + Lambda)^-1, theta = m0 + S (b - V m0), noise    a view of the two

:mod:`mogro._regression` computes it, for objectives that share one V, or for each of them alone.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mogro import _evidence
from mogro._algebra import matvec, smallest
from mogro._regression import Regression, target_columns
from mogro._validation import BoolArray, FloatArray, check_shape, count, floats
from mogro.beliefs import Beliefs, covariance
from mogro.priors import Flat, Learned, Prior

_FIRST_LOOK = 4.0  # observations after which a prior is learned first
_FREE = 0.999  # observations left free: one, but for rounding
_HUGE, _TINY = 1e100, 1e-115  # sums of squares beyond are refused; uses below are none
_FLAT = Flat()
_COUNTED = ("_uses", "_seen", "_due")  # for a learned prior


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
        self.dim = count(dim, "dim")
        self.objectives = count(objectives, "objectives", minimum=0)
        self.batch = tuple(count(size, "batch") for size in batch)
        if isinstance(prior, type) or not hasattr(prior, "means"):
            raise ValueError(f"prior: expected one of mogro.priors, got {prior!r}")
        self.prior, self.apart = prior, False  # whether each objective has a V of its own
        self._fit = Regression(prior.means(self.objectives, self.dim), prior, self.batch)
        self._groups = prior.members(self.dim) if isinstance(prior, Learned) else None
        lead = (*self.batch, 0 if self._groups is None else self.objectives)
        self._uses: FloatArray = np.zeros((*lead, self.dim))  # weight of values that are not zero
        self._seen: FloatArray = np.zeros(lead)  # observations; they never fade
        self._due: FloatArray = np.full(lead, _FIRST_LOOK)  # how many until the prior is learned
        self._not_before = 0  # updates until it may be due
        if self._groups is not None:
            self._fit.learned = np.full((*self.batch, self.dim), _evidence.START)
            self._fit.renew()
            self.separate()

    @property
    def version(self) -> int:
        """Rises when S may have grown."""
        return self._fit.version

    @version.setter
    def version(self, version: int) -> None:
        self._fit.version = version

    @property
    def n(self) -> FloatArray:
        """Weight of the observations, (*batch, G)."""
        return self._fit.n if self.apart else self._fit.n[..., None]

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (*batch, G, d, d)."""
        return self._fit.V() if self.apart else self._fit.V()[..., None, :, :]

    @property
    def b(self) -> FloatArray:
        """Sum of y x', (*batch, M, d)."""
        return self._fit.b()[..., 0, :] if self.apart else self._fit.b()

    @property
    def y2(self) -> FloatArray:
        """Sum of y^2, (*batch, M)."""
        return self._fit.y2()[..., 0] if self.apart else self._fit.y2()

    @property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, ``S = W' W``, (*batch, G, d, d)."""
        return self._fit.W if self.apart else self._fit.W[..., None, :, :]

    @property
    def S(self) -> FloatArray:  # noqa: N802
        """(V + Lambda)^-1, (*batch, G, d, d)."""
        return covariance(self.W)

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d)."""
        return self._fit.theta[..., 0, :] if self.apart else self._fit.theta

    @property
    def free(self) -> FloatArray:
        """Observations that the parameters leave free, n - tr(S V), (*batch, G)."""
        fit = self._fit
        unused = np.add.reduce(matvec(fit.W * fit.W, fit.precision), axis=-1)
        free = np.asarray(fit.n + (unused - self.dim))
        return free if self.apart else free[..., None]

    @property
    def noise(self) -> FloatArray:
        """Variance of the rewards around the estimates, (*batch, M).

        Squares of residuals over n - tr(S V), the observations that the parameters leave free.
        While these are fewer than one: the mean squared reward, and 1 before the first reward.
        With a learned prior, what is most likely: squares with the prior's penalty, over n; beside
        the largest effect, a hundredth in standard deviation at least.
        """
        fit, n = self._fit, self._fit.n[..., None]
        if self._groups is None:
            free = self.free[..., None] if self.apart else self.free
            squares = np.maximum(fit.residual(), 0)
        else:
            free = n - np.count_nonzero(self._groups < 0)
            sizes = fit.diagonal() / np.maximum(self._uses, _TINY) * (self._groups >= 0)
            effect = (sizes * np.square(fit.theta[..., 0, :])).max(axis=-1, keepdims=True)
            squares = np.maximum(fit.squares, _evidence.CERTAIN * effect * free)
        if smallest(free) > _FREE:
            noise = squares / free
        else:
            usual = (fit.y2() + (n == 0)) / np.where(n > 0, n, 1)
            noise = np.where(free > _FREE, squares / np.maximum(free, _FREE), usual)
        return np.asarray(noise[..., 0] if self.apart else noise)

    def beliefs(self, expected: "Posterior | None" = None) -> Beliefs:
        """Return what a policy may know now; ``expected`` also counts what is in flight."""
        now = self.frozen()
        return Beliefs(self.theta, now, now if expected is None else expected.frozen())

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
        self._fit.update(z, weight)
        if self._groups is not None:
            self._count(z[..., : self.dim], weight)

    def learn(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        """Learn from a block of observations: (*batch, n, d), (*batch, n, M), and their weights."""
        z, weight = self._observed(x, y, weights, "rewards")
        self._fit.learn(z, weight)
        if self._groups is not None:
            self._count(z[..., : self.dim], weight)

    def decay(self, factor: FloatArray | float) -> None:
        """Weigh all observations down by a factor from 0 to 1, (*batch) or (*batch, M)."""
        if np.ndim(factor) > len(self.batch):
            self.separate()
        each = np.maximum(np.asarray(factor, dtype=np.float64), 1e-200)
        each = each[..., None] if self.apart and each.ndim == len(self.batch) else each
        self._fit.decay(each)
        if self._groups is not None:
            self._uses = self._uses * each[..., None]

    @property
    def due(self) -> bool:
        """Whether so much has been observed that the prior has to be learned anew."""
        if self._groups is not None and self._not_before <= 0:
            self._not_before = int(np.ceil(smallest(np.asarray(self._due - self._seen))))
        return self._groups is not None and self._not_before <= 0

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
        due = np.asarray(self._seen >= self._due)
        return _evidence.renewed_precisions(self._fit, self._uses, self._groups, due)

    def learn_prior(self, precisions: FloatArray) -> None:
        """Take over the precisions of a learned prior, (..., M, d), where it is due.

        It is due again when as many observations more have come, or as what fades has left.
        """
        due = np.asarray(self._seen >= self._due)
        later = np.ceil(self._seen + np.maximum(np.minimum(self._seen, self._fit.n), 1.0))
        self._due, self._not_before = np.where(due, later, self._due), 0
        self._fit.learned = np.where(due[..., None], precisions, self._fit.learned)
        self._fit.renew(due)

    def separate(self) -> None:
        """Give every objective a V and an S of its own."""
        if not self.apart:
            self.apart, self._fit = True, self._fit.apart()
            self._alone = target_columns(self.dim, self.objectives)

    def frozen(self) -> Self:
        """Return a view of what is known now, which nothing changes any more."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | {"_fit": self._fit.frozen()}
        return other

    def copy(self) -> Self:
        """Return a posterior that goes on by itself."""
        other = self.frozen()
        other._fit, other._not_before = self._fit.copy(), 0
        other.__dict__ |= {name: getattr(self, name).copy() for name in _COUNTED}
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that changes in arrays, under names, each with the leading axes of n."""
        counted = () if self._groups is None else _COUNTED
        return self._fit.arrays() | {name[1:]: getattr(self, name) for name in counted}

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        counts = {name: np.array(number) for name, number in self._fit.counts().items()}
        return {name: array.copy() for name, array in self.arrays().items()} | counts

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal posterior gave, to the bit."""
        missing = sorted(self.save_state().keys() - arrays.keys())
        if missing:
            raise ValueError(f"arrays: expected all that save_state() gives, missing {missing}")
        other = Posterior(self.dim, self.objectives, prior=self.prior, batch=self.batch)
        if arrays["n"].ndim > len(self.batch):
            other.separate()
        state: dict[str, NDArray[Any]] = {}
        for name, kept in other.save_state().items():
            check_shape(arrays[name], name, kept.shape)
            state[name] = arrays[name].astype(kept.dtype)
        other._fit.restore(state)
        if other._groups is not None:
            other.__dict__ |= {name: state[name[1:]] for name in _COUNTED}
        other.version = self.version + 1
        self.__dict__ = other.__dict__

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

    def _count(self, x: FloatArray, weight: Any) -> None:
        """Count observations (..., d), or blocks (..., n, d), and where they are not zero."""
        if isinstance(weight, float):
            self._uses, self._seen = self._uses + (x != 0), self._seen + 1
            self._not_before -= 1
            return
        uses, seen = (x != 0) * np.asarray(weight)[..., None], np.sign(weight)
        if x.ndim > self._uses.ndim:
            uses, seen = uses.sum(axis=-2), seen.sum(axis=-1)
        self._uses, self._seen, self._not_before = self._uses + uses, self._seen + seen, 0
