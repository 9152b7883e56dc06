"""What has been learned, and what is on its way.

One posterior knows what was observed; objectives that were observed apart have a V of their own in
it. Beside it stand the decisions in flight, whose rewards have not come yet: the last ones one by
one, so that those whose rewards come soon cost little, others as the sum of their ``x x'``.
Exploration goes by both.

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mogro._algebra import diagonals, inverse_root, outer_sums
from mogro._validation import BoolArray, FloatArray, IntArray, check_shape
from mogro.agent.features.arms import ArmSet
from mogro.agent.objective import HalfLife
from mogro.agent.state.arm_effects import ArmEffects, with_effects
from mogro.beliefs import Beliefs, PickedPosterior
from mogro.exploration import ExplorationCache
from mogro.posterior import Posterior
from mogro.priors import Prior

_MAX_SINGLE_UPDATES = 32  # decisions that are learned one by one, more of them at once
_MAX_LISTED_PENDING = 256  # decisions that are kept one by one, more of them as a sum
_ROUNDING = 1e-10  # of the square of a feature that was taken out: what is left beside it is none


class ClosingWindows(NamedTuple):
    """What becomes final when windows close, one after the other in n steps."""

    states: dict[int, list[int]]  # by row: of its objectives, as they will be
    features: FloatArray  # of the decisions, (n, p)
    numbers: IntArray  # of the decisions, (n,)
    times: FloatArray  # of the decisions, (n,)
    values: FloatArray  # to be learned, as the learner sees them, (n, M)
    learned: BoolArray  # where, (n, M)
    unobserved: BoolArray  # where nothing is learned, (n, M)
    arms: list[str]  # of the decisions, n

    @property
    def resolved(self) -> int:
        """How many objectives become final."""
        return int(self.learned.sum() + self.unobserved.sum())


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
        by_number = half_life.updates if half_life else None
        by_time = half_life.time if half_life else None
        self._half_life, self._decays_by_number = by_number or by_time, by_number is not None
        self._decays_by_time = by_time is not None
        # To which weights refer: the latest time seen, or the last decision that was learned from.
        self.latest = -math.inf
        self._explores = explores
        each_its_own = list(first_conditions) == list(range(len(first_conditions)))
        self._first_conditions = None if each_its_own else np.array(first_conditions)
        self.pending = PendingDecisions(size, len(first_conditions))
        self._growth_count = 0  # how often less than before may be known of what is expected

    @property
    def theta(self) -> FloatArray:
        """Estimates, (M, p)."""
        return self.observed.theta

    @property
    def observation_weights(self) -> FloatArray:
        """Weight of the observations of every objective, (M,)."""
        return np.broadcast_to(self.observed.n, (self.observed.objectives,))

    @property
    def noise(self) -> FloatArray:
        """Standard deviation of the observations from the estimates, (M,)."""
        return np.sqrt(self.observed.noise)

    @property
    def noise_is_known(self) -> BoolArray:
        """Which objectives, (M,), have more observations than there are parameters."""
        return np.asarray(self.observation_weights > self.observed.dim)

    def continue_from(self, before: "Learner", learned: IntArray, now: float) -> None:
        """Let weights refer to the same as before; else to the last decision learned, or now."""
        self.latest = now
        if self._decays_by_number:
            last = before.latest if before._decays_by_number else -math.inf
            self.latest = max(last, float(learned.max(initial=-1)))

    def beliefs(self) -> Beliefs:
        """Return what a policy may know; nothing changes it any more."""
        observed, first = self.observed.copy(), self._first_conditions
        observed.version += self._growth_count << 32
        expected: Any = observed
        if self.pending:
            expected = ExpectedPosterior(observed, self.pending)
        if first is not None and observed.apart:
            expected = PickedPosterior(expected, lambda array: array[first])
        return Beliefs(observed.theta, observed, expected)

    def beliefs_about(
        self,
        arms: ArmSet,
        learned: Beliefs | None = None,
        pending_by_arm: Mapping[str, int] = MappingProxyType({}),
    ) -> tuple[ArmSet, Beliefs]:
        """Return arms, with their effects if they have some, and what is believed about them.

        ``learned`` are the beliefs if known already; of arms, so many decisions are in flight.
        """
        beliefs, effects = arms.project(learned or self.beliefs()), self.effects
        if effects is None:
            return arms, beliefs
        arms_with_effects = arms.with_columns(
            lambda ids: effects.columns(ids, self.theta, pending_by_arm)
        )
        return arms_with_effects, with_effects(beliefs)

    def copy(self) -> "Learner":
        """Return a learner that goes on by itself."""
        other = copy.copy(self)
        other.observed = self.observed.copy()
        other.effects = None if self.effects is None else self.effects.copy()
        other.cache = ExplorationCache()
        other.pending = self.pending.copy()
        return other

    def decays_until(self, now: float) -> bool:
        """Tell whether something fades until a time."""
        return self._decays_by_time and -math.inf < self.latest < now

    def advance(self, now: float) -> None:
        """Let everything fade until a time."""
        if not self._decays_by_number:
            self._decay_to(now)

    def _decay_to(self, latest: float) -> None:
        """Let weights refer to a time, or a decision, if that is a later one."""
        if latest <= self.latest:
            return
        if self._half_life is not None and self.latest > -math.inf:
            factor = 0.5 ** ((latest - self.latest) / self._half_life)
            self.observed.decay(factor)
            if self._decays_by_time:
                self.pending.decay(factor)
        self.latest = latest

    def weights(self, numbers: Any, times: Any) -> Any:
        """Return how much observations of decisions count now: of one, or (n,)."""
        if self._half_life is None or self.latest == -math.inf:
            return np.ones(np.shape(times))
        moments = np.minimum(numbers if self._decays_by_number else times, self.latest)
        return 0.5 ** ((self.latest - moments) / self._half_life)

    def _weight(self, number: int, time: float) -> float:
        """Return how much an observation of a decision counts, once it is learned."""
        if self._half_life is None:
            return 1.0
        if self._decays_by_number:
            self._decay_to(number)
        return float(self.weights(number, time))

    def add_pending(self, number: int, x: FloatArray, time: float) -> None:
        """Count a decision (p,) of a time and a number that is now in flight for every objective.

        Its features are not copied: they must not change while it is pending.
        """
        if self._decays_by_time:
            x = math.sqrt(self.weights(number, time)) * x
        if self._explores:
            self.pending.add(number, x)

    def learn(
        self,
        number: int,
        x: FloatArray,
        values: FloatArray,
        mask: BoolArray | None,
        time: float,
        arm: str = "",
    ) -> None:
        """Learn the objectives of a ``mask`` (M,) from a decision (p,) of a time, with values (M,).

        None stands for all of them. What was in flight has arrived.
        """
        self._observe(x, values, mask, number, time, arm)
        if mask is None and self.pending.arrive(number):
            return
        arrived = np.ones((1, len(values)), dtype=np.bool_) if mask is None else mask[None]
        self._change_pending(x[None], arrived, np.array([time]), -1)

    def learn_closing(self, closing: ClosingWindows) -> None:
        """Learn from decisions whose windows close, one after the other."""
        x, values, learned = closing.features, closing.values, closing.learned
        numbers, times = closing.numbers, closing.times
        if not len(x):  # only windows of what had become final before
            return
        rows = np.flatnonzero(learned.any(axis=1))
        if len(rows) > _MAX_SINGLE_UPDATES and self.effects is None:
            if self._decays_by_number:
                self._decay_to(float(numbers[rows].max()))
            weights = self.weights(numbers[rows], times[rows])[:, None] * learned[rows]
            self.observed.learn(x[rows], values[rows], weights)
        else:
            for n in rows.tolist():
                decision = numbers.item(n), times.item(n), closing.arms[n]
                self._observe(x[n], values[n], None if learned[n].all() else learned[n], *decision)
        self._change_pending(x, learned | closing.unobserved, times, -1)
        self._growth_count += bool(closing.unobserved.any())

    def _observe(
        self,
        x: FloatArray,
        values: FloatArray,
        mask: BoolArray | None,
        number: int,
        time: float,
        arm: str,
    ) -> None:
        """Learn values (M,) of a decision (p,), where a ``mask`` (M,) has them, or all."""
        if self.effects is not None:
            observed = range(len(values)) if mask is None else np.flatnonzero(mask).tolist()
            self.effects.learn(self.observed, arm, x, [(m, values.item(m)) for m in observed])
            return
        weight, weights = self._weight(number, time), None
        if mask is not None or weight != 1:
            weights = np.full(len(values), weight) if mask is None else weight * mask
        self.observed.update(x, values, weights)

    def correct(
        self,
        number: int,
        x: FloatArray,
        removed: Sequence[tuple[int, float]],
        added: Sequence[tuple[int, float]],
        time: float,
        arm: str = "",
    ) -> None:
        """Learn other values from a decision (p,), by objective, with what it weighs now."""
        self._growth_count += 1
        if self.effects is not None:
            self.effects.unlearn(self.observed, arm, x, removed)
            self.effects.learn(self.observed, arm, x, added)
            return
        values, signs = np.zeros((2, 2, self.observed.objectives))
        for row, observations in enumerate((removed, added)):
            for m, value in observations:
                values[row, m], signs[row, m] = value, 2 * row - 1
        if not (self.observed.apart or signs.sum(axis=0).any()):
            signs[:] = [[-1], [1]]  # other values only: objectives go on sharing a V
        weights = self._weight(number, time) * signs
        self.observed.learn(np.array([x, x]), values, weights)

    def add_pending_rows(self, x: FloatArray, mask: BoolArray, times: FloatArray) -> None:
        """Add pending decisions (n, p) of times, for the objectives of a ``mask``, (n, M)."""
        rows = mask.any(axis=1)
        self._change_pending(x[rows], mask[rows], times[rows], 1)

    def remove_pending(self, x: FloatArray, mask: BoolArray, times: FloatArray) -> None:
        """Remove decisions (n, p), by a ``mask``, (n, M): nothing will be learned from them."""
        self._change_pending(x, mask, times, -1)
        self._growth_count += 1

    def _change_pending(self, x: FloatArray, mask: BoolArray, times: FloatArray, sign: int) -> None:
        """Add pending decisions (n, p) of times, or remove them, by a sign."""
        if not self._explores:
            return
        if (mask != mask[:, :1]).any():
            self.observed.separate()
        # In flight, decisions count in full, or as time goes by.
        weights = self.weights(times, times) if self._decays_by_time else np.ones(len(times))
        self.pending.change(x, sign * mask.T.astype(np.int64), weights)

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
        learned = self.observed.save_state().items()
        state: dict[str, NDArray[np.generic]] = {"latest": np.array([float(self.latest)])}
        state |= {f"posterior.{name}": array for name, array in learned}
        if self.effects is not None:
            state |= self.effects.save_state()
        return state | self.pending.save_state()

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` of an equal learner gave, to the bit."""
        prefix = "posterior."
        self.observed.load_state(
            {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}
        )
        if self.effects is not None:
            self.effects.load_state(arrays)
        self.pending.load_state(arrays)
        self.latest = float(arrays["latest"].astype(np.float64).item())
        self._growth_count += 1


