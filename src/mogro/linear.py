"""Least squares for several objectives that share one Gram matrix.

``V = ridge I + sum of x x^T`` and ``b_m = sum of x y_m`` are kept as plain sums; the inverse of V
(pseudo-inverse where V is singular) and the estimates ``theta_m = V^+ b_m`` follow by rank-one
updates, O(d^2 + d M) a round, also while new directions come in. The sums are the truth: every few
hundred updates, and whenever an update could lose digits, inverse and estimates are computed anew
from them. So rounding never builds up, a direction not yet seen has estimate 0 (the minimum-norm
solution), and features that span only a subspace, or have very different units, need no special
care.

A learner of a batch has the bits it would have alone, on every processor. So sums of products that
decide are taken by ``einsum``: the order in which a BLAS dot adds depends on where a vector lies.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._products import damping, dot, matvec, minus, outer, outer_sums, without
from mogro._spectrum import (
    HUGE,
    RENEW_EVERY,
    TINY,
    Spectrum,
    powers,
    relative_rounding,
    solve,
    spectrum,
)
from mogro._validation import BoolArray, FloatArray, IntArray, count, floats, real

__all__ = [
    "HUGE",
    "TINY",
    "Estimate",
    "LinearModel",
    "Spectrum",
    "relative_rounding",
    "spectrum",
]


_EPS = float(np.finfo(np.float64).eps)
_SHARP = 1e-9  # accepted rounding of a variance
_LOSSY = 1e4  # an update that shrinks a variance by more than this loses over four digits
_NOTHING = 1e-26  # a squared share of an observation that is rounding for certain
_CLEAR = 1e8  # condition of V up to which a new direction is added without a spectrum
_FADED = 0.25  # once the sums have been scaled down this far, the inverse is computed anew
_FORGOTTEN = 2.0**-46  # a feature not observed while everything faded this far was never seen
_FIRST = 16  # observations for which there is room at first

# The names of a saved state, and where its arrays are.
_STATE = {
    "sums": "_sums",
    "solution": "_solution",
    "unseen": "_unseen",
    "recent": "_recent",
    "squares": "_squares",
    "totals": "_totals",
    "rank": "_rank",
    "idle": "_idle",
    "faded": "_faded",
    "fresh": "_fresh",
    "units": "_units",
    "null": "_null",
    "blur": "_blur",
    "hidden": "_hidden",
}


class Estimate(NamedTuple):
    """Estimated rewards of arms and their standard errors, each (*batch, K, M)."""

    values: FloatArray
    errors: FloatArray


class LinearModel:
    """What has been learned from features and reward vectors.

    Arrays that it hands out are read-only, and learning never changes them: it makes new ones.

    Parameters
    ----------
    dim, objectives
        d and M. M may be 0: a Gram matrix only.
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
    >>> model.theta.round(12)  # one observation: the solution of least norm
    array([[1.5, 1.5]])
    >>> model.update(np.array([1.0, 0.0]), np.array([1.0]))
    >>> model.theta.round(12)
    array([[1., 2.]])
    """

    def __init__(
        self, dim: int, objectives: int, *, ridge: float = 0.0, batch: tuple[int, ...] = ()
    ) -> None:
        self.dim = d = count(dim, "dim")
        self.objectives = m = count(objectives, "objectives", minimum=0)
        self.ridge = real(ridge, "ridge", minimum=0)
        self.batch = tuple(count(size, "batch") for size in batch)
        self.count = 0
        # V above the b_m, and V^+ above the theta_m: one product and one update serve both.
        self._sums: FloatArray = np.zeros((*batch, d + m, d))
        self._sums[..., :d, :] = self.ridge * np.eye(d)
        self._solution: FloatArray = np.zeros((*batch, d + m, d))
        self._above: Any = (..., slice(d), slice(None)) if batch else slice(d)
        self._below: Any = (..., slice(d, None), slice(None)) if batch else slice(d, None)
        # Observations (x, y) that are not in the sums yet: one product will add them all.
        self._recent: FloatArray = np.zeros((*batch, _FIRST, _width(d + m)))
        self._pending = 0
        self._most = max(RENEW_EVERY, 2 * d)  # there will be
        self._squares: FloatArray = np.zeros((*batch, m))  # residual sums of squares
        self._totals: FloatArray = np.zeros((*batch, m))  # sums of rewards
        self._unseen: FloatArray = np.tile(np.eye(d), (*batch, 1, 1))  # projector on null(V)
        self._rank: IntArray = np.zeros(batch, dtype=np.int64)
        self._full = False  # every learner has seen every direction
        # Until then: the size of each feature, a power of two; the projector on null(V) for
        # features in these units, and how far rounding may have turned it; and the shares of
        # observations, since the last renewal, in directions that count as unseen.
        self._units: FloatArray = np.full((*batch, d), np.inf)
        self._sized = False  # every feature has been seen
        self._null: FloatArray = np.tile(np.eye(d), (*batch, 1, 1))
        self._blur: FloatArray = np.zeros(batch)
        self._hidden: FloatArray = np.zeros(batch)
        self._idle: IntArray = np.zeros(batch, dtype=np.int64)  # rounds sat out
        self._faded: FloatArray = np.ones(batch)  # product of the decays since the last renewal
        # Product of the decays since each feature was last observed.
        self._fresh: FloatArray = np.ones((*batch, d))
        self._fading = False  # some of these are not 1
        self._traces: FloatArray | None = None  # of V, if they are known
        if self.ridge > 0:
            self._renew()
        self._seal()

    @property
    def theta(self) -> FloatArray:
        """Estimates, (*batch, M, d)."""
        theta: FloatArray = self._solution[self._below]
        return theta

    @property
    def inverse(self) -> FloatArray:
        """The (pseudo-)inverse of V, (*batch, d, d)."""
        inverse: FloatArray = self._solution[self._above]
        return inverse

    @property
    def unseen(self) -> FloatArray:
        """The orthogonal projector on the null space of V, (*batch, d, d)."""
        return self._unseen

    @property
    def rank(self) -> IntArray:
        """The number of directions seen, (*batch)."""
        return self._rank

    @property
    def full(self) -> bool:
        """Whether every learner has seen every direction: ``unseen`` is zero."""
        return self._full

    @property
    def squares(self) -> FloatArray:
        """Residual sums of squares (with the penalty), (*batch, M)."""
        return self._squares

    @property
    def totals(self) -> FloatArray:
        """Sums of rewards, (*batch, M)."""
        return self._totals

    @property
    def gram(self) -> FloatArray:
        """V, (*batch, d, d)."""
        return self._gram(...)

    def _gram(self, where: Any) -> FloatArray:
        """V of the learners at an index of the batch axes."""
        sums = self._sums[..., : self.dim, :][where]
        recent = self._recent[..., : self._pending, : self.dim][where]
        return np.asarray(sums + outer_sums(recent))

    @property
    def moments(self) -> FloatArray:
        """The right-hand sides b_m, (*batch, M, d)."""
        d = self.dim
        recent = self._recent[..., : self._pending, : d + self.objectives]
        rewards = np.swapaxes(recent[..., d:], -1, -2)
        return np.asarray(self._sums[..., d:, :] + rewards @ recent[..., :d])

    def _diagonal(self) -> FloatArray:
        """Return the diagonal of V, (*batch, d)."""
        recent = self._recent[..., : self._pending, : self.dim]
        sums = np.einsum("...ii->...i", self._sums[..., : self.dim, :])
        return np.asarray(sums + np.einsum("...ni,...ni->...i", recent, recent))

    def _trace(self) -> FloatArray:
        """Return the trace of V, (*batch), up to rounding."""
        if self._traces is None:
            self._traces = np.asarray(np.einsum("...i->...", self._diagonal()))
        return self._traces

    def update(self, features: FloatArray, rewards: FloatArray) -> None:
        """Learn from one observation each: (*batch, d) and (*batch, M)."""
        d = self.dim
        norms = np.vdot(features, features)  # their sum
        if not norms < HUGE:
            self._refuse(features, rewards)
        product = matvec(self._solution, features)
        errors = product[..., d:]
        errors -= rewards  # below V^+ x: the negative errors of prediction
        if not np.vdot(product, product) < HUGE:
            self._refuse(features, rewards)
        variance = abs(dot(features, product[..., :d]))  # below 0 by rounding only
        stale = variance > _LOSSY
        if norms * _EPS > _SHARP * self.ridge > 0:
            stale = stale | self._is_blurred(features)
        self._append(features, rewards)
        product *= damping(variance)
        self._solution = minus(self._solution, outer(product, product[..., :d]))
        left = np.square(errors)
        if not self._full:
            if self._traces is not None:
                self._traces = self._traces + dot(features, features)
            stale = stale | self._explore(features, product, variance, left)
        every = self._pending == self._most
        if every or (np.count_nonzero(stale) if self.batch else stale):
            rank = self._rank
            self._renew(None if every else stale)
            left[self._rank > rank] = 0  # a new direction fits its first observation exactly
        self._squares = self._squares + left
        self._totals = self._totals + rewards
        self._seal()

    def update_some(self, learning: BoolArray, features: FloatArray, rewards: FloatArray) -> None:
        """Update the learners (*batch) that are learning; the others sit this round out."""
        if not math.isfinite(np.vdot(features, features) + np.vdot(rewards, rewards)):
            self._refuse(features, rewards)
        x = np.where(learning[..., None], features, 0.0)  # zero features teach nothing
        self.update(x, np.where(learning[..., None], rewards, 0.0))
        self._idle = self._idle + ~learning

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
        before, gram = self.theta, self.gram
        self._sums = self._sums + np.swapaxes(both, -1, -2) @ features
        self._traces = None
        self.count += features.shape[-2]
        self._fresh[features.any(axis=-2)] = 1
        self._renew()
        change = self.theta - before
        residual = rewards - features @ np.swapaxes(self.theta, -1, -2)
        squares = (residual**2).sum(axis=-2) + dot(change @ gram, change)
        self._squares = self._squares + squares
        self._totals = self._totals + rewards.sum(axis=-2)
        self._seal()

    def decay(self, factor: FloatArray) -> None:
        """Weigh down all that was learned by a factor from 0 to 1, one for each learner (*batch).

        New observations count for more beside the old ones. What has faded below rounding of the
        rest, and features not observed since they faded that far, count as never seen. The penalty
        does not fade.
        """
        scale = factor[..., None, None]
        if self.ridge > 0:
            self._decay_to_penalty(scale)
            self._seal()
            return
        self._scale_sums(scale)
        self._faded *= factor
        self._fresh *= factor[..., None]
        self._fading = True
        if (self._faded < _FADED).any():
            self._renew()
        else:
            self._solution = self._solution.copy()
            self._solution[..., : self.dim, :] /= scale
        self._seal()

    def _seal(self) -> None:
        """Hand out arrays that nobody can write: each change makes new ones."""
        self._solution.setflags(write=False)
        self._squares.setflags(write=False)
        self._totals.setflags(write=False)
        if not self._full or self._unseen.flags.writeable:
            self._unseen.setflags(write=False)
            self._rank = np.asarray(self._rank)
            self._rank.setflags(write=False)

    def spectrum(self, entries: NDArray[np.intp]) -> Spectrum:
        """Eigenvalues (n, d) and eigenvectors (n, d, d) of V, at flat positions of the batch."""
        where = np.unravel_index(entries, self.batch) if self.batch else None
        return spectrum(self._gram(where), additions=self.count)

    def variances(self, features: FloatArray) -> FloatArray:
        """``x^T V^+ x`` for arms (*batch, K, d), infinite where x has a part never seen.

        A part counts where it is more than rounding: of V, or of features in float32.
        """
        return self._spread(features)[0]

    def estimate(self, features: FloatArray, *, noise: float | None = None) -> Estimate:
        """Estimate rewards of arms (*batch, K, d) with standard errors.

        Without ``noise`` its size is taken, per objective, from the residuals. Errors are infinite
        for directions never seen, and while there are too few observations to tell the noise. They
        include a bound on rounding, which counts where features are nearly collinear.
        """
        values = features @ np.swapaxes(self.theta, -1, -2)
        if noise is not None:
            scale: FloatArray = np.full((*self.batch, self.objectives), noise)
        else:
            free = (self.count - self._idle - self._rank)[..., None]
            known = self._squares / np.maximum(free, 1)
            scale = np.sqrt(np.where(free > 0, known, np.inf))
        variances, rounding = self._spread(features)
        spread = np.sqrt(variances)[..., :, None]
        with np.errstate(invalid="ignore"):
            errors = spread * scale[..., None, :] + rounding[..., :, None] * self._masses()
        # 0 * inf: a zero feature vector has reward 0 for certain, whatever the noise; a direction
        # never seen is uncertain even without noise.
        errors = np.where(spread == 0, 0.0, np.where(np.isinf(spread), np.inf, errors))
        return Estimate(values, errors)

    def _spread(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return variances of arms (*batch, K, d), and how far rounding moves their estimates.

        Rounding of V, and of b for rewards of size 1, is bounded in units in which every feature
        has size 1: it moves ``x^T V^+ b`` by ``|V^+ x|`` in these units, and the part of x outside
        of the range of V by as much.
        """
        product = features @ self.inverse
        variances = np.maximum(dot(product, features), 0)
        diagonal = self._diagonal()[..., None, :]
        reach = np.sqrt(dot(product * diagonal, product))
        rounding = relative_rounding(self.dim, self.count) * reach
        if self._full:
            return variances, rounding
        units = self._units[..., None, :]
        part = features / units @ self._null
        size = np.sqrt(dot(part, part))
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = part / size[..., None]
            outside = size / np.sqrt(dot(unit * (diagonal / units**2), unit))
            own = features / np.sqrt(diagonal)
        own = np.where(np.isinf(units), 0, own)
        blur = float(np.finfo(features.dtype).eps) + self._blur[..., None]
        slack = 8 * (rounding + blur * np.sqrt(dot(own, own)))
        never = (np.isinf(units) & (features != 0)).any(axis=-1)
        return np.where(never | ((size > 0) & (outside > slack)), np.inf, variances), rounding

    def _masses(self) -> FloatArray:
        """Return bounds (*batch, 1, M) on rewards and fits, in the 2-norm over the history."""
        fits = np.sqrt(dot(np.square(self.theta), self._diagonal()[..., None, :]))
        squares = np.sqrt(np.maximum(self._squares, 0))
        return np.asarray(squares + (1 + math.sqrt(self.dim)) * fits)[..., None, :]

    def copy(self) -> "LinearModel":
        """Return a model that goes on by itself."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value.copy())
        return other

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """All that has been learned, to be given to :meth:`load_state`."""
        state = {name: getattr(self, place).copy() for name, place in _STATE.items()}
        state["recent"] = self._recent[..., : self._pending, :].copy()
        return state | {"count": np.array(self.count)}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal model gave, to the bit."""
        current = self.save_state()
        if current.keys() - arrays.keys():
            raise ValueError(f"arrays: missing {sorted(current.keys() - arrays.keys())}")
        pending = arrays["recent"].shape[-2] if arrays["recent"].ndim > 1 else 0
        pending = min(pending, self._most - 1)
        shapes = {name: value.shape for name, value in current.items()}
        shapes["recent"] = (*self.batch, pending, self._recent.shape[-1])
        for name, value in current.items():
            if arrays[name].shape != shapes[name] or arrays[name].dtype != value.dtype:
                raise ValueError(
                    f"arrays: expected {name} of shape {shapes[name]} and type {value.dtype}, "
                    f"got {arrays[name].shape} and {arrays[name].dtype}"
                )
        for name, place in _STATE.items():
            setattr(self, place, arrays[name].copy())
        self.count, self._pending = int(arrays["count"]), pending
        self._full = bool((self._rank == self.dim).all())
        self._sized = not np.isinf(self._units).any()
        self._fading = bool((self._fresh < 1).any())
        self._traces = None
        self._seal()

    def separated(self) -> "LinearModel":
        """Return one learner for each objective, instead of one for all of them."""
        d, m = self.dim, self.objectives
        other = LinearModel(d, 1, ridge=self.ridge, batch=(m,))
        arrays = self.save_state()
        for name in ("sums", "solution"):
            both = arrays[name]
            own = both[d:, None, :]
            shared = np.broadcast_to(both[:d], (m, d, d))
            arrays[name] = np.concatenate((shared, own), axis=-2)
        recent = np.zeros((m, len(arrays["recent"]), _width(d + 1)))
        recent[..., :d] = arrays["recent"][:, :d]
        recent[..., d] = arrays["recent"][:, d : d + m].T
        arrays["recent"] = recent
        for name in ("squares", "totals"):
            arrays[name] = arrays[name][:, None]
        for name in ("unseen", "rank", "idle", "faded", "fresh", "units", "null", "blur", "hidden"):
            arrays[name] = np.tile(arrays[name], (m, *(1,) * arrays[name].ndim))
        other.load_state(arrays)
        return other

    def regrouped(self, places: Sequence[int | None], factors: FloatArray) -> "LinearModel":
        """Return a model of other learners: those at some places, and new ones for None.

        Rewards are multiplied by factors (n,), as if they had been so all along.
        """
        other = LinearModel(self.dim, self.objectives, ridge=self.ridge, batch=(len(places),))
        old, d = self.save_state(), self.dim
        arrays: dict[str, Any] = dict(other.save_state())
        arrays["recent"] = np.zeros((len(places), *old["recent"].shape[1:]))
        kept = [(n, place) for n, place in enumerate(places) if place is not None]
        for name, array in arrays.items():
            if name == "count":
                arrays[name] = old[name]
                continue
            for n, place in kept:
                array[n] = old[name][place]
        factor = factors[:, None]
        for name in ("sums", "solution"):
            arrays[name][:, d:] *= factor[..., None]
        arrays["recent"][..., d : d + self.objectives] *= factor[..., None]
        arrays["squares"] *= np.square(factor)
        arrays["totals"] *= factor
        other.load_state(arrays)
        return other

    def _append(self, features: FloatArray, rewards: FloatArray) -> None:
        """Keep an observation until it is added to the sums."""
        n, room = self._pending, self._recent.shape[-2]
        if n == room:
            wider = np.zeros((*self.batch, max(2 * room, _FIRST), self._recent.shape[-1]))
            wider[..., :n, :] = self._recent
            self._recent = wider
        self._recent[..., n, : self.dim] = features
        self._recent[..., n, self.dim : self.dim + self.objectives] = rewards
        self._pending += 1
        self.count += 1
        if self._fading:
            self._fresh[np.broadcast_to(features != 0, self._fresh.shape)] = 1

    def _is_blurred(self, features: FloatArray) -> BoolArray:
        """Tell for whom large features over a small ridge would leave rounding in the inverse."""
        variances = np.einsum("...ii->...i", self._solution[..., : self.dim, :])
        return np.asarray(dot(features * variances, features) * _EPS > _SHARP)

    def _explore(
        self, features: FloatArray, product: FloatArray, variance: FloatArray, left: FloatArray
    ) -> BoolArray:
        """Add new directions after an update; tell who has to be renewed for them.

        Features with a clear part in the null space of V add a direction by the formulas of
        Greville and Meyer, and nothing is ``left`` of their errors. Where it is not clear that V,
        as a sum, can tell the part from rounding, the spectrum has to decide; but not before parts
        of that size have come up to it.
        """
        if not self._sized:
            self._size(features)
        own = features / self._units
        scaled = matvec(self._null, own)
        size = dot(scaled, scaled)
        some = size > _NOTHING
        if not np.count_nonzero(some):
            return np.asarray(some)
        part = matvec(self._unseen, features)
        mass = (1 + variance) * self._trace()
        new = np.asarray((mass < _CLEAR * dot(part, part)) & some & (mass > TINY))
        if np.count_nonzero(new):
            where = np.nonzero(new) if new.ndim else ...
            left[where] = 0
            self._add_direction(where, product, variance, part, scaled)
            turned = np.where(new, 4 * _EPS * np.sqrt(dot(own, own) / np.maximum(size, TINY)), 0)
            self._blur = np.asarray(np.maximum(self._blur, turned))
        if np.count_nonzero(some ^ new):
            growth = dot(np.square(scaled), self._diagonal() / np.square(self._units))
            doubtful = some & ~new
            share = np.where(doubtful, size * (size / np.where(doubtful, growth, 1)), 0)
            self._hidden = np.asarray(self._hidden + share)
        return np.asarray(self._hidden > relative_rounding(self.dim, self.count))

    def _size(self, features: FloatArray) -> None:
        """Give features that are seen for the first time their units."""
        unknown = np.isinf(self._units)
        self._units = np.where(unknown, powers(np.square(features)), self._units)
        self._sized = bool(np.isfinite(self._units).all())

    def _add_direction(
        self,
        where: Any,
        product: FloatArray,
        variance: FloatArray,
        part: FloatArray,
        scaled: FloatArray,
    ) -> None:
        """Add a direction to a new solution for the learners at an index of the batch axes.

        Their features have the parts ``part`` in the null space of V, and ``scaled`` in their
        units.
        """
        d = self.dim
        direction = matvec(self._unseen[where], part[where])  # once more: without rounding of x
        size = np.sqrt(dot(direction, direction))[..., None]
        direction /= size
        # V^+ - k u' - u k' + (1 + v) u u', of which - k k' / (1 + v) has been done.
        step = np.negative(product[where])
        step[..., :d] += direction * (np.sqrt(1 + np.asarray(variance)[where])[..., None] / size)
        self._solution[where] += outer(step, step[..., :d])
        self._unseen = without(self._unseen, where, outer(direction, direction))
        unit = matvec(self._null[where], scaled[where])
        unit /= np.sqrt(dot(unit, unit))[..., None]
        self._null = without(self._null, where, outer(unit, unit))
        self._rank = self._rank.copy()
        self._rank[where] += 1
        known = self._rank == d
        if known.any():
            self._unseen[known] = self._null[known] = 0
            self._full = bool(known.all())

    def _scale_sums(self, scale: FloatArray) -> None:
        self._traces = None
        self._sums = self._sums * scale
        self._recent[..., : self._pending, :] *= np.sqrt(scale)
        self._squares = self._squares * scale[..., 0]
        self._totals = self._totals * scale[..., 0]

    def _decay_to_penalty(self, scale: FloatArray) -> None:
        """Fade the observations but not the penalty: the estimates move, unlike without one."""
        before, gram = self.theta, self.gram
        self._scale_sums(scale)
        self._sums[..., : self.dim, :] += (1 - scale) * (self.ridge * np.eye(self.dim))
        self._renew()
        change, gone = self.theta - before, scale[..., 0]
        self._squares = self._squares + gone * dot(change @ gram, change)
        self._squares += (1 - gone) * self.ridge * dot(self.theta, self.theta)

    def _renew(self, stale: BoolArray | None = None) -> None:
        """Compute inverse and estimates from the sums, for all learners or for the stale ones."""
        d, m = self.dim, self.objectives
        where = (...,) if stale is None or stale.all() else np.nonzero(stale)
        self._traces = None
        if stale is None:
            self._sums = np.concatenate((self.gram, self.moments), axis=-2)
            self._pending = 0
            if self._fading:
                self._forget()
        gram, moments = self.gram[where], self.moments[where]
        n = gram.size // d**2
        solved = solve(
            gram.reshape(n, d, d),
            moments.reshape(n, m, d),
            additions=self.count,
            ridge=self.ridge,
            full=np.reshape(self._rank[where] == d, -1),
        )
        solution, unseen, rank = self._solution.copy(), self._unseen.copy(), self._rank.copy()
        solution[..., :d, :][where] = solved.inverse.reshape(gram.shape)
        solution[..., d:, :][where] = solved.theta.reshape(moments.shape)
        unseen[where] = solved.unseen.reshape(gram.shape)
        rank[where] = solved.rank.reshape(gram.shape[:-2])
        self._solution, self._unseen, self._rank = solution, unseen, rank
        self._full = bool((rank == d).all())
        self._faded[where] = 1
        self._hidden = np.asarray(self._hidden)
        self._hidden[where] = 0
        self._units[where] = solved.units.reshape(gram.shape[:-1])
        self._null[where] = solved.null.reshape(gram.shape)
        self._blur[where] = solved.blur.reshape(gram.shape[:-2])
        self._sized = not np.isinf(self._units).any()

    def _forget(self) -> None:
        """Take features out of the sums that have not been observed while all that faded away."""
        kept = self._fresh > _FORGOTTEN
        self._sums = np.where(kept[..., None, :], self._sums, 0)
        self._sums[..., : self.dim, :] *= kept[..., :, None]


def _width(size: int) -> int:
    """Return how many numbers a row of a buffer has room for.

    With one, its sums of squares would be taken by a BLAS dot.
    """
    return max(size, 2)
