"""What has been learned, and what is on its way.

One posterior knows what was observed; objectives that were observed apart have a V of their own in
it. Beside it stand the decisions in flight, whose rewards have not come yet: the sum of their
``x x'``. Exploration goes by a second posterior, over what was observed plus what is in flight. A
decision that departs adds to it; an observation that arrives only moves from one to the other; a
decision of which nothing will be learned is taken out.

With a half-life an observation counts for half after it. Measured in time, its age is that of its
decision, so the order in which rewards arrive makes no difference, and what is in flight fades
alike; measured in updates, it is the number of later observations of the same objective.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray, check_shape
from mogro.agent.objective import HalfLife
from mogro.beliefs import Beliefs, Known
from mogro.exploration import ExplorationCache
from mogro.posterior import Posterior
from mogro.priors import Prior

_FEW = 32  # decisions that are learned one by one, more of them at once
_ROUNDING = 1e-10  # of the square of a feature that was taken out: what is left beside it is none


class Learner:
    """Estimates of every objective, how much stands behind them, and what is in flight.

    Parameters
    ----------
    size
        p, the number of features as the learner sees them.
    roots
        For every objective, the one that calls for exploration in its place: itself, or the first
        of its conditions.
    prior
        What is believed before the first observation.
    half_life
        Forgetting, if any.
    explores
        Whether anybody asks for what is in flight.
    """

    def __init__(
        self,
        size: int,
        roots: Sequence[int],
        *,
        prior: Prior,
        half_life: HalfLife | None,
        explores: bool,
    ) -> None:
        self.observed = Posterior(size, len(roots), prior=prior)
        self.time = -math.inf  # to which the weights refer; the latest seen
        self.cache = ExplorationCache()
        updates = half_life.updates if half_life else None
        # What an objective keeps of the past at each of its observations.
        self._keep = None if updates is None else 0.5 ** (1 / updates)
        self._period = half_life.time if half_life else None
        self._explores = explores
        self._roots = None if list(roots) == list(range(len(roots))) else np.array(roots)
        self._waiting = [0]  # how many are in flight
        self._flight: FloatArray = np.zeros((1, size, size))  # sums of x x' of these
        self._departed: list[FloatArray] = []  # the last ones, not in the sums yet
        self._summed = False  # whether the sums may be other than zero
        # The second posterior, if it was asked for, and how many of the last ones are in it.
        self._expected: Posterior | None = None
        self._included = 0
        self._switches = 0  # between the two posteriors, as exploration goes by them

    @property
    def theta(self) -> FloatArray:
        """Estimates, (M, p)."""
        return self.observed.theta

    @property
    def effective(self) -> FloatArray:
        """Weight of the observations of every objective, (M,)."""
        return np.broadcast_to(self.observed.n, (self.observed.objectives,))

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of the observations from the estimates, (M,)."""
        return np.sqrt(self.observed.noise)

    @property
    def noise_is_known(self) -> BoolArray:
        """Which objectives, (M,), have more observations than there are parameters."""
        return np.asarray(self.effective > self.observed.dim)

    def beliefs(self) -> Beliefs:
        """Return what a policy may know; nothing changes it any more."""
        beliefs = self.observed.beliefs(self._expectation())
        expected: Any = beliefs.expected
        expected.version += self._switches << 32
        if self._roots is not None and self.observed.apart:
            beliefs.expected = _OfRoots(expected, self._roots)
        return beliefs

    def _expectation(self) -> Posterior | None:
        """Return the posterior over what was observed plus what is in flight, if that is more."""
        if not any(self._waiting):
            return None
        if self._expected is None:
            flight = self._flight + _outer_sum(self._departed, self._flight[0])
            self._expected = self.observed.expecting(flight, np.array(self._waiting, float))
            self._included = len(self._departed)
            self._switches += 1
        self._include()
        return self._expected

    def _include(self) -> None:
        """Let the second posterior know of the last decisions in flight."""
        if self._expected is not None and self._included < len(self._departed):
            nothing = np.zeros(self.observed.objectives)
            for x in self._departed[self._included :]:
                self._expected.update(x, nothing)
        self._included = len(self._departed)

    def copy(self) -> "Learner":
        """Return a learner that goes on by itself."""
        other = copy.copy(self)
        other.observed = self.observed.copy()
        other.cache = ExplorationCache()
        other._flight = self._flight.copy()
        other._expected = None if self._expected is None else self._expected.copy()
        other._departed = self._departed.copy()
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
            self.observed.decay(factor)
            self._gather()
            self._flight *= factor
            self._forget_expectation()
        self.time = now

    def depart(self, x: FloatArray, time: float) -> None:
        """Count a decision (p,) made at a time that is now in flight for every objective."""
        if not self._explores:
            return
        weight = self._weight(time)
        self._departed.append(x if weight == 1 else math.sqrt(weight) * x)
        self._waiting = [count + 1 for count in self._waiting]

    def learn(
        self, x: FloatArray, values: FloatArray, which: BoolArray | None, time: float
    ) -> None:
        """Learn the objectives (M,) ``which`` from a decision (p,) of a time, with values (M,).

        None stands for all of them. What was in flight has arrived.
        """
        self._observe(x, values, which, time)
        if which is None and max(self._waiting) == 1:
            self._land_all()
        else:
            taken = np.ones((1, len(values)), dtype=np.bool_) if which is None else which[None]
            self._remove(x[None], taken, self._weights(np.array([time])))

    def learn_closed(
        self,
        x: FloatArray,
        values: FloatArray,
        learned: BoolArray,
        lost: BoolArray,
        times: FloatArray,
    ) -> None:
        """Learn from decisions (n, p) whose windows close, one after the other.

        Values (n, M) are learned where ``learned``; nothing will be learned where ``lost``.
        """
        if not len(x):  # only windows of what had become final before
            return
        rows = np.flatnonzero(learned.any(axis=1))
        if len(rows) > _FEW:
            self._observe_many(x, values, learned, times)
        else:
            for n in rows.tolist():
                which = None if learned[n].all() else learned[n]
                self._observe(x[n], values[n], which, times.item(n))
        self._take_out(x, learned | lost, times)
        if lost.any():
            self._forget_expectation()

    def _observe(
        self, x: FloatArray, values: FloatArray, which: BoolArray | None, time: float
    ) -> None:
        weight = self._weight(time)
        if self._keep is not None:
            self._fade(np.ones(len(values)) if which is None else which)
        weights = None
        if which is not None or weight != 1:
            weights = np.full(len(values), weight) if which is None else weight * which
        self.observed.update(x, values, weights)

    def _observe_many(
        self, x: FloatArray, values: FloatArray, which: BoolArray, times: FloatArray
    ) -> None:
        weights = self._weights(times)[:, None] * which
        if self._keep is not None:
            later = which[::-1].cumsum(axis=0)[::-1] - which
            weights *= self._keep**later
            self._fade(which.sum(axis=0))
        self.observed.learn(x, np.where(which, values, 0.0), weights)

    def lose(self, x: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Take decisions (n, p) out, where ``which``, (n, M), of which nothing will be learned."""
        self._take_out(x, which, times)
        self._forget_expectation()

    def _take_out(self, x: FloatArray, which: BoolArray, times: FloatArray) -> None:
        if self._explores:
            if (which != which[:, :1]).any():
                self.observed.separate()
            self._remove(x, which, self._weights(times))

    def take_over(
        self, other: "Learner", places: Sequence[int | None], factors: FloatArray
    ) -> None:
        """Know what another learner knows of the objectives at some places; None is a new one.

        Their values are multiplied by factors (M,). Nothing is in flight for a new one.
        """
        known = other.copy()
        known.observed.separate()
        known._follow_separation()
        self.observed = known.observed.with_objectives(places, factors)
        self.time = other.time
        known._gather()
        none = np.zeros_like(known._flight[0])
        self._flight = np.array([none if m is None else known._flight[m] for m in places])
        self._waiting = [0 if m is None else known._waiting[m] for m in places]
        self._summed = True

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state: dict[str, NDArray[np.generic]] = {
            "time": np.array([self.time]),
            "flight": self._flight.copy(),
            "departed": np.array(self._departed).reshape(-1, self.observed.dim),
            "waiting": np.array(self._waiting),
        }
        learned = self.observed.save_state().items()
        return state | {f"posterior.{name}": array for name, array in learned}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal learner gave, to the bit."""
        prefix = "posterior."
        self.observed.load_state(
            {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
        )
        self._follow_separation()
        check_shape(arrays["flight"], "flight", self._flight.shape)
        check_shape(arrays["waiting"], "waiting", (len(self._flight),))
        departed = arrays["departed"].astype(np.float64)
        check_shape(departed, "departed", (len(departed), self.observed.dim))
        self._flight, self._departed = arrays["flight"].astype(np.float64), list(departed)
        self._waiting = arrays["waiting"].astype(np.int64).tolist()
        self._summed = True
        self.time = float(arrays["time"].astype(np.float64).item())
        self._forget_expectation()

    def _remove(self, x: FloatArray, which: BoolArray, weights: FloatArray) -> None:
        """Take decisions (n, p) of weights (n,) out of what is in flight, where ``which``."""
        if not self._explores:
            return
        self._follow_separation()
        taken = which[:, : len(self._waiting)].astype(np.float64)
        gone = taken.sum(axis=0).astype(int).tolist()
        self._waiting = [count - less for count, less in zip(self._waiting, gone, strict=True)]
        if not any(self._waiting):
            self._land_all()
            return
        self._gather()
        scaled = np.sqrt(taken * weights[:, None]).T[..., None] * x  # (G, n, p)
        self._flight -= np.swapaxes(scaled, -1, -2) @ scaled
        # Rounding of what was taken out is left: it must not look like a direction.
        left, removed = np.einsum("gii->gi", self._flight), np.square(scaled).sum(axis=1)
        vanished = (left <= _ROUNDING * removed) & (removed > 0)
        vanished[[count == 0 for count in self._waiting]] = True
        if vanished.any():
            self._flight[vanished] = 0
            np.swapaxes(self._flight, -1, -2)[vanished] = 0

    def _land_all(self) -> None:
        """Have nothing in flight."""
        self._waiting = [0] * len(self._waiting)
        if len(self._departed) != 1 or self._summed:
            self._flight, self._summed = np.zeros_like(self._flight), False
        self._departed = []
        self._forget_expectation()

    def _gather(self) -> None:
        """Add the last decisions in flight to the sums."""
        if self._departed:
            self._include()
            self._flight = self._flight + _outer_sum(self._departed, self._flight[0])
            self._departed, self._included, self._summed = [], 0, True

    def _follow_separation(self) -> None:
        """Let every objective have its own in flight once it has its own sums."""
        objectives = self.observed.objectives
        if self.observed.apart and len(self._waiting) < objectives:
            self._flight = np.repeat(self._flight, objectives, axis=0)
            self._waiting = self._waiting * objectives
            self._forget_expectation()

    def _fade(self, observations: FloatArray | BoolArray) -> None:
        """Let the past of objectives fade, by the number of new observations of each, (M,)."""
        assert self._keep is not None
        factors = self._keep ** np.asarray(observations, dtype=np.float64)
        together = bool((factors == factors[0]).all())
        self.observed.decay(float(factors[0]) if together else factors)
        self._forget_expectation()

    def _forget_expectation(self) -> None:
        """Make the second posterior anew when it is asked for."""
        if self._expected is not None:
            self._expected, self._included = None, 0
            self._switches += 1

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


def _outer_sum(vectors: list[FloatArray], nothing: FloatArray) -> FloatArray:
    """Return the sum of the outer products of vectors (p,), (p, p)."""
    if not vectors:
        return nothing * 0.0
    rows = np.array(vectors)
    return np.asarray(rows.T @ rows)


class _OfRoots:
    """What is known of the conditions of objectives, in their place."""

    def __init__(self, whole: Known, roots: IntArray) -> None:
        self._whole, self._roots = whole, roots
        self.version, self.all_seen = whole.version, whole.all_seen

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for while it is copied
            raise AttributeError(name)
        return getattr(self._whole, name)[self._roots]
