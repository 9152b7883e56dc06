"""Least squares for several objectives that share one Gram matrix.

``V = ridge I + sum of x x^T`` and ``b_m = sum of x y_m`` are kept as plain sums; the inverse of V
(pseudo-inverse where V is singular) and the estimates ``theta_m = V^+ b_m`` follow by rank-one
updates, O(d^2 + d M) a round. The sums are the truth: every few hundred updates, and whenever an
update could lose digits or adds a direction, inverse and estimates are computed anew from them. So
rounding never builds up, a direction not yet seen has estimate 0 (the minimum-norm solution), and
features that span only a subspace need no special care.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mogro._validation import BoolArray, FloatArray, IntArray, count, floats, real, unwarned

_EPS = float(np.finfo(np.float64).eps)
_RENEW_EVERY = 256
_SMALL = 128  # numbers up to which calling einsum costs more than it gains
_SHARP = 1e-9  # accepted rounding of an estimate, in units of the rewards
_LOSSY = 100.0  # an update that shrinks a variance by more than this loses over two digits
HUGE, TINY = 1e280, 1e-280  # squares beyond are refused, or count as zero: sums stay finite
_FADED = 0.25  # once the sums have been scaled down this far, the inverse is computed anew


class Spectrum(NamedTuple):
    """Eigenvalues (..., d), ascending, and eigenvectors (..., d, d) in columns."""

    values: FloatArray
    vectors: FloatArray
    rounding: FloatArray  # (...): eigenvalues up to this may be rounding of zero


class Estimate(NamedTuple):
    """Estimated rewards of arms and their standard errors, each (*batch, K, M)."""

    values: FloatArray
    errors: FloatArray


class LinearModel:
    """What has been learned from features and reward vectors.

    Parameters
    ----------
    dim, objectives
        d and M.
    ridge
        Weight of the penalty ``ridge * |theta|^2``; 0 for ordinary least squares.
    batch
        Shape of a batch of independent learners that are updated together.

    Attributes
    ----------
    count
        Number of observations each learner has seen.

    Examples
    --------
    >>> model = LinearModel(2, 1)
    >>> model.update(np.array([1.0, 1.0]), np.array([3.0]))
    >>> model.theta  # one observation: the solution of least norm
    array([[1.5, 1.5]])
    >>> model.update(np.array([1.0, 0.0]), np.array([1.0]))
    >>> model.theta.round(12)
    array([[1., 2.]])
    """

    def __init__(
        self, dim: int, objectives: int, *, ridge: float = 0.0, batch: tuple[int, ...] = ()
    ) -> None:
        self.dim = d = count(dim, "dim")
        self.objectives = m = count(objectives, "objectives")
        self.ridge = real(ridge, "ridge", minimum=0)
        self.batch = tuple(count(size, "batch") for size in batch)
        self.count = 0
        # V above the b_m, and V^+ above the theta_m: one product and one update serve both.
        self._sums: FloatArray = np.zeros((*batch, d + m, d))
        self._sums[..., :d, :] = self.ridge * np.eye(d)
        self._solution: FloatArray = np.zeros((*batch, d + m, d))
        # Observations (x, y) that are not in the sums yet: one product will add them all.
        self._recent: FloatArray = np.zeros((*batch, max(_RENEW_EVERY, 2 * d), d + m))
        self._pending = 0
        self._squares: FloatArray = np.zeros((*batch, m))  # residual sums of squares
        self._unseen: FloatArray = np.tile(np.eye(d), (*batch, 1, 1))  # projector on null(V)
        self._rank: IntArray = np.zeros(batch, dtype=np.int64)
        self._full = False  # every learner has seen every direction
        self._idle: IntArray = np.zeros(batch, dtype=np.int64)  # rounds sat out
        self._faded: FloatArray = np.ones(batch)  # product of the decays since the last renewal
        if self.ridge > 0:
            self._renew()

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d); a view that updates change."""
        return self._solution[..., self.dim :, :]

    @property
    def inverse(self) -> FloatArray:
        """The (pseudo-)inverse of V, (*batch, d, d); a view that updates change."""
        return self._solution[..., : self.dim, :]

    @property
    def gram(self) -> FloatArray:
        """V, (*batch, d, d)."""
        return self._gram(...)

    def _gram(self, where: Any) -> FloatArray:
        """V of the learners at an index of the batch axes."""
        sums = self._sums[..., : self.dim, :][where]
        recent = self._recent[..., : self._pending, : self.dim][where]
        return np.asarray(sums + np.swapaxes(recent, -1, -2) @ recent)

    @property
    def moments(self) -> FloatArray:
        """The right-hand sides b_m, (*batch, M, d)."""
        recent = self._recent[..., : self._pending, :]
        rewards = np.swapaxes(recent[..., self.dim :], -1, -2)
        return self._sums[..., self.dim :, :] + rewards @ recent[..., : self.dim]

    @property
    def unseen(self) -> FloatArray:
        """The projector on the null space of V, (*batch, d, d)."""
        return self._unseen

    @property
    def full(self) -> bool:
        """Whether every learner has seen every direction."""
        return self._full

    @property
    def rank(self) -> IntArray:
        """Ranks of V, (*batch)."""
        return self._rank

    @property
    def squares(self) -> FloatArray:
        """Residual sums of squares, (*batch, M)."""
        return self._squares

    @property
    def totals(self) -> FloatArray:
        """Sums of the rewards, (*batch, M)."""
        return np.zeros_like(self._squares)

    save_state = lambda self: self.arrays()  # noqa: E731
    load_state = lambda self, arrays: self.restore(arrays)  # noqa: E731

    @property
    def residuals(self) -> tuple[FloatArray, IntArray]:
        """Residual sums of squares, (*batch, M), and the ranks of V, (*batch)."""
        return self._squares, self._rank

    @unwarned
    def update(self, features: FloatArray, rewards: FloatArray) -> None:
        """Learn from one observation each: (*batch, d) and (*batch, M)."""
        d = self.dim
        product = np.matvec(self._solution, features)
        product[..., d:] -= rewards  # V^+ x, and the negative errors of prediction
        variance = abs(np.vecdot(features, product[..., :d]))  # below 0 by rounding only
        norms = np.vecdot(features, features)
        if not _total(norms) + np.vdot(product, product) < HUGE:
            self._refuse(features, rewards)
        stale = variance > _LOSSY
        if self.ridge > 0:  # rounding of large features over a small ridge would build up
            stale = stale | (norms * _EPS > _SHARP * self.ridge)
        if not self._full:
            stale = stale | self._adds_direction(features, norms * (1 + variance))
        product *= _damping(variance)
        self._recent[..., self._pending, :d] = features
        self._recent[..., self._pending, d:] = rewards
        self._solution -= _outer(product, product[..., :d])
        left = product[..., d:] ** 2
        self._pending += 1
        self.count += 1
        every = self._pending == self._recent.shape[-2]
        if every or (np.count_nonzero(stale) if stale.ndim else stale):
            rank = self._rank.copy()
            self._renew(None if every else stale)
            left[self._rank > rank] = 0  # a new direction fits its first observation exactly
        self._squares += left

    def update_some(self, learning: BoolArray, features: FloatArray, rewards: FloatArray) -> None:
        """Update the learners (*batch) that are learning; the others sit this round out."""
        if not math.isfinite(np.vdot(features, features) + np.vdot(rewards, rewards)):
            self._refuse(features, rewards)
        x = np.where(learning[..., None], features, 0.0)  # zero features teach nothing
        self.update(x, np.where(learning[..., None], rewards, 0.0))
        self._idle += ~learning

    def _refuse(self, features: FloatArray, rewards: FloatArray) -> None:
        floats(features, "features", shape=(*self.batch, self.dim))
        floats(rewards, "reward", shape=(*self.batch, self.objectives))
        raise ValueError(f"features, reward: expected values whose squares are below {HUGE:g}")

    def learn(self, features: FloatArray, rewards: FloatArray) -> None:
        """Learn from a log: (*batch, n, d) and (*batch, n, M)."""
        both = np.concatenate((features, rewards), axis=-1)
        with np.errstate(over="ignore"):
            size = np.square(both).sum()
        if not size < HUGE:
            raise ValueError(
                f"features, rewards: expected values whose squares sum to less than {HUGE:g}"
            )
        before, gram = self.theta.copy(), self.gram
        self._sums += np.swapaxes(both, -1, -2) @ features
        self.count += features.shape[-2]
        self._renew()
        change = self.theta - before
        residual = rewards - features @ np.swapaxes(self.theta, -1, -2)
        self._squares += (residual**2).sum(axis=-2) + np.vecdot(change @ gram, change)

    def decay(self, factor: FloatArray) -> None:
        """Weigh down all that was learned by a factor from 0 to 1, one for each learner (*batch).

        New observations count for more beside the old ones. What has faded below rounding of the
        rest counts as never seen. The penalty does not fade.
        """
        scale = factor[..., None, None]
        if self.ridge > 0:
            self._decay_to_penalty(scale)
            return
        self._scale_sums(scale)
        self._faded *= factor
        if (self._faded < _FADED).any():
            self._renew()
        else:
            self._solution[..., : self.dim, :] /= scale

    def absorb(self, other: "LinearModel") -> None:
        """Learn all that another model of the same kind has learned from other observations."""
        before = [(self.theta.copy(), self.gram), (other.theta, other.gram)]
        self._sums += np.concatenate((other.gram, other.moments), axis=-2)
        self._sums[..., : self.dim, :] -= self.ridge * np.eye(self.dim)
        self._squares += other._squares
        self.count += other.count
        self._idle += other._idle
        self._renew()
        for theta, gram in before:
            change = self.theta - theta
            self._squares += np.vecdot(change @ gram, change)
        self._squares -= self.ridge * np.vecdot(self.theta, self.theta)  # it was in both

    def spectrum(self, entries: NDArray[np.intp]) -> Spectrum:
        """Eigenvalues (n, d) and eigenvectors (n, d, d) of V, at flat positions of the batch."""
        where = np.unravel_index(entries, self.batch) if self.batch else None
        return spectrum(self._gram(where), additions=self.count)

    def variances(self, features: FloatArray) -> FloatArray:
        """``x^T V^+ x`` for arms (*batch, K, d), infinite where x has a part never seen."""
        variances = np.vecdot(features @ self.inverse, features)
        if not self._full:
            outside = np.square(features @ self._unseen).sum(axis=-1)
            small = _EPS * 64 * self.dim * np.vecdot(features, features)
            variances = np.where(outside > small, np.inf, variances)
        return np.asarray(np.maximum(variances, 0))

    def estimate(self, features: FloatArray, *, noise: float | None = None) -> Estimate:
        """Estimate rewards of arms (*batch, K, d) with standard errors.

        Without ``noise`` its size is taken, per objective, from the residuals. Errors are infinite
        for directions never seen, and while there are too few observations to tell the noise.
        """
        values = features @ np.swapaxes(self.theta, -1, -2)
        if noise is not None:
            scale: FloatArray = np.full((*self.batch, self.objectives), noise)
        else:
            free = (self.count - self._idle - self._rank)[..., None]
            known = self._squares / np.maximum(free, 1)
            scale = np.sqrt(np.where(free > 0, known, np.inf))
        spread = np.sqrt(self.variances(features))[..., :, None]
        with np.errstate(invalid="ignore"):
            errors = spread * scale[..., None, :]
        # 0 * inf: a zero feature vector has reward 0 for certain, whatever the noise; a direction
        # never seen is uncertain even without noise.
        errors = np.where(spread == 0, 0.0, np.where(np.isinf(spread), np.inf, errors))
        return Estimate(values, errors)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that has been learned, to be given to :meth:`restore`."""
        names = [name for name in self.__dict__ if isinstance(self.__dict__[name], np.ndarray)]
        state = {name.lstrip("_"): self.__dict__[name].copy() for name in names}
        return state | {"counts": np.array([self.count, self._pending])}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`arrays` of an equal model gave, to the bit."""
        current = self.arrays()
        if current.keys() - arrays.keys():
            raise ValueError(f"arrays: missing {sorted(current.keys() - arrays.keys())}")
        for name, value in current.items():
            if arrays[name].shape != value.shape or arrays[name].dtype != value.dtype:
                raise ValueError(
                    f"arrays: expected {name} of shape {value.shape} and type {value.dtype}, "
                    f"got {arrays[name].shape} and {arrays[name].dtype}"
                )
        for name in current.keys() - {"counts"}:
            self.__dict__[name if name in self.__dict__ else f"_{name}"] = arrays[name].copy()
        self.count, self._pending = (int(number) for number in arrays["counts"])
        self._full = bool((self._rank == self.dim).all())

    def _scale_sums(self, scale: FloatArray) -> None:
        self._sums *= scale
        self._recent[..., : self._pending, :] *= np.sqrt(scale)
        self._squares *= scale[..., 0]

    def _decay_to_penalty(self, scale: FloatArray) -> None:
        """Fade the observations but not the penalty: the estimates move, unlike without one."""
        before, gram = self.theta.copy(), self.gram
        self._scale_sums(scale)
        self._sums[..., : self.dim, :] += (1 - scale) * (self.ridge * np.eye(self.dim))
        self._renew()
        change, gone = self.theta - before, scale[..., 0]
        self._squares += gone * np.vecdot(change @ gram, change)
        self._squares += (1 - gone) * self.ridge * np.vecdot(self.theta, self.theta)

    def _adds_direction(self, features: FloatArray, inside: FloatArray) -> BoolArray:
        """Tell which learners' new features may have a part that V had not."""
        part = np.matvec(self._unseen, features)
        outside = np.vecdot(part, part)
        return np.asarray(outside > relative_rounding(self.dim, self.count) * inside)

    def _renew(self, stale: BoolArray | None = None) -> None:
        """Compute inverse and estimates from the sums, for all learners or for the stale ones."""
        where = (...,) if stale is None or stale.all() else np.nonzero(stale)
        self._faded[where] = 1
        if stale is None:
            self._sums = np.concatenate((self.gram, self.moments), axis=-2)
            self._pending = 0
        gram, moments = self.gram[where], self.moments[where]
        values, vectors, rounding = spectrum(gram, additions=self.count)
        seen = values > rounding[..., None]
        scaled = vectors * np.where(seen, 1 / np.where(seen, values, 1), 0)[..., None, :]
        inverse = scaled @ np.swapaxes(vectors, -1, -2)
        theta = moments @ inverse
        theta += (moments - theta @ gram) @ inverse  # one step of refinement
        unseen = vectors * ~seen[..., None, :]
        if self.ridge > 0:  # V has the ridge where rounding of large features hides it
            inverse += unseen @ np.swapaxes(vectors, -1, -2) / self.ridge
            unseen[...] = 0
            seen[...] = True
        self._solution[where] = np.concatenate((inverse, theta), axis=-2)
        self._unseen[where] = unseen @ np.swapaxes(vectors, -1, -2)
        self._rank[where] = seen.sum(axis=-1)
        self._full = bool((self._rank == self.dim).all())


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return outer products (..., n, d) of vectors (..., n) and (..., d)."""
    if left.ndim == 1 or left.size <= _SMALL:
        return np.asarray(left[..., :, None] * right[..., None, :])
    return np.asarray(np.einsum("...i,...j->...ij", left, right))  # for many, twice as fast


def _damping(variance: FloatArray) -> FloatArray | float:
    """Return ``1 / sqrt(1 + variance)``, (..., 1); a plain number for one learner, for speed."""
    if not variance.ndim:
        return 1 / math.sqrt(1 + float(variance))
    return np.asarray(1 / np.sqrt(1 + variance))[..., None]


def _total(values: FloatArray) -> float:
    """Return the sum, which is not finite if any value is not."""
    return float(np.add.reduce(values, axis=None)) if values.ndim else float(values)


def spectrum(gram: ArrayLike, *, additions: int) -> Spectrum:
    """Eigenvalues and eigenvectors of sums of ``additions`` outer products, (..., d, d)."""
    values, vectors = np.linalg.eigh(np.asarray(gram))
    rounding = np.maximum(relative_rounding(values.shape[-1], additions) * values[..., -1], TINY)
    return Spectrum(values, vectors, rounding)


def relative_rounding(dim: int, additions: int) -> float:
    """Bound what rounding does to an eigenvalue of the sums, relative to the largest."""
    return _EPS * (8 * dim + min(additions, _RENEW_EVERY) + additions / _RENEW_EVERY)