class PendingDecisions:
    """Pending decisions of each objective: those in flight.

    Parameters
    ----------
    size, objectives
        p and M.
    """

    def __init__(self, size: int, objectives: int) -> None:
        self._sums: FloatArray  # of x x'; never changed
        self._summed: IntArray  # decisions in these, (M,)
        self._recent: dict[int, FloatArray]  # the last ones, by number; not in the sums yet
        self._set(np.zeros((objectives, size, size)), np.zeros(objectives, dtype=np.int64))

    def __bool__(self) -> bool:
        return bool(self._recent) or self._any_summed

    @property
    def counts(self) -> IntArray:
        """How many decisions there are, for each objective, (M,)."""
        return self._summed + len(self._recent)

    @property
    def V(self) -> FloatArray:  # noqa: N802
        """Sum of x x', (M, p, p)."""
        if not self._recent:
            return self._sums
        rows = np.array(list(self._recent.values()))
        return np.asarray(self._sums + rows.T @ rows)

    def copy(self) -> "PendingDecisions":
        """Return what goes on by itself."""
        other = copy.copy(self)
        other._recent = self._recent.copy()
        return other

    def add(self, number: int, x: FloatArray) -> None:
        """Add a decision (p,) for every objective; its features must not change any more."""
        self._recent[number] = x
        if len(self._recent) > _MAX_LISTED_PENDING:
            self._set(self.V, self.counts)

    def _set(self, sums: FloatArray, counts: IntArray) -> None:
        self._sums, self._summed, self._recent = sums, counts, {}
        self._any_summed = bool(counts.any())

    def arrive(self, number: int) -> bool:
        """Take out a decision for every objective, if it is one of the last; tell whether it is."""
        return self._recent.pop(number, None) is not None

    def change(self, x: FloatArray, signs: IntArray, weights: FloatArray) -> None:
        """Add decisions (n, p) of weights (n,), or take them out, by signs (M, n): 1, 0 or -1."""
        counts = self.counts + signs.sum(axis=1)
        change_of_sums = outer_sums(np.broadcast_to(x, (len(signs), *x.shape)), signs * weights)
        sums = self.V + change_of_sums
        # Rounding of what was taken out is left: it must not look like a direction.
        not_rounding = diagonals(sums) > -_ROUNDING * diagonals(change_of_sums)
        not_rounding &= counts[:, None] > 0
        self._set(sums * (not_rounding[:, :, None] & not_rounding[:, None, :]), counts)

    def decay(self, factor: float) -> None:
        """Weigh all down."""
        self._set(self.V * factor, self.counts)

    def save_state(self) -> dict[str, NDArray[np.generic]]:
        """Return all that changes, as arrays under names."""
        return {
            "pending_sums": self._sums.copy(),
            "recent": np.array(list(self._recent.values())).reshape(-1, self._sums.shape[-1]),
            "recent_numbers": np.array(list(self._recent), dtype=np.int64),
            "pending": self.counts,
        }

    def load_state(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Take over what :meth:`save_state` gave, to the bit."""
        recent = arrays["recent"].astype(np.float64)
        check_shape(arrays["pending_sums"], "pending_sums", self._sums.shape)
        check_shape(arrays["pending"], "pending", self._summed.shape)
        check_shape(recent, "recent", (len(recent), self._sums.shape[-1]))
        numbers = arrays["recent_numbers"].astype(np.int64).tolist()
        counts = arrays["pending"].astype(np.int64) - len(recent)
        self._set(arrays["pending_sums"].astype(np.float64), counts)
        self._recent = dict(zip(numbers, recent, strict=True))


class ExpectedPosterior:
    """What was observed, and what is in flight as if it had been; computed when asked for.

    Most decisions do not ask for it: those that look whether to explore, or are optimistic.
    """

    def __init__(self, observed: Posterior, pending: PendingDecisions) -> None:
        self._observed, self._pending = observed, pending.copy()
        self.version = observed.version
        self._counts = pending.counts[: observed.n.shape[-1]]
        self.n = observed.n + self._counts

    @property
    def noise(self) -> FloatArray:
        """Variances of the rewards around the estimates, (M,)."""
        return self._observed.noise

    @cached_property
    def W(self) -> FloatArray:  # noqa: N802
        """A root of S, (G, p, p)."""
        V = self._observed.V + self._pending.V[: len(self._counts)]
        return inverse_root(V, self._observed.prior_precision(diagonals(V), self.n))
