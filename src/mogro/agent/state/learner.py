"""What has been learned, and what is on its way.

One posterior knows what was observed; objectives that were observed apart have a V of their own in
it. Beside it stand the decisions in flight, whose rewards have not come yet: the last ones one by
one, others as the sum of their ``x x'``. Exploration goes by a second posterior, over what was
observed plus what is in flight, which is made when it is asked for.

With a half-life an observation counts for half after it. Its age is that of its decision, so the
order in which rewards arrive makes no difference. Measured in time, it is counted from now, and
what is in flight fades alike; measured in updates, it is the number of decisions up to the last one
that something was learned from, and what is in flight counts in full.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mogro._validation import BoolArray, FloatArray, IntArray, check_shape
from mogro.agent.features.arms import ArmSet
from mogro.agent.objective import HalfLife
from mogro.agent.state.arm_effects import ArmEffects, with_effects
from mogro.beliefs import Beliefs, FrozenPosterior
from mogro.exploration import ExplorationCache
from mogro.posterior import Posterior
from mogro.priors import Prior

_MAX_SINGLE = 256  # decisions in flight that are kept one by one, more of them as a sum
_ONE_BY_ONE = 32  # decisions that are learned one by one, more of them at once
_ROUNDING = 1e-10  # of the square of a feature that was taken out: what is left beside it is none


class Learner:
    """Estimates of every objective, how much stands behind them, and what is in flight.

    Parameters
    ----------
    size
        p, the number of features as the learner sees them.
    first_conditions
        For every objective, the one that calls for exploration in its place: itself, or the first
        of its conditions.
    prior
        What is believed before the first observation.
    half_life
        Forgetting, if any.
    explores
        Whether anybody asks for what is in flight.
    arm_effects
        Whether arms have effects of their own.
    """

    def __init__(
        self,
        size: int,
        first_conditions: Sequence[int],
        *,
        prior: Prior,
        half_life: HalfLife | None,
        explores: bool,
        arm_effects: bool = False,
    ) -> None:
        self.observed = Posterior(size, len(first_conditions), prior=prior)
        self.effects = ArmEffects(size, len(first_conditions)) if arm_effects else None
        self.cache = ExplorationCache()
        self._period = (half_life.updates or half_life.time) if half_life else None
        self._by_number = half_life is not None and half_life.updates is not None
        # To which weights refer: the latest time seen, or the last decision that was learned from.
        self.latest = -math.inf
        self._explores = explores
        self._first_conditions = (
            None
            if list(first_conditions) == list(range(len(first_conditions)))
            else np.array(first_conditions)
        )
        self._pending = [0]  # how many are in flight, (G,)
        self._sums: FloatArray = np.zeros((1, size, size))  # of x x' of these; never changed
        self._recent: dict[int, FloatArray] = {}  # the last ones, not in the sums yet
        self._summed = False  # whether some are in the sums
        self._losses = 0  # how often less than before may be known of what is expected
        self._split_pending()

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

    def continue_from(self, before: "Learner", learned: IntArray, now: float) -> None:
        """Let weights refer to the same as before; else to the last decision learned, or now."""
        self.latest = now
        if self._by_number:
            last = before.latest if before._by_number else -math.inf
            self.latest = max(last, float(learned.max(initial=-1)))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know; nothing changes it any more."""
        beliefs = self.observed.beliefs()
        expected: Any = beliefs.observed
        if any(self._pending):
            recent = list(self._recent.values())
            expected = _ExpectedPosterior(expected, self._sums, recent, self._pending)
        expected.version += self._losses << 32
        if self._first_conditions is not None and self.observed.apart:
            expected = _PosteriorOfConditions(expected, self._first_conditions)
        beliefs.expected = expected
        return beliefs

    def beliefs_about(
        self,
        arms: ArmSet,
        learned: Beliefs | None = None,
        in_flight: Mapping[str, int] = MappingProxyType({}),
    ) -> tuple[ArmSet, Beliefs]:
        """Return arms, with their effects if they have some, and what is believed about them.

        ``learned`` are the beliefs if known already; of arms, so many decisions are in flight.
        """
        beliefs, effects = arms.project(learned or self.beliefs()), self.effects
        if effects is None:
            return arms, beliefs
        offered = arms.with_columns(lambda ids: effects.columns(ids, self.theta, in_flight))
        return offered, with_effects(beliefs)

    def copy(self) -> "Learner":
        """Return a learner that goes on by itself."""
        other = copy.copy(self)
        other.observed = self.observed.copy()
        other.effects = None if self.effects is None else self.effects.copy()
        other.cache = ExplorationCache()
        other._recent = self._recent.copy()
        return other

    def decays_until(self, now: float | None) -> bool:
        """Tell whether something fades until a time."""
        return now is not None and self._by_time and now > self.latest and self.latest > -math.inf

    @property
    def _by_time(self) -> bool:
        """Whether all fades as time goes by."""
        return self._period is not None and not self._by_number

    def advance(self, now: float) -> None:
        """Let everything fade until a time."""
        if not self._by_number:
            self._fade(now)

    def _fade(self, latest: float) -> None:
        """Let weights refer to a time, or a decision, if that is a later one."""
        if latest <= self.latest:
            return
        if self._period is not None and self.latest > -math.inf:
            factor = 0.5 ** ((latest - self.latest) / self._period)
            self.observed.decay(factor)
            if self._by_time:
                self._sum_recent()
                self._sums = self._sums * factor
        self.latest = latest

    def add_pending(self, number: int, x: FloatArray, time: float) -> None:
        """Count a decision (p,) of a time and a number that is now in flight for every objective.

        Its features are not copied: they must not change while it is pending.
        """
        if not self._explores:
            return
        weight = float(self._decay_weights(time)) if self._by_time else 1.0
        self._recent[number] = x if weight == 1 else math.sqrt(weight) * x
        self._pending = [count + 1 for count in self._pending]
        if len(self._recent) > _MAX_SINGLE:
            self._sum_recent()

    def learn(
        self,
        number: int,
        x: FloatArray,
        values: FloatArray,
        which: BoolArray | None,
        time: float,
        arm: str = "",
    ) -> None:
        """Learn the objectives (M,) ``which`` from a decision (p,) of a time, with values (M,).

        None stands for all of them. What was in flight has arrived.
        """
        if which is None and self._period is None and self.effects is None:
            self.observed.update(x, values)
        else:
            self._observe(x, values, which, number, time, arm)
        if which is None and self._recent.pop(number, None) is not None:
            self._pending = [count - 1 for count in self._pending]
            if self._summed and not any(self._pending):
                self._clear_sums()
            return
        taken = np.ones((1, len(values)), dtype=np.bool_) if which is None else which[None]
        self._subtract_pending(x[None], taken, np.array([time]))

    def learn_block(
        self,
        x: FloatArray,
        values: FloatArray,
        learned: BoolArray,
        unobserved: BoolArray,
        numbers: IntArray,
        times: FloatArray,
        arms: Sequence[str],
    ) -> None:
        """Learn from decisions (n, p) whose windows close, one after the other.

        Values (n, M) are learned where ``learned``; nothing will be learned where ``unobserved``.
        """
        if not len(x):  # only windows of what had become final before
            return
        rows = np.flatnonzero(learned.any(axis=1))
        if len(rows) > _ONE_BY_ONE and self.effects is None:
            self._observe_many(x[rows], values[rows], learned[rows], numbers[rows], times[rows])
        else:
            for n in rows.tolist():
                which = None if learned[n].all() else learned[n]
                self._observe(x[n], values[n], which, numbers.item(n), times.item(n), arms[n])
        self._remove_pending(x, learned | unobserved, times)
        self._losses += bool(unobserved.any())

    def _observe(
        self,
        x: FloatArray,
        values: FloatArray,
        which: BoolArray | None,
        number: int,
        time: float,
        arm: str,
    ) -> None:
        if self.effects is not None:
            pairs = list(enumerate(values.tolist()))
            seen = pairs if which is None else [pair for pair in pairs if which[pair[0]]]
            self.effects.learn(self.observed, arm, x, seen)
            return
        weight = self._weight(number, time)
        weights = None
        if which is not None or weight != 1:
            weights = np.full(len(values), weight) if which is None else weight * which
        self.observed.update(x, values, weights)

    def _observe_many(
        self,
        x: FloatArray,
        values: FloatArray,
        which: BoolArray,
        numbers: IntArray,
        times: FloatArray,
    ) -> None:
        if self._by_number:
            self._fade(float(numbers.max()))
        weights = self.weights(numbers, times)[:, None] * which
        self.observed.learn(x, np.where(which, values, 0.0), weights)

    def correct(
        self,
        number: int,
        x: FloatArray,
        taken_out: Sequence[tuple[int, float]],
        put_in: Sequence[tuple[int, float]],
        time: float,
        arm: str = "",
    ) -> None:
        """Learn other values from a decision (p,), by objective, with what it weighs now."""
        self._losses += 1
        if self.effects is not None:
            self.effects.unlearn(self.observed, arm, x, taken_out)
            self.effects.learn(self.observed, arm, x, put_in)
            return
        values, signs = np.zeros((2, 2, self.observed.objectives))
        for row, observations in enumerate((taken_out, put_in)):
            for m, value in observations:
                values[row, m], signs[row, m] = value, 2 * row - 1
        if not signs.sum(axis=0).any():  # other values only: objectives go on sharing a V
            signs[:] = [[-1], [1]]
        weights = self._weight(number, time) * signs
        self.observed.learn(np.array([x, x]), values, weights)

    def restore_pending(self, x: FloatArray, which: BoolArray, time: float) -> None:
        """Let objectives (M,) ``which`` of a decision (p,) of a time be in flight again."""
        if self._explores:
            self.observed.separate()
            self._split_pending()
            self._sum_recent()
            again = self._pending_weights(time) * which
            self._sums, self._summed = self._sums + again[:, None, None] * np.outer(x, x), True
            counts = zip(self._pending, which.tolist(), strict=True)
            self._pending = [count + more for count, more in counts]

    def remove_pending(self, x: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Take decisions (n, p) out, where ``which``, (n, M), of which nothing will be learned."""
        self._remove_pending(x, which, times)
        self._losses += 1

    def _remove_pending(self, x: FloatArray, which: BoolArray, times: FloatArray) -> None:
        if self._explores:
            if (which != which[:, :1]).any():
                self.observed.separate()
            self._subtract_pending(x, which, times)

    def begin_pending(self, x: FloatArray, pending: BoolArray, times: FloatArray) -> None:
        """Begin with decisions (n, p) of times in flight, for objectives (n, M)."""
        if not self._explores:
            return
        rows = pending.any(axis=1)
        x, pending, times = x[rows], pending[rows], times[rows]
        if (pending != pending[:, :1]).any():
            self.observed.separate()
        self._split_pending()
        groups = pending[:, : len(self._pending)]
        weights = self._pending_weights(times)[:, None]
        scaled = np.sqrt(groups * weights).T[..., None] * x  # (G, n, p)
        self._sums, self._summed = np.swapaxes(scaled, -1, -2) @ scaled, True
        self._pending = groups.sum(axis=0).tolist()

    def weights(self, numbers: IntArray, times: FloatArray) -> FloatArray:
        """Return how much observations of decisions (n,) count now, later ones as the last."""
        moments = np.minimum(numbers if self._by_number else times, self.latest)
        return np.asarray(self._decay_weights(moments))

    def evidence(self) -> FloatArray:
        """Return the prior that is most likely, (M, p); for effects of arms (M, p + 1)."""
        precisions = self.observed.evidence()
        if self.effects is None:
            return precisions
        return np.column_stack([precisions, self.effects.likely_ratios(self.observed)])

    def learn_prior(self, precisions: FloatArray) -> None:
        """Take over a prior that was learned anew, as :meth:`evidence` returns it."""
        size = self.observed.dim
        if self.effects is not None:
            self.effects.set_ratios(self.observed, precisions[:, size])
        self.observed.learn_prior(precisions[:, :size])

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        state: dict[str, NDArray[np.generic]] = {
            "latest": np.array([float(self.latest)]),
            "pending_sums": self._sums.copy(),
            "recent": np.array(list(self._recent.values())).reshape(-1, self.observed.dim),
            "recent_numbers": np.array(list(self._recent), dtype=np.int64),
            "pending": np.array(self._pending),
        }
        learned = self.observed.save_state().items()
        if self.effects is not None:
            state |= self.effects.save_state()
        return state | {f"posterior.{name}": array for name, array in learned}

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal learner gave, to the bit."""
        prefix = "posterior."
        self.observed.load_state(
            {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
        )
        if self.effects is not None:
            self.effects.load_state(arrays)
        self._split_pending()
        check_shape(arrays["pending_sums"], "pending_sums", self._sums.shape)
        check_shape(arrays["pending"], "pending", (len(self._sums),))
        recent = arrays["recent"].astype(np.float64)
        check_shape(recent, "recent", (len(recent), self.observed.dim))
        numbers = arrays["recent_numbers"].astype(np.int64).tolist()
        self._sums = arrays["pending_sums"].astype(np.float64)
        self._recent, self._summed = dict(zip(numbers, recent, strict=True)), True
        self._pending = arrays["pending"].astype(np.int64).tolist()
        self.latest = float(arrays["latest"].astype(np.float64).item())
        self._losses += 1

    def _subtract_pending(self, x: FloatArray, which: BoolArray, times: FloatArray) -> None:
        """Take decisions (n, p) of some times out of what is in flight, where ``which``."""
        if not self._explores:
            return
        self._split_pending()
        taken = which[:, : len(self._pending)].astype(np.float64)
        gone = taken.sum(axis=0).astype(int).tolist()
        self._pending = [count - less for count, less in zip(self._pending, gone, strict=True)]
        if not any(self._pending):
            self._recent = {}
            self._clear_sums()
            return
        self._sum_recent()
        weights = self._pending_weights(times)[:, None]
        scaled = np.sqrt(taken * weights).T[..., None] * x  # (G, n, p)
        sums = self._sums - np.swapaxes(scaled, -1, -2) @ scaled
        # Rounding of what was taken out is left: it must not look like a direction.
        left, removed = np.einsum("gii->gi", sums), np.square(scaled).sum(axis=1)
        vanished = (left <= _ROUNDING * removed) & (removed > 0)
        vanished[[count == 0 for count in self._pending]] = True
        if vanished.any():
            sums[vanished] = 0
            np.swapaxes(sums, -1, -2)[vanished] = 0
        self._sums = sums

    def _sum_recent(self) -> None:
        """Add the last decisions in flight to the sums."""
        if self._recent:
            rows = np.array(list(self._recent.values()))
            self._sums, self._recent, self._summed = self._sums + rows.T @ rows, {}, True

    def _clear_sums(self) -> None:
        self._sums, self._summed = np.zeros_like(self._sums), False

    def _split_pending(self) -> None:
        """Let every objective have its own in flight once it has its own sums."""
        objectives = self.observed.objectives
        if self.observed.apart and len(self._pending) < objectives:
            self._sums = np.repeat(self._sums, objectives, axis=0)
            self._pending = self._pending * objectives

    def _weight(self, number: int, time: float) -> float:
        """Return how much an observation of a decision counts, once it is learned."""
        if self._by_number:
            self._fade(number)
        return float(self._decay_weights(number if self._by_number else time))

    def _pending_weights(self, times: Any) -> Any:
        """Return how much decisions count that are in flight, by their times."""
        return self._decay_weights(times) if self._by_time else np.ones(np.shape(times))

    def _decay_weights(self, moments: Any) -> Any:
        """Return the weights of times, or of the numbers of decisions: (n,), or one of them."""
        if self._period is None or self.latest == -math.inf:
            return np.ones(np.shape(moments))
        return 0.5 ** ((self.latest - moments) / self._period)


class _ExpectedPosterior:
    """What was observed, and what is in flight as if it had been; computed when asked for.

    Most decisions do not ask for it: those that look whether to explore, or are optimistic.
    """

    def __init__(
        self, observed: Posterior, sums: FloatArray, recent: list[FloatArray], pending: list[int]
    ) -> None:
        self._observed, self._sums, self._recent = observed, sums, recent
        self._counts = np.array(pending, dtype=np.float64)
        self.version = observed.version
        self.n = observed.n + self._counts

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (M,)."""
        return self._observed.noise

    @cached_property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, (G, d, d)."""
        V = self._sums
        if self._recent:
            rows = np.array(self._recent)
            V = V + rows.T @ rows
        return self._observed.root_with(V, self._counts)


class _PosteriorOfConditions:
    """What is known of the conditions of objectives, in their place."""

    def __init__(self, whole: FrozenPosterior, first_conditions: IntArray) -> None:
        self._whole, self._first_conditions = whole, first_conditions
        self.version = whole.version

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for while it is copied
            raise AttributeError(name)
        value = getattr(self._whole, name)
        return value if isinstance(value, bool) else value[self._first_conditions]
