"""What has been learned, and what is on its way: every objective with sums of its own.

An objective is estimated from exactly the decisions for which it was observed: one linear model
with a batch entry for each objective, so that each has a Gram matrix of its own. Beside them stand
the decisions still in flight. One invariant holds: the coverage, which exploration goes by, is V of
what was observed plus what is in flight. A decision that departs adds to it; an observation that
arrives only moves from one to the other; a decision that is lost (its window closed with nothing to
learn) is taken out.

With forgetting, an observation counts for half after every half-life. Measured in time, its age is
that of its decision, so the order in which rewards arrive makes no difference, and what is in
flight fades alike; measured in updates, it is the number of later observations of the same
objective.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from mogro._spectrum import RENEW_EVERY, TINY
from mogro._validation import BoolArray, FloatArray, check_shape, real
from mogro.choice import Beliefs
from mogro.linear import LinearModel
from mogro.live.coverage import Coverage, removed

_WORN = 1e4  # share taken out of the sums in flight after which they are added up anew
_FEW = 8  # decisions that are taken out one by one, more of them by computing anew


@dataclass(frozen=True)
class HalfLife:
    """How fast old observations fade: after this much an observation counts for half.

    Parameters
    ----------
    updates
        In further observations of the same objective.
    time
        In the caller's time, from decision to now. Give one of the two.

    Examples
    --------
    >>> HalfLife(updates=1000)
    HalfLife(updates=1000.0, time=None)
    """

    _: KW_ONLY
    updates: float | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if (self.updates is None) == (self.time is None):
            raise ValueError(
                f"half_life: expected updates or time, got updates={self.updates}, time={self.time}"
            )
        for name in ("updates", "time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(getattr(self, name), name, above=0))


class Learner:
    """Estimates of every objective, how much stands behind them, and what is in flight.

    Parameters
    ----------
    size
        p, the number of features as the learner sees them.
    roots
        For every objective, the one that calls for exploration in its place: itself, or the first
        of its conditions.
    ridge
        Of the estimates.
    half_life
        Forgetting, if any.
    explores
        Whether anybody asks for the coverage.
    """

    def __init__(
        self,
        size: int,
        roots: tuple[int, ...],
        *,
        ridge: float,
        half_life: HalfLife | None,
        explores: bool,
    ) -> None:
        objectives = len(roots)
        self.model = LinearModel(size, 1, ridge=ridge, batch=(objectives,))
        self.effective: FloatArray = np.zeros(objectives)  # sums of the observations' weights
        self.time = -math.inf  # to which the weights refer; the latest seen
        updates = half_life.updates if half_life else None
        # What an objective keeps of the rest at each of its observations.
        self._keep = None if updates is None else 0.5 ** (1 / updates)
        self._period = half_life.time if half_life else None
        self._explores = explores
        # Sums are kept for objectives without a condition only, which the others refer to.
        own = sorted(set(roots))
        self._own = None if len(own) == objectives else np.array(own)
        self._roots = None if self._own is None else np.array([own.index(m) for m in roots])
        self._flight: FloatArray = np.zeros((len(own), size, size))  # outer products in flight
        self._departed: list[FloatArray] = []  # decisions in flight that are not in the sums yet
        self._summed = False  # whether the sums may be other than zero
        self._waiting = [0] * len(own)  # how many are in flight
        # What was taken out of their diagonals since they were last added up.
        self._removed: FloatArray = np.zeros((len(own), size))
        self._coverage: Coverage | None = self._observed()
        self._added = 0  # to the coverage since it was last computed from sums
        self.losses = 0  # how often the coverage got less: what needed no exploration may need it
        self.worn = False  # rounding may have gathered in the sums of what is in flight

    @property
    def theta(self) -> FloatArray:
        """Estimates, (M, p)."""
        return self.model.theta[:, 0, :]

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of the observations from the estimates, (M,); NaN if unknown."""
        free = self.effective - self.model.rank
        known = np.maximum(self.model.squares[:, 0], 0) / np.where(free > 0, free, 1)
        return np.asarray(np.sqrt(np.where(free > 0, known, math.nan)))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know; nothing is copied, and nothing changes it."""
        model = self.model
        return Beliefs(
            theta=self.theta,
            inverse=model.inverse,
            unseen=None if model.full else model.unseen,
            counts=self.effective,
            ranks=model.rank,
            squares=model.squares[:, 0],
            totals=model.totals[:, 0],
            coverage=self.coverage(),  # type: ignore[arg-type]
        )

    def coverage(self) -> Coverage:
        """Return V of what was observed plus what is in flight, (M, p, p), ready to be inverted."""
        if not self._explores:
            return Coverage(self.model.inverse, None if self.model.full else self.model.unseen)
        found = self._coverage
        if found is None:  # with forgetting by updates: observed and in flight fade differently
            found = self._coverage_from_sums()
        if self._roots is None:
            return found
        return found.take(self._roots)

    def copy(self) -> "Learner":
        """Return a learner that goes on by itself."""
        other = copy.copy(self)
        other.model = self.model.copy()
        other._flight = self._flight.copy()
        other._departed = self._departed.copy()
        other._removed = self._removed.copy()
        return other

    def fades(self, now: float | None) -> bool:
        """Tell whether something fades until a time."""
        return (
            now is not None
            and self._period is not None
            and now > self.time
            and self.time > -math.inf
        )

    def advance(self, now: float | None) -> None:
        """Let everything fade until a time."""
        if now is None or now <= self.time:
            return
        if self.fades(now):
            assert self._period is not None
            factor = 0.5 ** ((now - self.time) / self._period)
            self._fade(np.full(len(self.effective), factor))
            self._add_departed()
            self._flight *= factor
            self._removed *= factor
            if self._explores:
                self._follow_fading(factor)
        self.time = now

    def depart(self, features: FloatArray, time: float) -> None:
        """Count a decision (p,) made at a time that is now in flight for every objective."""
        if not self._explores:
            return
        weight = self._weight(time)
        x = features if weight == 1 else math.sqrt(weight) * features
        self._departed.append(x)
        self._waiting = [count + 1 for count in self._waiting]
        self._added += 1
        if self._keep is not None:
            self._coverage = None
        elif self._coverage is not None:
            self._coverage = self._coverage.plus(x)
        if self._added >= RENEW_EVERY:
            self._renew()

    def learn(
        self, features: FloatArray, values: FloatArray, which: BoolArray | None, t: float
    ) -> None:
        """Learn the objectives (M,) ``which`` from a decision (p,) of time t, with values (M,).

        None stands for all of them. What was in flight has arrived: the coverage stays as it is.
        """
        weight = self._weight(t)
        if which is None and weight == 1:
            if self._keep is not None:
                self._fade(np.full(len(values), self._keep))
            self.model.update(features, values[:, None])
            self.effective = self.effective + 1
        else:
            which = np.ones(len(values), dtype=np.bool_) if which is None else which
            if self._keep is not None:
                self._fade(np.where(which, self._keep, 1.0))
            weights = which * weight
            roots = np.sqrt(weights)
            self.model.update(
                roots[:, None] * features, (roots * np.where(which, values, 0))[:, None]
            )
            self.effective = self.effective + weights
        if self._explores:
            self._take_out(features, which, weight)
            self._settle_in_flight()

    def learn_many(
        self, features: FloatArray, values: FloatArray, which: BoolArray, times: FloatArray
    ) -> None:
        """Learn from decisions (n, p) with values (n, M), one after the other, where ``which``."""
        weights = which.astype(np.float64)
        if self._keep is not None:
            later = which[::-1].cumsum(axis=0)[::-1] - which
            weights *= self._keep**later
            self._fade(self._keep ** which.sum(axis=0, dtype=np.float64))
        ages = self._weights(times)
        weights *= ages[:, None]
        roots = np.sqrt(weights).T[..., None]
        self.model.learn(roots * features, roots * np.where(which, values, 0).T[..., None])
        self.effective = self.effective + weights.sum(axis=0)
        if self._explores:
            self._take_out_many(features, which, ages)
            self._settle_in_flight()

    def lose(self, features: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Take decisions (n, p) out, where ``which``, (n, M), of which nothing will be learned."""
        if not self._explores:
            return
        own = which if self._own is None else which[:, self._own]
        if not own.any():
            return
        ages = self._weights(times)
        self._take_out_many(features, which, ages)
        self.losses += 1
        if self._coverage is not None and any(self._waiting):
            coverage = self._coverage if len(features) <= _FEW else None
            for x, weight, mine in zip(features, ages.tolist(), own, strict=True):
                if coverage is not None:
                    coverage = removed(coverage, math.sqrt(weight) * x, mine)
            if coverage is None:
                self._renew()
            else:
                self._coverage = coverage
        self._settle_in_flight()

    def count_in_flight(self, features: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Add up anew what is in flight: decisions (n, p), where ``which``, (n, M)."""
        self._flight = np.zeros_like(self._flight)
        self._departed = []
        self._waiting = [0] * len(self._waiting)
        self._take_out_many(features, which, -self._weights(times))
        self._removed[...] = 0
        self._summed = True
        self.worn = False
        self._renew()
        self._settle_in_flight()

    def take_over(
        self, other: "Learner", places: Sequence[int | None], factors: FloatArray
    ) -> None:
        """Know what another learner knows of the objectives at some places; None is a new one.

        Their values are multiplied by factors (M,). What is in flight has to be counted anew.
        """
        self.model = other.model.regrouped(places, factors)
        self.effective = np.array([0.0 if m is None else other.effective[m] for m in places])
        self.time = other.time
        self.losses = other.losses + 1

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state: dict[str, NDArray[np.generic]] = {
            "effective": self.effective,
            "flight": self._flight,
            "departed": np.array(self._departed).reshape(-1, self._flight.shape[-1]),
            "waiting": np.array(self._waiting, dtype=np.int64),
            "removed": self._removed,
            "time": np.array([self.time]),
            "counts": np.array([self._added, self.losses, self.worn], dtype=np.int64),
        }
        if self._coverage is not None:
            state["coverage.inverse"] = self._coverage.inverse
            unseen = self._coverage.unseen
            state["coverage.unseen"] = np.zeros_like(self._flight) if unseen is None else unseen
        return state | {f"model.{name}": one for name, one in self.model.save_state().items()}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal learner gave, to the bit."""
        expected = self.save_state()
        for name in ("effective", "flight", "waiting", "removed", "time", "counts"):
            check_shape(arrays[name], name, expected[name].shape)
        parts = {name: array for name, array in arrays.items() if name.startswith("model.")}
        self.model.load_state({name.removeprefix("model."): one for name, one in parts.items()})
        self.effective = arrays["effective"].astype(np.float64)
        self._flight = arrays["flight"].astype(np.float64)
        self._waiting = arrays["waiting"].astype(np.int64).tolist()
        departed = arrays["departed"].astype(np.float64)
        check_shape(departed, "departed", (len(departed), self._flight.shape[-1]))
        self._departed = list(departed)
        self._summed = True
        self._removed = arrays["removed"].astype(np.float64)
        self.time = float(arrays["time"].astype(np.float64).item())
        self._added, self.losses, worn = arrays["counts"].astype(np.int64).tolist()
        self.worn = bool(worn)
        self._coverage = None
        if "coverage.inverse" in arrays:
            inverse, unseen = arrays["coverage.inverse"], arrays["coverage.unseen"]
            for array in (inverse, unseen):
                check_shape(array, "coverage", self._flight.shape)
            left = unseen.astype(np.float64)
            self._coverage = Coverage(inverse.astype(np.float64), left if left.any() else None)

    def _weight(self, time: float) -> float:
        """Return how much an observation of a decision at that time counts now."""
        if self._period is None or self.time == -math.inf:
            return 1.0
        return float(0.5 ** ((self.time - time) / self._period))

    def _weights(self, times: FloatArray) -> FloatArray:
        """Return the same for many times, (n,)."""
        if self._period is None or self.time == -math.inf:
            return np.ones(len(times))
        return np.asarray(0.5 ** ((self.time - times) / self._period))

    def _fade(self, factor: FloatArray) -> None:
        self.model.decay(factor)
        self.effective = self.effective * factor
        self.losses += 1

    def _follow_fading(self, factor: float) -> None:
        """Let the coverage fade by a factor, as everything in it did."""
        if not any(self._waiting):
            self._coverage = self._observed()
        elif self._coverage is not None:
            if self.model.ridge > 0 or factor < 0.1:  # a penalty does not fade
                self._renew()
            else:
                self._coverage = self._coverage.scaled(factor)

    def _take_out(self, features: FloatArray, which: BoolArray | None, weight: float) -> None:
        """Take a decision (p,) out of what is in flight, for the objectives (M,) ``which``."""
        own = which if which is None or self._own is None else which[self._own]
        if own is None:
            self._waiting = [count - 1 for count in self._waiting]
        else:
            self._waiting = [
                count - gone for count, gone in zip(self._waiting, own.tolist(), strict=True)
            ]
        if not any(self._waiting):
            return  # the rest is zero
        self._add_departed()
        outer = weight * (features[:, None] * features)
        squares = np.diagonal(outer)
        if own is None:
            self._flight -= outer
            self._removed += squares
        else:
            self._flight[own] -= outer
            self._removed[own] += squares

    def _take_out_many(self, features: FloatArray, which: BoolArray, weights: FloatArray) -> None:
        own = which if self._own is None else which[:, self._own]
        self._add_departed()
        gone = np.sign(weights).astype(np.int64) @ own.astype(np.int64)
        self._waiting = [
            count - some for count, some in zip(self._waiting, gone.tolist(), strict=True)
        ]
        for m, mine in enumerate(own.T):
            some = features[mine]
            self._flight[m] -= (some.T * weights[mine]) @ some
            self._removed[m] += np.abs(weights[mine]) @ np.square(some)

    def _settle_in_flight(self) -> None:
        """Let rounding vanish: where nothing is in flight, the sum is zero."""
        if not any(self._waiting):
            if self._summed:
                self._flight[...] = 0
                self._removed[...] = 0
                self._summed = False
            self._departed = []
            self._added = 0
            self._coverage = self._observed()
            return
        if not all(self._waiting):
            self._add_departed()
            empty = np.array(self._waiting) == 0
            self._flight[empty] = 0
            self._removed[empty] = 0
        if self._keep is not None:
            self._coverage = None
            self.worn = self.worn or self._wear() > _WORN

    def _observed(self) -> Coverage:
        inverse = self.model.inverse
        unseen = None if self.model.full else self.model.unseen
        if self._own is not None:
            inverse, unseen = inverse[self._own], None if unseen is None else unseen[self._own]
        return Coverage(inverse, unseen)

    def _renew(self) -> None:
        """Compute the coverage anew, and find out whether rounding has gathered in the sums."""
        self._add_departed()
        if self._keep is None:
            self._coverage = self._coverage_from_sums()
        self._added = 0
        self.worn = self.worn or self._wear() > _WORN

    def _coverage_from_sums(self) -> Coverage:
        wear = RENEW_EVERY * int(min(self._wear(), _WORN))  # rounding of so many more additions
        additions = self.model.count + max(self._waiting) + wear
        return Coverage.from_sums(self._total(), additions=additions, ridge=self.model.ridge)

    def _wear(self) -> float:
        """Return how much was taken out of the sums for each that is left, the worst feature's.

        Rounding stays behind, in proportion to what was taken out. Beside what is left it must not
        look like a direction.
        """
        left = np.einsum("mii->mi", self._total())
        some = self._removed > 0
        return float((self._removed[some] / np.maximum(left[some], TINY)).max(initial=0.0))

    def _total(self) -> FloatArray:
        gram = self.model.gram
        total = (gram if self._own is None else gram[self._own]) + self._flight
        if self._departed:
            recent = np.array(self._departed)
            total += recent.T @ recent
        return np.asarray(total)

    def _add_departed(self) -> None:
        """Add the decisions that departed last to the sums."""
        if self._departed:
            recent = np.array(self._departed)
            self._flight += recent.T @ recent
            self._departed = []
            self._summed = True
