"""What has been learned, and what is on its way: every objective with sums of its own.

An objective is estimated from exactly the decisions for which it was observed. As long as all of
them are observed together they share one Gram matrix; once one is observed, or lost, without
another, each has its own for good: a batch entry of the linear model. Beside them stand the
decisions still in flight. One invariant holds: the coverage, which exploration goes by, is V of
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

import numpy as np
from numpy.typing import NDArray

from mogro._spectrum import RENEW_EVERY
from mogro._validation import BoolArray, FloatArray, check_shape
from mogro.choice import Beliefs
from mogro.linear import LinearModel
from mogro.live.memory.coverage import Coverage, removed
from mogro.live.memory.inflight import InFlight
from mogro.live.objective import HalfLife

_WORN = 1e4  # share taken out of the sums in flight after which they are added up anew
_FEW = 8  # decisions that are taken out one by one, more of them by computing anew


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
        own = sorted(set(roots))
        self._together = len(own) == objectives  # observed and lost together so far
        self._model = (
            LinearModel(size, objectives, ridge=ridge)
            if self._together
            else LinearModel(size, 1, ridge=ridge, batch=(objectives,))
        )
        self.effective: FloatArray = np.zeros(objectives)  # sums of the observations' weights
        self.time = -math.inf  # to which the weights refer; the latest seen
        updates = half_life.updates if half_life else None
        # What an objective keeps of the rest at each of its observations.
        self._keep = None if updates is None else 0.5 ** (1 / updates)
        self._period = half_life.time if half_life else None
        self._explores = explores
        # Sums are kept for objectives without a condition only, which the others refer to.
        self._own = None if self._together else np.array(own)
        self._roots = None if self._together else np.array([own.index(m) for m in roots])
        self._flight = InFlight(1 if self._together else len(own), size)
        self._coverage: Coverage | None = self._observed()
        self._added = 0  # to the coverage since it was last computed from sums
        self.losses = 0  # how often the coverage got less: what needed no exploration may need it
        self.worn = False  # rounding may have gathered in the sums of what is in flight

    @property
    def grams(self) -> int:
        """How many Gram matrices there are: one, or one for each objective."""
        return 1 if self._together else len(self.effective)

    @property
    def theta(self) -> FloatArray:
        """Estimates, (M, p)."""
        return self._model.theta if self._together else self._model.theta[:, 0, :]

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of the observations from the estimates, (M,); NaN if unknown."""
        free = self.effective - self._model.rank
        known = np.maximum(self._squares, 0) / np.where(free > 0, free, 1)
        return np.asarray(np.sqrt(np.where(free > 0, known, math.nan)))

    @property
    def _squares(self) -> FloatArray:
        return self._model.squares if self._together else self._model.squares[:, 0]

    def variances(self, features: FloatArray) -> FloatArray:
        """Return ``x^T V^+ x`` of arms (K, p) for every objective, (M, K); infinite if unseen."""
        objectives = len(self.effective)
        if self._together:
            shared = self._model.variances(features)
            return np.broadcast_to(shared, (objectives, len(features)))
        return self._model.variances(np.broadcast_to(features, (objectives, *features.shape)))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know; nothing is copied, and nothing changes it."""
        model = self._model
        inverse, unseen = self._seen()
        return Beliefs(
            theta=self.theta,
            inverse=inverse,
            unseen=unseen,
            counts=self._counts(),
            ranks=model.rank[None] if self._together else model.rank,
            squares=self._squares,
            totals=model.totals if self._together else model.totals[:, 0],
            coverage=self.coverage(),  # type: ignore[arg-type]
        )

    def _counts(self) -> FloatArray | int:
        """Return the observations of every objective; a plain number is looked at faster."""
        if self._together and self._keep is None and self._period is None:
            return int(self.effective.item(0))
        return self.effective

    def coverage(self) -> Coverage:
        """Return V of what was observed plus what is in flight, ready to be inverted."""
        if not self._explores:
            return Coverage(*self._seen())
        found = self._coverage
        if found is None:  # with forgetting by updates: observed and in flight fade differently
            found = self._coverage_from_sums()
        if self._roots is None:
            return found
        return found.take(self._roots)

    def copy(self) -> "Learner":
        """Return a learner that goes on by itself."""
        other = copy.copy(self)
        other._model = self._model.copy()
        other._flight = self._flight.copy()
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
            self._flight.fade(factor)
            if self._explores:
                self._follow_fading(factor)
        self.time = now

    def depart(self, features: FloatArray, time: float) -> None:
        """Count a decision (p,) made at a time that is now in flight for every objective."""
        if not self._explores:
            return
        weight = self._weight(time)
        x = features if weight == 1 else math.sqrt(weight) * features
        self._flight.add(x)
        self._added += 1
        if self._keep is not None:
            self._coverage = None
        elif self._coverage is not None:
            self._coverage = self._coverage.plus(x)
        if self._added >= RENEW_EVERY:
            self._renew()

    def learn(
        self, features: FloatArray, values: FloatArray, which: BoolArray | None, time: float
    ) -> None:
        """Learn the objectives (M,) ``which`` from a decision (p,) of a time, with values (M,).

        None stands for all of them. What was in flight has arrived: the coverage stays as it is.
        """
        weight = self._weight(time)
        if which is not None:
            self._separate_if_apart(which)
        if which is None and weight == 1:
            if self._keep is not None:
                self._fade(np.full(len(values), self._keep))
            self._model.update(features, values if self._together else values[:, None])
            self.effective = self.effective + 1
        else:
            which = np.ones(len(values), dtype=np.bool_) if which is None else which
            if self._keep is not None:
                self._fade(np.where(which, self._keep, 1.0))
            weights = which * weight
            roots = np.sqrt(weights)
            scaled = roots * np.where(which, values, 0)
            if self._together:
                self._model.update(roots[0] * features, scaled)
            else:
                self._model.update(roots[:, None] * features, scaled[:, None])
            self.effective = self.effective + weights
        if self._explores:
            own = None if which is None or bool(which.all()) else self._for_sums(which)
            self._flight.remove(features, own, weight)
            self._settle_in_flight()

    def learn_many(
        self, features: FloatArray, values: FloatArray, which: BoolArray, times: FloatArray
    ) -> None:
        """Learn from decisions (n, p) with values (n, M), one after the other, where ``which``."""
        self._separate_if_apart(which)
        weights = which.astype(np.float64)
        if self._keep is not None:
            later = which[::-1].cumsum(axis=0)[::-1] - which
            weights *= self._keep**later
            self._fade(self._keep ** which.sum(axis=0, dtype=np.float64))
        ages = self._weights(times)
        weights *= ages[:, None]
        roots = np.sqrt(weights)
        scaled = roots * np.where(which, values, 0)
        if self._together:
            self._model.learn(roots[:, :1] * features, scaled)
        else:
            self._model.learn(roots.T[..., None] * features, scaled.T[..., None])
        self.effective = self.effective + weights.sum(axis=0)
        if self._explores:
            self._flight.remove_many(features, self._for_sums(which), ages)
            self._settle_in_flight()

    def lose(self, features: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Take decisions (n, p) out, where ``which``, (n, M), of which nothing will be learned."""
        if not self._explores:
            return
        self._separate_if_apart(which)
        own = self._for_sums(which)
        if not own.any():
            return
        ages = self._weights(times)
        self._flight.remove_many(features, own, ages)
        self.losses += 1
        if self._coverage is not None and self._flight.some:
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
        self._separate_if_apart(which)
        self._flight.recount(features, self._for_sums(which), self._weights(times))
        self.worn = False
        self._renew()
        self._settle_in_flight()

    def take_over(
        self, other: "Learner", places: Sequence[int | None], factors: FloatArray
    ) -> None:
        """Know what another learner knows of the objectives at some places; None is a new one.

        Their values are multiplied by factors (M,). What is in flight has to be counted anew.
        """
        self._separate()
        known = other.copy()
        known._separate()
        self._model = known._model.regrouped(places, factors)
        self.effective = np.array([0.0 if m is None else other.effective[m] for m in places])
        self.time = other.time
        self.losses = other.losses + 1

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state: dict[str, NDArray[np.generic]] = {
            "effective": self.effective,
            "time": np.array([self.time]),
            "counts": np.array([self._added, self.losses, self.worn], dtype=np.int64),
        }
        state |= self._flight.save_state()
        if self._coverage is not None:
            state["coverage.inverse"] = inverse = self._coverage.inverse
            unseen = self._coverage.unseen
            state["coverage.unseen"] = np.zeros_like(inverse) if unseen is None else unseen
        return state | {f"model.{name}": one for name, one in self._model.save_state().items()}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal learner gave, to the bit."""
        if arrays["model.rank"].ndim:
            self._separate()
        own = self.save_state()
        for name in ("effective", "time", "counts"):
            check_shape(arrays[name], name, own[name].shape)
        parts = {name: array for name, array in arrays.items() if name.startswith("model.")}
        self._model.load_state({name.removeprefix("model."): one for name, one in parts.items()})
        self._flight.load_state(arrays)
        self.effective = arrays["effective"].astype(np.float64)
        self.time = float(arrays["time"].astype(np.float64).item())
        self._added, self.losses, worn = arrays["counts"].astype(np.int64).tolist()
        self.worn = bool(worn)
        self._coverage = None
        if "coverage.inverse" in arrays:
            inverse, unseen = arrays["coverage.inverse"], arrays["coverage.unseen"]
            for array in (inverse, unseen):
                check_shape(array, "coverage", arrays["flight"].shape)
            left = unseen.astype(np.float64)
            self._coverage = Coverage(inverse.astype(np.float64), left if left.any() else None)

    def _separate_if_apart(self, which: BoolArray) -> None:
        """Give every objective its own sums if ``which``, (..., M), has one without another."""
        if self._together and (which != which[..., :1]).any():
            self._separate()

    def _separate(self) -> None:
        """Give every objective a Gram matrix of its own, for good."""
        if not self._together:
            return
        objectives = len(self.effective)
        self._together = False
        self._model = self._model.separated()
        self._flight = self._flight.split(objectives)
        if self._coverage is not None:
            self._coverage = self._coverage.take(np.zeros(objectives, dtype=np.int64))
        self.losses += 1  # what was found out of one Gram matrix is not known of several

    def _for_sums(self, which: BoolArray) -> BoolArray:
        """Return which of the Gram matrices in flight are meant, (..., G), by objectives."""
        if self._together:
            return which[..., :1]
        return which if self._own is None else which[..., self._own]

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
        self._model.decay(np.asarray(factor[0]) if self._together else factor)
        self.effective = self.effective * factor
        self.losses += 1

    def _follow_fading(self, factor: float) -> None:
        """Let the coverage fade by a factor, as everything in it did."""
        if not self._flight.some:
            self._coverage = self._observed()
        elif self._coverage is not None:
            if self._model.ridge > 0 or factor < 0.1:  # a penalty does not fade
                self._renew()
            else:
                self._coverage = self._coverage.scaled(factor)

    def _settle_in_flight(self) -> None:
        """Let rounding vanish: where nothing is in flight, the sum is zero."""
        self._flight.settle()
        if not self._flight.some:
            self._added = 0
            self._coverage = self._observed()
        elif self._keep is not None:
            self._coverage = None
            self.worn = self.worn or self._flight.wear(self._gram()) > _WORN

    def _seen(self) -> tuple[FloatArray, FloatArray | None]:
        """Return pseudo-inverse and projector on what was never seen, each (G, p, p)."""
        inverse = self._model.inverse
        unseen = None if self._model.full else self._model.unseen
        if self._together:
            return inverse[None], None if unseen is None else unseen[None]
        return inverse, unseen

    def _observed(self) -> Coverage:
        inverse, unseen = self._seen()
        if self._own is not None:
            inverse, unseen = inverse[self._own], None if unseen is None else unseen[self._own]
        return Coverage(inverse, unseen)

    def _gram(self) -> FloatArray:
        """Return V of what was observed, for the sums that are kept, (G, p, p)."""
        gram = self._model.gram
        if self._together:
            return gram[None]
        return gram if self._own is None else gram[self._own]

    def _renew(self) -> None:
        """Compute the coverage anew, and find out whether rounding has gathered in the sums."""
        self._flight.gather()
        if self._keep is None:
            self._coverage = self._coverage_from_sums()
        self._added = 0
        self.worn = self.worn or self._flight.wear(self._gram()) > _WORN

    def _coverage_from_sums(self) -> Coverage:
        gram = self._gram()
        wear = RENEW_EVERY * int(min(self._flight.wear(gram), _WORN))  # rounding, as of additions
        additions = self._model.count + self._flight.most + wear
        total = self._flight.beside(gram)
        return Coverage.from_sums(total, additions=additions, ridge=self._model.ridge)
